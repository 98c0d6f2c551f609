#!/usr/bin/env python3
"""Writes the seeds of the fuzzers of files: valid ones and near misses.

Usage: make_corpus.py CORPUS_FOLDER     (made with numpy 2.4.6)
"""
import io
import json
import pathlib
import struct
import sys
import zipfile

import numpy as np


def npy(array, **options):
    out = io.BytesIO()
    np.lib.format.write_array(out, array, **options)
    return out.getvalue()


def npz(members, method, force_zip64=False):
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", method) as archive:
        for name, data in members:
            info = zipfile.ZipInfo(name)
            info.compress_type = method
            with archive.open(info, "w", force_zip64=force_zip64) as member:
                member.write(data)
    return out.getvalue()


def safetensors(header, data=b"", length=None):
    text = header if isinstance(header, str) else json.dumps(header)
    size = len(text) if length is None else length
    return struct.pack("<Q", size) + text.encode() + data


def tensor(dtype, shape, begin, end):
    return {"dtype": dtype, "shape": shape, "data_offsets": [begin, end]}


def added(id, content, **flags):
    return {"id": id, "content": content, "special": True, **dict.fromkeys(
        ("single_word", "lstrip", "rstrip", "normalized"), False), **flags}


TOKENIZER = {
    "version": "1.0",
    "added_tokens": [
        added(1, "[CLS]"), added(6, "<l>", lstrip=True, single_word=True),
        added(7, "Anim", normalized=True, rstrip=True)],
    "normalizer": {"type": "BertNormalizer", "clean_text": True,
                   "handle_chinese_chars": True, "strip_accents": None,
                   "lowercase": True},
    "pre_tokenizer": {"type": "BertPreTokenizer"},
    "model": {"type": "WordPiece", "unk_token": "[UNK]",
              "continuing_subword_prefix": "##",
              "max_input_chars_per_word": 9,
              "vocab": {"[UNK]": 0, "[CLS]": 1, "the": 2, "b": 3, "##1": 4,
                        "e": 5}},
    "post_processor": {
        "type": "TemplateProcessing",
        "single": [{"SpecialToken": {"id": "[CLS]", "type_id": 0}},
                   {"Sequence": {"id": "A", "type_id": 0}}],
        "pair": [{"Sequence": {"id": "A", "type_id": 0}},
                 {"Sequence": {"id": "B", "type_id": 1}}],
        "special_tokens": {"[CLS]": {"id": "[CLS]", "ids": [1],
                                     "tokens": ["[CLS]"]}}},
}


def main():
    corpus = pathlib.Path(sys.argv[1])

    def seed(fuzzer, name, data):
        folder = corpus / f"{fuzzer}_fuzz"
        folder.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(data)

    numbers = np.arange(6, dtype="<f4").reshape(2, 3)
    seed("npy", "f4", npy(numbers))
    seed("npy", "f8_big_fortran", npy(np.asfortranarray(numbers.astype(">f8"))))
    seed("npy", "bool", npy(numbers > 2))
    seed("npy", "rank0_v2", npy(np.array(5), version=(2, 0)))
    seed("npy", "empty_v3", npy(numbers[:0], version=(3, 0)))
    seed("npy", "record", npy(np.zeros(1, dtype=[("x", "<f4")])))
    seed("npy", "huge", npy(numbers).replace(b"(2, 3)", b"(9223372036854775807,)"))
    seed("npy", "truncated", npy(numbers)[:-1])

    members = [("a.npy", npy(numbers)), ("b.npy", npy(np.array(["x"])))]
    stored = npz(members, zipfile.ZIP_STORED)
    seed("npz", "stored", stored)
    seed("npz", "deflated", npz(members, zipfile.ZIP_DEFLATED))
    seed("npz", "zip64", npz(members, zipfile.ZIP_DEFLATED, True))
    seed("npz", "other", npz([("x.txt", b"x")], zipfile.ZIP_STORED))
    seed("npz", "empty", npz([], zipfile.ZIP_STORED))
    seed("npz", "bomb", npz([("z.npy", npy(np.zeros(100000)))],
                            zipfile.ZIP_DEFLATED))
    seed("npz", "truncated", stored[:-5])
    seed("npz", "comment", stored[:-2] + b"\x03\x00abc")
    # A count of 65,535 and a ZIP64 end that is not there.
    seed("npz", "no_zip64", stored[:-14] + b"\xff" * 12 + b"\0\0")

    seed("safetensors", "two", safetensors(
        {"__metadata__": {"format": "pt"}, "b": tensor("F32", [2], 0, 8),
         "a": tensor("U8", [1, 2], 8, 10)}, b"12345678ab"))
    seed("safetensors", "none", safetensors({}))
    seed("safetensors", "spaces", safetensors(
        '{"a":{"dtype":"I64","shape":[],"data_offsets":[0,8]}}   ', b"8" * 8))
    seed("safetensors", "f4", safetensors({"a": tensor("F4", [2, 8], 0, 8)},
                                          b"8" * 8))
    seed("safetensors", "overlap", safetensors(
        {"a": tensor("U8", [8], 0, 8), "b": tensor("U8", [8], 4, 12)},
        b"8" * 12))
    seed("safetensors", "hole", safetensors(
        {"a": tensor("U8", [4], 0, 4), "b": tensor("U8", [4], 8, 12)},
        b"8" * 12))
    seed("safetensors", "overflow", safetensors(
        {"a": tensor("F64", [2**31, 2**31, 2**31], 0, 0)}))
    seed("safetensors", "length", safetensors("{}", length=2**63))
    seed("safetensors", "metadata", safetensors({"__metadata__": {"step": 3}}))

    seed("tokenizer", "bert", json.dumps(TOKENIZER).encode())
    seed("tokenizer", "bert_processing", json.dumps(
        {**TOKENIZER, "post_processor": {
            "type": "BertProcessing", "cls": ["[CLS]", 1],
            "sep": ["[SEP]", 1]}}).encode())
    seed("tokenizer", "metaspace", json.dumps(
        {**TOKENIZER, "pre_tokenizer": {"type": "Metaspace"}}).encode())
    seed("tokenizer", "text", "The un\u00ADwanted sch\u00f6n, caf\u0065\u0301 "
         "[MASK]C#2 \u6771\u4eac".encode() + b"\xffC#2")
    seed("tokenizer", "pair", b"it was too tired.\xffit was\xe6\x9d\xffb:it")
    seed("tokenizer", "marks", ("a" + "\u0301\u0323" * 40).encode() + b"\xff@1")
    seed("tokenizer", "names", b"# 12 ## the#2 the @8\xfftext:@8#1")

    seed("json", "config", b'{"hidden_size": 384, "eps": 1e-12, "type": null, '
         b'"ok": [true, false, -1.5], "text": "a\\u00e9\\n\\ud83d\\ude00"}')
    seed("json", "wide", b"[18446744073709551616, 9223372036854775808, "
         b"-1000000000000000019884624838656, 1e308, 1e-400, -0, -0.0]")
    seed("json", "surrogate", b'"\\ud800"')
    seed("json", "low_surrogate", b'["\\udc00", "\\ud800\\u0041"]')
    seed("json", "deep", b"[" * 1200)
    seed("json", "not_utf8", b'"\xed\xa0\x80"')
    seed("json", "duplicate", b'{"a": 1, "a": {"b": []}}')
    seed("json", "trailing", b"[1] 2")


if __name__ == "__main__":
    main()

#!/usr/bin/env python3
"""Goldens of the BERT tokenizer, made by the `tokenizers` package.

Usage: make_tokenizer.py [tokenizer.json]    (tokenizers 0.23.3, Python 3.11)

The argument is the tokenizer.json of all-minilm-l6-v2 (30522 pieces); by
default that in the cache folder. Written to tokenizer/ beside this script:

  corpus.jsonl       texts, or pairs of texts, one JSON value a line
  corpus_tokens.txt  per line, as the file itself says (lower case):
                     id@begin-end id@begin-end ...; inserted tokens id/segment
  corpus_hashes.txt  per line, one hash for each of the six configurations
  blocks.txt         per 256 code points, one hash for each configuration
  normalized.txt     the same of the normalized text alone (no vocabulary)
  fixture_*.json     small tokenizers of our own
  fixture_cases.jsonl  what the package makes of texts with them
  fixture_blocks.txt per 256 code points, one hash: each beside added tokens

A configuration is (lowercase, strip_accents); truncation and padding are off.
"""
import hashlib
import itertools
import json
import os
import random
import sys

import numpy as np
import tokenizers
from tokenizers import normalizers

assert tokenizers.__version__ == "0.23.3", tokenizers.__version__
OUT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "tokenizer")
CONFIGURATIONS = list(itertools.product((True, False), (None, True, False)))
BLOCK = 256


def digest(data):
    return hashlib.sha256(data).hexdigest()[:8]


def load(config):
    tok = tokenizers.Tokenizer.from_str(json.dumps(config))
    tok.no_truncation()
    tok.no_padding()
    return tok


def configured(config, lowercase, strip_accents):
    changed = dict(config)
    changed["normalizer"] = dict(
        config["normalizer"], lowercase=lowercase, strip_accents=strip_accents)
    return load(changed)


def encode(tok, line):
    return tok.encode(*line) if isinstance(line, list) else tok.encode(line)


# ---------------------------------------------------------------- code points
def blocks():
    for first in range(0, 0x110000, BLOCK):
        if 0xD800 <= first < 0xE000:
            continue  # surrogates
        yield first, range(first, first + BLOCK)


def block_text(points):
    """Each code point between letters, and alone."""
    return "".join(f"a{chr(c)}b {chr(c)} " for c in points)


def write_runs(path, hashes):
    """Lines `first-last hash hash ...`; equal neighbours become one line."""
    runs = []
    for first, row in hashes:
        if runs and runs[-1][2] == row and runs[-1][1] == first - 1:
            runs[-1][1] = first + BLOCK - 1
        else:
            runs.append([first, first + BLOCK - 1, row])
    with open(path, "w") as f:
        for first, last, row in runs:
            f.write(f"{first:x}-{last:x} {' '.join(row)}\n")


def write_blocks(config):
    toks = [configured(config, *c) for c in CONFIGURATIONS]
    hashes = []
    for first, points in blocks():
        row = []
        for tok in toks:
            enc = tok.encode(block_text(points))
            table = np.empty((len(enc.ids), 3), "<i4")
            table[:, 0] = enc.ids
            table[:, 1:] = enc.offsets
            row.append(digest(table.tobytes()))
        hashes.append((first, row))
    write_runs(os.path.join(OUT, "blocks.txt"), hashes)


def relative(text, first):
    """Code points; those of the block itself as -1 - index, so that blocks
    where nothing happens are alike."""
    points = np.frombuffer(text.encode("utf-32-le"), "<i4").copy()
    own = (points >= first) & (points < first + BLOCK)
    points[own] = first - points[own] - 1
    return points.tobytes()


def write_normalized():
    parts = [
        normalizers.BertNormalizer(
            clean_text=True, handle_chinese_chars=True, lowercase=lowercase,
            strip_accents=strip_accents)
        for lowercase, strip_accents in CONFIGURATIONS
    ]
    hashes = [(first, [digest(relative(p.normalize_str(block_text(points)),
                                       first)) for p in parts])
              for first, points in blocks()]
    write_runs(os.path.join(OUT, "normalized.txt"), hashes)


# --------------------------------------------------------------------- corpus
WORDS = """
the animal didn't cross street because it was too tired transformer attention
self-attention unbelievable tokenization HTTP iPhone x86_64 C# C++ .NET e.g.
U.S.A. co-operate naïve café résumé façade Ångström coöperate Zoë piñata
Straße GROSS groß İstanbul ISTANBUL ılık DİYARBAKIR ΟΔΟΣ οδός Σίσυφος ΑΣ ς
ﬁne ﬂow oﬃce ŉ ǰ ĳ Ǆ ǅ ǆ Ĳ ℌ ℃ Å K Ω ſ ẞ ﬀ ﬅ Đồng Việt ngữ phở Łódź źdźbło
Привет МОСКВА ёлка Ёж й Й їжак ў ғ Ҡазан Српски שלום עִבְרִית שָׁלוֹם العربية
مُحَمَّد ﷺ ﻻ فارسی ئۇيغۇر हिन्दी क्षत्रिय नमस्ते বাংলা தமிழ் తెలుగు ಕನ್ನಡ
മലയാളം සිංහල ภาษาไทย น้ำ ลาว ພາສາ မြန်မာ ភាសាខ្មែរ བོད་ཡིག ქართული Ქართული
Հայերեն አማርኛ ᏣᎳᎩ ꭰꭱ ᐃᓄᒃᑎᑐᑦ ᠮᠣᠩᠭᠣᠯ ᏸ 日本語 東京 カナ漢字 ひらがな バナナ ﾊﾞｶ ガ
ヴ 한국어 안녕하세요 각 가 ㄱ 中文 漢字 简体 㐀 㒼 𠀀 𠮷野家 𪜀 𪝀 𫠀 𫠝 𫢸 𬺠 豈 更 𰀀
😀 👍🏽 👩‍👩‍👧‍👦 🏳️‍🌈 🇩🇪 ✈️ ☎ ❤️ 👨🏿‍🚀 1️⃣ ⌚︎ ½ ² ₃ Ⅷ ① ㊙ ٣ ४५ ๙ １２３ 𝟘 𝒜 𝓍 ᚠᛇ 𐌰 𐤀 𒀀
1234567890 3.14 1,000,000 50% $9.99 €5 £3 ¥7 ₿ 12:30 2024-01-31 #tag @user
a/b \\n <b>bold</b> &amp; “quoted” ‘x’ «y» — – … ‚ „ † ‡ • ‰ ′ ″ ※ ‼ ⁉ ¡hola! ¿qué?
[CLS] [SEP] [MASK] [UNK] [PAD] [cls] [mask] [MASK]s un[MASK] [[MASK]] [unused5]
##ing ##s # ## http://example.com/a?b=c&d=e#f user@example.org
""".split()
MARKS = ["\u0301", "\u0300", "\u0308", "\u0323", "\u0327", "\u0345", "\u0334",
         "\u0344", "\u0f73", "\u3099", "\u20dd", "\u0483", "\u05b0", "\u064b",
         "\u094d", "\u0e38", "\u1ab0", "\u1abf", "\u1dfa", "\ua8e0", "\ufe20",
         "\U0001d165", "\U0001d16d", "\U0001e8d0", "\U0001e944", "\u0898",
         "\u302e", "\u309a", "\u1734", "\u1885", "\ua9bd", "\U000111c9"]
CONTROLS = [chr(c) for c in (
    *range(0, 33), *range(0x7F, 0xA1), 0xAD, 0x034F, 0x061C, 0x070F, 0x115F,
    0x1680, 0x17B4, 0x180B, 0x180E, *range(0x2000, 0x2010), 0x2028, 0x2029,
    *range(0x202A, 0x2030), 0x205F, *range(0x2060, 0x2070), 0x3000, 0x3164,
    0xE000, 0xF8FF, 0xFDD0, 0xFE0F, 0xFEFF, 0xFFF9, 0xFFFC, 0xFFFD, 0xFFFE,
    0xFFFF, 0x110BD, 0x110CD, 0x13430, 0x1BCA0, 0x1D173, 0xE0001, 0xE0041,
    0xE0100, 0xF0000, 0x10FFFD, 0x10FFFF)]
PUNCTUATION = list("!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~") + list(
    "«»‐‑–—‖‘’“”†•…‰′‹›※‼⁂⁊、。〈〉《》「」『』【】〜・！（），．：；？［］｡､᙭᳀⸺⹀⹋⹐𐄀𐩐𑁇𖭄𝪈")
EDGE = [
    "", " ", "\t\n", "\u200b", "\u0301", "a", "A", "\0", "\ufeff", "\ufffd",
    "schön", "バ", "カナ漢字", "foo \ufffd bar", "a\u00adb", "a\0b",
    "unwantedX", "a" * 99, "a" * 100, "a" * 101, "é" * 100, "e\u0301" * 100,
    "é" * 101, "z" * 5000, "𝒜" * 100, "漢" * 120, "." * 120,
    "a" + "\u0301" * 150, "\u0301" * 150, "x\u0323\u0301" * 60,
    "[CLS][SEP][MASK]", "a[MASK]b", " [MASK] ", "[MASK", "MASK]", "[MAS K]",
    "[M\u0301ASK]", "[ＭＡＳＫ]", "[MASK]\u0301", "\u0301[MASK]",
    "ΟΔΟΣ", "İI", "I\u0307", "ß ẞ SS", "Ǆǅǆ", "ﬃ", "한글", "한글", "각\u11a8",
    "\u0344\u0323", "\u0f73\u0f71", "\U0001d15e\u0334", "\U00011938",
    "The animal didn't cross the street because it was too tired.",
    "The animal didn't cross the street because it was too wide.",
]


def rare(rng):
    """A character from anywhere, assigned or not."""
    plane = rng.choice([0x10000, 0x10000, 0x20000, 0x110000])
    while True:
        c = rng.randrange(plane)
        if not 0xD800 <= c < 0xE000:
            return chr(c)


def piece(rng):
    kind = rng.randrange(20)
    word = rng.choice(WORDS)
    if kind == 0:
        return word.upper()
    if kind == 1:
        return word.title()
    if kind == 2:
        return rng.choice(PUNCTUATION)
    if kind == 3:
        return rng.choice(CONTROLS)
    if kind == 4:
        at = rng.randrange(len(word) + 1)
        return word[:at] + rng.choice(CONTROLS) + word[at:]
    if kind == 5:
        at = rng.randrange(len(word) + 1)
        marks = "".join(rng.choices(MARKS, k=rng.randrange(1, 5)))
        return word[:at] + marks + word[at:]
    if kind == 6:
        return word + rng.choice(WORDS)
    if kind == 7:
        return rare(rng)
    if kind == 8:
        return rng.choice("aeiou") + rare(rng) + rng.choice("xyz")
    if kind == 9:
        return "".join(rng.choices("abcdefghijklmnopqrstuvwxyz",
                                   k=rng.randrange(1, 30)))
    return word


def sentence(rng):
    parts = []
    for _ in range(rng.randrange(1, 9)):
        parts.append(piece(rng))
        parts.append(rng.choice([" "] * 8 + ["", "  ", "\n", "\u3000"]))
    if rng.random() < 0.8:
        parts.pop()
    return "".join(parts)


def make_corpus():
    rng = random.Random(20240131)
    lines = list(EDGE)
    lines += WORDS
    lines += [f"a{m}{n}b" for m in MARKS for n in rng.sample(MARKS, 3)]
    lines += ["x" * 97 + m + "yz" for m in MARKS]
    lines += [f"a{c}b{c}" for c in CONTROLS]
    while len(lines) < 2200:
        lines.append(sentence(rng))
    lines += [["", ""], ["a", ""], ["", "b"], ["[CLS]", "[SEP]"]]
    while len(lines) < 2400:
        lines.append([sentence(rng), sentence(rng)])
    return lines


def words(enc):
    return [-1 if w is None else w for w in enc.word_ids]


def full_hash(enc):
    rows = zip(enc.ids, enc.offsets, enc.type_ids, words(enc), enc.tokens)
    return digest("".join(
        f"{i},{b},{e},{s},{w},{p}\n" for i, (b, e), s, w, p in rows).encode())


def readable(enc):
    return " ".join(
        f"{i}/{s}" if special else f"{i}@{b}-{e}"
        for i, (b, e), s, special in zip(
            enc.ids, enc.offsets, enc.type_ids, enc.special_tokens_mask))


def write_corpus(config):
    lines = make_corpus()
    toks = [configured(config, *c) for c in CONFIGURATIONS]
    with open(os.path.join(OUT, "corpus.jsonl"), "w") as f:
        for line in lines:
            text = json.dumps(line, ensure_ascii=False)
            # Kept visible and safe in editors and diffs.
            f.write("".join(
                c if c.isprintable() else
                "".join(f"\\u{u:04x}" for u in np.frombuffer(
                    c.encode("utf-16-le"), "<u2"))
                for c in text) + "\n")
    with open(os.path.join(OUT, "corpus_tokens.txt"), "w") as f:
        for line in lines:
            f.write(readable(encode(toks[0], line)) + "\n")
    with open(os.path.join(OUT, "corpus_hashes.txt"), "w") as f:
        for line in lines:
            f.write(" ".join(full_hash(encode(t, line)) for t in toks) + "\n")


# ------------------------------------------------------------------- fixtures
def added(id, content, **flags):
    token = {"id": id, "content": content, "single_word": False,
             "lstrip": False, "rstrip": False, "normalized": False,
             "special": True}
    token.update(flags)
    return token


PIECES = """[PAD] [UNK] [CLS] [SEP] [MASK] the animal did ' n t ##n ##t cross
street because it was too tired wide . , ! ? a b c ##b ##c un ##want ##ed
suit ##case suitcase # ##it ##s schon schön Schön e é i ##̇ 東 京 カ ##ナ 1 ##2 @ 8
- : text x ß ss σ οδος""".split()


# Marks that are not dropped with the accents, but put in order; notes that
# decompose into one, and what is dropped between them.
KEPT_MARKS = ["\u08d5", "\U0001e944", "\u302e", "\u302f", "\U0001d165",
              "\U0001d16d", "\u1abf", "\u0898", "\u1885", "\U0001e000",
              "\U0001d157", "\U0001d158", "\U0001d16e"]
OTHER_MARKS = ["\U0001d15e", "\U0001d15f", "\U0001d160", "\u0301", "\u0323",
               "\u0334", "\u0344", "\u0345", "b", "\u00e9"]


def mark_cases():
    rng = random.Random(7)
    return ["".join(rng.choices(KEPT_MARKS + OTHER_MARKS,
                                k=rng.randrange(1, 8))) for _ in range(150)]


def fixtures():
    special = {p: {"id": p, "ids": [PIECES.index(p)], "tokens": [p]}
               for p in ("[CLS]", "[SEP]")}
    token = lambda p, t: {"SpecialToken": {"id": p, "type_id": t}}
    seq = lambda s, t: {"Sequence": {"id": s, "type_id": t}}
    base = {
        "version": "1.0", "truncation": None, "padding": None,
        "added_tokens": [added(PIECES.index(p), p) for p in
                         ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")],
        "normalizer": {
            "type": "BertNormalizer", "clean_text": True,
            "handle_chinese_chars": True, "strip_accents": None,
            "lowercase": True},
        "pre_tokenizer": {"type": "BertPreTokenizer"},
        "post_processor": {
            "type": "TemplateProcessing",
            "single": [token("[CLS]", 0), seq("A", 0), token("[SEP]", 0)],
            "pair": [token("[CLS]", 0), seq("A", 0), token("[SEP]", 0),
                     seq("B", 1), token("[SEP]", 1)],
            "special_tokens": special},
        "decoder": {"type": "WordPiece", "prefix": "##", "cleanup": True},
        "model": {
            "type": "WordPiece", "unk_token": "[UNK]",
            "continuing_subword_prefix": "##", "max_input_chars_per_word": 100,
            "vocab": {p: i for i, p in enumerate(PIECES)}},
    }
    n = len(PIECES)
    yield "bert", base
    yield "cased", {**base, "normalizer": {
        **base["normalizer"], "lowercase": False}}
    yield "bert_processing", {**base, "post_processor": {
        "type": "BertProcessing", "sep": ["[SEP]", 3], "cls": ["[CLS]", 2]}}
    yield "bare", {**base, "normalizer": None, "pre_tokenizer": None,
                   "post_processor": None, "added_tokens": []}
    yield "old", {k: v for k, v in {
        **base, "model": {k: v for k, v in base["model"].items()
                          if k != "type"}}.items() if k != "version"}
    yield "unclean", {**base, "normalizer": {
        **base["normalizer"], "clean_text": False,
        "handle_chinese_chars": False, "strip_accents": False}}
    yield "added", {**base, "added_tokens": base["added_tokens"] + [
        added(n, "<l>", lstrip=True), added(n + 1, "<r>", rstrip=True),
        added(n + 2, "<lr>", lstrip=True, rstrip=True),
        added(n + 3, "<w>", single_word=True),
        added(n + 4, "Émile", normalized=True, special=False),
        added(n + 5, "<wlr>", single_word=True, lstrip=True, rstrip=True),
        added(n + 6, "NEW", special=False, normalized=False),
        added(n + 7, "NEW YORK", special=False, normalized=False),
        added(n + 8, "東京", special=False, normalized=False),
        added(n + 9, "Loud", normalized=True, single_word=True, lstrip=True,
              special=False),
        added(n + 10, "--", single_word=True)]}
    yield "template", {**base, "post_processor": {
        "type": "TemplateProcessing",
        "single": [seq("A", 3), token("two", 2)],
        "pair": [seq("B", 1), token("two", 2), seq("A", 0)],
        "special_tokens": {"two": {"id": "two", "ids": [3, 2],
                                   "tokens": ["[SEP]", "[CLS]"]}}}}
    yield "marks", {**base, "model": {
        **base["model"], "vocab": {p: i for i, p in enumerate(
            PIECES + [h + m for m in KEPT_MARKS for h in ("", "##")])}}}
    yield "short_words", {**base, "model": {
        **base["model"], "max_input_chars_per_word": 7,
        "unk_token": "x", "continuing_subword_prefix": ""}}


CASES = [
    "", " ", "The animal didn't cross the street because it was too tired.",
    "unwanted", "unwantedX", "schön Schön SCHÖN", "ＡＢＣ abc aBc", "a\u00adb",
    "a\0b", "foo \ufffd bar", "東京", "the東京the", "カナ漢字", "[MASK] [mask]",
    "a[MASK]b", "İ ΟΔΟΣ ß ẞ", "suitcase it", "a" * 8, "c" * 100, "c" * 101,
    "a <l>  b <l>", "  <l> a<l>", "a <r>  b <r>  ", "<r> <r> <l> <l>",
    "a  <lr>  b<lr><lr>  c", "\t<lr>\u3000<l>\u00a0", "a<w> <w>b <w> é<w> _<w>",
    "<w>\u0301 \u0301<w> .<w>. <w>", "émile EMILE Émile e\u0301mile xémiley",
    "the <wlr> a <wlr>b x<wlr>  <wlr>", "NEW NEW YORK NEWYORK new york",
    "東京都", "a loud b  LOUD! aloud loudness", "x--- ---x -- a--", "<l", "<lr", "<l><r><lr><w>",
    "e\u0323\u0301", "\u0301\u0301", "text: @8-1 #2", "a\n\tb", "a\u2028b",
    ["", ""], ["a", ""], ["", "b"], ["the animal", "it was a suitcase"],
    ["a [SEP] b", "[CLS]"],
]


def write_fixtures():
    with open(os.path.join(OUT, "fixture_cases.jsonl"), "w") as cases:
        for name, config in fixtures():
            with open(os.path.join(OUT, f"fixture_{name}.json"), "w") as f:
                json.dump(config, f, ensure_ascii=False, indent=1)
                f.write("\n")
            tok = load(config)
            for text in mark_cases() if name == "marks" else CASES:
                for special in (True, False)[:1 if isinstance(text, str)
                                             else 2]:
                    args = text if isinstance(text, list) else [text]
                    enc = tok.encode(*args, add_special_tokens=special)
                    write_case(cases, name, text, special, None, enc)
            if name == "added":
                write_fixture_blocks(tok)
            if name not in ("bert", "bare", "template"):
                continue
            for limit in range(3, 12):
                for text in (CASES[2], [CASES[2], "a b c"], ["a b c", CASES[2]],
                             ["a b c", "c b a"]):
                    tok.enable_truncation(limit, strategy="longest_first")
                    enc = tok.encode(*(text if isinstance(text, list)
                                       else [text]))
                    write_case(cases, name, text, True, limit, enc)


def write_fixture_blocks(tok):
    hashes = []
    for first, points in blocks():
        enc = tok.encode("".join(
            f"{c}<w> <w>{c} {c}<lr>{c} " for c in map(chr, points)))
        table = np.column_stack([enc.ids, enc.offsets]).astype("<i4")
        hashes.append((first, [digest(table.tobytes())]))
    write_runs(os.path.join(OUT, "fixture_blocks.txt"), hashes)


def write_case(f, name, text, special, limit, enc):
    f.write(json.dumps(
        [name, text, special, limit, enc.tokens, list(zip(
            enc.ids, (b for b, _ in enc.offsets), (e for _, e in enc.offsets),
            enc.type_ids, enc.special_tokens_mask, words(enc)))],
        separators=(",", ":")) + "\n")


def main():
    path = sys.argv[1] if len(sys.argv) > 1 else os.path.expanduser(
        "~/.cache/regard/models/all-minilm-l6-v2/tokenizer.json")
    with open(path) as f:
        config = json.load(f)
    os.makedirs(OUT, exist_ok=True)
    write_fixtures()
    write_normalized()
    write_corpus(config)
    write_blocks(config)


if __name__ == "__main__":
    main()

#!/usr/bin/env python3
"""Compares `regard map` and `regard rank` with Transformers in eager mode.

Usage: compare_rank.py REGARD [MODEL_DIRECTORY]
       compare_rank.py --golden
       (transformers 5.24, torch 2.15, tokenizers 0.23, Python 3.11)

Every column of `rank` is computed anew, in double, from the attentions and the
value vectors that Transformers gives, for single texts, pairs, spans and texts
of the greatest length; every weight of `map -o x.npz` is compared; a text that
is one token too long has to be refused. Prints the largest difference of each
column and fails when one is above its bound.

--golden writes rank/minilm.json beside this script instead: what the definitions
give for a few of the cases with all-minilm-l6-v2, which a test of the program
reads.
"""
import json
import os
import subprocess
import sys
import tempfile

import numpy as np
import tokenizers
import torch
import transformers

GOLDEN = sys.argv[1:] == ["--golden"]
PROGRAM = "" if GOLDEN else os.path.abspath(sys.argv[1])
MODEL = (sys.argv[2] if len(sys.argv) > 2 else
         os.path.expanduser("~/.cache/regard/models/all-minilm-l6-v2"))
MODEL = MODEL.rstrip("/") + "/"

# text, pair, from, to: names as people type them and the token ranges that
# they mean.
LONG = " ".join(["one two three four five six seven eight nine ten"] * 51)
CASES = [
    ("The animal didn't cross the street because it was too tired.", None,
     ("it", 10, 10), ("animal", 2, 2)),
    ("The animal didn't cross the street because it was too tired.", None,
     ("didn't", 3, 5), ("the street", 7, 8)),
    ("The animal didn't cross the street because it was too tired.", None,
     ("[CLS]", 0, 0), ("@15", 15, 15)),
    ("A", None, ("a", 1, 1), ("[SEP]", 2, 2)),
    ("She poured water into the glass until it was full.",
     "It was full of cold water.", ("b:it", 13, 13), ("water#1", 3, 3)),
    ("Unbelievable transformations happen everywhere, don't they?", None,
     ("@1-3", 1, 3), ("@2-4", 2, 4)),
    ("東京は日本の首都です。", None, ("東", 1, 1), ("@3", 3, 3)),
    (LONG, None, ("one#2", 11, 11), ("@490-511", 490, 511)),
]
# Bound on the largest difference. Weights are compared absolutely; what is
# divided by small numbers relatively (see difference()).
BOUNDS = {"weight": 1e-5, "rank": 0, "row_max": 1e-5, "row_argmax": 0,
          "entropy": 1e-4, "baseline": 1e-5, "lift": 1e-3, "norm": 1e-5}


def load():
    tokenizer = tokenizers.Tokenizer.from_file(MODEL + "tokenizer.json")
    tokenizer.no_truncation()
    tokenizer.no_padding()
    model = transformers.BertModel.from_pretrained(
        MODEL, attn_implementation="eager", add_pooling_layer=False).eval()
    return tokenizer, model


def run_reference(tokenizer, model, text, pair):
    """Weights [layers, heads, n, n] and norms [layers, heads, n], in double."""
    encoding = (tokenizer.encode(text) if pair is None else
                tokenizer.encode(text, pair))
    values = []
    hooks = [layer.attention.self.value.register_forward_hook(
        lambda module, args, output: values.append(output[0].double()))
        for layer in model.encoder.layer]
    with torch.no_grad():
        out = model(input_ids=torch.tensor([encoding.ids]),
                    token_type_ids=torch.tensor([encoding.type_ids]),
                    attention_mask=torch.ones(1, len(encoding.ids), dtype=int),
                    output_attentions=True)
    for hook in hooks:
        hook.remove()
    weights = torch.stack([a[0] for a in out.attentions]).double().numpy()
    heads = weights.shape[1]
    norms = []
    for layer, v in zip(model.encoder.layer, values):
        w_o = layer.attention.output.dense.weight.double()  # [out, heads * dv]
        per_head = v.view(len(encoding.ids), heads, -1)
        w_o = w_o.view(w_o.shape[0], heads, -1)
        carried = torch.einsum("jhd,ohd->hjo", per_head, w_o)
        norms.append(carried.norm(dim=-1).detach().numpy())
    return weights, np.stack(norms), encoding.tokens


def reference_rank(weights, norms, first, last, to_first, to_last):
    """One dict per (layer, head), straight from the definitions."""
    out = {}
    n = weights.shape[-1]
    others = [i for i in range(n) if not first <= i <= last]
    for layer in range(weights.shape[0]):
        for head in range(weights.shape[1]):
            a = weights[layer, head]
            row = a[first:last + 1].mean(axis=0)
            weight = row[to_first:to_last + 1].sum()
            units = [(j, row[j]) for j in range(n)
                     if not to_first <= j <= to_last] + [(to_first, weight)]
            units.sort()
            values = np.array([value for _, value in units])
            carried = row * norms[layer, head]
            baseline = (a[others, to_first:to_last + 1].sum(axis=1).mean()
                        if others else np.nan)
            positive = row[row > 0]
            out[layer, head] = {
                "weight": weight,
                "rank": 1 + int((values > weight).sum()),
                "row_max": values.max(),
                "row_argmax": units[int(values.argmax())][0],
                "entropy": -(positive * np.log(positive)).sum(),
                "baseline": baseline,
                "lift": weight / baseline,
                "norm": carried[to_first:to_last + 1].sum() / carried.sum(),
                "_values": values,
            }
    return out


def difference(name, ours, theirs):
    if name in ("rank", "row_argmax"):
        # Two units nearer than the bound on weights may change places.
        if ours == theirs[name]:
            return 0
        values = np.sort(theirs["_values"])
        near = theirs["weight"] if name == "rank" else theirs["row_max"]
        return 0 if (np.abs(values - near) < 1e-5).sum() > 1 else 1
    error = abs(ours - theirs[name])
    return error / max(1.0, abs(theirs[name])) if name == "lift" else error


def regard(*arguments):
    return subprocess.run([PROGRAM, *arguments], capture_output=True)


def write_golden():
    tokenizer, model = load()
    cases = []
    for case in (CASES[0], CASES[1], CASES[4]):
        text, pair, (source, first, last), (target, to_first, to_last) = case
        weights, norms, _ = run_reference(tokenizer, model, text, pair)
        want = reference_rank(weights, norms, first, last, to_first, to_last)
        heads = [{"layer": layer, "head": head,
                  **{name: (int(row[name]) if name in ("rank", "row_argmax")
                            else float(f"{row[name]:.7g}")) for name in BOUNDS}}
                 for (layer, head), row in want.items()]
        cases.append({"text": text, "pair": pair, "from": source,
                      "to": target, "heads": heads})
    folder = os.path.join(os.path.dirname(os.path.abspath(__file__)), "rank")
    os.makedirs(folder, exist_ok=True)
    with open(folder + "/minilm.json", "w") as file:
        lines = ",\n".join(json.dumps(case) for case in cases)
        file.write("[" + lines + "]\n")


def main():
    tokenizer, model = load()
    worst = dict.fromkeys(BOUNDS, 0.0)
    worst_map = 0.0
    for case in CASES:
        text, pair, (source, first, last), (target, to_first, to_last) = case
        weights, norms, tokens = run_reference(tokenizer, model, text, pair)
        want = reference_rank(weights, norms, first, last, to_first, to_last)
        extra = [] if pair is None else ["--pair", pair]
        run = regard("rank", text, "--from", source, "--to", target, "--json",
                     "--model", MODEL, *extra)
        assert run.returncode == 0, run.stderr.decode()
        got = json.loads(run.stdout)
        assert got["tokens"] == tokens
        assert (got["from"]["first"], got["from"]["last"]) == (first, last)
        assert (got["to"]["first"], got["to"]["last"]) == (to_first, to_last)
        assert len(got["heads"]) == len(want) and got["nonfinite"] == 0
        order = [(-h["weight"], h["layer"], h["head"]) for h in got["heads"]]
        assert order == sorted(order)
        for head in got["heads"]:
            theirs = want[head["layer"], head["head"]]
            for name in BOUNDS:
                error = difference(name, head[name], theirs)
                worst[name] = max(worst[name], error)
        with tempfile.TemporaryDirectory() as folder:
            path = folder + "/x.npz"
            run = regard("map", text, "-o", path, "--model", MODEL, *extra)
            assert run.returncode == 0, run.stderr.decode()
            with np.load(path) as maps:
                assert list(maps["tokens"]) == tokens
                error = np.abs(maps["attention"] - weights).max()
        worst_map = max(worst_map, error)
        print(f"{len(tokens):4} tokens, {source} -> {target}: "
              f"weights within {error:.1e}")
    assert max(map(len, [t.split() for t, *_ in CASES])) == 510
    run = regard("rank", LONG + " eleven", "--from", "@1", "--to", "@2",
                 "--model", MODEL)
    assert run.returncode == 2 and b"513" in run.stderr and b"512" in run.stderr
    print("513 tokens:", run.stderr.decode().strip())
    failed = worst_map > BOUNDS["weight"]
    print(f"map: largest difference {worst_map:.1e}")
    for name, bound in BOUNDS.items():
        print(f"rank {name}: largest difference {worst[name]:.1e}, "
              f"bound {bound:.0e}")
        failed = failed or not worst[name] <= bound
    sys.exit(1 if failed else 0)


if GOLDEN:
    write_golden()
else:
    main()

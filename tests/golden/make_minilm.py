#!/usr/bin/env python3
"""MiniLM in Transformers (eager mode, f32), for src/model/bert_golden_test.cc.

  make_minilm.py make MODEL_DIRECTORY OUTPUT.safetensors
      the committed golden. Ids and segments of every text; for the shortest
      texts all attention weights; for the others each row of weights multiplied
      by one fixed vector of signs, so that an error of any single weight shows
      in full; for each hidden state four sums with fixed signs per token, and
      its largest entry.
  make_minilm.py inputs MODEL_DIRECTORY INPUTS.safetensors
      ids and segments alone, of more texts.
  make_minilm.py compare MODEL_DIRECTORY DUMP
      every weight and every hidden state in DUMP against Transformers, live.
      DUMP is what build/test/bin/dump_model wrote for INPUTS, or an .npz of
      `regard map --all` (attention only).
"""
import sys

import numpy
import safetensors.numpy
import tokenizers
import torch
import transformers

LONG = (
    "Attention lets every word of a sentence look at every other word, and the "
    "weights say how much of each it takes. A head may follow the grammar, "
    "another one the order of the words, a third one nothing that people have "
    "a name for. Whoever wants to know has to look at many sentences, not at "
    "one, and has to ask what the weights carry: a large weight on a small "
    "vector moves nothing. ")

# One entry: first text, second text or None, tokens to keep (the template's
# included) or None.
TEXTS = [
    ("Hi", None, None),
    ("The animal didn't cross the street because it was too tired.", None,
     None),
    ("Who wrote it?", "It was written by a friend of mine.", None),
    ("Zwölf Boxkämpfer jagen Viktor quer über den großen Sylter Deich; "
     "東京 and 100,000 others.", None, None),
    (LONG[:150], LONG[150:320], None),
    (LONG * 2, None, 128),
    (LONG * 2, LONG * 3, 300),
    (LONG * 5, LONG * 5, 512),
]
# Compared live only: their golden would be too large or add little.
MORE_TEXTS = [
    (LONG * 9, None, 512),
    ("", None, None),
    ("buffalo " * 40, None, None),
    ("The animal didn't cross the street because it was too wide.", None,
     None),
]
FULL_UP_TO = 16  # tokens
SUMS = 4


def encode(directory, text, pair, limit):
    """Ids and segments; a longer text loses the end of its last part."""
    tokenizer = tokenizers.Tokenizer.from_file(f"{directory}/tokenizer.json")
    tokenizer.no_truncation()
    tokenizer.no_padding()
    if limit is not None:
        tokenizer.enable_truncation(limit)
    encoding = tokenizer.encode(text, pair)
    return (numpy.array(encoding.ids, dtype=numpy.int64),
            numpy.array(encoding.type_ids, dtype=numpy.int64))


def load_model(directory):
    return transformers.BertModel.from_pretrained(
        directory, attn_implementation="eager", dtype=torch.float32).eval()


def run(model, ids, segments):
    """Attention [layers, heads, L, L] and hidden states [layers + 1, L, H]."""
    with torch.no_grad():
        out = model(input_ids=torch.tensor(ids)[None],
                    token_type_ids=torch.tensor(segments)[None],
                    attention_mask=torch.ones(1, len(ids), dtype=torch.long),
                    output_attentions=True, output_hidden_states=True)
    return (torch.stack(out.attentions)[:, 0].numpy(),
            torch.stack(out.hidden_states)[:, 0].numpy())


def make(directory, output):
    model = load_model(directory)
    generator = numpy.random.default_rng(7)

    def signs(*shape):
        return generator.choice([-1.0, 1.0], shape).astype(numpy.float32)

    tensors = {"attention_signs": signs(512),
               "hidden_signs": signs(model.config.hidden_size, SUMS)}
    for i, (text, pair, limit) in enumerate(TEXTS):
        ids, segments = encode(directory, text, pair, limit)
        attention, hidden = run(model, ids, segments)
        tensors[f"{i}.ids"], tensors[f"{i}.segments"] = ids, segments
        if len(ids) <= FULL_UP_TO:
            tensors[f"{i}.attention"] = attention
        else:
            signed = attention.astype(numpy.float64) @ tensors[
                "attention_signs"][:len(ids)].astype(numpy.float64)
            tensors[f"{i}.attention_sums"] = signed.astype(numpy.float32)
        sums = hidden.astype(numpy.float64) @ tensors["hidden_signs"]
        tensors[f"{i}.hidden_sums"] = sums.astype(numpy.float32)
        tensors[f"{i}.hidden_max"] = numpy.abs(hidden).max(axis=(1, 2))
    safetensors.numpy.save_file(
        {name: numpy.ascontiguousarray(t) for name, t in tensors.items()},
        output, metadata={"transformers": transformers.__version__,
                          "torch": torch.__version__,
                          "tokenizers": tokenizers.__version__,
                          "script": "tests/golden/make_minilm.py"})


def inputs(directory, output):
    tensors = {}
    for i, entry in enumerate(TEXTS + MORE_TEXTS):
        ids, segments = encode(directory, *entry)
        tensors[f"{i}.ids"], tensors[f"{i}.segments"] = ids, segments
    safetensors.numpy.save_file(tensors, output)


def dumped(path):
    """(name, ids, segments, attention, hidden or None) for every text."""
    if path.endswith(".npz"):
        with numpy.load(path) as archive:
            yield (path, archive["ids"], archive["segments"],
                   archive["attention"], None)
        return
    tensors = safetensors.numpy.load_file(path)
    count = sum(name.endswith(".ids") for name in tensors)
    for i in range(count):
        yield (f"text {i}", tensors[f"{i}.ids"], tensors[f"{i}.segments"],
               tensors[f"{i}.attention"], tensors[f"{i}.hidden"])


def compare(directory, path):
    model = load_model(directory)
    worst_weight = worst_hidden = 0.0
    for name, ids, segments, attention, hidden in dumped(path):
        wanted_attention, wanted_hidden = run(model, ids, segments)
        assert attention.shape == wanted_attention.shape, attention.shape
        weight = numpy.abs(attention - wanted_attention).max()
        line = f"{name}: {len(ids)} tokens, weights {weight:.2e}"
        worst_weight = max(worst_weight, weight)
        if hidden is not None:
            assert hidden.shape == wanted_hidden.shape, hidden.shape
            error = (numpy.abs(hidden - wanted_hidden).max(axis=(1, 2)) /
                     numpy.abs(wanted_hidden).max(axis=(1, 2))).max()
            line += f", hidden states {error:.2e} of the largest entry"
            worst_hidden = max(worst_hidden, error)
        print(line)
    print(f"largest: weights {worst_weight:.2e}, hidden {worst_hidden:.2e}")
    # "not <=" so that a NaN fails too.
    if not worst_weight <= 1e-5 or not worst_hidden <= 1e-4:
        sys.exit("too far from Transformers")


if __name__ == "__main__":
    {"make": make, "inputs": inputs, "compare": compare}[sys.argv[1]](
        *sys.argv[2:])

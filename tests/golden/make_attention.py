#!/usr/bin/env python3
"""Attention by PyTorch in float64, masks and sinks by Transformers, for
attention_golden_test.

Inputs are made from integers by the same rule as in the test, so that only the
outputs are stored. Usage: make_attention.py [OUTPUT_FOLDER]
Made with PyTorch 2.15.0 (CPU) and Transformers 5.24.0; the format is one line per number, row-major.
"""
import pathlib
import sys

import torch
from transformers import masking_utils
from transformers.models.bloom.modeling_bloom import build_alibi_tensor
from transformers.models.gpt_oss.modeling_gpt_oss import eager_attention_forward


def made(shape, seed):
    """The test's rule: ((i * 7919 + seed * 104729) mod 1009) / 256 - 2."""
    count = 1
    for size in shape:
        count *= size
    i = torch.arange(count, dtype=torch.int64)
    values = ((i * 7919 + seed * 104729) % 1009).to(torch.float64) / 256 - 2
    return values.reshape(shape)


def attention(q, k, v, bias=None, scale=None, softcap=None):
    group = q.shape[1] // k.shape[1]
    k, v = (x.repeat_interleave(group, dim=1) for x in (k, v))
    scores = q @ k.transpose(2, 3) * (scale or q.shape[3] ** -0.5)
    if softcap is not None:
        scores = softcap * torch.tanh(scores / softcap)
    if bias is not None:
        scores = scores + bias
    lse = torch.logsumexp(scores, dim=-1)
    return torch.softmax(scores, dim=-1) @ v, lse


def hidden_by(function, queries, keys, offset):
    """A mask function of Transformers as a bias."""
    zero = torch.tensor(0)
    i = torch.arange(queries)[:, None] + offset
    allowed = function(zero, zero, i, torch.arange(keys)[None])
    bias = torch.zeros(queries, keys, dtype=torch.float64)
    return bias.masked_fill_(~allowed, -torch.inf)[None, None]


def write_half(folder, dtype, name):
    """Inputs rounded to 16 bits: the truth, then the largest error of PyTorch's
    own evaluation in that type (matmul, softmax, matmul)."""
    q, k, v = (made(shape, seed).to(dtype)
               for shape, seed in (((1, 2, 30, 24), 20), ((1, 1, 200, 24), 21),
                                   ((1, 1, 200, 20), 22)))
    # Rounded once is all that PyTorch and the test have in common.
    out, lse = attention(q.double(), k.double(), v.double())
    scores = (q @ k.repeat_interleave(2, dim=1).transpose(2, 3)) * 24 ** -0.5
    own = torch.softmax(scores, dim=-1) @ v.repeat_interleave(2, dim=1)
    assert own.dtype == dtype
    write(folder, name, out, lse)
    with open(f"{folder}/{name}.txt", "a") as file:
        file.write(f"{(own.double() - out).abs().max().item()!r}\n")


def write(folder, name, out, lse):
    with open(f"{folder}/{name}.txt", "w") as file:
        for value in torch.cat([out.flatten(), lse.flatten()]).tolist():
            file.write(f"{value!r}\n")


def main(folder):
    torch.set_grad_enabled(False)
    # full, two batch entries, Dv other than D
    q, k, v = made((2, 2, 5, 7), 1), made((2, 2, 9, 7), 2), made((2, 2, 9, 3), 3)
    write(folder, "full", *attention(q, k, v))
    # causal to the bottom right, two query heads per kv head
    q, k, v = made((1, 4, 6, 8), 4), made((1, 2, 10, 8), 5), made((1, 2, 10, 8), 6)
    allowed = torch.ones(6, 10, dtype=torch.bool).tril(4)
    hidden = torch.zeros(6, 10, dtype=torch.float64)
    hidden.masked_fill_(~allowed, -torch.inf)
    write(folder, "causal", *attention(q, k, v, bias=hidden))
    # torch's own attention agrees with the definition above
    same = torch.nn.functional.scaled_dot_product_attention(
        q, k, v, attn_mask=allowed, enable_gqa=True)
    assert (same - attention(q, k, v, bias=hidden)[0]).abs().max() < 1e-13
    # 16-bit types
    write_half(folder, torch.bfloat16, "bf16")
    write_half(folder, torch.float16, "f16")
    # softcap, bias per head, scale
    bias = made((1, 4, 1, 10), 7)
    write(folder, "softcap",
          *attention(q, k, v, bias=bias, scale=0.75, softcap=3.0))
    # masks of Transformers: 6 queries at 600 and on of 700 keys, more than a block
    queries, keys, offset = 6, 700, 600
    q, k, v = (made((1, 4, queries, 8), 8), made((1, 2, keys, 8), 9),
               made((1, 2, keys, 2), 10))
    causal = masking_utils.causal_mask_function
    ids = torch.arange(keys)[None] // 70
    functions = {
        "window": masking_utils.sliding_window_causal_mask_function(130),
        "both_ways": masking_utils.sliding_window_bidirectional_mask_function(150),
        "chunk": masking_utils.chunked_causal_mask_function(
            128, torch.zeros(1, dtype=torch.int64)),
        "documents": masking_utils.and_masks(
            causal, masking_utils.packed_sequence_mask_function(ids)),
        "prefix": masking_utils.or_masks(
            causal, lambda batch, head, i, j: j < 650),
    }
    for name, function in functions.items():
        bias = hidden_by(function, queries, keys, offset)
        write(folder, name, *attention(q, k, v, bias=bias))
    # ALiBi of BLOOM, 6 heads: its bias is ours plus slope * position of the query
    q, k, v = made((1, 6, 6, 8), 11), made((1, 6, 700, 8), 12), made((1, 6, 700, 2), 13)
    alibi = build_alibi_tensor(torch.ones(1, keys), 6, torch.float64)[None]
    positions = torch.arange(queries, dtype=torch.float64)[:, None] + offset
    bias = (hidden_by(causal, queries, keys, offset) + alibi
            - alibi[..., 1:2] * positions)
    write(folder, "alibi", *attention(q, k, v, bias=bias))
    # learned sinks of gpt-oss; its own attention gives out, ours the LSE without
    bias = hidden_by(causal, queries, keys, offset)
    module = torch.nn.Module()
    module.sinks, module.num_key_value_groups = made((6,), 14) * 3, 1
    out = eager_attention_forward(module, q, k, v, bias, 8 ** -0.5)[0]
    write(folder, "sink", out.transpose(1, 2), attention(q, k, v, bias=bias)[1])


if __name__ == "__main__":
    here = pathlib.Path(__file__).resolve().parent
    main(sys.argv[1] if len(sys.argv) > 1 else here / "attention")

#!/usr/bin/env python3
"""Weights, inputs and outputs of PyTorch modules, for src/nn/golden_test.cc and
examples/self_attention.cc.

Usage: make_modules.py OUTPUT_DIRECTORY

Every file holds one module: its parameters under our names, "x" (and what else
goes in), and what PyTorch answers. Fixed seed, f32, evaluation mode; versions
are in the metadata. One file: the two forms of SelfAttention are given without
their weights being stored anywhere else.
"""
import pathlib
import sys

import torch
from safetensors.torch import save_file

ATOL_NOTE = "outputs are f32; compare within 1e-6"


class SingleHead(torch.nn.Module):
    """softmax(Q K^T / sqrt(d_k)) V from three (or four) torch.nn.Linear."""

    def __init__(self, d_model, d_k, bias, out_proj):
        super().__init__()
        self.q_proj = torch.nn.Linear(d_model, d_k, bias=bias)
        self.k_proj = torch.nn.Linear(d_model, d_k, bias=bias)
        self.v_proj = torch.nn.Linear(d_model, d_k, bias=bias)
        self.out_proj = torch.nn.Linear(d_k, d_k) if out_proj else None

    def forward(self, x, mask=None):
        q, k, v = self.q_proj(x), self.k_proj(x), self.v_proj(x)
        scores = q @ k.transpose(-2, -1) / q.shape[-1] ** 0.5
        if mask is not None:
            scores = scores.masked_fill(~mask, float("-inf"))
        weights = scores.softmax(dim=-1)
        out = weights @ v
        return (self.out_proj(out) if self.out_proj else out), weights


def parameters(module, prefix=""):
    return {prefix + k: v.detach().clone() for k, v in
            module.named_parameters()}


def randomise(module):
    """Also the biases and gains that PyTorch starts at 0 and 1."""
    with torch.no_grad():
        for name, parameter in module.named_parameters():
            if parameter.dim() == 1:
                base = 1.0 if "norm" in name and "weight" in name else 0.0
                parameter.copy_(base + 0.1 * torch.randn_like(parameter))
    return module


def self_attention_files(save):
    for name, module, shape in [
            ("self_attention_projection", SingleHead(48, 12, False, False),
             (2, 6, 48)),
            ("self_attention_embedding", SingleHead(16, 16, True, True),
             (3, 5, 16))]:
        x = torch.randn(shape)
        out, weights = module(x)
        length = shape[1]
        causal = torch.tril(torch.ones(length, length, dtype=torch.bool))
        causal_out, causal_weights = module(x, causal)
        padding = torch.ones(shape[0], 1, length, dtype=torch.bool)
        padding[0, 0, -2:] = False
        padded_out, padded_weights = module(x, padding)
        save(name, parameters(module), x=x, out=out, weights=weights,
             causal_out=causal_out, causal_weights=causal_weights,
             padding=padding, padded_out=padded_out,
             padded_weights=padded_weights)


def split_in_proj(module):
    """torch.nn.MultiheadAttention packs q, k, v in one [3E, E] matrix."""
    q, k, v = module.in_proj_weight.detach().clone().chunk(3)
    qb, kb, vb = module.in_proj_bias.detach().clone().chunk(3)
    return {"q_proj.weight": q, "q_proj.bias": qb, "k_proj.weight": k,
            "k_proj.bias": kb, "v_proj.weight": v, "v_proj.bias": vb,
            "out_proj.weight": module.out_proj.weight.detach().clone(),
            "out_proj.bias": module.out_proj.bias.detach().clone()}


def multi_head_file(save):
    module = torch.nn.MultiheadAttention(24, 4, batch_first=True).eval()
    randomise(module)
    x, context = torch.randn(2, 7, 24), torch.randn(2, 5, 24)
    out, weights = module(x, x, x, average_attn_weights=False)
    cross, cross_weights = module(x, context, context,
                                  average_attn_weights=False)
    save("multi_head_attention", split_in_proj(module), x=x, context=context,
         out=out, weights=weights, cross=cross, cross_weights=cross_weights)


def encoder_layer_file(save):
    layer = torch.nn.TransformerEncoderLayer(
        24, 4, 40, dropout=0.0, activation="gelu", layer_norm_eps=1e-12,
        batch_first=True).eval()
    randomise(layer)
    x = torch.randn(2, 9, 24)
    named = {"attention." + k: v for k, v in
             split_in_proj(layer.self_attn).items()}
    named |= parameters(layer.norm1, "norm1.")
    named |= parameters(layer.linear1, "feed_forward.up.")
    named |= parameters(layer.linear2, "feed_forward.down.")
    named |= parameters(layer.norm2, "norm2.")
    # With gradients on, PyTorch takes its plain path, not the fused one.
    save("encoder_layer", named, x=x, out=layer(x))


def small_files(save):
    linear = torch.nn.Linear(37, 101)
    x = torch.randn(3, 19, 37)
    save("linear", parameters(linear), x=x, out=linear(x))
    norm = torch.nn.LayerNorm(53, eps=1e-5)
    randomise(norm)
    with torch.no_grad():
        norm.weight += 1.0
    x = torch.randn(4, 6, 53) * torch.tensor([1e-3, 1.0, 30.0, 1.0])[
        :, None, None]
    x[3] += 1000.0
    save("layer_norm", parameters(norm), x=x, out=norm(x),
         out64=norm.double()(x.double()))
    x = torch.cat([torch.linspace(-12, 12, 1001), torch.tensor(
        [0.0, -0.0, 1e-30, -1e-30, 40.0, -40.0])])
    save("gelu", {}, x=x, out=torch.nn.functional.gelu(x),
         out64=torch.nn.functional.gelu(x.double()))


def main():
    directory = pathlib.Path(sys.argv[1])
    directory.mkdir(parents=True, exist_ok=True)
    torch.manual_seed(20240607)

    def save(name, named, **arrays):
        tensors = {k: v.detach().contiguous() for k, v in
                   {**named, **arrays}.items()}
        save_file(tensors, directory / f"{name}.safetensors",
                  metadata={"torch": torch.__version__,
                            "script": "tests/golden/make_modules.py"})

    self_attention_files(save)
    multi_head_file(save)
    encoder_layer_file(save)
    small_files(save)


if __name__ == "__main__":
    main()

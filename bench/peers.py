#!/usr/bin/env python3
"""The same attention by Regard, PyTorch and ONNX Runtime, side by side.

Run by `./dev bench --peers`, which installs bench/peers.txt. Each row runs in
one process on the same memory, in turns, A B A B; the ratio is the median over
the runs of (their time / our time), so that below 1 we are behind, which the
table says. Every peer has its best settings: the number of threads of the row,
warm, outputs in place where it can, the fastest of its back ends.
"""
import argparse
import contextlib
import ctypes
import dataclasses
import json
import os
import statistics
import sys
import time

import numpy
import onnx
import onnxruntime
import torch
from torch.nn.attention import SDPBackend, sdpa_kernel

WINDOW = 256
TYPES = {"f32": torch.float32, "f64": torch.float64, "bf16": torch.bfloat16,
         "f16": torch.float16}
# regard_c.h
CODES = {torch.float16: 5, torch.bfloat16: 6, torch.float32: 9,
         torch.float64: 12, torch.bool: 0}
BOTTOM_RIGHT = 1
# Relative to the largest entry. Larger: the two have not done the same work.
# (16-bit types: a few units of their last place.)
TOLERANCES = {"f32": 1e-4, "f64": 1e-11, "bf16": 3e-2, "f16": 4e-3}


@dataclasses.dataclass(frozen=True)
class Row:
    peer: str
    work: str  # forward, causal, window, mask, bias, decode
    dtype: str = "f32"
    d: int = 64
    lq: int = 2048
    lk: int = 2048
    hq: int = 8
    hkv: int = 8
    threads: int = 1


def table(counts_of_threads):
    """Every row, for each number of threads."""
    def square(work, length, **more):
        return dict(work=work, lq=length, lk=length, **more)

    def decode(lq, **more):
        return dict(work="decode", d=128, lq=lq, lk=16384, hq=32, hkv=8, **more)

    # Sentences: BERT-like sizes, with the heads of small models too.
    short = [square("forward", length, **more)
             for length in (16, 32, 64, 128, 256, 512)
             for more in ({}, dict(d=32, hq=12, hkv=12))]
    short += [square("causal", length) for length in (32, 128, 512)]

    shapes = {
        "torch": [
            square("forward", 2048), square("forward", 2048, d=128),
            square("causal", 2048), square("causal", 2048, d=128),
            *short,
            square("forward", 2048, d=72), square("forward", 2048, d=80),
            square("forward", 2047),
            square("forward", 2048, hq=1, hkv=1),
            square("causal", 2048, hq=32, hkv=8),
            dict(work="forward", lq=32), dict(work="forward", lq=4),
            square("mask", 2048), square("bias", 2048),
            square("window", 4096),
            square("forward", 2048, dtype="bf16"),
            square("causal", 2048, dtype="bf16", d=128),
            square("forward", 2048, dtype="f16"),
            square("forward", 1024, dtype="f64"),
            decode(1), decode(4), decode(32),
            decode(1, dtype="bf16"),
        ],
        "onnxruntime": [
            square("forward", 2048), square("forward", 2048, d=128),
            *short,
            square("forward", 2048, d=72), square("forward", 2048, d=80),
            square("forward", 2047),
            square("forward", 2048, hq=1, hkv=1),
            dict(work="forward", lq=32),
            square("bias", 2048),
            square("causal", 2048), square("causal", 2048, d=128),
            square("causal", 2048, hq=32, hkv=8),
            square("window", 4096),
            decode(1), decode(4), decode(32),
        ],
    }
    return [Row(peer=peer, threads=threads, **shape)
            for peer, of_peer in shapes.items() for shape in of_peer
            for threads in counts_of_threads]


def shrunk(row):
    """For --quick: the same forms at lengths that take no time."""
    if row.lk <= 512:
        return row
    return dataclasses.replace(row, lq=max(1, row.lq // 32),
                               lk=max(2, row.lk // 32))


# ---------------------------------------------------------------- Regard
class RegardTensor(ctypes.Structure):
    _fields_ = [("data", ctypes.c_void_p), ("dtype", ctypes.c_int32),
                ("rank", ctypes.c_int32), ("shape", ctypes.c_int64 * 8),
                ("strides", ctypes.c_int64 * 8)]

    def __init__(self, tensor):
        super().__init__()
        self.data = tensor.data_ptr()
        self.dtype = CODES[tensor.dtype]
        self.rank = tensor.dim()
        for i in range(tensor.dim()):
            self.shape[i] = tensor.shape[i]
            self.strides[i] = tensor.stride(i)


class Regard:
    """The functions of regard_c.h that are needed here."""

    def __init__(self, path):
        self.library = ctypes.CDLL(path)
        for name in ("last_message", "version", "plan_kernel",
                     "plan_instruction_set"):
            getattr(self.library, "regard_" + name).restype = ctypes.c_char_p

    def call(self, name, *arguments):
        status = getattr(self.library, "regard_" + name)(*arguments)
        if status != 0:
            message = self.library.regard_last_message().decode()
            raise RuntimeError(f"regard_{name}: {message}")

    def create(self, kind):
        handle = ctypes.c_void_p()
        self.call(kind + "_create", ctypes.byref(handle))
        return handle

    def version(self):
        return self.library.regard_version().decode()

    def problem(self, row, inputs):
        problem, mask = self.create("problem"), self.create("mask")
        views = [ctypes.byref(RegardTensor(t))
                 for t in (inputs.q, inputs.k, inputs.v)]
        self.call("problem_set_qkv", problem, *views)
        if row.work in ("causal", "window", "decode"):
            self.call("mask_and_causal", mask)
            self.call("problem_set_query_offset", problem, BOTTOM_RIGHT,
                      ctypes.c_int64(0))
        if row.work == "window":
            self.call("mask_and_window", mask, ctypes.c_int64(WINDOW),
                      ctypes.c_int64(-1), ctypes.c_int64(0))
        if row.work == "mask":
            self.call("mask_and_boolean", mask,
                      ctypes.byref(RegardTensor(inputs.extra)))
        if row.work == "bias":
            self.call("problem_set_bias", problem,
                      ctypes.byref(RegardTensor(inputs.extra)))
        self.call("problem_set_mask", problem, mask)
        return problem

    def prepare(self, row, inputs):
        """A function that writes inputs.out, planned once."""
        problem = self.problem(row, inputs)
        options = self.create("options")
        self.call("options_set_threads", options, row.threads)
        plan = ctypes.c_void_p()
        self.call("plan_create", problem, options, ctypes.byref(plan))
        out = ctypes.byref(RegardTensor(inputs.out))
        plan_run = self.library.regard_plan_run  # found once: calls are short

        def run():
            if plan_run(plan, problem, out, None, None) != 0:
                self.call("plan_run", plan, problem, out, None, None)
        return run


# ---------------------------------------------------------------- inputs
@dataclasses.dataclass
class Inputs:
    """q, k, v and out [1, H, L, D], in the layout that the peer prefers."""
    q: torch.Tensor
    k: torch.Tensor
    v: torch.Tensor
    out: torch.Tensor
    extra: torch.Tensor = None  # mask (bool) or bias, [Lq, L]

    @staticmethod
    def of(row):
        generator = torch.Generator().manual_seed(1)

        def noise(heads, length, tokens_first):
            shape = ((1, length, heads, row.d) if tokens_first
                     else (1, heads, length, row.d))
            values = torch.randn(shape, generator=generator)
            values = values.to(TYPES[row.dtype])
            return values.transpose(1, 2) if tokens_first else values
        # ONNX Runtime takes [B, L, H * D]; a cache of keys [B, H, L, D].
        of_onnx = row.peer == "onnxruntime"
        keys_first = of_onnx and row.work != "decode"
        inputs = Inputs(noise(row.hq, row.lq, of_onnx),
                        noise(row.hkv, row.lk, keys_first),
                        noise(row.hkv, row.lk, keys_first), None)
        inputs.out = torch.empty_like(inputs.q)
        if row.work == "mask":
            inputs.extra = torch.rand(
                (row.lq, row.lk), generator=generator) < 7 / 8
        elif row.work == "bias":
            inputs.extra = torch.randn((row.lq, row.lk), generator=generator)
        return inputs


# ---------------------------------------------------------------- PyTorch
def visible_by_position(row):
    """[Lq, L] bool: causal with the last query at the last key, windowed."""
    position = torch.arange(row.lq)[:, None] + (row.lk - row.lq)
    key = torch.arange(row.lk)[None, :]
    visible = key <= position
    if row.work == "window":
        visible &= position - key < WINDOW
    return visible


def torch_mask(row, inputs):
    if row.work in ("mask", "bias"):
        return inputs.extra
    if row.work == "window" or (row.work == "decode" and row.lq > 1):
        return visible_by_position(row)
    return None


def prepare_torch(row, inputs, stack):
    """(run, its output, how); the faster back end."""
    torch.set_num_threads(row.threads)
    mask = torch_mask(row, inputs)

    def run():
        return torch.nn.functional.scaled_dot_product_attention(
            inputs.q, inputs.k, inputs.v, attn_mask=mask,
            is_causal=row.work == "causal", enable_gqa=row.hq != row.hkv)
    times = {}
    for backend in (SDPBackend.FLASH_ATTENTION, SDPBackend.MATH):
        with sdpa_kernel(backend), contextlib.suppress(RuntimeError):
            run()
            times[backend] = min(seconds(run, 1, clock_of(row))
                                 for _ in range(2))
    best = min(times, key=times.get)
    stack.enter_context(sdpa_kernel(best))
    how = "flash" if best == SDPBackend.FLASH_ATTENTION else "math"
    return run, run(), how


# ---------------------------------------------------------------- ONNX Runtime
def onnx_model(operator, inputs, outputs, attributes):
    node = onnx.helper.make_node(operator, inputs, outputs,
                                 domain="com.microsoft", **attributes)

    def value(name):
        integer = name in ("seqlens_k", "total_sequence_length")
        kind = (onnx.TensorProto.INT32 if integer else onnx.TensorProto.FLOAT)
        return onnx.helper.make_tensor_value_info(name, kind, None)
    graph = onnx.helper.make_graph(
        [node], "attention", [value(name) for name in inputs if name],
        [value(name) for name in outputs])
    versions = [onnx.helper.make_opsetid("", 17),
                onnx.helper.make_opsetid("com.microsoft", 1)]
    return onnx.helper.make_model(graph, opset_imports=versions, ir_version=8)


def onnx_session(model, threads):
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.log_severity_level = 3
    return onnxruntime.InferenceSession(model.SerializeToString(), options,
                                        providers=["CPUExecutionProvider"])


class Binding:
    """Inputs and outputs of a session, in place."""

    def __init__(self, session):
        self.session, self.binding = session, session.io_binding()
        self.kept = []

    def add(self, bind, name, array, shape):
        self.kept.append(array)
        bind(name, "cpu", 0, array.dtype, shape, array.ctypes.data)

    def input(self, name, array, shape=None):
        self.add(self.binding.bind_input, name, array, shape or array.shape)

    def output(self, name, array, shape=None):
        self.add(self.binding.bind_output, name, array, shape or array.shape)

    def run(self):
        self.session.run_with_iobinding(self.binding)


def tokens_first(tensor):
    """[1, H, L, D] with tokens outside in memory, as numpy [1, L, H * D]."""
    array = tensor.transpose(1, 2).numpy()
    return array.reshape(1, array.shape[1], -1)


def prepare_multi_head(row, inputs):
    names = ["q", "k", "v"]
    if row.work == "bias":
        names += ["", "", "bias"]
    model = onnx_model("MultiHeadAttention", names, ["out"],
                       {"num_heads": row.hq})
    binding = Binding(onnx_session(model, row.threads))
    for name, tensor in zip("qkv", (inputs.q, inputs.k, inputs.v)):
        binding.input(name, tokens_first(tensor))
    if row.work == "bias":
        binding.input("bias", inputs.extra.numpy()[None, None])
    return binding


def prepare_group_query(row, inputs):
    """Causal. With a cache that has all keys but the last Lq, and room."""
    attributes = {"num_heads": row.hq, "kv_num_heads": row.hkv}
    if row.work == "window":
        attributes["local_window_size"] = WINDOW
    cached = row.work == "decode"
    names = ["q", "k", "v", "past_k" if cached else "",
             "past_v" if cached else "", "seqlens_k", "total_sequence_length"]
    model = onnx_model("GroupQueryAttention", names,
                       ["out", "present_k", "present_v"], attributes)
    binding = Binding(onnx_session(model, row.threads))
    binding.input("q", tokens_first(inputs.q))
    for name, tensor in (("k", inputs.k), ("v", inputs.v)):
        if cached:
            new = tensor[:, :, -row.lq:].transpose(1, 2).contiguous()
            binding.input(name, tokens_first(new.transpose(1, 2)))
            binding.input("past_" + name, tensor.numpy())
            binding.output("present_" + name, tensor.numpy())
        else:
            binding.input(name, tokens_first(tensor))
            binding.output("present_" + name, numpy.empty(
                (1, row.hkv, row.lk, row.d), numpy.float32))
    binding.input("seqlens_k", numpy.array([row.lk - 1], numpy.int32))
    binding.input("total_sequence_length", numpy.array(row.lk, numpy.int32),
                  [])
    return binding


def prepare_onnx(row, inputs, _):
    multi_head = row.work in ("forward", "bias")
    prepare = prepare_multi_head if multi_head else prepare_group_query
    binding = prepare(row, inputs)
    out = torch.empty_like(inputs.q)
    binding.output("out", tokens_first(out))
    binding.run()
    return binding.run, out, "MHA" if multi_head else "GQA"


PREPARE = {"torch": prepare_torch, "onnxruntime": prepare_onnx}


# ---------------------------------------------------------------- measuring
def clock_of(row):
    """One thread: processor time, which other programs don't change."""
    return time.process_time if row.threads == 1 else time.perf_counter


def seconds(run, repeats, clock):
    start = clock()
    for _ in range(repeats):
        run()
    return (clock() - start) / repeats


def repeats_for(run, least, clock):
    run()
    return max(1, min(10000, int(least / max(seconds(run, 1, clock), 1e-7)) + 1))


# Threads of all three spin for a while after their work, those of ONNX Runtime
# for longer than 20 ms; the other's turn begins when they sleep.
PAUSE_OF_ONE, PAUSE_OF_SEVERAL = 0.02, 0.2


def in_turns(ours, theirs, settings, clock, pause):
    """Seconds of ours and of theirs, one pair a run."""
    repeats = [repeats_for(run, settings.least, clock) for run in (ours, theirs)]
    pairs, begin = [], time.perf_counter()
    while True:
        pair = []
        for run, count in zip((ours, theirs), repeats):
            time.sleep(pause)
            pair.append(seconds(run, count, clock))
        pairs.append(pair)
        done = len(pairs) >= settings.runs
        if done and time.perf_counter() - begin > settings.enough:
            return pairs


def difference(out, other):
    out, other = out.double(), other.double()
    return ((out - other).abs().max() / other.abs().max()).item()


def measure(row, regard, settings):
    with contextlib.ExitStack() as stack:
        inputs = Inputs.of(row)
        ours = regard.prepare(row, inputs)
        theirs, out, what = PREPARE[row.peer](row, inputs, stack)
        ours()
        differs = difference(inputs.out, out)
        pause = PAUSE_OF_ONE if row.threads == 1 else PAUSE_OF_SEVERAL
        pairs = in_turns(ours, theirs, settings, clock_of(row), pause)
    ratio = statistics.median(b / a for a, b in pairs)
    return {"peer": row.peer, "how": what, "work": row.work,
            "dtype": row.dtype, "D": row.d, "L": row.lk, "Lq": row.lq,
            "Hq": row.hq, "Hkv": row.hkv, "threads": row.threads,
            "ratio": round(ratio, 4), "behind": ratio < 1,
            "milliseconds": statistics.median(a for a, _ in pairs) * 1e3,
            "peer_milliseconds": statistics.median(b for _, b in pairs) * 1e3,
            "runs": len(pairs), "difference": differs,
            "agrees": differs <= TOLERANCES[row.dtype]}


# ---------------------------------------------------------------- reporting
COLUMNS = "{:<7} {:<4} {:>3} {:>9} {:>5} {:>3} {:<5} {:>7} {:>7} {:>6} {:>6}"


def head():
    return COLUMNS.format("work", "type", "D", "L", "heads", "thr", "how",
                          "ours ms", "peer ms", "ratio", "differ")


def line(result):
    square = result["Lq"] == result["L"]
    same = result["Hq"] == result["Hkv"]
    text = COLUMNS.format(
        result["work"], result["dtype"], result["D"],
        result["L"] if square else f'{result["Lq"]} x {result["L"]}',
        result["Hq"] if same else f'{result["Hq"]}/{result["Hkv"]}',
        result["threads"], result["how"],
        f'{result["milliseconds"]:.3g}', f'{result["peer_milliseconds"]:.3g}',
        f'{result["ratio"]:.2f}', f'{result["difference"]:.0e}')
    if result["behind"]:
        text += " behind"
    return text if result["agrees"] else text + " NOT THE SAME RESULT"


def summary(results):
    behind = sum(result["behind"] for result in results)
    wrong = sum(not result["agrees"] for result in results)
    text = ("ratio: their time / our time, median of pairs (below 1 we are "
            "behind);\ndiffer: largest difference / largest entry.\n"
            f"Regard is behind on {behind} of {len(results)} rows.")
    if wrong > 0:
        text += f"\n{wrong} rows differ in what they compute."
    return text


def versions(regard):
    return {"regard": regard.version(), "torch": torch.__version__,
            "onnxruntime": onnxruntime.__version__,
            "numpy": numpy.__version__, "onnx": onnx.__version__}


@dataclasses.dataclass
class Settings:
    runs: int
    least: float  # seconds of one timed piece
    enough: float  # seconds of one row


def arguments():
    parser = argparse.ArgumentParser(
        prog="./dev bench --peers", description=__doc__.splitlines()[0])
    parser.add_argument("--library", required=True, help=argparse.SUPPRESS)
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.add_argument("--peer", choices=sorted(PREPARE), help="only this one")
    parser.add_argument("--work", help="only this work")
    parser.add_argument("--threads", type=int,
                        help="this number only (default: 1 and all cores)")
    parser.add_argument("--runs", type=int, default=5,
                        help="at least so many pairs a row (default: 5)")
    parser.add_argument("--quick", action="store_true",
                        help="one run at small lengths: shows that all works")
    return parser.parse_args()


def main():
    options = arguments()
    torch.set_grad_enabled(False)
    regard = Regard(options.library)
    counts = sorted({1, len(os.sched_getaffinity(0))})
    rows = [row for row in table([options.threads] if options.threads else counts)
            if options.peer in (None, row.peer)
            and options.work in (None, row.work)]
    if not rows:
        sys.exit(f"peers: no row has the work '{options.work}'")
    settings = Settings(options.runs, 0.01, 1.5)
    if options.quick:
        rows = [shrunk(row) for row in rows]
        settings = Settings(1, 0, 0)
    results, shown = [], None
    for row in rows:
        results.append(measure(row, regard, settings))
        if options.json:
            continue
        if row.peer != shown:
            shown = row.peer
            print(f"\n{shown} {versions(regard)[shown]}\n{head()}")
        print(line(results[-1]), flush=True)
    if options.json:
        print(json.dumps({"versions": versions(regard), "rows": results}))
    else:
        print("\n" + summary(results))
    sys.exit(0 if all(result["agrees"] for result in results) else 1)


if __name__ == "__main__":
    main()

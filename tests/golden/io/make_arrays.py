#!/usr/bin/env python3
"""Writes the .npz files that src/io/arrays_test.cc reads and compares with.

Usage: make_arrays.py FOLDER        (made with numpy 2.4.6)
"""
import io
import pathlib
import sys
import zipfile

import numpy as np

TYPES = ["b1", "u1", "i1", "u2", "i2", "f2", "u4", "i4", "f4", "u8", "i8", "f8"]


def npy(array, **options):
    out = io.BytesIO()
    np.lib.format.write_array(out, array, **options)
    return out.getvalue()


def good_arrays():
    """name -> bytes; all hold 0, 1, 2, ... in row-major order."""
    for name in TYPES:
        for order in "<>":
            array = np.arange(6).reshape(2, 3).astype(order + name)
            yield f"{name}_{'little' if order == '<' else 'big'}_c", npy(array)
            yield (f"{name}_{'little' if order == '<' else 'big'}_fortran",
                   npy(np.asfortranarray(array)))
    numbers = np.arange(24, dtype="<f4")
    yield "rank0", npy(np.array(0, dtype="<f4"))
    yield "rank1", npy(numbers[:3])
    yield "rank4", npy(numbers.reshape(1, 2, 3, 4))
    yield "rank4_fortran", npy(np.asfortranarray(numbers.reshape(1, 2, 3, 4)))
    yield "empty", npy(numbers[:0].reshape(2, 0))
    yield "version2", npy(numbers[:3], version=(2, 0))
    yield "version3", npy(numbers[:3], version=(3, 0))
    # A long header, with less padding.
    yield "wide", npy(np.zeros((1234567890, 0, 1234567890), dtype="<f4"))
    yield "text", npy(np.array(["a", "zwei\u00e9", "\U0001f600"]))
    yield "text0", npy(np.array(""))


def bad_arrays():
    """Types that have no counterpart."""
    yield "object", npy(np.array([1, "a"], dtype=object), allow_pickle=True)
    yield "complex", npy(np.zeros(2, dtype="c8"))
    yield "record", npy(np.zeros(2, dtype=[("x", "<f4"), ("y", "<i2")]))
    yield "raw", npy(np.zeros(2, dtype="V2"))
    yield "bytes", npy(np.zeros(2, dtype="S3"))
    yield "unicode", npy(np.zeros(2, dtype="<U3"))
    yield "date", npy(np.zeros(2, dtype="M8[D]"))
    yield "long_double", npy(np.zeros(2, dtype="longdouble"))


def write(path, members, method):
    with zipfile.ZipFile(path, "w", method) as archive:
        for name, data in members:
            info = zipfile.ZipInfo(name + ".npy")  # without a date
            info.compress_type = method
            # As numpy.savez does.
            with archive.open(info, "w", force_zip64=True) as out:
                out.write(data)


def main():
    folder = pathlib.Path(sys.argv[1])
    write(folder / "stored.npz", good_arrays(), zipfile.ZIP_STORED)
    write(folder / "deflated.npz", good_arrays(), zipfile.ZIP_DEFLATED)
    write(folder / "bad_types.npz", bad_arrays(), zipfile.ZIP_DEFLATED)


if __name__ == "__main__":
    main()

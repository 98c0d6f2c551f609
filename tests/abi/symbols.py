#!/usr/bin/env python3
"""Compares the functions that regard_c.h declares with those of a C program
that it has to call, and with those that a shared library exports.

Usage: symbols.py calls HEADER PROGRAM.c
       symbols.py exports HEADER LIBRARY.so
       symbols.py needs LIBRARY.so
The last lists the libraries that come with it: none that has threads of its
own (OpenMP), which a host may have another one of.
"""
import pathlib
import re
import subprocess
import sys


def without_comments(path):
    text = pathlib.Path(path).read_text(encoding="utf-8")
    return re.sub(r"/\*.*?\*/", "", text, flags=re.S)


def declared(header):
    text = without_comments(header)
    names = re.findall(r"^REGARD_API\b[^;(]*?\b(regard_\w+)\(", text, re.M)
    # A declaration without REGARD_API would not be exported.
    functions = re.findall(r"^[\w ]*?[ *](regard_\w+)\(", text, re.M)
    bare = set(functions) - set(names)
    if not names or bare:
        sys.exit(f"{header}: declared without REGARD_API: {sorted(bare)}")
    return set(names)


def called(program):
    return set(re.findall(r"\b(regard_\w+)\(", without_comments(program)))


def exported(library):
    lines = subprocess.run(
        ["nm", "-D", "--defined-only", library],
        check=True, capture_output=True, text=True,
    ).stdout.splitlines()
    return {line.split()[-1] for line in lines}


# C and C++ themselves, and Highway.
ALLOWED = r"lib(c|m|gcc_s|stdc\+\+|hwy|[a-z]*san|pthread|dl|rt)\.so.*|ld-linux.*"


def needed(library):
    text = subprocess.run(["readelf", "-d", library], check=True,
                          capture_output=True, text=True).stdout
    return re.findall(r"\(NEEDED\).*\[(.*)\]", text)


def check_needs(library):
    names = needed(library)
    wrong = [name for name in names if not re.fullmatch(ALLOWED, name)]
    for name in wrong:
        print(f"{library}: needs {name}")
    sys.exit(1 if wrong or not names else 0)


def main():
    if sys.argv[1] == "needs":
        check_needs(sys.argv[2])
    question, header, other = sys.argv[1:]
    wanted = declared(header)
    found = {"calls": called, "exports": exported}[question](other)
    missing = wanted - found
    extra = found - wanted if question == "exports" else set()
    for name in sorted(missing):
        print(f"{other}: {name} is missing")
    for name in sorted(extra):
        print(f"{other}: {name} is too much")
    sys.exit(1 if missing or extra else 0)


if __name__ == "__main__":
    main()

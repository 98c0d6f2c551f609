#!/usr/bin/env python3
"""Writes each fenced code block of a language in README.md to a file.

Usage: extract.py README.md LANGUAGE OUT_PREFIX SUFFIX
Prints the files written, one a line.
"""
import pathlib
import re
import sys


def main():
    readme, language, prefix, suffix = sys.argv[1:]
    text = pathlib.Path(readme).read_text(encoding="utf-8")
    blocks = re.findall(rf"^```{language}\n(.*?)^```$", text, re.M | re.S)
    if not blocks:
        sys.exit(f"{readme} has no {language} block")
    for number, block in enumerate(blocks, 1):
        path = pathlib.Path(f"{prefix}{number}{suffix}")
        if not path.exists() or path.read_text(encoding="utf-8") != block:
            path.write_text(block, encoding="utf-8")
        print(path)


if __name__ == "__main__":
    main()

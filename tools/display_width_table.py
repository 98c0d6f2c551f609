#!/usr/bin/env python3
"""Writes src/base/display_width_table.inc from Python's Unicode data.

Usage: display_width_table.py > src/base/display_width_table.inc
"""
import unicodedata

# Visible although their category is Cf: signs that enclose what follows them.
PREPENDED = {*range(0x600, 0x606), 0x6DD, 0x70F, 0x890, 0x891, 0x8E2, 0x110BD,
             0x110CD}
# Wide also where nothing is assigned yet (UAX #11, section 4).
WIDE_BLOCKS = [(0x3400, 0x4DBF), (0x4E00, 0x9FFF), (0xF900, 0xFAFF),
               (0x20000, 0x2FFFD), (0x30000, 0x3FFFD)]


def is_zero(c):
    # Medial vowels and final consonants of Hangul join the syllable before.
    if 0x1160 <= c <= 0x11FF or 0xD7B0 <= c <= 0xD7FF:
        return True
    category = unicodedata.category(chr(c))
    if category in ("Mn", "Me"):
        return True
    return category == "Cf" and c != 0xAD and c not in PREPENDED


def is_wide(c):
    if any(first <= c <= last for first, last in WIDE_BLOCKS):
        return True
    return unicodedata.east_asian_width(chr(c)) in "WF"


def ranges(test):
    found = []
    for c in range(0x80, 0x110000):
        if not test(c):
            continue
        if found and found[-1][1] == c - 1:
            found[-1][1] = c
        else:
            found.append([c, c])
    return found


def write(name, comment, pairs):
    print(f"// {comment}")
    print(f"constexpr CodePointRange {name}[] = {{")
    line = "   "
    for first, last in pairs:
        item = f" {{0x{first:X}, 0x{last:X}}},"
        if len(line) + len(item) > 80:
            print(line)
            line = "   "
        line += item
    print(line)
    print("};")


print(f"// Made by tools/display_width_table.py from Unicode "
      f"{unicodedata.unidata_version}.")
write("kZeroWidth", "Mn, Me, Cf, and Hangul vowels and finals.",
      ranges(is_zero))
write("kWide", "East_Asian_Width W or F, marks excepted.",
      ranges(lambda c: is_wide(c) and not is_zero(c)))

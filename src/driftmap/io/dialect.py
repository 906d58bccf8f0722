"""What the first lines of CSV say of its form: the separator, a header of numbers, other forms of numbers."""

from __future__ import annotations

import contextlib
import re
from itertools import pairwise

FEWEST_COUNTED = 5
"""Columns that a first line of integers counts, at least, if the next line may hold integers, too."""


def delimiter_of(head: bytes) -> str:
    """What separates the cells of the first lines.

    Decimal commas make semicolons usual in some countries; a comma in the first line settles it. Names may have spaces,
    so these separate only where they separate numbers.

    >>> delimiter_of(b"a;b\\n1,5;2,5\\n"), delimiter_of(b"1e0 2e0\\n3e0 4e0\\n"), delimiter_of(b"a name\\n5\\n")
    (';', ' ', ',')
    """
    first, second = (head.split(b"\n", 2) + [b""])[:2]
    mark = next((mark for mark in ",;\t|" if mark.encode() in first), "")
    if mark:
        return mark
    cells = (second.strip() or first).strip().split(b" ")
    with contextlib.suppress(ValueError):
        if len([*map(float, cells)]) == len(first.strip().split(b" ")) > 1:
            return " "
    return ","


def counts_columns(cells: list[str]) -> bool:
    """Whether each cell is the integer after the one before."""
    if len(cells) < 2 or not all(cell.isascii() and cell.isdigit() and len(cell) < 10 for cell in cells):
        return False
    return all(int(b) == int(a) + 1 for a, b in pairwise(cells))


def are_counted(names: list[str], row: list[str]) -> bool:
    """Whether a line that counts columns is followed by something else: fractions or, if it is long, no such line."""
    return not any(map(str.isdigit, map(str.strip, row))) or (len(names) >= FEWEST_COUNTED and not counts_columns(row))


def options_for(cells: list[str]) -> str:
    """The options that read texts as numbers with another decimal point or thousands separator; empty if none do.

    >>> options_for(["1.234,5", "7,25"]), options_for(["1,234", "12,345.5"]), options_for(["1,5", "x"])
    ('--decimal , --thousands .', '--thousands ,', '')
    """
    for decimal, thousands in ((",", "."), (".", ",")):
        number = rf"[+-]?(?:\d+|\d{{1,3}}(?:{re.escape(thousands)}\d{{3}})+)(?:{re.escape(decimal)}\d+)?"
        if all(re.fullmatch(number, cell.strip(), re.ASCII) for cell in cells):
            options = ["--decimal ,"] * (decimal == ",")
            options += [f"--thousands {thousands}"] * any(thousands in cell for cell in cells)
            return " ".join(options)
    return ""

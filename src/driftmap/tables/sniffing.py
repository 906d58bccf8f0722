"""What the first lines of CSV reveal: the delimiter, whether line 1 is a header, and how numbers are written."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Literal

from driftmap.tables.cells import USUAL, Marks
from driftmap.tables.columns import numbered
from driftmap.utils.errors import Advice

DELIMITERS = ",;\t|"
"""In order of precedence. Blanks separate if the first line is numbers, or the second one has as many cells."""
BLANK = " "
"""The delimiter that stands for any run of spaces and tabs."""
CELL = re.compile(r'"(?:[^"]|"")*"|\S+')
"""A cell of a line whose cells are separated by blanks."""
FEWEST_COUNTED = 5
"""Fewest consecutive integers that make line 1 a header when line 2 is also integers."""


@dataclass(frozen=True)
class NumberForm:
    """How numbers are written."""

    decimal: str = "."
    thousands: str = ""
    missing: bool = False
    """Whether numbers may be missing."""
    marks: Marks = USUAL
    """Marks of missing numbers."""

    @cached_property
    def _grouped(self) -> re.Pattern[str]:
        digits = r"[+-]?\d{1,3}(?:%s\d{3})+(?:%s\d*)?(?:[eE][+-]?\d+)?"
        return re.compile(digits % (re.escape(self.thousands), re.escape(self.decimal)), re.ASCII)

    def plain(self, cell: str) -> str | None:
        """Return a number as Arrow reads it, or None if it is missing; raise a ValueError for any other text.

        >>> NumberForm(",", ".").plain("1.234,5")
        '1234.5'
        """
        cell = cell.strip()
        if self.missing and self.marks.is_missing(cell):
            return None
        if self.thousands and self.thousands in cell:
            if not self._grouped.fullmatch(cell):
                raise ValueError
            cell = cell.replace(self.thousands, "")
        if self.decimal == ".":
            return cell
        if "." in cell:
            raise ValueError
        return cell.replace(self.decimal, ".")

    def is_number(self, cell: str) -> bool:
        """Return True if a cell suggests that a line is data: a number or a mark of a missing one, since names are
        rarely left out.
        """
        return self.marks.is_missing(cell) or self.is_written(cell)

    def is_written(self, cell: str) -> bool:
        """Return True if a cell has a number."""
        with contextlib.suppress(ValueError):
            float(self.plain(cell) or "nan")
            return "_" not in cell
        return False

    def form_of(self, cell: str) -> Advice | None:
        """Return the other form in which a cell would be a number; None if there is none."""
        if (form := other_form([cell])) is not None:
            return form
        with contextlib.suppress(ValueError):
            float(cell)
            return "decimal '.'" if self.decimal != "." and not self.marks.is_missing(cell) else None
        return None


def delimiter_of(head: bytes, form: NumberForm = NumberForm()) -> str:
    """Return the delimiter of the first lines, of which the last one may be truncated unless it is the only one.

    Decimal commas make semicolons usual in some countries; a comma in the first line settles it, unless it is the
    decimal point. Names may contain spaces, so blanks are the delimiter only if there are numbers.

    >>> delimiter_of(b"a;b\\n1,5;2,5\\n"), delimiter_of(b"1e0  2e0\\n3e0 4e0\\n"), delimiter_of(b"a name\\n5\\n")
    (';', ' ', ',')
    """
    whole = head[: head.rfind(b"\n") + 1] or head
    first, second = ([line for line in whole.split(b"\n", 100) if line.strip()] + [b"", b""])[:2]
    mark = next((mark for mark in DELIMITERS if mark.encode() in first), "")
    if mark and mark != form.decimal:
        return mark
    names, cells = (CELL.findall(line.decode(errors="replace")) for line in (first, second or first))
    numbers, above = ([bool(form.is_written(cell) or other_form([cell])) for cell in line] for line in (cells, names))
    is_alike = len(cells) == len(names) and any(numbers)
    return BLANK if len(names) > 1 and (is_alike or all(above)) else mark or ","


def first_line(
    cells: list[str], asked: Sequence[str], form: NumberForm, next_row: Callable[[], list[str] | None]
) -> Literal["names", "counts", "data", "unclear"]:
    """Return what line 1 is: names; integers that count the columns, and so are names; data; or names or data.

    ``asked`` are names that the user gives. ``next_row`` returns the cells of the next row, [] if they cannot be read,
    and None if there is no next row.

    >>> first_line(["a", "b"], [], NumberForm(), lambda: ["1", "2"])
    'names'
    >>> first_line(["1", "2"], [], NumberForm(), lambda: ["0.5", "0.25"])
    'counts'
    """
    if any(name in cells and name not in numbered(len(cells)) for name in asked):
        return "names"
    numeric = [form.is_number(cell) for cell in cells]
    if not any(numeric):
        return "names"
    if all(numeric) and not counts_columns(cells):
        return "data"
    row = next_row()
    if row is None:
        return "data" if all(numeric) else "names"
    is_like = [form.is_number(cell) for cell in row] == numeric
    if all(numeric):
        return "counts" if is_like and are_counted(cells, row) else "data"
    return "unclear" if is_like else "names"


def counts_columns(cells: list[str]) -> bool:
    """Return True if each cell is the integer after the one before."""
    if len(cells) < 2 or not all(cell.isascii() and cell.isdigit() and len(cell) < 10 for cell in cells):
        return False
    return all(int(b) == int(a) + 1 for a, b in pairwise(cells))


def are_counted(names: list[str], row: list[str]) -> bool:
    """Return True if the line after one that counts columns has fractions or, if it is long, does not count."""
    return not any(map(str.isdigit, map(str.strip, row))) or (len(names) >= FEWEST_COUNTED and not counts_columns(row))


def other_form(cells: list[str]) -> Advice | None:
    """Return the other form in which texts would be numbers, such as a decimal comma; None if there is none.

    >>> other_form(["1.234,5", "7,25"]), other_form(["1,234", "12,345.5"]), other_form(["1,5", "x"])
    ("decimal ',', thousands '.'", "thousands ','", None)
    """
    for decimal, thousands in ((",", "."), (".", ",")):
        number = rf"[+-]?(?:\d+|\d{{1,3}}(?:{re.escape(thousands)}\d{{3}})+)(?:{re.escape(decimal)}\d+)?"
        if all(re.fullmatch(number, cell.strip(), re.ASCII) for cell in cells):
            if not any(thousands in cell for cell in cells):
                return "decimal ','" if decimal == "," else None
            return "decimal ',', thousands '.'" if decimal == "," else "thousands ','"
    return None

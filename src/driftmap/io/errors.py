"""Errors in data, which carry their place."""

from __future__ import annotations


class DataError(ValueError):
    """Data that cannot be used. Where it is and what is wrong are kept apart and put into words only here.

    >>> str(DataError("t.csv", "is 'x', not a number", line=3, column="b"))
    "t.csv, line 3, column 'b' is 'x', not a number"
    """

    def __init__(
        self, source: str, problem: str, *, line: int | None = None, row: int | None = None, column: str | None = None
    ) -> None:
        super().__init__(source, problem)
        self.source, self.problem, self.line, self.row, self.column = source, problem, line, row, column

    def __str__(self) -> str:
        line = "" if self.line is None else f", line {self.line}"
        row = "" if self.row is None else f", row {self.row}"
        column = "" if self.column is None else f", column {self.column!r}"
        return f"{self.source}{line}{row}{column}{'' if self.problem[0] == ':' else ' '}{self.problem}"


NOT_A_NUMBER = "choose the columns with --columns or colour by it with --label"
MISSING = {"", "na", "n/a", "nan", "null", "none", "?"}
"""What stands for a missing number, in lower case."""


def no_number(text: str) -> str:
    """What to say of a cell that is no number."""
    text = text.strip()
    if text.lower() in MISSING:
        return f"is {repr(text) if text else 'empty'}; fill or drop such rows first"
    shown = text if len(text) <= 40 else f"{text[:37]}..."
    return f"is {shown!r}, not a number; {NOT_A_NUMBER}"


def unusable(value: float) -> str:
    """What to say of a cell whose number cannot be used."""
    if value != value:
        return "is NaN; fill or drop such rows first"
    if abs(value) == float("inf"):
        return "is infinite; drop such rows first"
    return f"is {value:g}, so large that its square overflows; rescale the data first"

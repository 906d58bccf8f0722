"""Cells: marks of missing numbers, the content of a column of cells, and errors for cells."""

from __future__ import annotations

import contextlib
import datetime
import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Self

import numpy as np

from driftmap.utils import Array
from driftmap.utils.columns import short
from driftmap.utils.errors import Advice, InputError
from driftmap.utils.validation import problem_of

MISSING = frozenset({
    "", "na", "n/a", "#n/a", "#n/a n/a", "#na", "<na>", "nan", "-nan", "1.#ind", "-1.#ind", "1.#qnan", "-1.#qnan",
    "null", "none", "?", "-", "--", ".",
})  # fmt: skip
"""Marks of missing numbers, in lower case: those that pandas knows, and some of measuring devices."""
FEWEST_DATES = 3
"""Fewest dates by which a column is reported to run backwards."""
TIME = r"(?:[T ]+(\d{1,2}):(\d{2})(?::(\d{2})(?:[.,]\d+)?)?(?: ?([AaPp])\.?[Mm]\.?)?)?"
YEAR_FIRST = re.compile(rf"(\d{{4}})[/.](\d{{1,2}})[/.](\d{{1,2}}){TIME}", re.ASCII)
YEAR_LAST = re.compile(rf"(\d{{1,2}})[/.-](\d{{1,2}})[/.-](\d{{4}}|\d{{2}}){TIME}", re.ASCII)
"""Dates besides ISO 8601. With the year last, either day or month may be first."""


@dataclass(frozen=True)
class Marks:
    """Marks of missing numbers: texts, in lower case, and numbers."""

    texts: frozenset[str] = MISSING
    numbers: tuple[float, ...] = ()

    @classmethod
    def of(cls, values: Sequence[str]) -> Self:
        """Return the usual marks and further ones; a further one that is a number also matches its value.

        >>> Marks.of(["-200", "off"]).numbers, Marks.of(["off"]).is_missing(" OFF")
        ((-200.0,), True)
        """
        numbers = []
        for value in values:
            with contextlib.suppress(ValueError):
                numbers.append(float(value))
        return cls(MISSING | {value.strip().lower() for value in values}, tuple(filter(math.isfinite, numbers)))

    def is_missing(self, text: str) -> bool:
        """Return True if a cell of text is missing."""
        return text.strip().lower() in self.texts

    def clear(self, features: Array) -> None:
        """Replace numbers that are marks by NaN, in place."""
        for number in self.numbers:
            features[features == number] = np.nan


USUAL = Marks()
"""The usual marks alone."""


def kind_of(numbers: bool, texts: Sequence[str]) -> str:
    """Return what a column holds; "" for numbers.

    ``numbers`` says whether there are numbers among the examined cells; ``texts`` are the other cells.
    """
    if numbers:
        return ""
    if not texts:
        return "empty"
    return "dates" if next(_readings(texts), None) is not None else "text"


def runs_backwards(texts: Sequence[str]) -> bool:
    """Return True if cells are dates, each at or before the previous one, and not all equal.

    Where the order of day and month is ambiguous, both readings have to run backwards.

    >>> runs_backwards(["3/1/2010", "2/1/2010", "1/1/2010"]), runs_backwards(["2010-01-01", "2010-01-02", "2010-01-03"])
    (True, False)
    """
    if len(texts) < FEWEST_DATES:
        return False
    readings = list(_readings(texts))
    return bool(readings) and all(
        dates[0] > dates[-1] and all(a >= b for a, b in pairwise(dates)) for dates in readings
    )


def _readings(texts: Sequence[str]) -> Iterator[list[datetime.datetime]]:
    """Yield the readings by which all of these texts are dates."""
    for order in ("iso", "ymd", "dmy", "mdy"):
        with contextlib.suppress(ValueError):
            yield [_date(text.strip(), order) for text in texts]


def _date(text: str, order: str) -> datetime.datetime:
    """Return a date in one format, without its time zone; raise a ValueError if it has another format."""
    if order == "iso":
        return datetime.datetime.fromisoformat(text).replace(tzinfo=None)
    found = (YEAR_FIRST if order == "ymd" else YEAR_LAST).fullmatch(text)
    if found is None:
        raise ValueError
    first, second, third, *time, half = found.groups()
    year, month, day = {"ymd": (first, second, third), "dmy": (third, second, first), "mdy": (third, first, second)}[
        order
    ]
    hour, minute, seconds = (int(part or 0) for part in time)
    if half is not None:
        hour = hour % 12 + (12 if half in "pP" else 0)
    return datetime.datetime(int(year) + (2000 if len(year) == 2 else 0), int(month), int(day), hour, minute, seconds)


def unusable(value: float, **where: Any) -> InputError:
    """Return the error for a number that is too large or not finite."""
    if math.isnan(value):
        return InputError("is NaN", advice="missing", **where)
    if math.isinf(value) and "row" not in where:
        return InputError(f"is {value}", advice="line", **where)
    return InputError(problem_of(value), **where)


def not_utf8(byte: int) -> InputError:
    """Return the error for a line that is not UTF-8, given its first invalid byte."""
    return InputError(f"is not UTF-8 text (byte {byte:#04x})", advice="encoding")


def not_a_number(text: str, column: str, form: Advice | None = None, marks: Marks = USUAL, **where: Any) -> InputError:
    """Return the error for a cell that is not a number; it may be one in another ``form``."""
    text = text.strip()
    if marks.is_missing(text):
        return InputError(f"is {repr(text) if text else 'empty'}", column=column, advice="missing", **where)
    return InputError(f"is {short(text)!r}, not a number", column=column, advice=form or "cell", **where)

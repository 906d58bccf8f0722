"""Cells: what stands for a missing number, what a column of cells holds, and the errors for cells."""

from __future__ import annotations

import datetime
import math
from collections.abc import Sequence
from typing import Any

from driftmap.utils.errors import Advice, InputError
from driftmap.utils.validation import problem_of

MISSING = {"", "na", "n/a", "nan", "null", "none", "?"}
"""What stands for a missing number, in lower case."""


def kind_of(numbers: bool, texts: Sequence[str]) -> str:
    """What a column holds, given whether a look at it found numbers, and what else it found; "" for numbers.

    >>> kind_of(False, ["2020-01-01", "2020-01-02"]), kind_of(False, ["x"]), kind_of(False, []), kind_of(True, ["x"])
    ('dates', 'text', 'empty', '')
    """
    if numbers:
        return ""
    if not texts:
        return "empty"
    return "dates" if all(map(_is_date, texts)) else "text"


def _is_date(text: str) -> bool:
    try:
        datetime.datetime.fromisoformat(text.strip())
    except ValueError:
        return False
    return True


def unusable(value: float, **where: Any) -> InputError:
    """The error for a number of a file that cannot be used."""
    if math.isnan(value):
        return InputError("is NaN", advice="missing", **where)
    if math.isinf(value) and "row" not in where:
        return InputError(f"is {value}", advice="line", **where)
    return InputError(problem_of(value), **where)


def not_utf8(byte: int) -> InputError:
    """The error for a line that is no UTF-8 text, given its first byte that is none."""
    return InputError(f"is not UTF-8 text (byte {byte:#04x})", advice="encoding")


def not_a_number(text: str, column: str, form: Advice | None = None) -> InputError:
    """The error for a cell that is no number, but may be one in another ``form``."""
    text = text.strip()
    if text.lower() in MISSING:
        return InputError(f"is {repr(text) if text else 'empty'}", column=column, advice="missing")
    shown = text if len(text) <= 40 else f"{text[:37]}..."
    return InputError(f"is {shown!r}, not a number", column=column, advice=form or "cell")

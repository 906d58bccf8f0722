"""Validation of input: one error that names the row, the column or the parameter, before any state changes.

Also the array types and the words that parameters choose from, which all modules share.
"""

from __future__ import annotations

from collections.abc import Sequence
from numbers import Integral, Real
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Ids = NDArray[np.int64]
"""Arrival numbers or rows."""

RULES = ("tight", "paper")
EMBEDDINGS = ("stress", "weighted-lmds", "lmds")
"""Names of the replacement rules and of the embeddings; the first is the default."""

NATIVE_DTYPES = (np.dtype(np.float64), np.dtype(np.float32))
"""What the core takes as it is."""
SAFE_SUM_OF_SQUARES = 1e30
"""If the squares of all numbers sum up to no more than this, no square overflows."""


def integer_at_least(value: Any, name: str, lowest: int) -> int:
    """Return an integer parameter, or raise an error that names it."""
    if isinstance(value, bool) or not isinstance(value, Integral):
        raise TypeError(f"{name} must be an integer, got {value!r}")
    if value < lowest:
        raise ValueError(f"{name} must be at least {lowest}, got {value}")
    return int(value)


def positive_number(value: Any, name: str) -> float:
    """Return a positive finite parameter, or raise an error that names it."""
    if isinstance(value, bool) or not isinstance(value, Real):
        raise TypeError(f"{name} must be a number, got {value!r}")
    number = float(value)
    if not 0 < number < np.inf:
        raise ValueError(f"{name} must be positive and finite, got {value}")
    return number


def number_at_least_zero(value: Any, name: str) -> float:
    """Return a finite parameter that is not negative, or raise an error that names it."""
    return 0.0 if value == 0 and not isinstance(value, bool) else positive_number(value, name)


def one_of(value: Any, name: str, choices: Sequence[str]) -> str:
    """Return a parameter that must be one of some words, or raise an error that lists them."""
    if not isinstance(value, str) or value not in choices:
        raise ValueError(f"{name} must be one of {', '.join(map(repr, choices))}; got {value!r}")
    return value


def not_fitted(who: str) -> Exception:
    """scikit-learn's error for an estimator that has seen no points; scikit-learn is imported only here."""
    from sklearn.exceptions import NotFittedError

    return NotFittedError(f"This {who} has seen no points yet: call partial_fit or fit first")


def is_plain(X: Any) -> bool:
    """Whether X is a matrix of floating-point numbers as the core takes it."""
    return type(X) is np.ndarray and X.ndim == 2 and X.dtype in NATIVE_DTYPES and X.flags.c_contiguous and X.size > 0


def points(X: Any) -> Array:
    """Return X as a C-contiguous matrix of finite numbers, or raise an error that names the bad row and column.

    The result has double precision, or single precision if X is a C-contiguous matrix of it.
    """
    if is_plain(X):
        if not np.vdot(X, X) <= SAFE_SUM_OF_SQUARES:  # one fast pass decides nearly always; false for NaN
            _finite(X, None)
        return X
    columns = list(map(str, X.columns)) if hasattr(X, "columns") else None
    if np.ma.is_masked(X):
        raise ValueError("X has masked entries: fill or drop such rows first")
    if getattr(getattr(X, "dtype", None), "kind", None) in ("m", "M"):
        raise ValueError("X holds dates or time spans: map them to numbers first")
    from sklearn.utils.validation import check_array  # slow to import

    try:
        array: Array = check_array(X, dtype=np.float64, order="C", ensure_all_finite=False)
    except ValueError as error:
        place = _first_text(X)
        if place is None:
            raise
        row, column, value = place
        raise ValueError(
            f"row {row}, {_column(column, columns)} is {value!r}, not a number: "
            "map text columns to numbers or leave them out"
        ) from error
    _finite(array, columns)
    return array


def _finite(array: Array, columns: Sequence[str] | None) -> None:
    # The largest value whose squared differences can be summed over all columns without overflow.
    largest = np.sqrt(np.finfo(np.float64).max / 4.0 / array.shape[1]) * 0.5
    bad = ~(np.abs(array) <= largest)
    if not bad.any():
        return
    row, column = (int(i) for i in np.argwhere(bad)[0])
    value = array[row, column]
    where = f"row {row}, {_column(column, columns)}"
    if np.isnan(value):
        raise ValueError(f"Input contains NaN: {where} is NaN; fill or drop such rows first")
    if np.isinf(value):
        raise ValueError(f"Input contains infinity: {where} is {value}; drop such rows first")
    raise ValueError(f"{where} is {value:g}: its square overflows; rescale the data")


def _column(column: int, columns: Sequence[str] | None) -> str:
    return f"column {column}" if columns is None else f"column {column} ({columns[column]!r})"


def _first_text(X: Any) -> tuple[int, int, object] | None:
    """The first entry of a matrix that is text and no number, if there is one."""
    try:
        cells = np.asarray(X, dtype=object)
    except ValueError:
        return None
    if cells.ndim != 2:
        return None
    for row, values in enumerate(cells):
        for column, value in enumerate(values):
            if isinstance(value, str):
                try:
                    float(value)
                except ValueError:
                    return row, column, value
    return None

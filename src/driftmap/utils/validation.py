"""Validates input before any state changes; errors name the row, the column or the parameter.

Also defines the choices of some parameters.
"""

from __future__ import annotations

from collections.abc import Sequence
from numbers import Integral, Real
from typing import Any

import numpy as np

from driftmap.utils import Array
from driftmap.utils.columns import suggestion
from driftmap.utils.data_frames import as_matrix
from driftmap.utils.errors import InputError

RULES = ("tight", "paper")
"""Names of the replacement rules; the first is the default."""
FIGURE_FORMATS = (".png", ".svg", ".pdf")
ANIMATION_FORMATS = (".gif", ".mp4")
LIMITS = ("bulk", "all")
"""What the axes of a picture hold: all points but outliers, or all points."""

NATIVE_DTYPES = (np.dtype(np.float64), np.dtype(np.float32))
"""Types that the core takes without conversion."""
LARGEST_NUMBER = np.float64(1e140)  # a Python float would be compared with single precision in single precision
"""Largest feature of a point."""
LARGEST_SQUARABLE = np.float64(1e150)
"""Largest distance or position: sums of many squares do not overflow."""
LEAST_SQUARABLE = 1e-150
"""Least difference whose square is exact: smaller squares underflow."""
MISSING_ADVICE = (
    "fill such entries first, for example with sklearn.impute.SimpleImputer, or drop such rows, "
    'or choose metric="nan_euclidean"'
)
"""Advice on missing numbers."""
SAFE_SUM_OF_SQUARES = 1e30
"""If the sum of all squares is at most this, all numbers are usable."""


def integer_at_least(value: Any, name: str, lowest: int, needed_by: str = "") -> int:
    """Return an integer parameter; raise an error that names it if it is too small, with the reason ``needed_by``."""
    if isinstance(value, bool) or not isinstance(value, Integral):
        raise InputError(f"must be an integer, got {value!r}", parameter=name)
    if value < lowest:
        raise InputError(f"must be at least {lowest}{needed_by}, got {value}", parameter=name)
    return int(value)


def positive_number(value: Any, name: str, *, or_zero: bool = False) -> float:
    """Return a positive finite parameter (``or_zero`` allows 0), or raise an error that names it."""
    if isinstance(value, bool) or not isinstance(value, Real):
        raise InputError(f"must be a number, got {value!r}", parameter=name)
    number = float(value)
    if not (0 < number < np.inf or (or_zero and number == 0)):
        what = "finite and not negative" if or_zero else "positive and finite"
        raise InputError(f"must be {what}, got {value}", parameter=name)
    return number


def one_of(value: Any, name: str, choices: Sequence[str]) -> str:
    """Return a parameter that must be one of the choices, or raise an error that lists them."""
    if not isinstance(value, str) or value not in choices:
        hint = suggestion(value, choices) if isinstance(value, str) else ""
        raise InputError(f"must be one of {', '.join(map(repr, choices))}; got {value!r}{hint}", parameter=name)
    return value


def not_fitted(who: str) -> Exception:
    """Return scikit-learn's error for an estimator that is not fitted; imports scikit-learn only when needed."""
    from sklearn.exceptions import NotFittedError

    return NotFittedError(f"This {who} has seen no points yet: call partial_fit or fit first")


def is_plain(X: Any) -> bool:
    """Return True if X is a matrix that the core takes without conversion."""
    return type(X) is np.ndarray and X.ndim == 2 and X.dtype in NATIVE_DTYPES and X.flags.c_contiguous and X.size > 0


def column_names(X: Any) -> tuple[str, ...]:
    """Return the column names of a data frame as scikit-learn does; empty for other input."""
    if is_plain(X) or len(getattr(X, "shape", ())) != 2:
        return ()
    from sklearn.base import BaseEstimator
    from sklearn.utils.validation import validate_data

    blank = BaseEstimator()
    validate_data(blank, X, skip_check_array=True)
    return tuple(getattr(blank, "feature_names_in_", ()))


def is_sparse(X: Any) -> bool:
    """Return True if X is a scipy sparse matrix."""
    return hasattr(X, "tocsr") and hasattr(X, "nnz")


def points(X: Any, width: int | None = None, *, missing: bool = False, largest: np.float64 = LARGEST_NUMBER) -> Array:
    """Return X as a C-contiguous matrix of usable numbers, or raise an error that names the bad row and column.

    The result has double precision, or single precision if X is a C-contiguous matrix of that type. ``width`` is the
    number of features of the points seen so far. With ``missing``, NaN is allowed as a missing value.
    """
    array, columns = (X, None) if is_plain(X) else _as_matrix(X)
    if not usable(array, missing=missing, largest=largest):
        row, column, problem = first_unusable(array, missing=missing, largest=largest)
        raise InputError(problem, row=row, column=column, column_name=None if columns is None else columns[column])
    if width is not None and array.shape[1] != width:
        problem = f"has {array.shape[1]} features, but the points seen so far have {width}"
        raise InputError(problem, parameter="X")
    return array


def _as_matrix(X: Any) -> tuple[Array, Sequence[str] | None]:
    """Return X as a matrix, and the names of its columns, if any."""
    X, columns = as_matrix(X)
    if np.ma.is_masked(X):
        raise InputError(f"has masked entries; {MISSING_ADVICE}", parameter="X")
    if getattr(getattr(X, "dtype", None), "kind", None) in ("m", "M"):
        raise InputError("has dates or time spans: map them to numbers first", parameter="X")
    from sklearn.utils.validation import check_array  # slow to import

    try:
        return check_array(X, dtype=np.float64, order="C", ensure_all_finite=False), columns
    except ValueError as error:
        place = _first_text(X)
        if place is None:
            raise InputError(str(error)) from error
        row, column, value = place
        problem = f"is {value!r}, not a number: map text columns to numbers or leave them out"
        name = None if columns is None else columns[column]
        raise InputError(problem, row=row, column=column, column_name=name) from error


def places(coordinates: Any) -> Array:
    """Return positions on a map as a matrix, like :func:`points`, but with a larger limit."""
    return points(coordinates, largest=LARGEST_SQUARABLE)


def usable(numbers: Array, *, missing: bool = False, largest: np.float64 = LARGEST_NUMBER) -> bool:
    """Return True if all numbers are finite and their squares do not overflow; ``missing`` also allows NaN."""
    # The first, fast test is nearly always sufficient. NaN fails both tests.
    if np.vdot(numbers, numbers) <= SAFE_SUM_OF_SQUARES or (np.abs(numbers) <= largest).all():
        return True
    return missing and not bool((np.abs(numbers) > largest).any())


def positive_masses(masses: Array | None, n: int) -> Array:
    """Return masses as n positive numbers; ones if ``masses`` is None."""
    if masses is None:
        return np.ones(n)
    masses = np.asarray(masses, dtype=np.float64)
    if masses.shape != (n,):
        raise ValueError(f"masses must have one entry for each of the {n} points, got shape {masses.shape}")
    if not np.all((masses > 0) & (masses < np.inf)):
        raise ValueError("masses must be positive and finite")
    return masses


def first_unusable(
    array: Array, *, missing: bool = False, largest: np.float64 = LARGEST_NUMBER
) -> tuple[int, int, str]:
    """Return row and column of the first number that is not usable, and the problem with it."""
    size = np.abs(array)
    row, column = (int(i) for i in np.argwhere(size > largest if missing else ~(size <= largest))[0])
    return row, column, problem_of(float(array[row, column]), largest)


def problem_of(value: float, largest: float = LARGEST_NUMBER) -> str:
    """Return the problem with a number that is not usable."""
    if value != value:
        return f"is NaN; {MISSING_ADVICE}"
    if abs(value) == np.inf:
        return f"is {value}; drop such rows first"
    return f"is {value:g}, beyond {largest:g}: squares overflow; rescale the data"


def _first_text(X: Any) -> tuple[int, int, object] | None:
    """Return the first entry of a matrix that is text other than a number, if any."""
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

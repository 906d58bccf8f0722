"""Converts tables of other libraries to matrices: data frames column by column, lazy frames, tensors.

The module does not import these libraries at the top: a caller who passes a data frame has imported its library.
"""

from __future__ import annotations

import datetime
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from driftmap.utils.columns import LeftOut, describe
from driftmap.utils.errors import InputError

NUMERIC = "biuf"


def materialized(X: Any) -> Any:
    """Return X; collect a lazy polars frame, and convert an Arrow record batch to a table."""
    if hasattr(X, "collect") and hasattr(X, "collect_schema"):
        return X.collect()
    if hasattr(X, "to_struct_array") and hasattr(X, "serialize"):
        import pyarrow  # already imported, since X is one of its objects

        return pyarrow.Table.from_batches([X])
    return X


def is_frame(X: Any) -> bool:
    """Return True if X has named columns."""
    if hasattr(X, "collect_schema"):  # a lazy frame, whose columns are expensive to resolve
        return True
    return hasattr(X, "column_names") or (hasattr(X, "columns") and not isinstance(X, np.ndarray))


def as_matrix(X: Any) -> tuple[Any, list[str] | None]:
    """Return X in a form that NumPy can convert, and the names of its columns, if any.

    Numbers of all types become floating-point numbers, null becomes NaN, and durations become seconds. The error for
    columns with other values names all of them.
    """
    X = materialized(X)
    if is_frame(X):
        found = list(_columns(X))
        names = [str(name) for name, _ in found]
        numbers = [values for _, values in found if isinstance(values, np.ndarray)]
        if len(numbers) == len(found):
            return np.column_stack(numbers) if numbers else np.empty((X.shape[0], 0)), names
        unfit = [LeftOut(str(name), values) for name, values in found if isinstance(values, str)]
        if unfit:
            stack = "; for lists of equal length, use np.stack" if any(why == "lists" for _, why in unfit) else ""
            problem = f"has columns that are not numeric: {describe(unfit)}; drop them or map them to numbers{stack}"
            raise InputError(problem, parameter="X")
        return X, names  # validation will name the cell
    if hasattr(X, "__dlpack__") and not isinstance(X, np.ndarray):
        try:
            return np.from_dlpack(X), None
        except (BufferError, TypeError, RuntimeError) as error:
            if not hasattr(X, "__array__"):
                problem = f"cannot be read: {error}; copy it to the CPU"
                raise InputError(problem, parameter="X") from error
    return X, None


def as_row(x: Mapping[str, Any], names: Sequence[str]) -> NDArray[Any]:
    """Convert a dict of features to a matrix of one row."""
    values = [x[name] for name in names]
    try:
        return np.array([values], dtype=np.float64)
    except (TypeError, ValueError):
        return np.array([values], dtype=object)  # validation will name the column


ColumnValues = NDArray[np.float64] | str | None
"""The numbers of a column, or the type of its other values; None if it mixes numbers with other values."""


def _columns(X: Any) -> Iterator[tuple[Any, ColumnValues]]:
    if hasattr(X, "get_columns"):
        for column in X.get_columns():
            yield column.name, _of_polars(column)
    elif hasattr(X, "column_names"):
        for name in X.column_names:
            yield name, _of_arrow(X.column(name))
    else:
        for name, column in X.items():
            yield name, _of_pandas(column)


def _of_pandas(column: Any) -> ColumnValues:
    dtype = column.dtype
    if hasattr(dtype, "categories"):
        numeric = getattr(dtype.categories.dtype, "kind", "O") in NUMERIC
        return column.astype(np.float64).to_numpy() if numeric else "categories"
    kind = getattr(dtype, "kind", "O")
    if kind in NUMERIC:
        if isinstance(dtype, np.dtype):
            return column.to_numpy(dtype=np.float64)
        return column.to_numpy(dtype=np.float64, na_value=np.nan)
    if kind == "m":
        return column.to_numpy(dtype="timedelta64[ns]") / np.timedelta64(1, "s")
    return "dates" if kind == "M" else _of_objects(column.to_numpy(dtype=object))


def _of_polars(column: Any) -> ColumnValues:
    dtype, kind = column.dtype, column.dtype.base_type().__name__
    if dtype.is_numeric() or kind == "Boolean":
        import polars  # already imported, since the column is one of its objects

        return column.cast(polars.Float64).to_numpy()
    if kind == "Duration":
        return column.to_numpy() / np.timedelta64(1, "s")
    if dtype.is_temporal():
        return "dates"
    if kind in ("List", "Array"):
        return "lists"
    if kind in ("String", "Categorical", "Enum"):
        return "text"
    return _of_objects(np.array(column.to_list(), dtype=object))


def _of_arrow(column: Any) -> ColumnValues:
    import pyarrow as pa

    types, kind = pa.types, column.type
    if types.is_dictionary(kind):
        column, kind = column.cast(kind.value_type), kind.value_type
    if types.is_boolean(kind):
        column = column.cast(pa.uint8())
    elif types.is_duration(kind):
        per_second = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}[kind.unit]
        return column.cast(pa.int64()).cast(pa.float64(), safe=False).to_numpy(zero_copy_only=False) / per_second
    elif types.is_temporal(kind):
        return "dates"
    elif types.is_list(kind) or types.is_large_list(kind) or types.is_fixed_size_list(kind):
        return "lists"
    elif not (types.is_integer(kind) or types.is_floating(kind) or types.is_decimal(kind)):
        return "text" if types.is_string(kind) or types.is_large_string(kind) else str(kind)
    return column.cast(pa.float64(), safe=False).to_numpy(zero_copy_only=False)


def _of_objects(values: NDArray[Any]) -> ColumnValues:
    """Convert Python objects to numbers, or return their type if none of them is a number."""
    try:
        return values.astype(np.float64)
    except (TypeError, ValueError):
        pass
    kinds = {_kind_of(value) for value in values.tolist()} - {""}
    return kinds.pop() if len(kinds) == 1 and "numbers" not in kinds else None


def _kind_of(value: Any) -> str:
    if value is None or value != value:
        return ""
    if isinstance(value, datetime.date | np.datetime64):
        return "dates"
    if isinstance(value, list | tuple | np.ndarray):
        return "lists"
    try:
        float(value)
    except (TypeError, ValueError):
        return "text" if isinstance(value, str) else type(value).__name__
    return "numbers"

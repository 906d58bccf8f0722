"""Tables of other libraries as matrices: data frames column by column, lazy frames, tensors.

None of these libraries is imported here: whoever passes a data frame has imported its library.
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
    """X itself; of a lazy frame of polars, its rows; of a record batch of Arrow, the table."""
    if hasattr(X, "collect") and hasattr(X, "collect_schema"):
        return X.collect()
    if hasattr(X, "to_struct_array") and hasattr(X, "serialize"):
        import pyarrow  # whose batch it is

        return pyarrow.Table.from_batches([X])
    return X


def is_frame(X: Any) -> bool:
    """Whether X has named columns."""
    if hasattr(X, "collect_schema"):  # a lazy frame, which would have to look for its columns first
        return True
    return hasattr(X, "column_names") or (hasattr(X, "columns") and not isinstance(X, np.ndarray))


def as_matrix(X: Any) -> tuple[Any, list[str] | None]:
    """X as something that NumPy can convert, and the names of its columns, where it has any.

    Numbers of all kinds become floating-point numbers, null becomes NaN, and durations count in seconds. An error names
    every column that holds something else.
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
            stack = "; lists of one length: np.stack" if any(reason == "lists" for _, reason in unfit) else ""
            problem = (
                f"has columns that are no numbers: {describe(unfit)}; leave them out or map them to numbers{stack}"
            )
            raise InputError(problem, parameter="X")
        return X, names  # an error will name the cell
    if hasattr(X, "__dlpack__") and not isinstance(X, np.ndarray):
        try:
            return np.from_dlpack(X), None
        except (BufferError, TypeError, RuntimeError) as error:
            if not hasattr(X, "__array__"):
                problem = f"cannot be read: {error}; copy it to the memory of the processor"
                raise InputError(problem, parameter="X") from error
    return X, None


def as_row(x: Mapping[str, Any], names: Sequence[str]) -> NDArray[Any]:
    """A point that is a dict of features as a matrix of one row."""
    values = [x[name] for name in names]
    try:
        return np.array([values], dtype=np.float64)
    except (TypeError, ValueError):
        return np.array([values], dtype=object)  # an error names the column where the rows are checked


ColumnValues = NDArray[np.float64] | str | None
"""Numbers; or what else a column holds; None: both numbers and something else."""


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
        import polars  # whose column it is

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
    """Python objects: numbers of any kind, or what they are if none of them is a number."""
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

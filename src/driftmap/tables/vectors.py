"""Columns of Arrow as numbers: those of any numeric type, and those of lists of one length, such as embeddings."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa

from driftmap.tables.columns import vector_names
from driftmap.utils import Array
from driftmap.utils.errors import InputError


def is_list(kind: Any) -> bool:
    """Whether a type is one of lists."""
    return any(is_kind(kind) for is_kind in (pa.types.is_list, pa.types.is_large_list, pa.types.is_fixed_size_list))


def doubles(column: Any) -> Array:
    """Return numbers of any type; durations in seconds, null as NaN."""
    types, unit = pa.types, 1.0
    if types.is_dictionary(column.type):
        column = column.dictionary_decode()
    if types.is_boolean(column.type):
        column = column.cast(pa.uint8())
    elif types.is_duration(column.type):
        unit = {"s": 1.0, "ms": 1e3, "us": 1e6, "ns": 1e9}[column.type.unit]
        column = column.cast(pa.int64())
    if not types.is_float64(column.type):
        column = column.cast(pa.float64(), safe=False)
    if column.null_count:
        column = column.fill_null(float("nan"))
    numbers = np.asarray(np.from_dlpack(column), np.float64)  # to_numpy imports pandas first
    return numbers if unit == 1.0 else numbers / unit


def rows_of_lists(column: Any, width: int, *, missing: bool) -> Array:
    """Return lists of one length as rows; a null among them is a row of missing numbers. An error names the row."""
    column = column.cast(pa.large_list(column.type.value_type))
    starts = np.from_dlpack(column.offsets)
    known = np.flatnonzero(~np.from_dlpack(column.is_null().cast(pa.uint8())).astype(bool))
    other = np.flatnonzero(np.diff(starts)[known] != width)
    if len(other):
        row = int(known[other[0]])
        problem = f"is a list of {starts[row + 1] - starts[row]} numbers, where the first has {width}"
        raise InputError(problem, row=row)
    if column.values.null_count and not missing:
        place = column.values.is_null().index(True).as_py()
        row = int(np.searchsorted(starts, place, side="right")) - 1
        raise InputError("has an empty entry", row=row, advice="missing")
    rows = np.full((len(column), width), np.nan)
    rows[known] = doubles(column.values)[starts[known][:, None] + np.arange(width)]
    return rows


def flattened(table: Any, *, missing: bool) -> Any:
    """Return a table whose columns of lists are columns of numbers: ``v`` of lists of two is ``v_1`` and ``v_2``.

    >>> flattened(pa.table({"v": [[1.0, 2.0], [3.0, 4.0]], "name": ["p", "q"]}), missing=False).column_names
    ['v_1', 'v_2', 'name']
    """
    if not any(is_list(field.type) for field in table.schema):
        return table
    columns, names = list[Any](), list[str]()
    for name, column in zip(table.column_names, table.columns, strict=True):
        if not is_list(column.type):
            columns, names = [*columns, column], [*names, name]
            continue
        whole = column.combine_chunks()
        lengths = whole.value_lengths() if not pa.types.is_fixed_size_list(whole.type) else [whole.type.list_size]
        width = next((int(n) for n in map(_number, lengths) if n), 0)
        if whole.null_count and not missing:
            row = whole.is_null().index(True).as_py()
            raise InputError("is empty", row=row, column=name, advice="missing")
        try:
            numbers = rows_of_lists(whole, width, missing=missing)
        except InputError as error:
            error.column = name
            raise
        columns += [pa.array(entries) for entries in numbers.T]
        names += vector_names(name, width)
    return pa.table(columns, names)


def _number(value: Any) -> int | None:
    return value.as_py() if hasattr(value, "as_py") else value

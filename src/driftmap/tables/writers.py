"""Writers of tables: CSV, JSON lines, Parquet and NPY, to an open file."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Sequence
from typing import Any, BinaryIO, Protocol

import numpy as np
from numpy.typing import NDArray

from driftmap.utils.errors import InputError

NEEDS_QUOTES = re.compile('[,"\r\n]')
"""Characters that make quotes necessary in a cell of CSV."""
FORMULA = re.compile(r"[=+\-@\t\r]")
"""First characters by which a spreadsheet takes a cell for a formula."""
ROW_GROUP = 2**16
"""Rows in a row group of Parquet."""
FEW_NUMBERS = 4096
"""Most numbers for which importing orjson is not worth its time."""

Column = list[str] | NDArray[Any]


PREFIX = "map_"
"""Prefix of the name of one of our columns that is also a name in the input."""


def output_names(ours: Sequence[str], theirs: Sequence[str]) -> tuple[list[str], list[str]]:
    """Return distinct names for the columns of an output: our own, and those of the input.

    The input keeps its names. If it uses one of ours, ours gets a prefix; a repeated name of the input gets a number.

    >>> output_names(["frame", "x1", "x2"], ["x1"])
    (['frame', 'map_x1', 'x2'], ['x1'])
    >>> output_names(["x1"], ["a", "a", "map_x1", "x1"])
    (['map_map_x1'], ['a', 'a_2', 'map_x1', 'x1'])
    """
    kept: list[str] = []
    taken = set(theirs)
    for name in theirs:
        free, number = name, 1
        while free in kept or (number > 1 and free in taken):
            number += 1
            free = f"{name}_{number}"
        kept.append(free)
    named: list[str] = []
    for name in ours:
        while name in kept or name in named:
            name = PREFIX + name
        named.append(name)
    return named, kept


def check_distinct(names: Sequence[str]) -> None:
    """Raise an error if two columns have the same name: readers would confuse them."""
    twice = next((name for name in names if names.count(name) > 1), None) if len(set(names)) < len(names) else None
    if twice is not None:
        raise InputError(f": two columns of the output are named {twice!r}")


class Writer(Protocol):
    """Writes rows that are given column by column."""

    def write(self, columns: Sequence[Column]) -> None:
        """Append rows."""

    def close(self) -> None:
        """Write the end of the file."""


def as_text(numbers: NDArray[Any]) -> list[bytes]:
    """Return each number as the shortest text that is read as the same bits, like Python's ``repr``.

    >>> as_text(np.array([0.5, -3.0, 1e-5, np.nan]))
    [b'0.5', b'-3.0', b'1e-05', b'nan']
    """
    if len(numbers) <= FEW_NUMBERS or numbers.dtype != np.float64:
        return [repr(number).encode() for number in numbers.tolist()]
    import orjson

    column = np.ascontiguousarray(numbers)
    texts: list[bytes] = orjson.dumps(column, option=orjson.OPT_SERIALIZE_NUMPY)[1:-1].split(b",")
    # Python switches to exponents at other numbers, and writes them in another format.
    size = np.abs(column)
    alike = ((size >= 1e-4) & (size < 1e16)) | (size == 0)
    for i in np.flatnonzero(~alike).tolist():
        texts[i] = repr(float(column[i])).encode()
    return texts


class CSVWriter:
    """Writes CSV; numbers are read as the same bits.

    ``continued``: the header is already written. None: it is, if the file is not empty.
    """

    def __init__(self, stream: BinaryIO, names: Sequence[str], *, continued: bool | None = None) -> None:
        check_distinct(names)
        self._stream = stream
        if not (stream.tell() > 0 if continued is None else continued):
            self._stream.write(b",".join(map(_csv_cell, names)) + b"\n")

    def write(self, columns: Sequence[Column]) -> None:
        """Append rows, given column by column."""
        cells = [as_text(c) if isinstance(c, np.ndarray) else list(map(_csv_cell, c)) for c in columns]
        self._stream.write(b"\n".join([*map(b",".join, zip(*cells, strict=True)), b""]))

    def close(self) -> None:
        """Do nothing: CSV has no end."""


def _csv_cell(text: str) -> bytes:
    """Return a text as a cell; an apostrophe protects a text that a spreadsheet would take for a formula."""
    if FORMULA.match(text) and not _is_number(text):
        text = f"'{text}"
    return ('"' + text.replace('"', '""') + '"' if NEEDS_QUOTES.search(text) else text).encode()


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


class JSONWriter:
    """Writes JSON lines, one object per row; a number that JSON cannot represent becomes null."""

    def __init__(self, stream: BinaryIO, names: Sequence[str]) -> None:
        check_distinct(names)
        self._stream = stream
        keys = (json.dumps(name, ensure_ascii=False).replace("%", "%%") for name in names)
        self._form = ("{" + ", ".join(f"{key}: %b" for key in keys) + "}\n").encode()

    def write(self, columns: Sequence[Column]) -> None:
        """Append rows, given column by column."""
        cells = [_json_cells(column) for column in columns]
        self._stream.write(b"".join([self._form % row for row in zip(*cells, strict=True)]))

    def close(self) -> None:
        """Do nothing: JSON lines have no end."""


def _json_cells(column: Column) -> list[bytes]:
    if not isinstance(column, np.ndarray):
        return [json.dumps(text, ensure_ascii=False).encode() for text in column]
    texts = as_text(column)
    for i in np.flatnonzero(~np.isfinite(column)).tolist():
        texts[i] = b"null"
    return texts


class NumpyWriter:
    """Writes columns of numbers as one NPY matrix; the number of rows is filled in at the end."""

    def __init__(self, stream: BinaryIO, names: Sequence[str]) -> None:
        n_columns = len(names)
        self._stream, self._shape = stream, (0, n_columns)
        size = stream.seek(0, os.SEEK_END)
        if size == 0:
            self._write_header()
        else:
            stream.seek(0)
            np.lib.format.read_magic(stream)
            np.lib.format.read_array_header_1_0(stream)
            self._shape = ((size - stream.tell()) // (8 * n_columns), n_columns)
            stream.seek(size)

    def _write_header(self) -> None:
        header = {"descr": "<f8", "fortran_order": False, "shape": self._shape}
        # NumPy pads the header so that the number of rows can grow; its length stays the same.
        np.lib.format.write_array_header_1_0(self._stream, header)

    def write(self, columns: Sequence[Column]) -> None:
        """Append rows, given column by column."""
        block = np.column_stack(columns).astype("<f8")
        self._shape = (self._shape[0] + len(block), self._shape[1])
        self._stream.write(block.tobytes())

    def close(self) -> None:
        """Fill in the number of rows."""
        self._stream.seek(0)
        self._write_header()


class ParquetWriter:
    """Writes a Parquet file, in row groups whose size does not depend on the blocks in which rows come."""

    def __init__(self, stream: BinaryIO, names: Sequence[str]) -> None:
        import pyarrow
        import pyarrow.parquet

        check_distinct(names)
        self._pa = pyarrow
        self._stream, self._names = stream, list(names)
        self._writer: Any = None
        self._waiting: list[Any] = []
        self._count = 0

    def write(self, columns: Sequence[list[str] | NDArray[Any]]) -> None:
        """Append rows, given column by column."""
        table = self._pa.table([self._array(column) for column in columns], names=self._names)
        self._waiting.append(table)
        self._count += len(table)
        if self._count >= ROW_GROUP:
            rows = self._pa.concat_tables(self._waiting)
            full = self._count - self._count % ROW_GROUP
            self._write(rows.slice(0, full))
            self._waiting, self._count = [rows.slice(full)], self._count - full

    def _array(self, column: list[str] | NDArray[Any]) -> Any:
        if isinstance(column, list):
            return self._pa.array(column)
        # pa.array would import pandas to find out whether the column is one of its own.
        numbers = np.array(column)
        kind = self._pa.from_numpy_dtype(numbers.dtype)
        return self._pa.Array.from_buffers(kind, len(numbers), [None, self._pa.py_buffer(numbers)])

    def _write(self, table: Any) -> None:
        if self._writer is None:
            # Dictionaries pay only for repeated values; looking for them among coordinates takes longer than all else.
            texts = [field.name for field in table.schema if self._pa.types.is_string(field.type)]
            self._writer = self._pa.parquet.ParquetWriter(self._stream, table.schema, use_dictionary=texts)
        self._writer.write_table(table.combine_chunks(), row_group_size=ROW_GROUP)

    def close(self) -> None:
        """Write the remaining rows, and the end of the file; without rows, the names of the columns."""
        if self._count or (self._writer is None and self._waiting):
            self._write(self._pa.concat_tables(self._waiting))
        if self._writer is not None:
            self._writer.close()

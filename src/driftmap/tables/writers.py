"""Writers of tables: CSV, JSON lines, Parquet and NPY, to an open file."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Sequence
from typing import Any, BinaryIO, Protocol

import numpy as np
from numpy.typing import NDArray

from driftmap.utils.errors import InputError

TEXT_SUFFIXES = (".csv", ".jsonl", ".ndjson")
NEEDS_QUOTES = re.compile('[,"\r\n]')
"""What makes a cell of CSV need quotes."""
FORMULA = re.compile(r"[=+\-@\t\r]")
"""How a cell begins that a spreadsheet takes for a formula."""
ROW_GROUP = 2**16
"""Rows of a row group of Parquet."""
FEW_NUMBERS = 4096
"""Numbers that are not worth the import of orjson."""

Column = list[str] | NDArray[Any]


PREFIX = "map_"
"""Begins the name of a column of ours that would otherwise be that of a column of the input."""


def output_names(ours: Sequence[str], theirs: Sequence[str]) -> tuple[list[str], list[str]]:
    """Names of the columns of an output, of ours and of those from the input, such that no two are alike.

    The input keeps its names. One of ours that is taken gets a prefix; a second column of one name gets a number.

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
    """Raise an error if two columns have one name: readers would take one for the other."""
    twice = next((name for name in names if names.count(name) > 1), None) if len(set(names)) < len(names) else None
    if twice is not None:
        raise InputError(f": two columns of the output are named {twice!r}")


class Writer(Protocol):
    """Takes rows, given column by column."""

    def write(self, columns: Sequence[Column]) -> None:
        """Append rows."""

    def close(self) -> None:
        """Write what is still missing."""


def as_text(numbers: NDArray[Any]) -> list[bytes]:
    """Each number as the shortest text that gives the same bits when it is read, in the form of Python's ``repr``.

    >>> as_text(np.array([0.5, -3.0, 1e-5, np.nan]))
    [b'0.5', b'-3.0', b'1e-05', b'nan']
    """
    if len(numbers) <= FEW_NUMBERS or numbers.dtype != np.float64:
        return [repr(number).encode() for number in numbers.tolist()]
    import orjson

    column = np.ascontiguousarray(numbers)
    texts: list[bytes] = orjson.dumps(column, option=orjson.OPT_SERIALIZE_NUMPY)[1:-1].split(b",")
    # Python begins to write exponents at other numbers, and in another form.
    size = np.abs(column)
    alike = ((size >= 1e-4) & (size < 1e16)) | (size == 0)
    for i in np.flatnonzero(~alike).tolist():
        texts[i] = repr(float(column[i])).encode()
    return texts


class CSVWriter:
    """Columns to CSV; numbers are written so that reading gives the same bits.

    ``continued``: the header is there already; None: it is if the file has any bytes.
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
        """Nothing is missing."""


def _csv_cell(text: str) -> bytes:
    """A text as a cell; one that a spreadsheet would take for a formula gets an apostrophe, which makes it text."""
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
    """Columns to JSON lines, one object per row; a number that JSON cannot write is null."""

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
        """Nothing is missing."""


def _json_cells(column: Column) -> list[bytes]:
    if not isinstance(column, np.ndarray):
        return [json.dumps(text, ensure_ascii=False).encode() for text in column]
    texts = as_text(column)
    for i in np.flatnonzero(~np.isfinite(column)).tolist():
        texts[i] = b"null"
    return texts


class NumpyWriter:
    """Columns of numbers to one NPY matrix; the number of rows is filled in at the end."""

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
        # NumPy pads the header so that the number of rows can grow, so its length stays the same.
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
    """Columns to a Parquet file, in row groups whose size does not depend on the blocks in which rows come."""

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
        # Not by pa.array, which first imports pandas to find out whether the column is from there.
        numbers = np.array(column)
        kind = self._pa.from_numpy_dtype(numbers.dtype)
        return self._pa.Array.from_buffers(kind, len(numbers), [None, self._pa.py_buffer(numbers)])

    def _write(self, table: Any) -> None:
        if self._writer is None:
            # A dictionary is for values that come again; to look for such among coordinates takes longer than the rest.
            texts = [field.name for field in table.schema if self._pa.types.is_string(field.type)]
            self._writer = self._pa.parquet.ParquetWriter(self._stream, table.schema, use_dictionary=texts)
        self._writer.write_table(table.combine_chunks(), row_group_size=ROW_GROUP)

    def close(self) -> None:
        """Write the rows that still wait, and the end of the file; without rows, the names of the columns."""
        if self._count or (self._writer is None and self._waiting):
            self._write(self._pa.concat_tables(self._waiting))
        if self._writer is not None:
            self._writer.close()


WRITERS: dict[str, Callable[[BinaryIO, Sequence[str]], Writer]] = {
    ".csv": CSVWriter,
    ".jsonl": JSONWriter,
    ".ndjson": JSONWriter,
    ".parquet": ParquetWriter,
    ".npy": NumpyWriter,
}
"""Writers by the suffix of an open file, given the names of the columns; rows that it has already are continued."""
TABLE_SUFFIXES = tuple(WRITERS)

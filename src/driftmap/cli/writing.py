"""Results to files and to standard output; a failed run leaves no half file behind."""

from __future__ import annotations

import contextlib
import json
import os
import re
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, BinaryIO, Protocol

import numpy as np
from numpy.typing import NDArray

from driftmap.cli.errors import UserError
from driftmap.cli.numbers import as_text
from driftmap.cli.parquet import ParquetWriter
from driftmap.io.atomic import replacing

TABLE_SUFFIXES = (".csv", ".jsonl", ".ndjson", ".parquet", ".npy")
TEXT_SUFFIXES = (".csv", ".jsonl", ".ndjson")
QUOTED = re.compile('[,"\r\n]')
"""What makes a cell of CSV need quotes."""

Column = list[str] | NDArray[Any]


class Writer(Protocol):
    """Takes rows, given column by column."""

    def write(self, columns: Sequence[Column]) -> None:
        """Append rows."""

    def close(self) -> None:
        """Write what is still missing."""


@contextlib.contextmanager
def new_file(path: Path) -> Iterator[BinaryIO]:
    """A file that takes the place of ``path`` at the end, if all goes well, and otherwise disappears."""
    if path.is_dir():
        raise UserError(f"{path} is a folder, not a file")
    if not path.resolve().parent.is_dir():
        raise UserError(f"{path}: there is no folder {str(path.parent)!r}")
    opened = False
    try:
        with replacing(path) as file:
            opened = True
            yield file
    except BrokenPipeError:
        raise
    except OSError as error:
        failed = f"{path} cannot be written" if not opened else "the output cannot be written"
        raise UserError(f"{failed}: {error.strerror or error}") from error


@contextlib.contextmanager
def new_table(
    path: Path, names: Sequence[str], opened: contextlib.AbstractContextManager[BinaryIO] | None = None
) -> Iterator[Writer]:
    """A writer of the format that the suffix of ``path`` names, to a :func:`new_file` or to another that is opened.

    Where that other file has rows already, they are continued.
    """
    with opened or new_file(path) as file:
        writer: Writer
        match path.suffix.lower():
            case ".csv":
                writer = CSVWriter(file, names, continued=file.tell() > 0)
            case ".jsonl" | ".ndjson":
                writer = JSONWriter(file, names)
            case ".parquet":
                writer = ParquetWriter(file, names)
            case _:
                writer = NumpyWriter(file, len(names))
        yield writer
        writer.close()


class CSVWriter:
    """Columns to CSV; numbers are written so that reading gives the same bits."""

    def __init__(self, stream: BinaryIO, names: Sequence[str], *, continued: bool = False) -> None:
        self._stream = stream
        if not continued:
            self._stream.write(b",".join(map(_csv_cell, names)) + b"\n")

    def write(self, columns: Sequence[Column]) -> None:
        """Append rows, given column by column."""
        cells = [as_text(c) if isinstance(c, np.ndarray) else list(map(_csv_cell, c)) for c in columns]
        self._stream.write(b"\n".join([*map(b",".join, zip(*cells, strict=True)), b""]))

    def close(self) -> None:
        """Nothing is missing."""


def _csv_cell(text: str) -> bytes:
    return ('"' + text.replace('"', '""') + '"' if QUOTED.search(text) else text).encode()


class JSONWriter:
    """Columns to JSON lines, one object per row; a number that JSON cannot write is null."""

    def __init__(self, stream: BinaryIO, names: Sequence[str]) -> None:
        self._stream = stream
        places = {name: place for place, name in enumerate(names)}  # of two columns with one name, the last
        self._places = list(places.values())
        keys = (json.dumps(name, ensure_ascii=False).replace("%", "%%") for name in places)
        self._form = ("{" + ", ".join(f"{key}: %b" for key in keys) + "}\n").encode()

    def write(self, columns: Sequence[Column]) -> None:
        """Append rows, given column by column."""
        cells = [_json_cells(columns[place]) for place in self._places]
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

    def __init__(self, stream: BinaryIO, n_columns: int) -> None:
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
        # NumPy leaves room in the header for the number of rows to grow, so its length stays the same.
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


class StandardOutput:
    """Text on standard output. Once nobody reads it any more, ``closed`` is true and nothing more is written."""

    def __init__(self, names: Sequence[str], *, at_once: bool, kind: str = "csv", continued: bool = False) -> None:
        self.closed = False
        self._at_once, self._kind, self._continued = at_once, kind, continued
        self._writer: Writer | None = None
        self._names = names

    def write(self, columns: Sequence[Column]) -> None:
        """Append rows, given column by column."""
        if self.closed:
            return
        try:
            if self._writer is None:
                stream = sys.stdout.buffer
                json_lines = self._kind == "jsonl"
                self._writer = (
                    JSONWriter(stream, self._names)
                    if json_lines
                    else CSVWriter(stream, self._names, continued=self._continued)
                )
            self._writer.write(columns)
            if self._at_once:
                sys.stdout.buffer.flush()
        except BrokenPipeError:
            self._abandon()

    def close(self) -> None:
        """Send what is still buffered."""
        try:
            sys.stdout.buffer.flush()
        except BrokenPipeError:
            self._abandon()

    def _abandon(self) -> None:
        self.closed = True
        abandon_stdout()


def abandon_stdout() -> None:
    """Whoever read our output has gone: let nothing be flushed into the closed pipe when Python exits."""
    with contextlib.suppress(OSError, ValueError):
        null = os.open(os.devnull, os.O_WRONLY)
        os.dup2(null, sys.stdout.fileno())
        os.close(null)

"""Many lines of text at once, for libraries that parse them fast; what is out of the ordinary is left to others."""

from __future__ import annotations

import functools
import gzip
import importlib
import operator
import struct
import zlib
from collections.abc import Sequence
from types import NoneType
from typing import Any, BinaryIO, NamedTuple

import numpy as np

from driftmap.cli.tables import Array, Position, usable

SIZE = 2**22
"""Bytes parsed at a time."""
LONG = 2**16
"""In every stretch of so many bytes a line must end: Python's csv takes no cell that is twice as long."""
BOM = b"\xef\xbb\xbf"


def optional(name: str) -> Any:
    """A module that may be missing, or None."""
    try:
        return importlib.import_module(name)
    except ImportError:
        return None


class Blocks:
    """Whole lines of a file, read from its start to its end and unpacked if it is gzipped."""

    def __init__(self, stream: BinaryIO) -> None:
        self._raw, self._stream = stream, stream
        if stream.peek(2)[:2] == b"\x1f\x8b":  # type: ignore[attr-defined]
            self._stream = gzip.GzipFile(fileobj=stream)  # type: ignore[assignment]
        self._start, self._held, self._damaged = 0, b"", False

    def at(self, offset: int) -> bytes | None:
        """The lines from a place on, not before the last one; empty at the end, None if no line ends here.

        What cannot be read is None too, from then on: whoever reads it line by line will tell.
        """
        self._held = self._held[offset - self._start :]
        self._start = offset
        try:
            if not self._held:
                self._stream.seek(offset)
            self._held += self._stream.read(SIZE - len(self._held))
        except (OSError, EOFError, zlib.error):
            self._damaged = True
        if self._damaged:
            return None
        return self._held if len(self._held) < SIZE else self._held[: self._held.rfind(b"\n") + 1] or None

    def consumed(self) -> int:
        """Bytes of the file that are read."""
        return self._raw.tell()


class Given(NamedTuple):
    """Lines that were parsed at once, one row on each, from a place on."""

    place: Position
    block: bytes

    def end(self, rows: int) -> Position:
        """The place after all of them."""
        before, lines, offset = self.place
        return Position(before + rows, lines + rows, (offset or 0) + len(self.block))

    def after(self, rows: int) -> Position:
        """The place after some of them."""
        before, lines, offset = self.place
        length = line_ends(self.block)[rows - 1] if rows else 0
        return Position(before + rows, lines + rows, (offset or 0) + length)


@functools.lru_cache(maxsize=1)
def line_ends(block: bytes) -> list[int]:
    """For each line the number of bytes up to its end."""
    ends = (np.flatnonzero(np.frombuffer(block, dtype=np.uint8) == ord("\n")) + 1).tolist()
    return ends if block.endswith(b"\n") else [*ends, len(block)]


def is_plain(block: bytes) -> bool:
    """Whether the lines are text that ends as lines usually do, none of them very long."""
    if b"\r" in block and block.count(b"\r") != block.count(b"\r\n"):
        return False
    if any(block.find(b"\n", at, at + LONG) < 0 for at in range(0, len(block) - LONG, LONG)):
        return False
    if not block.isascii():
        try:
            block.decode()
        except UnicodeDecodeError:
            return False
    return True


class CSVBlocks:
    """Parses lines of separated cells without quotes, of which some are numbers and one may be a label."""

    def __init__(self, width: int, places: Sequence[int], label: int | None, delimiter: str) -> None:
        self._csv, pa = importlib.import_module("pyarrow.csv"), importlib.import_module("pyarrow")
        self._buffer, self._refused = pa.BufferReader, pa.ArrowException
        self._places, self._label = [str(place) for place in places], None if label is None else str(label)
        self._number = pa.float64()
        types = dict.fromkeys(self._places, self._number) | ({} if label is None else {str(label): pa.string()})
        self._read = {"column_names": [str(place) for place in range(width)]}
        self._parse = self._csv.ParseOptions(delimiter=delimiter, quote_char=False, ignore_empty_lines=False)
        self._convert = self._csv.ConvertOptions(
            column_types=types, include_columns=list(types), null_values=[], strings_can_be_null=False
        )

    def __call__(self, block: bytes) -> tuple[Array, list[str] | None] | None:
        """Features and labels of all lines, or None where anything is out of the ordinary."""
        # A mark at the start of a block that is not the first belongs to a cell, but would be left out.
        if b'"' in block or block.startswith(BOM) or not is_plain(block):
            return None
        options = self._csv.ReadOptions(**self._read, block_size=len(block) + 1)
        try:
            table = self._csv.read_csv(self._buffer(block), options, self._parse, self._convert)
            features = np.empty((table.num_rows, len(self._places)))
            for column, place in enumerate(self._places):  # one that is the label too was read as text
                numbers = table.column(place).cast(self._number).combine_chunks()
                features[:, column] = np.from_dlpack(numbers)  # to_numpy imports pandas first
        except self._refused:
            return None
        if not usable(features):
            return None
        return features, None if self._label is None else table.column(self._label).to_pylist()


class JSONBlocks:
    """Parses lines that are objects with the same keys, or arrays of the same length."""

    def __init__(self, names: Sequence[Any], places: Sequence[int], label: int | None, *, arrays: bool) -> None:
        self._orjson = importlib.import_module("orjson")
        self._kind, self._width = list if arrays else dict, len(names)
        keys = [place if arrays else names[place] for place in places]
        self._pick = operator.itemgetter(*keys) if len(keys) > 1 else lambda value: (value[keys[0]],)
        self._label: Any = None if label is None else label if arrays else names[label]
        self._other_keys = operator.itemgetter(*(range(len(names)) if arrays else names))
        self._row = struct.Struct(f"{len(keys)}d")
        self._all = len(keys) == len(names)

    def __call__(self, block: bytes) -> tuple[Array, list[Any] | None] | None:
        """Features and the cells of the label, or None where anything is out of the ordinary."""
        if not is_plain(block):
            return None
        load, pick, pack, kind, width = self._orjson.loads, self._pick, self._row.pack, self._kind, self._width
        try:
            values = [load(line) for line in block.removesuffix(b"\n").split(b"\n")]
            if any(type(value) is not kind or len(value) != width for value in values):
                return None
            rows = [pick(value) for value in values]
            packed = bytearray().join([pack(*row) for row in rows])  # one that can be written to, as other arrays can
            if not self._all:
                for value in values:
                    self._other_keys(value)
        except (ValueError, KeyError, struct.error, OverflowError):
            return None
        # The one kind of value that is no number and yet can be packed as one.
        if (b"true" in block or b"false" in block) and any(type(cell) is bool for row in rows for cell in row):
            return None
        features = np.frombuffer(packed).reshape(len(rows), -1)
        if not usable(features):
            return None
        labels = None if self._label is None else [value[self._label] for value in values]
        if labels is not None and not all(map(_is_same_in_json, labels)):
            return None
        return features, labels


def _is_same_in_json(label: Any) -> bool:
    """Whether Python's json reads the label in the same way: integers of more than 64 bits come as floats here."""
    return type(label) in (str, int, bool, NoneType) or (type(label) is float and abs(label) < 2**63)

"""Caches of what one pass over a table computes for a later one, in memory or in a temporary file.

:class:`CachedRows` stores rows of numbers, which are read by their number. :class:`CachedTable` stores the chunks of
another table, so that a later pass need not parse them again.
"""

from __future__ import annotations

import contextlib
import json
import sys
import tempfile
from collections.abc import Generator, Iterator
from pathlib import Path
from threading import Lock
from typing import Any, BinaryIO, NamedTuple

import numpy as np

from driftmap.tables.table import Chunk, Labels, Position, Table
from driftmap.utils import Array
from driftmap.utils.concurrency import read_ahead

CHUNKS_AHEAD = 8
"""Most chunks that the thread reads ahead."""
IN_MEMORY = 2**27
"""Most bytes of chunks in memory; further chunks go to the file."""


class CacheFile:
    """Bytes in an open file, appended by one thread and read by any thread."""

    def __init__(self, file: BinaryIO) -> None:
        self._file: Any = file
        self._lock = Lock()

    def append(self, *parts: bytes | memoryview) -> int:
        """Append bytes; return their offset."""
        with self._lock:
            place: int = self._file.seek(0, 2)
            for part in parts:
                self._file.write(part)
            self._file.flush()
        return place

    def read(self, place: int, into: Any) -> None:
        """Fill a writable buffer with the bytes at an offset."""
        with self._lock:
            self._file.seek(place)
            n_read = self._file.readinto(into)
        if n_read != len(into):
            raise OSError("a temporary file was cut")

    def close(self) -> None:
        """Close the file."""
        with contextlib.suppress(OSError):  # the disk may be full
            self._file.close()


class CachedRows:
    """Rows of numbers in an open file; rows are appended to those in it.

    >>> with tempfile.TemporaryFile() as file:
    ...     rows = CachedRows(file, 2)
    ...     rows.append(np.array([[1.0, 2.0], [3.0, 4.0]]))
    ...     rows.read(1, 1)
    array([[3., 4.]])
    """

    def __init__(self, file: BinaryIO, width: int) -> None:
        self._file, self.width = CacheFile(file), width

    def append(self, rows: Array) -> None:
        """Append rows."""
        try:
            self._file.append(np.ascontiguousarray(rows, dtype="<f8").data)
        except OSError as error:  # the system's message alone does not name the file
            raise OSError(error.errno, f"the scores of rows cannot be written: {error.strerror}") from error

    def read(self, first: int, n: int) -> Array:
        """Return ``n`` rows from row ``first`` on. Several threads may call this."""
        rows = np.empty((n, self.width), dtype="<f8")
        self._file.read(first * self.width * 8, rows.reshape(-1).view(np.uint8).data)
        return rows.astype(np.float64, copy=False)


class Stored(NamedTuple):
    """A chunk in the file."""

    place: int
    rows: int
    n_bytes: int
    """Bytes of the labels, which follow the numbers."""
    texts: bool
    """Whether the labels are text."""
    fraction: float | None


class CachedChunks:
    """Chunks in the order of the table, with the position after each: the first in memory, the others in a file."""

    def __init__(self, folder: Path | None, width: int, in_memory: int = IN_MEMORY) -> None:
        self._folder, self._width, self._free = folder, width, in_memory
        self._chunks: list[tuple[Chunk | Stored, Position]] = []
        self._file: CacheFile | None = None
        self.is_full = False
        """True once a chunk could not be stored; no later chunk is stored."""
        self.is_complete = False
        """Whether all chunks of the table are stored."""

    @property
    def end(self) -> Position | None:
        """The position in the table after the last stored chunk."""
        return self._chunks[-1][1] if self._chunks else None

    def __iter__(self) -> Iterator[tuple[Chunk, Position]]:
        for kept, position in self._chunks:
            yield self._stored(kept) if isinstance(kept, Stored) else kept, position

    def append(self, chunk: Chunk, position: Position) -> None:
        """Store the next chunk. If there is no room for it, neither it nor any later chunk is stored."""
        self._free -= _size(chunk)
        if self.is_full:
            return
        if self._free >= 0:
            self._chunks.append((chunk, position))
            return
        self._free = -1
        try:
            self._chunks.append((self._store(chunk), position))
        except OSError:  # the folder is missing, or its disk is full
            self.is_full = True

    def _store(self, chunk: Chunk) -> Stored:
        if self._file is None:
            if self._folder is None:
                raise OSError
            # Unnamed: the system removes the file however the run ends.
            self._file = CacheFile(tempfile.TemporaryFile(dir=self._folder, prefix="driftmap-"))  # noqa: SIM115
        texts = isinstance(chunk.labels, list)
        labels = json.dumps(chunk.labels).encode() if texts else b"" if chunk.labels is None else _bytes(chunk.labels)
        place = self._file.append(np.ascontiguousarray(chunk.features).data, labels)
        return Stored(place, len(chunk.features), len(labels), texts, chunk.fraction)

    def _stored(self, stored: Stored) -> Chunk:
        assert self._file is not None
        features: Array = np.empty((stored.rows, self._width))
        data, text = features.reshape(-1).view(np.uint8).data, bytearray(stored.n_bytes)
        self._file.read(stored.place, data)
        self._file.read(stored.place + len(data), text)
        labels: Labels = json.loads(text) if stored.texts else np.frombuffer(text) if text else None
        return Chunk(features, labels, stored.fraction)

    def close(self) -> None:
        """Close the file."""
        if self._file is not None:
            self._file.close()


class CachedTable(Table):
    """A table each chunk of which is parsed once, if the cache has room for it.

    A thread reads ahead. Later passes receive the chunks of the first one. ``folder`` is for the temporary file; None:
    chunks that do not fit into memory are parsed again.
    """

    def __init__(self, table: Table, folder: Path | None, in_memory: int = IN_MEMORY) -> None:
        self.name, self.columns, self.label, self.left_out = table.name, table.columns, table.label, table.left_out
        self._table, self._cache = table, CachedChunks(folder, len(table.columns), in_memory)
        self._reading: Generator[tuple[Chunk, Position]] | None = None
        self._place = Position(0)

    def chunks(self, rows: int, start: Position | None = None) -> Iterator[Chunk]:
        """Yield all rows from the first, at most ``rows`` at a time; from a position of an earlier pass without the
        cache.
        """
        self._stop()
        self._reading = self._from(rows, start) if start is not None else self._all(rows)
        for chunk, position in self._reading:
            self._place = position
            yield chunk

    def _all(self, rows: int) -> Generator[tuple[Chunk, Position]]:
        yield from self._cache
        if not self._cache.is_complete:
            yield from read_ahead(self._keeping(rows), CHUNKS_AHEAD)

    def _keeping(self, rows: int) -> Generator[tuple[Chunk, Position]]:
        for chunk, position in self._from(rows, self._cache.end):
            self._cache.append(chunk, position)
            yield chunk, position
        self._cache.is_complete = not self._cache.is_full

    def _from(self, rows: int, start: Position | None) -> Generator[tuple[Chunk, Position]]:
        for chunk in self._table.chunks(rows, start):
            yield chunk, self._table.position()

    def position(self) -> Position:
        """Return the position after the last chunk."""
        return self._place

    def _stop(self) -> None:
        if self._reading is not None:
            self._reading.close()

    def close(self) -> None:
        """Stop the thread, and close the table and the temporary file."""
        self._stop()
        self._cache.close()
        self._table.close()


def _bytes(labels: Any) -> bytes:
    return np.asarray(labels, np.float64).tobytes()


def _size(chunk: Chunk) -> int:
    """Return the bytes that a chunk occupies in memory."""
    texts = sum(map(sys.getsizeof, chunk.labels)) if isinstance(chunk.labels, list) else 0
    return chunk.features.nbytes + (0 if chunk.labels is None else 8 * len(chunk.labels)) + texts

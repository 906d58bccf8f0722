"""Read-ahead: a thread parses a table while its first rows are learnt, and caches the numbers for later passes.

The first chunks are cached in memory, all others in a temporary file if they take long to parse. Where it takes less
time to read rows again than to cache them, a bounded queue of chunks is all there is. Memory does not grow with the
table.
"""

from __future__ import annotations

import contextlib
import json
import struct
import sys
import tempfile
from collections import deque
from collections.abc import Callable, Generator, Iterator
from pathlib import Path
from threading import Condition, Lock, Thread
from typing import IO

import numpy as np

from driftmap.tables.table import Chunk, Position, Table
from driftmap.utils import Array

HEAD = struct.Struct("<qqqd")
"""Of every chunk: rows, what the labels are, their bytes, the fraction of the table that is read with it."""
NO_LABELS, TEXTS, NUMBERS = range(3)
QUEUED = 8
"""Chunks that may wait in memory, where they are not cached."""
IN_MEMORY = 2**27
"""Bytes of the first chunks, which are cached in memory."""


class ReadAhead(Table):
    """The chunks of another table, which a thread reads ahead.

    Chunks that are not to be cached (there is no folder for the file), or cannot be, are read again in each pass.
    """

    def __init__(self, table: Table, folder: Path | None) -> None:
        self.name, self.columns, self.label, self.left_out = table.name, table.columns, table.label, table.left_out
        self._table, self._folder = table, folder
        self._pass: Pass | None = None

    def begin(self, rows: int) -> None:
        """Start to read, at most ``rows`` rows at a time."""
        self._end()
        self._read_on(rows, ChunkCache(self._folder, len(self.columns)))

    def chunks(self, rows: int, start: Position | None = None) -> Iterator[Chunk]:
        """All rows from the first, at most ``rows`` at a time."""
        assert start is None, "a run that may be interrupted reads the table itself"
        if self._pass is None:
            self.begin(rows)
        elif self._pass.is_used_up():
            self._pass.stop()
            self._read_on(rows, self._pass.cache)
        assert self._pass is not None
        return self._pass.chunks()

    def _read_on(self, rows: int, cache: ChunkCache) -> None:
        self._pass = Pass(self._read(rows, cache.end), cache, self._table.position)

    def _read(self, rows: int, start: Position | None) -> Generator[Chunk]:
        yield from self._table.chunks(rows, start)

    def position(self) -> Position:
        """The place in the table up to which the thread has read."""
        return self._table.position()

    def close(self) -> None:
        """Close both files."""
        self._end()
        self._table.close()

    def _end(self) -> None:
        if self._pass is not None:
            self._pass.close()
            self._pass = None


class Pass:
    """One pass by a thread of its own: chunks go to the cache, and to a queue once that is full."""

    def __init__(self, source: Generator[Chunk], cache: ChunkCache, position: Callable[[], Position]) -> None:
        self._source, self.cache, self._position = source, cache, position
        self._waiting: deque[Chunk] = deque()
        self._begun, self._lost, self._ended, self._stopped = False, False, False, False
        self._error: BaseException | None = None
        self._change = Condition()
        self._thread = Thread(target=self._run, name="read-ahead")
        self._thread.start()

    def _run(self) -> None:
        try:
            with contextlib.closing(self._source):
                for chunk in self._source:
                    if not self._take(chunk):
                        break
        except BaseException as error:  # raised where the chunks are used
            self._error = error
        with self._change:
            self._ended = True
            self._change.notify_all()

    def _take(self, chunk: Chunk) -> bool:
        """Cache or queue a chunk; false if the pass was stopped."""
        cached = self.cache.add(chunk, self._position)
        with self._change:
            if not cached:
                self._waiting.append(chunk)
                self._lost = True
            self._change.notify_all()
            self._change.wait_for(lambda: self._stopped or len(self._waiting) < QUEUED)
            return not self._stopped

    def is_used_up(self) -> bool:
        """Whether chunks have been given out that are not cached."""
        return self._begun and self._lost

    def chunks(self) -> Generator[Chunk]:
        """All chunks from the first, each as soon as it is parsed."""
        self._begun = True
        number = 0
        while True:
            with self._change:
                self._change.wait_for(lambda n=number: self._ended or self._waiting or n < len(self.cache))  # type: ignore[misc]
                cached = number < len(self.cache)
                if not cached and not self._waiting:
                    break
                chunk = None if cached else self._waiting.popleft()
                self._change.notify_all()
            yield self.cache.get(number) if chunk is None else chunk
            number += cached
        if self._error is not None:
            raise self._error

    def stop(self) -> None:
        """Stop the thread."""
        with self._change:
            self._stopped = True
            self._change.notify_all()
        self._thread.join()

    def close(self) -> None:
        """Stop the thread and close the cache."""
        self.stop()
        self.cache.close()


class ChunkCache:
    """Chunks in order: the first in memory, the others in a temporary file where there may be one."""

    def __init__(self, folder: Path | None, width: int) -> None:
        self._folder, self._width, self._free = folder, width, IN_MEMORY
        self._chunks: list[Chunk | int] = []
        """Each chunk, or its place in the file."""
        self.end: Position | None = None
        """The place in the table after the last of them."""
        self._length, self._full, self._lock = 0, False, Lock()
        self._file: IO[bytes] | None = None

    def __len__(self) -> int:
        return len(self._chunks)

    def add(self, chunk: Chunk, position: Callable[[], Position]) -> bool:
        """Add a chunk, after which the table is at this position; false once the cache is full."""
        self._free -= _size(chunk)
        if self._free >= 0:
            self._chunks.append(chunk)
        else:
            self._free = -1
            self._full = self._full or self._folder is None or not self._write(chunk)
        if not self._full:
            self.end = position()
        return not self._full

    def _write(self, chunk: Chunk) -> bool:
        features, labels, fraction = chunk
        kind = NO_LABELS if labels is None else TEXTS if isinstance(labels, list) else NUMBERS
        text = labels.tobytes() if isinstance(labels, np.ndarray) else json.dumps(labels).encode()
        head = HEAD.pack(len(features), kind, len(text), np.nan if fraction is None else fraction)
        try:
            with self._lock:
                if self._file is None:
                    # It has no name, so nothing is left behind however the run ends.
                    self._file = tempfile.TemporaryFile(dir=self._folder, prefix="driftmap-")  # noqa: SIM115
                self._file.seek(self._length)
                self._file.write(head)
                self._file.write(np.ascontiguousarray(features).data)
                self._file.write(text)
                self._file.flush()
        except OSError:
            return False
        self._chunks.append(self._length)
        self._length += len(head) + features.nbytes + len(text)
        return True

    def get(self, number: int) -> Chunk:
        """One of the chunks; another thread may be adding others."""
        place = self._chunks[number]
        if isinstance(place, Chunk):
            return place
        assert self._file is not None
        with self._lock:
            self._file.seek(place)
            rows, kind, length, fraction = HEAD.unpack(self._file.read(HEAD.size))
            features: Array = np.empty((rows, self._width))
            self._file.readinto(features.data)  # type: ignore[attr-defined]
            text = self._file.read(length)
        labels = np.frombuffer(text) if kind == NUMBERS else json.loads(text)
        return Chunk(features, labels, None if np.isnan(fraction) else fraction)

    def close(self) -> None:
        """Close the file."""
        if self._file is not None:
            with contextlib.suppress(OSError):  # of a full disk
                self._file.close()


def _size(chunk: Chunk) -> int:
    """The bytes that a chunk needs."""
    features, labels, _ = chunk
    texts = sum(map(sys.getsizeof, labels)) if isinstance(labels, list) else 0
    return features.nbytes + (0 if labels is None else 8 * len(labels)) + texts

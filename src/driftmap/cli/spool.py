"""A table that is parsed only once: its rows wait as numbers in a temporary file for the passes that follow."""

from __future__ import annotations

import contextlib
import json
import struct
import tempfile
from collections.abc import Generator, Iterator
from pathlib import Path
from typing import IO

import numpy as np

from driftmap.cli.tables import Array, Chunk, Position, Table
from driftmap.cli.threads import read_ahead

HEAD = struct.Struct("<qqqd")
"""Of every chunk: rows, what the labels are, their bytes, the fraction of the table that is read with it."""
NO_LABELS, TEXTS, NUMBERS = range(3)


class Spool:
    """Gives out the chunks of another table. Once all have been seen, they come from the temporary file.

    Where that cannot be written, the other table is read as often as needed.
    """

    def __init__(self, table: Table, folder: Path | None) -> None:
        self.name, self.columns, self.label = table.name, table.columns, table.label
        self._table, self._folder = table, folder
        self._file: IO[bytes] | None = None
        self._complete, self._failed = False, False

    def chunks(self, rows: int, start: Position | None = None) -> Iterator[Chunk]:
        """All rows from the first, at most ``rows`` at a time."""
        return read_ahead(self._kept() if self._complete else self._read(rows, start))

    def _read(self, rows: int, start: Position | None) -> Generator[Chunk]:
        self._open()
        for chunk in self._table.chunks(rows, start):
            self._keep(chunk)
            yield chunk
        self._finish()

    def position(self) -> Position:
        """The place in the table, which is of use only while it is read itself."""
        return self._table.position()

    def close(self) -> None:
        """Let go of both files."""
        self._drop()
        self._table.close()

    def _open(self) -> None:
        self._drop()
        if not self._failed:
            try:
                # It has no name, so nothing is left behind however the run ends.
                self._file = tempfile.TemporaryFile(dir=self._folder, prefix="driftmap-")  # noqa: SIM115
            except OSError:
                self._failed = True

    def _drop(self) -> None:
        if self._file is not None:
            with contextlib.suppress(OSError):  # of a full disk
                self._file.close()
            self._file = None

    def _keep(self, chunk: Chunk) -> None:
        if self._file is None:
            return
        features, labels, fraction = chunk
        kind = NO_LABELS if labels is None else TEXTS if isinstance(labels, list) else NUMBERS
        text = labels.tobytes() if isinstance(labels, np.ndarray) else json.dumps(labels).encode()
        try:
            self._file.write(HEAD.pack(len(features), kind, len(text), np.nan if fraction is None else fraction))
            self._file.write(np.ascontiguousarray(features).data)
            self._file.write(text)
        except OSError:
            self._failed = True
            self._drop()

    def _finish(self) -> None:
        if self._file is None:
            return
        try:
            self._file.flush()
            self._complete = True
        except OSError:
            self._failed = True
            self._drop()

    def _kept(self) -> Generator[Chunk]:
        assert self._file is not None
        self._file.seek(0)
        while head := self._file.read(HEAD.size):
            rows, kind, length, fraction = HEAD.unpack(head)
            features: Array = np.empty((rows, len(self.columns)))
            self._file.readinto(features.data)  # type: ignore[attr-defined]
            text = self._file.read(length)
            labels = np.frombuffer(text) if kind == NUMBERS else json.loads(text)
            yield Chunk(features, labels, None if np.isnan(fraction) else fraction)

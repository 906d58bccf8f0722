"""Records the messages to a browser with their times, and replays them."""

from __future__ import annotations

import itertools
import os
import struct
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, BinaryIO

from driftmap.live.messages import Arrays, read_message
from driftmap.live.scene import Scene, Seen
from driftmap.utils.errors import InputError
from driftmap.web.columns import GrowingColumn

FILE_MAGIC = b"driftmap recording 1\n"
RECORD_HEADER = struct.Struct("<dI")
"""Seconds since the start, and bytes of the message that follows."""
LONGEST = 1e9
"""Seconds of a recording, at most."""


class Recorder:
    """Writes the messages that a browser would receive to a file, flushed after each message."""

    def __init__(self, scene: Scene, file: BinaryIO, report: Callable[[str], object] = lambda message: None) -> None:
        self._scene, self._file, self._report = scene, file, report
        self._failed = False
        self._seen: Seen | None = None
        self._start = time.monotonic()
        file.write(FILE_MAGIC)
        self.write()

    def write(self) -> None:
        """Append the changes since the last call. A write error is reported and ends the recording, but not the run."""
        changed = None if self._failed else self._scene.message(self._seen)
        if changed is None:
            return
        message, self._seen = changed
        try:
            self._file.write(RECORD_HEADER.pack(time.monotonic() - self._start, len(message)) + message)
            self._file.flush()
        except OSError as error:
            self._failed = True
            self._report(f"the recording ends here: {error.strerror or error}")


def records(file: BinaryIO, name: str) -> Iterator[tuple[float, bytes]]:
    """Times and messages, in order. A last record that was cut off, as by a crash, is left out."""
    size, last = file.seek(0, os.SEEK_END), 0.0
    file.seek(0)
    if file.read(len(FILE_MAGIC)) != FILE_MAGIC:
        raise InputError("is not a recording of driftmap watch", source=name)
    while len(head := file.read(RECORD_HEADER.size)) == RECORD_HEADER.size:
        seconds, length = RECORD_HEADER.unpack(head)
        if length > size - file.tell():  # before memory is asked for
            return
        if not last <= seconds <= LONGEST:
            raise InputError(f": its times are not in order: {seconds:g} after {last:g} seconds", source=name)
        last = seconds
        yield seconds, file.read(length)


class Replay:
    """A recording whose scene changes as it did when it was made. All of it is checked before any of it is shown."""

    def __init__(self, path: Path) -> None:
        self._path = path
        if path.exists() and not path.is_file():  # a FIFO would be waited for
            raise InputError("is not a file", source=str(path))
        messages = self._messages()
        _, (header, arrays) = next(messages, (0.0, ({}, {})))
        if not header:
            raise InputError("is a recording without content", source=str(path))
        for _ in messages:
            pass
        columns = [GrowingColumn(column["name"], column["kind"]) for column in header["columns"]]
        for column, described in zip(columns, header["columns"], strict=True):
            column.base, column.names = described["base"], described["names"]
        self.scene = Scene(header["title"], columns, header["capacity"], header["color"])
        self.scene.apply(header, arrays)

    def _messages(self) -> Iterator[tuple[float, tuple[dict[str, Any], Arrays]]]:
        """Times, and checked messages."""
        n_columns = None
        with self._path.open("rb") as file:
            for i, (seconds, data) in enumerate(records(file, str(self._path))):
                try:
                    message = read_message(data, n_columns=n_columns)
                except ValueError as error:
                    raise InputError(f": message {i + 1} is damaged: {error}", source=str(self._path)) from error
                n_columns = len(message[0]["columns"]) if n_columns is None else n_columns
                yield seconds, message

    def play(self, speed: float) -> None:
        """Play the recording to its end, ``speed`` times as fast as it was recorded."""
        start = time.monotonic()
        for seconds, message in itertools.islice(self._messages(), 1, None):
            wait = seconds / speed - (time.monotonic() - start)
            if wait > 0:
                time.sleep(min(wait, LONGEST))
            self.scene.apply(*message)

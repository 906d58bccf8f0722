"""Recordings: the messages to a browser with their times, written as they come, and played again."""

from __future__ import annotations

import itertools
import struct
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import BinaryIO

from driftmap.live.scene import Scene, Seen
from driftmap.utils.errors import InputError
from driftmap.web.columns import GrowingColumn
from driftmap.web.protocol import decode

FILE_MAGIC = b"driftmap recording 1\n"
RECORD_HEADER = struct.Struct("<dI")
"""Seconds since the start, and bytes of the message that follows."""


class Recorder:
    """Writes to a file what a browser would be sent; what is written is seen by others at once."""

    def __init__(self, scene: Scene, file: BinaryIO, report: Callable[[str], object] = lambda message: None) -> None:
        self._scene, self._file, self._report = scene, file, report
        self._failed = False
        self._seen: Seen | None = None
        self._start = time.monotonic()
        file.write(FILE_MAGIC)
        self.write()

    def write(self) -> None:
        """Append what has changed since the last time. A full disk is reported, and ends only the recording."""
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
    """Times and messages. A last record that was cut off, as by a crash, is left out."""
    if file.read(len(FILE_MAGIC)) != FILE_MAGIC:
        raise InputError("is not a recording of driftmap watch", source=name)
    while len(head := file.read(RECORD_HEADER.size)) == RECORD_HEADER.size:
        seconds, length = RECORD_HEADER.unpack(head)
        message = file.read(length)
        if len(message) < length:
            return
        yield seconds, message


class Replay:
    """A recording whose scene changes as it did when it was made."""

    def __init__(self, path: Path) -> None:
        self._path = path
        with path.open("rb") as file:
            first = next(records(file, str(path)), None)
        if first is None:
            raise InputError("is a recording without content", source=str(path))
        header, arrays = decode(first[1])
        columns = [GrowingColumn(column["name"], column["kind"]) for column in header["columns"]]
        for column, described in zip(columns, header["columns"], strict=True):
            column.base, column.names = described["base"], described["names"]
        self.scene = Scene(header["title"], columns, header["capacity"], header["color"])
        self.scene.apply(header, arrays)

    def play(self, speed: float, sleep: Callable[[float], object] = time.sleep) -> None:
        """Play it to its end, this many times as fast as it was recorded."""
        start = time.monotonic()
        with self._path.open("rb") as file:
            for seconds, message in itertools.islice(records(file, str(self._path)), 1, None):
                wait = seconds / speed - (time.monotonic() - start)
                if wait > 0:
                    sleep(wait)
                self.scene.apply(*decode(message))

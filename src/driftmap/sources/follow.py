"""Followed files and pipes: lines as they are completed, including those after a file was replaced or truncated."""

from __future__ import annotations

import contextlib
import hashlib
import os
import time
from collections import deque
from pathlib import Path
from typing import BinaryIO

from driftmap.sources.files import suffix_of
from driftmap.sources.row_source import RowSource
from driftmap.utils.errors import InputError

POLL_SECONDS = 0.005
"""Seconds between two checks of a source that may have grown."""
POLLED_BYTES = 2**16
TAIL_BYTES = 2**16
"""Bytes that identify a followed file."""
LONGEST_ROW = 2**24
"""Most bytes of a row."""


class RestartedError(Exception):
    """Raised when a file was replaced or truncated, as the message says; reading continues from position 0.

    ``cut_off``: its last line was incomplete.
    """

    def __init__(self, reason: str, *, cut_off: bool) -> None:
        super().__init__(reason)
        self.cut_off = cut_off


class Lines:
    """Bytes that arrive in pieces, split into lines. Empty lines are held back until another line follows."""

    def __init__(self, name: str) -> None:
        self._name, self._complete, self.rest = name, deque[bytes](), b""

    def __bool__(self) -> bool:
        return bool(self._complete)

    def add(self, piece: bytes) -> None:
        """Add the next bytes."""
        data = self.rest + piece
        stop = data.find(b"\n", len(data[: data.rfind(b"\n") + 1].rstrip(b"\r\n"))) + 1
        lines, self.rest = (data[:stop].split(b"\n")[:-1], data[stop:]) if data[:stop].strip(b"\r\n") else ([], data)
        self._complete.extend(line + b"\n" for line in lines)
        if len(self.rest) > LONGEST_ROW:
            raise InputError(f"has a line of more than {LONGEST_ROW:,} bytes", source=self._name)

    def take(self, limit: int) -> list[bytes]:
        """Return the next complete lines, at most ``limit``."""
        return [self._complete.popleft() for _ in range(min(limit, len(self._complete)))]


class FollowedStream(RowSource):
    """Standard input up to its end, or a named pipe, which waits for the next writer. The last line of a writer is
    complete.

    A stream continues from its present position, whatever position is requested.
    """

    def __init__(self, name: str, file: BinaryIO, *, ends: bool) -> None:
        super().__init__(name)
        self.resumes = "start" if ends else "here"
        self._file, self._ends, self._lines, self._offset = file, ends, Lines(name), 0

    def read(self, position: int, limit: int) -> tuple[list[bytes], int]:
        """Return the next lines, at most ``limit``, and the offset after them; no lines at the end of the stream."""
        while not self._lines:
            self.waiting()  # the next read may block
            piece = self._file.read1(POLLED_BYTES)  # type: ignore[attr-defined]
            if piece:
                self._lines.add(piece)
            elif self._lines.rest and not self._lines.rest.endswith(b"\n"):
                self._lines.add(b"\n")
            elif self._ends:
                break
            else:
                time.sleep(POLL_SECONDS)
        lines = self._lines.take(limit)
        self._offset += sum(map(len, lines))
        return lines, self._offset

    def close(self) -> None:
        """Close the stream."""
        self._file.close()


class FollowedFile(RowSource):
    """A growing file without an end. If it is replaced, the old file is read to its end before the new one."""

    def __init__(self, name: str, path: Path) -> None:
        super().__init__(name)
        self._path, self.suffix = path, suffix_of(path)
        self._open()

    def _open(self) -> None:
        self._file, self._lines, self._offset, self._read = self._path.open("rb"), Lines(self.name), 0, 0
        self._tail = b""
        """The last bytes read."""

    def read(self, position: int, limit: int) -> tuple[list[bytes], int]:
        """Return the next lines from an offset on, at most ``limit``, and the offset after them; wait for the first
        one.
        """
        if position != self._offset:
            self._file.seek(position)
            self._lines, self._offset, self._read, self._tail = Lines(self.name), position, position, b""
        while not self._lines:
            if piece := self._file.read(POLLED_BYTES):
                self._read, self._tail = self._read + len(piece), self._tail[-TAIL_BYTES:] + piece
                self._lines.add(piece)
            else:
                time.sleep(POLL_SECONDS)
                self.waiting()
                self._check_replaced()
        lines = self._lines.take(limit)
        self._offset += sum(map(len, lines))
        return lines, self._offset

    def _check_replaced(self) -> None:
        with contextlib.suppress(FileNotFoundError):  # the file was moved away, and its replacement does not exist yet
            now, ours = self._path.stat(), os.fstat(self._file.fileno())
            was_cut = ours.st_size < self._read
            if was_cut or (not os.path.samestat(now, ours) and ours.st_size == self._read):
                cut_off = bool(self._lines.rest)
                self.close()
                self._open()
                raise RestartedError(f"{self.name} was {'cut' if was_cut else 'replaced'}", cut_off=cut_off)

    def tail(self, offset: int, ahead: int) -> tuple[int, int, str] | None:
        """Return begin, end and digest of the last bytes up to ``ahead`` lines after an offset; None if they are
        unknown.

        None: they are not known any more.
        """
        first = self._read - len(self._tail)
        lines = self._tail[max(0, offset - first) :].split(b"\n")[:ahead]
        stop = offset + sum(len(line) + 1 for line in lines)
        start = max(first, stop - TAIL_BYTES)
        return None if start >= stop else (start, stop, digest(self._tail[start - first : stop - first]))

    def close(self) -> None:
        """Close the file."""
        self._file.close()


def digest(data: bytes) -> str:
    """Return a digest that identifies some bytes."""
    return hashlib.sha256(data).hexdigest()

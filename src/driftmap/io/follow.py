"""Growing files: bytes as they are appended, also after the file was replaced or cut."""

from __future__ import annotations

import contextlib
import hashlib
import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO, NamedTuple

POLL_SECONDS = 0.005
"""Seconds between two looks at a file that may have grown."""
READ_BYTES = 2**16
TAIL_BYTES = 2**16
"""Bytes by which a followed file is recognised."""


class Tail:
    """The last bytes that were read of a growing file, by which it is recognised later."""

    def __init__(self, offset: int) -> None:
        self._end, self._bytes = offset, b""

    def add(self, piece: bytes) -> None:
        """Further bytes were read."""
        self._end, self._bytes = self._end + len(piece), self._bytes[-TAIL_BYTES:] + piece

    def digest(self, offset: int) -> tuple[int, str] | None:
        """Where the last bytes before a place begin, and their digest; None if none of them are known."""
        first = self._end - len(self._bytes)
        start = max(first, offset - TAIL_BYTES)
        return None if start >= offset else (start, digest(self._bytes[start - first : offset - first]))


def digest(data: bytes) -> str:
    """A digest that identifies some bytes."""
    return hashlib.sha256(data).hexdigest()


class Restart(NamedTuple):
    """The file was replaced or cut, and is read again from its start."""

    reason: str


def follow(file: BinaryIO, path: Path | None, name: str, offset: int) -> Iterator[bytes | Restart]:
    """The bytes from a place on, for ever unless standard input ends.

    A named pipe waits for the next writer, and the last line of each writer is complete.
    """
    is_pipe = path is None or path.is_fifo()
    if not is_pipe:
        file.seek(offset)
    read, last = offset, b"\n"
    with contextlib.ExitStack() as stack:
        while True:
            piece = file.read1(READ_BYTES)  # type: ignore[attr-defined]
            if piece:
                read, last = read + len(piece), piece[-1:]
                yield piece
            elif is_pipe:
                if last != b"\n":
                    last = b"\n"
                    yield last
                elif path is None:
                    return
                else:
                    time.sleep(POLL_SECONDS)
            else:
                time.sleep(POLL_SECONDS)
                assert path is not None
                with contextlib.suppress(FileNotFoundError):  # moved away, and the new one is not there yet
                    now, ours = path.stat(), os.fstat(file.fileno())
                    if ours.st_size < read:
                        file.seek(0)
                        read = 0
                        yield Restart(f"{name} was cut")
                    elif not os.path.samestat(now, ours) and ours.st_size == read:
                        stack.close()
                        file = stack.enter_context(path.open("rb"))
                        read = 0
                        yield Restart(f"{name} was replaced")

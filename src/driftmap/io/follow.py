"""Growing files: bytes as they are appended, also after the file was replaced or cut."""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO, NamedTuple

POLL = 0.005
"""Seconds between two looks at a file that may have grown."""
PIECE = 2**16


class Restart(NamedTuple):
    """The file was replaced or cut, and is read again from its start."""

    reason: str


def follow(file: BinaryIO, path: Path | None, name: str, offset: int) -> Iterator[tuple[bytes | Restart, BinaryIO]]:
    """The bytes from a place on, with the file they are from, for ever unless standard input ends.

    A named pipe waits for the next writer, and the last line of each writer is complete.
    """
    is_pipe = path is None or path.is_fifo()
    if not is_pipe:
        file.seek(offset)
    read, last = offset, b"\n"
    with contextlib.ExitStack() as stack:
        while True:
            piece = file.read1(PIECE)  # type: ignore[attr-defined]
            if piece:
                read, last = read + len(piece), piece[-1:]
                yield piece, file
            elif is_pipe:
                if last != b"\n":
                    last = b"\n"
                    yield last, file
                elif path is None:
                    return
                else:
                    time.sleep(POLL)
            else:
                time.sleep(POLL)
                assert path is not None
                with contextlib.suppress(FileNotFoundError):  # moved away, and the new one is not there yet
                    now, ours = path.stat(), os.fstat(file.fileno())
                    if ours.st_size < read:
                        file.seek(0)
                        read = 0
                        yield Restart(f"{name} was cut"), file
                    elif not os.path.samestat(now, ours) and ours.st_size == read:
                        stack.close()
                        file = stack.enter_context(path.open("rb"))
                        read = 0
                        yield Restart(f"{name} was replaced"), file

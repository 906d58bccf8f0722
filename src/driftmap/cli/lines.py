"""Lines of text, with the exact place of each: from a file or stream that ends, or from one that is still growing."""

from __future__ import annotations

import contextlib
import gzip
import io
import os
import time
import zlib
from collections import deque
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO, Protocol

from driftmap.cli.badlines import BadLines
from driftmap.cli.errors import UserError, note
from driftmap.cli.tables import Position

POLL = 0.005
"""Seconds between two looks at a file that may have grown."""
PIECE = 2**16


class Lines(Protocol):
    """Lines with their ends; ``count`` of them have been given out."""

    count: int
    repeated: str | None
    """A header, which is left out where the input starts again."""

    def __iter__(self) -> Iterator[str]:
        """The lines from here."""

    def tell(self) -> int | None:
        """A number that leads back to this place, or None where there is no way back."""

    def go_to(self, place: Position) -> None:
        """Go on from a place where a reading of the same input was before."""

    def close(self) -> None:
        """Let go of the input."""


class FiniteLines:
    """The lines of a file or stream, unpacked if it is gzipped, whatever its name says."""

    repeated: str | None = None

    def __init__(self, stream: BinaryIO, name: str, bad: BadLines, *, shared: bool) -> None:
        self.count, self._name, self._bad, self._shared = 0, name, bad, shared
        self._end: int | None = None
        if stream.peek(2)[:2] == b"\x1f\x8b":  # type: ignore[attr-defined]
            stream = gzip.GzipFile(fileobj=stream)  # type: ignore[assignment]
        # Bytes that are no text end the reading where they are read, unless their line is to be skipped.
        errors = "surrogateescape" if bad.skip else "strict"
        self._text = io.TextIOWrapper(stream, encoding="utf-8-sig", newline="", errors=errors)

    def __iter__(self) -> Iterator[str]:
        """The lines from here; whatever cannot be read is the user's mistake."""
        try:
            for line in iter(self._text.readline, ""):  # unlike a loop over the text, this leaves room for tell
                self.count += 1
                if line.isascii() or not self._bad.skip or self._is_text(line):
                    yield line
        except UnicodeDecodeError as error:
            raise UserError(f"{self._name} is not UTF-8 text (byte {error.object[error.start]:#04x})") from error
        except EOFError as error:
            raise UserError(f"{self._name} is cut off: the gzip file ends too early") from error
        except (gzip.BadGzipFile, zlib.error) as error:
            raise UserError(f"{self._name} is damaged: {error}") from error

    def _is_text(self, line: str) -> bool:
        try:
            line.encode()
        except UnicodeEncodeError as error:
            byte = ord(line[error.start]) - 0xDC00
            where = f"{self._name}, line {self.count}"
            self._bad.refuse(self.count, UserError(f"{where} is not UTF-8 text (byte {byte:#04x})"))
            return False
        return True

    def tell(self) -> int | None:
        """The place as Python's text files tell it, if the input can be read from any place."""
        if self._text.closed:
            return self._end
        return self._text.tell() if self._text.seekable() else None

    def go_to(self, place: Position) -> None:
        """Jump there, or read on to there where jumping is not possible."""
        if place.offset is not None and self._text.seekable():
            self._text.seek(place.offset)
            self.count = place.lines
            return
        lines = iter(self._text.readline, "")
        while self.count < place.lines:
            if next(lines, None) is None:
                raise UserError(
                    f"{self._name} has {self.count} lines, but {place.lines} were read before: "
                    "give the same input from its start"
                )
            self.count += 1

    def close(self) -> None:
        """Close the file; closing standard input is left to others."""
        if self._shared:
            self._text.detach()
            self._text = io.TextIOWrapper(io.BytesIO())
        else:
            with contextlib.suppress(OSError, ValueError, EOFError, zlib.error):  # damaged: there is no way back
                self._end = self.tell()
        self._text.close()


class FollowedLines:
    """The lines of a file or pipe that is still growing; a line is given out when its end has arrived.

    A file that is replaced or cut is read again from its start. A named pipe waits for the next writer; standard input
    ends when it ends.
    """

    def __init__(self, stream: BinaryIO, path: Path | None, name: str, bad: BadLines) -> None:
        self.count = 0
        self.repeated: str | None = None
        self._name, self._bad, self._path = name, bad, path
        self._stream, self._is_pipe = stream, path is None or path.is_fifo()
        self._opened: BinaryIO | None = None  # a file that took the place of the first
        self._offset, self._read = 0, 0
        self._ready: deque[bytes] = deque()
        self._rest = b""

    def __iter__(self) -> Iterator[str]:
        """The lines as they come, for ever unless standard input ends."""
        while True:
            while not self._ready:
                if not self._wait():
                    return
            raw = self._ready.popleft()
            self._offset += len(raw)
            self.count += 1
            try:
                line = raw.decode("utf-8-sig" if self.count == 1 else "utf-8")
            except UnicodeDecodeError as error:
                where = f"{self._name}, line {self.count}"
                self._bad.refuse(self.count, UserError(f"{where} is not UTF-8 text (byte {raw[error.start]:#04x})"))
                continue
            if self.count > 1 or line != self.repeated:
                yield line

    def _wait(self) -> bool:
        """Wait for some bytes; false if there will be none."""
        piece = self._stream.read1(PIECE)  # type: ignore[attr-defined]
        if not piece:
            return self._at_end()
        self._read += len(piece)
        lines = (self._rest + piece).split(b"\n")
        self._rest = lines.pop()
        self._ready.extend(line + b"\n" for line in lines)
        return True

    def _at_end(self) -> bool:
        if self._is_pipe:
            if self._rest:  # its writer has gone, so the last line is complete
                self._ready.append(self._rest)
                self._rest = b""
            elif self._path is None:
                return False
            else:
                time.sleep(POLL)
            return True
        time.sleep(POLL)
        with contextlib.suppress(FileNotFoundError):  # moved away, and the new one is not there yet
            assert self._path is not None
            now, ours = self._path.stat(), os.fstat(self._stream.fileno())
            if ours.st_size < self._read:
                self._restart(f"{self._name} was cut")
                self._stream.seek(0)
            elif not os.path.samestat(now, ours) and ours.st_size == self._read:
                self._restart(f"{self._name} was replaced")
                new = self._path.open("rb")
                self.close()
                self._stream = self._opened = new
        return True

    def _restart(self, what: str) -> None:
        note(f"{what} after line {self.count}: it is read from its start")
        if self._rest:
            self._bad.refuse(
                self.count + 1, UserError(f"{self._name}, line {self.count + 1} had no end when the file was replaced")
            )
        self._bad.restart()
        self._rest, self.count, self._offset, self._read = b"", 0, 0, 0

    def tell(self) -> int | None:
        """The bytes of all lines given out, if the input is a file."""
        return None if self._is_pipe else self._offset

    def go_to(self, place: Position) -> None:
        """Jump there in a file; of standard input, let as many lines go by."""
        if place.offset is not None and not self._is_pipe:
            self._stream.seek(place.offset)
            self._ready.clear()
            self._rest, self.count, self._offset, self._read = b"", place.lines, place.offset, place.offset
            return
        if self._path is not None:  # nobody fills a named pipe a second time with what was read from it
            self.count = place.lines
            return
        while self.count < place.lines:
            while not self._ready:
                if not self._wait():
                    raise UserError(f"{self._name} ended after {self.count} lines, but {place.lines} were read before")
            self._ready.popleft()
            self.count += 1

    def close(self) -> None:
        """Close what was opened here."""
        if self._opened is not None:
            self._opened.close()
            self._opened = None

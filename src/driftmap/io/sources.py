"""Sources of bytes: files, and streams, which are copied to a temporary file if they have to be read twice."""

from __future__ import annotations

import contextlib
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO

from driftmap.io.atomic import scratch_folder
from driftmap.io.follow import Restart, follow
from driftmap.utils.errors import InputError

READ_BYTES = 2**22
"""Bytes read at a time."""
COMPRESSED = {b"\x1f\x8b": "gzip", b"\x28\xb5\x2f\xfd": "zstd"}
SUFFIXES = (".gz", ".zst")
STANDARD_INPUT = "standard input"


class Source:
    """An input and what to call it in messages; ``stream`` is set where it can be read only once."""

    def __init__(
        self, name: str, path: Path | None = None, stream: BinaryIO | None = None, *, following: bool = False
    ) -> None:
        self.name, self.path, self.stream, self.following = name, path, stream, following
        self.consumed = 0
        """Bytes of the file that are read."""

    @property
    def size(self) -> int | None:
        """Number of bytes, where it is known."""
        return None if self.path is None or self.stream is not None else self.path.stat().st_size

    @property
    def kind(self) -> str:
        """The suffix of the name without that of a compression, in lower case; empty for a stream."""
        if self.stream is not None or self.path is None or self.path != Path(self.name):
            return ""
        suffixes = [suffix.lower() for suffix in self.path.suffixes]
        return next((suffix for suffix in reversed(suffixes) if suffix not in SUFFIXES), "")

    def pieces(self, offset: int) -> Iterator[bytes | Restart]:
        """The decompressed bytes from a place on (a stream: from where it is), as they come."""
        with contextlib.ExitStack() as stack:
            file = self.stream
            if file is None:
                assert self.path is not None
                file = stack.enter_context(self.path.open("rb"))
            if self.following:
                yield from follow(file, self.path, self.name, offset)
                return
            try:
                yield from self._read(file, offset)
            except OSError as error:
                raise InputError(f"is damaged: {error}", source=self.name) from error

    def _read(self, file: BinaryIO, offset: int) -> Iterator[bytes]:
        head = file.peek(4)[:4]  # type: ignore[attr-defined]
        codec = next((codec for magic, codec in COMPRESSED.items() if head.startswith(magic)), None)
        read: Any = file.read1  # type: ignore[attr-defined]
        if codec is not None:
            import pyarrow

            read = pyarrow.CompressedInputStream(file, codec).read
            skipped = 0
            while self.stream is None and skipped < offset:
                skipped += len(read(min(READ_BYTES, offset - skipped))) or offset
        elif self.stream is None:
            file.seek(offset)
        while piece := read(READ_BYTES):
            self.consumed = file.tell() if self.stream is None else 0
            yield piece

    @property
    def is_regular(self) -> bool:
        """Whether the input is a file, neither standard input nor a named pipe."""
        return self.stream is None and self.path is not None


@contextlib.contextmanager
def open_source(file: str, *, once: bool, following: bool = False) -> Iterator[Source]:
    """The file, or for ``-`` and named pipes the stream: directly if read ``once``, else a copy of it."""
    path = Path(file)
    if file != "-" and not path.is_fifo():
        if path.is_dir():
            raise InputError("is a folder, not a file", source=file)
        with path.open("rb"):  # a missing or unreadable file is reported before anything else is done
            pass
        yield Source(file, path, following=following)
        return
    with contextlib.ExitStack() as stack:
        name = STANDARD_INPUT if file == "-" else file
        if file == "-" and sys.stdin is None:
            raise InputError("is closed", source=name)
        stream = sys.stdin.buffer if file == "-" else stack.enter_context(path.open("rb"))
        if once:
            yield Source(name, path if following and file != "-" else None, stream, following=following)
            return
        copy = stack.enter_context(scratch_folder()) / "input"
        with copy.open("wb") as target:
            shutil.copyfileobj(stream, target)
        yield Source(name, copy)

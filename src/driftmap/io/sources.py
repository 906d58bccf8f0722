"""Sources: where the bytes or the rows of a table come from.

A :class:`Source` is a file, or a stream, which is copied to a temporary file if it has to be read twice.

What is followed (``--follow``) has ``rows``, a :class:`RowSource`: an object with a ``name`` and
``read(position, limit) -> rows, position``. To follow another kind of source, write such a class and let
:func:`open_source` choose it for its URLs, as :mod:`driftmap.io.brokers` does. The loop, the parsers, ``--skip-bad``,
checkpoints and outputs need nothing else.
"""

from __future__ import annotations

import contextlib
import shutil
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, BinaryIO, Protocol

from driftmap.io.atomic import scratch_folder
from driftmap.io.brokers import open_broker, without_credentials
from driftmap.io.follow import FollowedFile, FollowedStream
from driftmap.io.generated import GENERATED, GeneratedRows
from driftmap.utils.errors import InputError

READ_BYTES = 2**22
"""Bytes read at a time."""
COMPRESSED = {b"\x1f\x8b": "gzip", b"\x28\xb5\x2f\xfd": "zstd"}
SUFFIXES = (".gz", ".zst")
STANDARD_INPUT = "standard input"


class RowSource(Protocol):
    """Rows that are read as they arrive."""

    name: str
    """What to call it in messages; without credentials."""
    waiting: Callable[[], Any]
    """Is called again and again while there is no row."""

    def read(self, position: Any, limit: int) -> tuple[list[bytes], Any]:
        """The next rows after a position, at most ``limit``, and the position after the last of them.

        A row is the bytes of one line of CSV or JSON, with its line end. The call waits for the first row; no rows: the
        source has ended. A position is a JSON value. 0 is the beginning; all others were returned by an earlier call,
        perhaps of an earlier process that was killed: a checkpoint saves the position together with the map, in one
        atomic write. The same position gives the same rows again, unless the source is a stream, which goes on where it
        is. Rows that are gone are an error that names them, and never skipped.
        """


@dataclass(eq=False)
class Source:
    """An input."""

    name: str
    """What to call it in messages."""
    path: Path | None = None
    stream: BinaryIO | None = None
    """Set where the input can be read only once."""
    rows: RowSource | None = None
    """Where the rows come from if the input is followed."""
    size: int | None = None
    """Number of bytes, where it is known."""
    suffix: str | None = None
    """The suffix of a file without that of a compression, in lower case; None: a stream, which has no name."""
    consumed: int = 0
    """Bytes of the file that are read."""

    def pieces(self, offset: int) -> Iterator[bytes]:
        """The decompressed bytes from a place on (a stream: from where it is), as they come."""
        with contextlib.ExitStack() as stack:
            file = self.stream
            if file is None:
                assert self.path is not None
                file = stack.enter_context(self.path.open("rb"))
            read: Any = file.read1  # type: ignore[attr-defined]
            try:
                head = file.peek(4)[:4]  # type: ignore[attr-defined]
                codec = next((codec for magic, codec in COMPRESSED.items() if head.startswith(magic)), None)
                if codec is not None:
                    import pyarrow

                    read = partial(_decompress, pyarrow.CompressedInputStream(file, codec), bytearray(READ_BYTES))
                    skipped = 0
                    while self.stream is None and skipped < offset:
                        skipped += len(read(min(READ_BYTES, offset - skipped))) or offset
                elif self.stream is None:
                    file.seek(offset)
                while piece := read(READ_BYTES):
                    self.consumed = file.tell() if self.stream is None else 0
                    yield piece
            except OSError as error:
                raise InputError(f"is damaged: {error}", source=self.name) from error


def _decompress(stream: Any, buffer: bytearray, most: int) -> bytes:
    """The next bytes of a compressed stream, by a buffer of ours: pyarrow leaks its own where a file is damaged."""
    return bytes(buffer[: stream.readinto(memoryview(buffer)[:most])])


def open(url: str) -> RowSource:
    """The messages of a broker as rows: ``kafka://``, ``redis://``, ``nats://`` or ``mqtt://host/name``.

    It connects when rows are read: ``rows, position = source.read(0, 100)``.

    >>> open("redis://me:secret@localhost/prices").name
    'redis://localhost/prices'
    """
    return open_broker(url)


@contextlib.contextmanager
def open_source(file: str, *, once: bool, following: bool = False) -> Iterator[Source]:
    """The file, or for ``-`` and named pipes the stream: directly if read ``once``, else a copy of it."""
    path = Path(file)
    if file == GENERATED and following:
        yield Source(file, rows=GeneratedRows())
        return
    if "://" in file:  # the address of a broker
        if not following:
            problem = "never ends, so it cannot be mapped as a whole: add --follow"
            raise InputError(problem, source=without_credentials(file))
        with contextlib.closing(open_broker(file)) as broker:
            yield Source(broker.name, rows=broker)
        return
    if file != "-" and not path.is_fifo():
        if path.is_dir():
            raise InputError("is a folder, not a file", source=file)
        suffixes = [suffix.lower() for suffix in path.suffixes if suffix.lower() not in SUFFIXES]
        suffix = suffixes[-1] if suffixes else ""
        if following:
            with contextlib.closing(FollowedFile(file, path)) as followed:
                yield Source(file, path, rows=followed, size=path.stat().st_size, suffix=suffix)
            return
        with path.open("rb"):  # a missing or unreadable file is reported before anything else is done
            pass
        yield Source(file, path, size=path.stat().st_size, suffix=suffix)
        return
    with contextlib.ExitStack() as stack:
        name = STANDARD_INPUT if file == "-" else file
        if file == "-" and sys.stdin is None:
            raise InputError("is closed", source=name)
        stream = sys.stdin.buffer if file == "-" else stack.enter_context(path.open("rb"))
        if once:
            pipe = path if following and file != "-" else None
            rows = FollowedStream(name, stream, ends=pipe is None) if following else None
            yield Source(name, pipe, stream, rows)
            return
        copy = stack.enter_context(scratch_folder()) / "input"
        with copy.open("wb") as target:
            shutil.copyfileobj(stream, target)
        yield Source(name, copy, size=copy.stat().st_size)

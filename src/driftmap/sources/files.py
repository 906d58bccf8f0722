"""Files and streams of bytes, compressed or not: what is opened, and how its bytes are read."""

from __future__ import annotations

import contextlib
import shutil
import sys
from collections.abc import Generator, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

from driftmap.sources.addresses import address_in
from driftmap.storage.atomic import scratch_folder
from driftmap.utils.errors import InputError

READ_BYTES = 2**22
"""Bytes read at a time."""
STANDARD_INPUT = "standard input"


class Compression(NamedTuple):
    """A way in which text may be compressed."""

    suffix: str
    codec: str
    """What pyarrow calls it."""
    magic: bytes
    """How a compressed file begins; this decides, not the suffix."""


COMPRESSIONS = (Compression(".gz", "gzip", b"\x1f\x8b"), Compression(".zst", "zstd", b"\x28\xb5\x2f\xfd"))


@dataclass(eq=False)
class Source:
    """A file, or a stream that can be read only once."""

    name: str
    """What to call it in messages."""
    path: Path | None = None
    stream: BinaryIO | None = None
    """Set if the input can be read only once."""
    size: int | None = None
    """Number of bytes, if it is known."""
    suffix: str | None = None
    """The suffix of a file without that of a compression, in lower case; None: a stream, which has no name."""
    consumed: int = 0
    """Bytes of the file that are read."""


def suffix_of(path: Path) -> str:
    """Return the suffix of a path in lower case, without that of a compression.

    >>> suffix_of(Path("rows.CSV.gz"))
    '.csv'
    """
    compressed = [compression.suffix for compression in COMPRESSIONS]
    suffixes = [suffix.lower() for suffix in path.suffixes]
    return next((suffix for suffix in reversed(suffixes) if suffix not in compressed), "")


@contextlib.contextmanager
def open_source(file: str, *, once: bool) -> Iterator[Source]:
    """Open a file or, for ``-`` and named pipes, a stream: directly if it is read ``once``, else a copy of it."""
    if (address := address_in(file)) is not None:
        raise InputError("never ends, so it cannot be mapped as a whole", source=address, advice="endless")
    path = Path(file)
    if file != "-" and not path.is_fifo():
        if path.is_dir():
            raise InputError("is a folder, not a file", source=file)
        with path.open("rb"):  # a missing or unreadable file is reported before anything else is done
            pass
        yield Source(file, path, size=path.stat().st_size, suffix=suffix_of(path))
        return
    with contextlib.ExitStack() as stack:
        stream = standard_input() if file == "-" else stack.enter_context(path.open("rb"))
        name = STANDARD_INPUT if file == "-" else file
        if once:
            yield Source(name, stream=stream)
            return
        copy = stack.enter_context(scratch_folder()) / "input"
        with copy.open("wb") as target:
            shutil.copyfileobj(stream, target)
        yield Source(name, copy, size=copy.stat().st_size)


def standard_input() -> BinaryIO:
    """Return standard input, or raise an error if it is closed."""
    if sys.stdin is None:
        raise InputError("is closed", source=STANDARD_INPUT)
    return sys.stdin.buffer


def read_pieces(source: Source, offset: int) -> Generator[bytes]:
    """The decompressed bytes from a place on (a stream: from where it is), as they come."""
    with contextlib.ExitStack() as stack:
        file = source.stream
        if file is None:
            assert source.path is not None
            file = stack.enter_context(source.path.open("rb"))
        read: Any = file.read1  # type: ignore[attr-defined]
        try:
            head = file.peek(4)[:4]  # type: ignore[attr-defined]
            codec = next((found.codec for found in COMPRESSIONS if head.startswith(found.magic)), None)
            if codec is not None:
                import pyarrow

                read = partial(_decompress, pyarrow.CompressedInputStream(file, codec), bytearray(READ_BYTES))
                skipped = 0
                while source.stream is None and skipped < offset:
                    skipped += len(read(min(READ_BYTES, offset - skipped))) or offset
            elif source.stream is None:
                file.seek(offset)
            while piece := read(READ_BYTES):
                source.consumed = file.tell() if source.stream is None else 0
                yield piece
        except OSError as error:
            raise InputError(f"is damaged: {error}", source=source.name) from error


def _decompress(stream: Any, buffer: bytearray, most: int) -> bytes:
    """The next bytes of a compressed stream, by a buffer of ours: pyarrow leaks its own where a file is damaged."""
    return bytes(buffer[: stream.readinto(memoryview(buffer)[:most])])

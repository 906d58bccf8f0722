"""Files and streams of bytes, compressed or not: opening and reading them."""

from __future__ import annotations

import contextlib
import re
import shutil
import sys
import zipfile
import zlib
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
    """A format of compressed text."""

    suffix: str
    codec: str
    """Its name in pyarrow; the standard library reads archives with one file."""
    magic: re.Pattern[bytes]
    """The first bytes of a compressed file; these decide, not the suffix."""


ZIP = Compression(".zip", "zip", re.compile(rb"PK\x03\x04|PK\x05\x06"))
COMPRESSIONS = (
    Compression(".gz", "gzip", re.compile(rb"\x1f\x8b")),
    Compression(".zst", "zstd", re.compile(rb"\x28\xb5\x2f\xfd")),
    Compression(".bz2", "bz2", re.compile(rb"BZh[1-9](1AY&SY|\x17rE8P\x90)")),
    ZIP,
)
HEAD = 10
"""Bytes that identify a compression."""


@dataclass(eq=False)
class Source:
    """A file, or a stream that can be read only once."""

    name: str
    """Its name in messages."""
    path: Path | None = None
    stream: BinaryIO | None = None
    """Set if the input can be read only once."""
    size: int | None = None
    """Number of bytes, if known."""
    suffix: str | None = None
    """The suffix of a file without that of a compression, in lower case; None for a stream, which has no name."""
    consumed: int = 0
    """Bytes of the file read so far."""


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
    """Open a file or, for ``-`` and named pipes, a stream: directly if it is read ``once``, else as a copy."""
    if (address := address_in(file)) is not None:
        if address.is_database:
            raise InputError("is a database, of which a query reads rows", source=address.name, advice="query")
        raise InputError("never ends, so it cannot be mapped as a whole", source=address, advice="endless")
    path = Path(file)
    if file != "-" and not path.is_fifo():
        if path.is_dir():
            raise InputError("is a folder, not a file", source=file)
        with path.open("rb"):  # report a missing or unreadable file before anything else is done
            pass
        suffix = suffix_of(path)
        if not suffix and path.suffix.lower() == ZIP.suffix:
            with path.open("rb") as opened, _archive(opened, file) as archive:
                suffix = suffix_of(Path(_member(archive, file).filename))
        yield Source(file, path, size=path.stat().st_size, suffix=suffix)
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
    """Yield the decompressed bytes from an offset on (a stream: from its present position), as they arrive."""
    with contextlib.ExitStack() as stack:
        file = source.stream
        if file is None:
            assert source.path is not None
            file = stack.enter_context(source.path.open("rb"))
        read: Any = file.read1  # type: ignore[attr-defined]
        try:
            head = file.peek(HEAD)[:HEAD]  # type: ignore[attr-defined]
            codec = next((found.codec for found in COMPRESSIONS if found.magic.match(head)), None)
            if codec is not None:
                if codec == ZIP.codec:
                    read = stack.enter_context(_unzipped(file, source)).read1
                else:
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
        except (OSError, EOFError, zipfile.BadZipFile, zlib.error) as error:
            raise InputError(f"is damaged: {error}", source=source.name) from error


def _archive(stream: BinaryIO, name: str) -> zipfile.ZipFile:
    """Open an archive, or raise an error that names the file."""
    try:
        return zipfile.ZipFile(stream)
    except zipfile.BadZipFile as error:
        raise InputError(f"is damaged: {error}", source=name) from error


def _member(archive: zipfile.ZipFile, name: str) -> zipfile.ZipInfo:
    """Return the only file in an archive, or raise an error."""
    files = [entry for entry in archive.infolist() if not (entry.is_dir() or entry.filename.startswith("__MACOSX/"))]
    if len(files) != 1:
        problem = f"holds {len(files)} files; an archive of one file can be read: unpack it"
        raise InputError(problem, source=name)
    if files[0].flag_bits & 1:
        raise InputError("is encrypted: unpack it", source=name)
    return files[0]


def _unzipped(file: BinaryIO, source: Source) -> Any:
    """Open the only file in an archive."""
    if source.stream is not None:
        raise InputError("is a ZIP archive, which a stream cannot hold: give it as a file", source=source.name)
    archive = _archive(file, source.name)
    try:
        return archive.open(_member(archive, source.name))
    except NotImplementedError as error:  # a compression that the standard library does not support
        raise InputError(f"cannot be unpacked: {error}", source=source.name) from error


def _decompress(stream: Any, buffer: bytearray, most: int) -> bytes:
    """Return the next bytes of a compressed stream in our own buffer: pyarrow leaks its own if the file is damaged."""
    return bytes(buffer[: stream.readinto(memoryview(buffer)[:most])])

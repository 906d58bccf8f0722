"""Sources: where the bytes or the rows of a table come from.

A :class:`Source` is a file, or a stream, which is copied to a temporary file if it has to be read twice.

What is followed has ``rows``, a :class:`RowSource`.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from driftmap.sources.addresses import address_in
from driftmap.sources.brokers import open_broker
from driftmap.sources.follow import FollowedFile, FollowedStream
from driftmap.sources.row_source import RowSource


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


def open(url: str) -> RowSource:
    """The rows of a growing file or a named pipe, or the messages of ``kafka://``, ``redis://``, ``nats://``, ``mqtt://``.

    A broker is connected to when rows are read: ``rows, position = source.read(0, 100)``.

    >>> open("redis://me:secret@localhost/prices").name
    'redis://localhost/prices'
    """
    if (address := address_in(url)) is not None:
        return open_broker(address)
    path = Path(url)
    if path.is_fifo():
        return FollowedStream(url, path.open("rb"), ends=False)
    return FollowedFile(url, path)

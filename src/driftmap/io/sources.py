"""Sources: where the bytes or the rows of a table come from.

A :class:`Source` is a file, or a stream, which is copied to a temporary file if it has to be read twice.

What is followed has ``rows``, a :class:`RowSource`: an object with a ``name`` and
``read(position, limit) -> rows, position``. To follow another kind of source, write such a class and let
:func:`~driftmap.io.readers.open_source` choose it for its URLs, as :mod:`driftmap.io.brokers` does. The loop, the
parsers, bad lines that are skipped, checkpoints and outputs need nothing else.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, Protocol

from driftmap.io.addresses import address_in
from driftmap.io.brokers import open_broker
from driftmap.io.follow import FollowedFile, FollowedStream


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

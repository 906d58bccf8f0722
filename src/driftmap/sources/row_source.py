"""The protocol of sources whose rows are read as they arrive.

To follow another kind of source, write a subclass and let :func:`driftmap.sources.open` choose it for its names. Runs,
parsers, bad lines, checkpoints and outputs then work with it.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any, Literal


class RowSource(ABC):
    """Rows that are read as they arrive."""

    waits = False
    """Whether the source holds back rows until earlier ones have been processed."""

    suffix: str | None = None
    """The suffix of a file, which determines its format; None: the first bytes do."""
    resumes: Literal["position", "start", "here"] = "position"
    """Where a later process continues: "position": at the saved position; "start": at the start of a stream that is
    given again, whose earlier rows are skipped; "here": at the next row, since earlier ones are not sent again.
    """
    forgot = False
    """True if the rows after the last position no longer exist, and all further rows are new."""

    def __init__(self, name: str) -> None:
        self.name = name
        """Its name in messages, without credentials."""
        self.waiting: Callable[[], Any] = lambda: None
        """Called repeatedly while there is no row."""
        self.report: Callable[[str], Any] = lambda message: None
        """Called with one line when a connection is lost or restored."""

    @abstractmethod
    def read(self, position: Any, limit: int) -> tuple[list[bytes], Any]:
        """Return the next rows after a position, at most ``limit``, and the position after the last of them.

        A row is the bytes of one line of CSV or JSON, with its line end. The call waits for the first row; it returns
        an empty list at the end of the source.

        A position is a JSON value. 0 is the beginning; all others were returned by an earlier call, perhaps of an
        earlier process that was killed: a checkpoint saves the position together with the map, in one atomic write. The
        same position gives the same rows again, unless the source is a stream, which continues from its present
        position. If rows after a position no longer exist, an error names them; they are never skipped.
        """

    def where(self, position: Any, ahead: int) -> str:
        """Return where to find the row that comes ``ahead`` rows after a position, for messages."""
        return self.name

    def exact(self, position: Any, ahead: int) -> tuple[Any, int]:
        """Return a position, and rows ahead of it, that stay right if rows before are deleted, where they may be.

        ``ahead`` rows after ``position`` were read by the last call of ``read``, from that position.
        """
        return position, ahead

    def done(self, position: Any) -> None:  # noqa: B027
        """Note that all rows up to a position are learnt and, if there is a checkpoint, saved."""

    def tail(self, position: Any, ahead: int) -> tuple[int, int, str] | None:
        """Return begin, end and digest of the last bytes up to ``ahead`` rows after a position.

        None: the source is identified otherwise, or these bytes are unknown.
        """
        return None

    def close(self) -> None:  # noqa: B027
        """Release open resources; the next read opens them again."""

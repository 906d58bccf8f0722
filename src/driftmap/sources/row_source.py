"""The protocol of sources whose rows are read as they arrive.

To follow another kind of source, write a subclass and let :func:`driftmap.sources.open` choose it for its names.
Runs, parsers, bad lines, checkpoints and outputs work with it.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any, Literal


class RowSource(ABC):
    """Rows that are read as they arrive."""

    waits = False
    """Whether the source holds back rows until earlier ones are done."""

    suffix: str | None = None
    """The suffix of a file, which decides its format; None: the first bytes do."""
    resumes: Literal["position", "start", "here"] = "position"
    """Where reading goes on in a later process: at the position; at the start of a stream that is given again, of which
    the rows before are passed over; or here, since the rows before do not come again."""
    forgot = False
    """True if the rows after the last position read from are gone, and all that come are new."""

    def __init__(self, name: str) -> None:
        self.name = name
        """What to call it in messages; without credentials."""
        self.waiting: Callable[[], Any] = lambda: None
        """Called again and again while there is no row."""
        self.report: Callable[[str], Any] = lambda message: None
        """Takes one line when a connection is lost or there again."""

    @abstractmethod
    def read(self, position: Any, limit: int) -> tuple[list[bytes], Any]:
        """The next rows after a position, at most ``limit``, and the position after the last of them.

        A row is the bytes of one line of CSV or JSON, with its line end. The call waits for the first row; no rows: the
        source has ended. A position is a JSON value. 0 is the beginning; all others were returned by an earlier call,
        perhaps of an earlier process that was killed: a checkpoint saves the position together with the map, in one
        atomic write. The same position gives the same rows again, unless the source is a stream, which goes on where it
        is. Rows that are gone are an error that names them, and never skipped.
        """

    def where(self, position: Any, ahead: int) -> str:
        """Return how to find the row that comes ``ahead`` rows after a position."""
        return self.name

    def done(self, position: Any) -> None:  # noqa: B027
        """All rows up to a position are learnt, and in the checkpoint if there is one."""

    def tail(self, position: Any, ahead: int) -> tuple[int, int, str] | None:
        """Where the last bytes up to ``ahead`` rows after a position begin and end, and their digest.

        None: the source is recognised otherwise, or these bytes are not known any more.
        """
        return None

    def close(self) -> None:  # noqa: B027
        """Release what is open; the next read opens it again."""

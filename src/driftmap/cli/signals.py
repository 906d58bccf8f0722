"""Signal handlers: SIGINT and SIGTERM stop a run after a row from which it can be resumed."""

from __future__ import annotations

import contextlib
import signal
from collections.abc import Iterator
from types import FrameType, TracebackType
from typing import Any, Self

STOP_SIGNALS = (signal.SIGINT, signal.SIGTERM)


class Stopped(BaseException):
    """Raised when the user asks to stop. ``clean``: between rows, so the state can be saved."""

    def __init__(self, signum: int, *, clean: bool) -> None:
        super().__init__(signum)
        self.code, self.clean = 128 + signum, clean


class Stop:
    """Handles requests to stop. The first one waits for the end of a piece of work, the second one does not."""

    def __init__(self) -> None:
        self._asked: int | None = None
        self._waiting = self._clean = False
        self._before: dict[int, Any] = {}

    def __enter__(self) -> Self:
        heeded = [signum for signum in STOP_SIGNALS if signal.getsignal(signum) is not signal.SIG_IGN]
        self._before = {signum: signal.signal(signum, self._handle) for signum in heeded}
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        for signum, handler in self._before.items():
            signal.signal(signum, handler)

    def _handle(self, signum: int, frame: FrameType | None) -> None:
        now, self._asked = self._waiting or self._asked is not None, signum
        if now:  # a finalizer ignores exceptions, but ``_asked`` keeps the request
            raise Stopped(signum, clean=self._clean)

    @contextlib.contextmanager
    def waiting(self, *, clean: bool = True) -> Iterator[None]:
        """Let a request interrupt the block immediately, since it may wait for ever.

        ``clean``: nothing is lost, as while rows are read. Otherwise rows were learnt but not yet sent.
        """
        self._waiting, self._clean = True, clean
        try:
            self.check()
            yield
        finally:
            self._waiting = self._clean = False

    def check(self) -> None:
        """Raise if the user asked to stop."""
        if self._asked is not None:
            raise Stopped(self._asked, clean=self._clean or not self._waiting)

    def ignore(self) -> None:
        """Ignore further requests: the run is about to end."""
        for signum in self._before:
            signal.signal(signum, signal.SIG_IGN)

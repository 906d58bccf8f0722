"""Signal handlers: SIGINT and SIGTERM stop a run at a row from which it can be resumed."""

from __future__ import annotations

import contextlib
import signal
from collections.abc import Iterator
from types import FrameType, TracebackType
from typing import Any, Self

STOP_SIGNALS = (signal.SIGINT, signal.SIGTERM)


class Stopped(BaseException):
    """The user asked to stop; ``clean`` unless that was in the middle of something, so that the state is not saved."""

    def __init__(self, signum: int, *, clean: bool) -> None:
        super().__init__(signum)
        self.code, self.clean = 128 + signum, clean


class Stop:
    """Whether the user asked to stop. The first request waits for the end of the piece of work, the second does not."""

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
        if now:  # where exceptions are ignored, in a finalizer, the request is not lost
            raise Stopped(signum, clean=self._clean)

    @contextlib.contextmanager
    def waiting(self, *, clean: bool = True) -> Iterator[None]:
        """Around what may wait for ever and may be broken off anywhere: reading, or (not clean) rows not yet sent."""
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

"""Steps that Ctrl-C must not tear apart."""

from __future__ import annotations

# As signal, which turns all numbers into enumerations: that takes as long as learning a row.
import _signal  # type: ignore[import-not-found]
import threading
from types import FrameType
from typing import Any

MAIN = threading.main_thread()
SIGINT: int = _signal.SIGINT


class uninterrupted:  # noqa: N801
    """An interrupt from the keyboard waits until the end of the block: what it does is done as a whole.

    Python hands interrupts to the main thread only; elsewhere there is nothing to do. A class, not a generator: it
    stands around every arrival.
    """

    __slots__ = ("caught", "handler")

    def __enter__(self) -> None:
        self.caught: tuple[int, FrameType | None] | None = None
        self.handler: Any = None
        # a handler that was not installed from Python could not be put back
        if threading.current_thread() is MAIN and _signal.getsignal(SIGINT) is not None:
            self.handler = _signal.signal(SIGINT, self._catch)

    def _catch(self, number: int, frame: FrameType | None) -> None:
        self.caught = number, frame

    def __exit__(self, *error: object) -> None:
        if self.handler is not None:
            _signal.signal(SIGINT, self.handler)
            if self.caught is not None and callable(self.handler):
                self.handler(*self.caught)
            elif self.caught is not None:
                _signal.raise_signal(SIGINT)

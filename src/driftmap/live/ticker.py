"""Repeats work periodically in a background thread."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable


class Ticker:
    """Calls a function periodically in a thread, less often if it would take more than a third of the time."""

    def __init__(self, work: Callable[[], object], seconds: float) -> None:
        self._work, self._seconds = work, seconds
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._run, name="driftmap-ticker", daemon=True)
        self._thread.start()

    def _run(self) -> None:
        pause = self._seconds
        while not self._stopped.wait(pause):
            start = time.monotonic()
            self._work()
            pause = max(self._seconds, 2 * (time.monotonic() - start))

    def stop(self) -> None:
        """Stop the thread, and call the function one last time."""
        if not self._stopped.is_set():
            self._stopped.set()
            self._thread.join()
            self._work()

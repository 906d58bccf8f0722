"""A progress bar on a terminal; nothing where standard error is a file or a pipe."""

from __future__ import annotations

import shutil
import sys
import time
from types import TracebackType
from typing import Self, TextIO

BAR = 24
INTERVAL = 0.1  # seconds between redraws: more would only cost time


class Progress:
    """One line that is redrawn: what is done, how far, how many rows, how fast, and a note such as the radius.

    ``done`` rows were counted before, by a run that this one goes on with.
    """

    def __init__(self, task: str, stream: TextIO | None = None, *, done: int = 0) -> None:
        self.task, self.done = task, done
        self.stream = sys.stderr if stream is None else stream
        self.shown = self.stream is not None and self.stream.isatty()
        self.rows, self.note = 0, ""
        self.fraction: float | None = None
        self.start = time.monotonic()
        self._next = 0.0

    def __enter__(self) -> Self:
        if self.shown:
            self._draw()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if self.shown:
            self._draw()
            print(file=self.stream, flush=True)

    def update(self, rows: int, fraction: float | None = None, note: str = "") -> None:
        """Count further rows; ``fraction`` of the input is read now, None if its size is not known."""
        self.rows += rows
        self.fraction, self.note = fraction, note
        if self.shown and time.monotonic() >= self._next:
            self._draw()

    def _draw(self) -> None:
        now = time.monotonic()
        self._next = now + INTERVAL
        text = self.text(now - self.start)
        width = shutil.get_terminal_size().columns - 1
        print(f"\r\x1b[2K{text[:width]}", end="", file=self.stream, flush=True)

    def text(self, seconds: float) -> str:
        """The line after this many seconds."""
        parts = [f"{self.task:<9}"]
        if self.fraction is not None:
            filled = round(BAR * min(self.fraction, 1.0))
            parts.append(f"[{'#' * filled}{'.' * (BAR - filled)}] {min(self.fraction, 1.0):4.0%}")
        parts.append(f"{self.done + self.rows:,} rows")
        if self.rows and seconds > 0:
            parts.append(f"{self.rows / seconds:,.0f}/s")
        return "  ".join(parts + [self.note] if self.note else parts)

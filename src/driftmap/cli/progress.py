"""The progress bar: one line of standard error per task, redrawn on a terminal."""

from __future__ import annotations

import shutil
import sys
import time
from typing import TextIO

from driftmap.map import StreamMap
from driftmap.pipeline.observer import Observer, Update

BAR = 24
INTERVAL = 0.1  # seconds between redraws
LEAST_ESTIMATE = 5  # seconds of a task before its speed can be estimated


class Progress(Observer):
    """Shows the task, its progress, the time left, rows, their rate, and a note such as the radius.

    The time left assumes the mean speed so far.

    If standard error is not a terminal, nothing is written or, with ``log``, one line as each task begins.
    """

    def __init__(self, stream: TextIO | None = None, *, log: bool = False) -> None:
        self.stream = sys.stderr if stream is None else stream
        self.redraws = self.stream is not None and self.stream.isatty()
        self.logs = log and self.stream is not None and not self.redraws
        self.task = self.line = ""
        self.begin = self.start = self.now = time.monotonic()
        self.before, self.fraction = 0, 0.0
        self._next = 0.0

    def observe(self, update: Update, mapper: StreamMap) -> None:
        """Count the rows of a stage."""
        rows = update.first + len(update.rows.features)
        note = f"radius {mapper.radius_:.4g}" if update.is_learnt else ""
        self.update(update.stage, update.rows.fraction, note, rows=rows, before=update.first)

    def update(
        self, task: str, fraction: float | None = None, note: str = "", *, rows: int | None = None, before: int = 0
    ) -> None:
        """Show the share of a task that is done (None: unknown), and its rows; ``before`` of them were done earlier."""
        is_new = task != self.task
        if is_new:
            self.close()
            # a task begins when the previous one ends
            self.task, self.start, self.before, self._next = task, self.now, before, 0.0
            self.fraction = fraction if before and fraction is not None else 0.0
        self.now = time.monotonic()
        if is_new and self.logs:
            print(f"[{self.now - self.begin:4.0f} s] {task}", file=self.stream, flush=True)
        if self.redraws:
            self.line = self.text(self.now - self.start, fraction, note, rows)
            if self.now >= self._next:
                self._draw()

    def text(self, seconds: float, fraction: float | None, note: str, rows: int | None) -> str:
        """Return the line after this many seconds."""
        parts = [f"{self.task:<9}"]
        if fraction is not None:
            filled = round(BAR * min(fraction, 1.0))
            parts.append(f"[{'#' * filled}{'.' * (BAR - filled)}] {min(fraction, 1.0):4.0%}")
            if seconds >= LEAST_ESTIMATE and self.fraction < fraction < 1:
                parts.append(f"{shown_time(seconds * (1 - fraction) / (fraction - self.fraction))} left")
        if rows is not None:
            parts.append(f"{rows:,} rows")
            if rows > self.before and seconds > 0:
                parts.append(f"{(rows - self.before) / seconds:,.0f}/s")
        return "  ".join([*parts, note] if note else parts)

    def _draw(self) -> None:
        self._next = self.now + INTERVAL
        width = shutil.get_terminal_size().columns - 1
        print(f"\r\x1b[2K{self.line[:width]}", end="", file=self.stream, flush=True)

    def close(self) -> None:
        """End the line."""
        if self.redraws and self.line:
            self._draw()
            print(file=self.stream, flush=True)
            self.line = ""


def shown_time(seconds: float) -> str:
    """Return a time in few words.

    >>> shown_time(7.2), shown_time(95), shown_time(7500), shown_time(200_000)
    ('7 s', '2 min', '2 h 5 min', '2 days 7 h')
    """
    if seconds < 60:
        return f"{seconds:.0f} s"
    minutes = round(seconds / 60)
    if minutes < 60:
        return f"{minutes} min"
    hours, minutes = divmod(minutes, 60)
    if hours < 24:
        return f"{hours} h {minutes} min"
    return f"{hours // 24} days {hours % 24} h"

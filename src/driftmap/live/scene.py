"""The content of the live view: the last rows of a stream, landmarks, curves and alerts; and the messages about it."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from driftmap.live.curves import CURVES, Curves
from driftmap.utils import Array, Ids
from driftmap.web.columns import GrowingColumn
from driftmap.web.protocol import Quantized, encode

CAPACITY = 10_000
"""Rows that are shown by default."""
MOST_CAPACITY = 1_000_000
MOST_CELLS = 2**28
"""Rows that can be shown, and their numbers in all columns, at most."""
ALERTS = 100


class Seen(NamedTuple):
    """The state a browser has received: the number of the next row, and the versions of the other parts."""

    next: int
    moves: int
    landmarks: int
    curves: int
    alerts: int
    names: int


class Landmarks(NamedTuple):
    """The landmarks of one moment."""

    arrivals: Ids
    positions: Array
    masses: Array | Ids


class Scene:
    """The scene of a stream. One thread changes it; any thread may request messages for its browser.

    The scene stores nothing per browser and never waits for one. The caller keeps a :class:`Seen` for each browser;
    a slow browser receives all changes since its last message, as far as they are still shown, in one message.
    """

    def __init__(
        self, title: str, columns: Sequence[GrowingColumn], capacity: int = CAPACITY, color: str | None = None
    ) -> None:
        self.title, self.columns, self.capacity, self.color = title, list(columns), capacity, color
        self.lock = threading.Lock()
        self.next = 0
        self.oldest = 0
        self._positions = np.zeros((capacity, 2), np.float32)
        self._values = np.zeros((len(columns), capacity), np.float32)
        self._nearest = np.full(capacity, -1, np.int64)
        self._moves = self._n_landmarks = self._n_curves = self._n_alerts = 0
        self._landmarks: Landmarks | None = None
        self._curves = Curves()
        self._alerts: deque[dict[str, Any]] = deque(maxlen=ALERTS)

    # --- changes ---

    def append(self, first: int, positions: Array, values: Sequence[Array], nearest: Ids | None = None) -> None:
        """Show rows with arrival numbers from ``first`` on. A gap in the numbers drops all earlier rows."""
        with self.lock:
            if first != self.next:
                self.oldest = first
            skipped = max(0, len(positions) - self.capacity)
            slots = np.arange(first + skipped, first + len(positions)) % self.capacity
            self._positions[slots] = positions[skipped:]
            for row, column in zip(self._values, values, strict=True):
                row[slots] = column[skipped:]
            self._nearest[slots] = -1 if nearest is None else nearest[skipped:]
            self.next = first + len(positions)
            self.oldest = max(self.oldest, self.next - self.capacity)

    def move(self, first: int, positions: Array) -> None:
        """Set new positions for the rows from arrival number ``first`` on that are still shown."""
        with self.lock:
            skipped = max(0, self.oldest - first)
            slots = np.arange(first + skipped, min(first + len(positions), self.next)) % self.capacity
            self._positions[slots] = positions[skipped : skipped + len(slots)]
            self._moves += 1

    def set_landmarks(self, landmarks: Landmarks) -> None:
        """Replace the landmarks."""
        with self.lock:
            self._landmarks = landmarks
            self._n_landmarks += 1

    def add_sample(self, sample: Mapping[str, float]) -> None:
        """Append a sample to the curves."""
        with self.lock:
            self._curves.add(sample)
            self._n_curves += 1

    def add_alerts(self, alerts: Sequence[dict[str, Any]]) -> None:
        """Append alerts."""
        with self.lock:
            self._alerts.extend(alerts)
            self._n_alerts += len(alerts)

    def apply(self, header: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> None:
        """Apply the changes of a recorded message."""
        if header.get("names") is not None:
            for column, names in zip(self.columns, header["names"], strict=True):
                column.names = names
        if "moved_x" in arrays:
            self.move(header["oldest"], np.column_stack([arrays["moved_x"], arrays["moved_y"]]))
        if "x" in arrays:
            values = [arrays[f"v{j}"] for j in range(len(self.columns))]
            positions = np.column_stack([arrays["x"], arrays["y"]])
            self.append(header["first"], positions, values, arrays["nearest"].astype(np.int64))
        if "landmark" in arrays:
            positions = np.column_stack([arrays["landmark_x"], arrays["landmark_y"]])
            self.set_landmarks(Landmarks(arrays["landmark"].astype(np.int64), positions, arrays["mass"]))
        if "time" in arrays:
            with self.lock:
                self._curves.replace(np.column_stack([arrays[name] for name in CURVES]))
                self._n_curves += 1
        self.add_alerts(header["alerts"])

    # --- messages ---

    def message(self, seen: Seen | None) -> tuple[bytes, Seen] | None:
        """Return the changes since ``seen`` (None: the whole scene) as a message; None if nothing has changed."""
        with self.lock:
            now = Seen(
                self.next,
                self._moves,
                self._n_landmarks,
                self._n_curves,
                self._n_alerts,
                sum(len(column.names) for column in self.columns),
            )
            if now == seen:
                return None
            header, arrays = self._changes(seen, now)
        return encode(header, arrays), now

    def _changes(self, seen: Seen | None, now: Seen) -> tuple[dict[str, Any], dict[str, NDArray[Any] | Quantized]]:
        whole = seen is None
        known = Seen(0, now.moves, 0, 0, 0, 0) if seen is None else seen
        first = max(known.next, self.oldest)
        header: dict[str, Any] = {"kind": "whole" if whole else "delta", "oldest": self.oldest, "first": first}
        new_alerts = min(now.alerts - known.alerts, len(self._alerts))
        header["alerts"] = list(self._alerts)[len(self._alerts) - new_alerts :]
        if whole:
            columns = [column.described() for column in self.columns]
            header |= {"title": self.title, "color": self.color, "columns": columns, "capacity": self.capacity}
        if now.names != known.names:
            header["names"] = [list(column.names) for column in self.columns]
        arrays: dict[str, NDArray[Any] | Quantized] = {}
        if now.moves != known.moves and first > self.oldest:
            slots = np.arange(self.oldest, first) % self.capacity
            arrays |= {"moved_x": self._positions[slots, 0], "moved_y": self._positions[slots, 1]}
        if self.next > first or whole:
            slots = np.arange(first, self.next) % self.capacity
            arrays |= {"x": self._positions[slots, 0], "y": self._positions[slots, 1]}
            arrays |= {f"v{j}": row[slots] for j, row in enumerate(self._values)}
            arrays["nearest"] = self._nearest[slots]
        if self._landmarks is not None and now.landmarks != known.landmarks:
            arrivals, positions, masses = self._landmarks
            x, y = positions.T.astype(np.float32)
            arrays |= {"landmark": arrivals, "landmark_x": x, "landmark_y": y, "mass": masses.astype(np.float32)}
        if len(self._curves) and now.curves != known.curves:
            table = self._curves.table()
            arrays |= {name: table[:, i] for i, name in enumerate(CURVES)}
        return header, arrays

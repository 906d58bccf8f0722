"""The content of the live view: the last rows of a stream, landmarks, curves and alerts; and the messages about it."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
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


@dataclass
class Versions:
    """Numbers of changes of the parts of a scene."""

    moves: int = 0
    landmarks: int = 0
    curves: int = 0
    alerts: int = 0
    change: int = 0


class Seen(NamedTuple):
    """The state that a browser has received: the number of the next row, the number of names, and the other parts."""

    next: int
    names: int
    versions: Versions


class Landmarks(NamedTuple):
    """The landmarks of one moment."""

    arrivals: Ids
    positions: Array
    masses: Array | Ids


class Move(NamedTuple):
    """When and why the map moved last."""

    frame: int
    row: int
    """Arrival number of the last row before."""
    reason: str
    """As that of a :class:`~driftmap.map.frame.FrameChange`."""
    median: float | None
    """By how much half of the stored rows moved, relative to the diameter of the map; None: it had none."""


class Change(NamedTuple):
    """The last drift: a report, and the cells that grew or shrank."""

    report: dict[str, Any]
    positions: Array
    log_ratios: Array


class LastRows:
    """A ring buffer of the last rows: positions, values of columns, and nearest landmarks, by arrival number."""

    def __init__(self, capacity: int, n_columns: int) -> None:
        self.capacity = capacity
        self.oldest = self.next = 0
        self.positions = np.zeros((capacity, 2), np.float32)
        self.values = np.zeros((n_columns, capacity), np.float32)
        self.nearest = np.full(capacity, -1, np.int64)

    def append(self, first: int, positions: Array, values: Sequence[Array], nearest: Ids | None) -> None:
        """Add rows with arrival numbers from ``first`` on. A gap in the numbers drops all earlier rows."""
        if first != self.next:
            self.oldest = first
        skipped = max(0, len(positions) - self.capacity)
        slots = self.slots(first + skipped, first + len(positions))
        self.positions[slots] = positions[skipped:]
        for row, column in zip(self.values, values, strict=True):
            row[slots] = column[skipped:]
        self.nearest[slots] = -1 if nearest is None else nearest[skipped:]
        self.next = first + len(positions)
        self.oldest = max(self.oldest, self.next - self.capacity)

    def move(self, first: int, positions: Array) -> None:
        """Set new positions for the rows from arrival number ``first`` on that are still here."""
        skipped = max(0, self.oldest - first)
        slots = self.slots(first + skipped, min(first + len(positions), self.next))
        self.positions[slots] = positions[skipped : skipped + len(slots)]

    def slots(self, first: int, stop: int) -> Ids:
        """Return where the rows with these arrival numbers are in the buffers."""
        return np.arange(first, stop) % self.capacity


class Scene:
    """The scene of a stream. One thread changes it; any thread may request messages for its browser.

    The scene stores nothing per browser and never waits for one. The caller keeps a :class:`Seen` for each browser;
    a slow browser receives all changes since its last message, as far as they are still shown, in one message.
    """

    def __init__(
        self, title: str, columns: Sequence[GrowingColumn], capacity: int = CAPACITY, color: str | None = None
    ) -> None:
        self.title, self.columns, self.color = title, list(columns), color
        self.lock = threading.Lock()
        self.rows = LastRows(capacity, len(columns))
        self._landmarks: Landmarks | None = None
        self._change: Change | None = None
        self._moved: Move | None = None
        self._curves = Curves()
        self._alerts: deque[dict[str, Any]] = deque(maxlen=ALERTS)
        self._versions = Versions()

    # --- changes ---

    def append(self, first: int, positions: Array, values: Sequence[Array], nearest: Ids | None = None) -> None:
        """Show rows with arrival numbers from ``first`` on. A gap in the numbers drops all earlier rows."""
        with self.lock:
            self.rows.append(first, positions, values, nearest)

    def move(self, first: int, positions: Array, moved: Move | None = None) -> None:
        """Set new positions for the rows from arrival number ``first`` on that are still shown; ``moved``: why."""
        with self.lock:
            self.rows.move(first, positions)
            self._moved = moved
            self._versions.moves += 1

    def set_landmarks(self, landmarks: Landmarks) -> None:
        """Replace the landmarks."""
        with self.lock:
            self._landmarks = landmarks
            self._versions.landmarks += 1

    def set_change(self, change: Change) -> None:
        """Replace what changed last."""
        with self.lock:
            self._change = change
            self._versions.change += 1

    def add_sample(self, sample: Mapping[str, float]) -> None:
        """Append a sample to the curves."""
        with self.lock:
            self._curves.add(sample)
            self._versions.curves += 1

    def add_alerts(self, alerts: Sequence[dict[str, Any]]) -> None:
        """Append alerts."""
        with self.lock:
            self._alerts.extend(alerts)
            self._versions.alerts += len(alerts)

    def apply(self, header: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> None:
        """Apply the changes of a recorded message."""
        if header.get("names") is not None:
            for column, names in zip(self.columns, header["names"], strict=True):
                column.names = names
        moved = Move(**header["moved"]) if header.get("moved") else None
        if "moved_x" in arrays:
            self.move(header["oldest"], np.column_stack([arrays["moved_x"], arrays["moved_y"]]), moved)
        elif moved is not None:
            self.move(header["oldest"], np.empty((0, 2)), moved)
        if "x" in arrays:
            values = [arrays[f"v{j}"] for j in range(len(self.columns))]
            positions = np.column_stack([arrays["x"], arrays["y"]])
            self.append(header["first"], positions, values, arrays["nearest"].astype(np.int64))
        if "landmark" in arrays:
            positions = np.column_stack([arrays["landmark_x"], arrays["landmark_y"]])
            self.set_landmarks(Landmarks(arrays["landmark"].astype(np.int64), positions, arrays["mass"]))
        if "change" in arrays:
            positions = np.column_stack([arrays["change_x"], arrays["change_y"]])
            self.set_change(Change(header["change"], positions, arrays["change"]))
        if "time" in arrays:
            with self.lock:
                self._curves.replace(np.column_stack([arrays[name] for name in CURVES]))
                self._versions.curves += 1
        self.add_alerts(header["alerts"])

    # --- messages ---

    def message(self, seen: Seen | None) -> tuple[bytes, Seen] | None:
        """Return the changes since ``seen`` (None: the whole scene) as a message; None if nothing has changed."""
        with self.lock:
            names = sum(len(column.names) for column in self.columns)
            now = Seen(self.rows.next, names, replace(self._versions))
            if now == seen:
                return None
            header, arrays = self._changes(seen, now)
        return encode(header, arrays), now

    def _changes(self, seen: Seen | None, now: Seen) -> tuple[dict[str, Any], dict[str, NDArray[Any] | Quantized]]:
        whole = seen is None
        rows = self.rows
        known = Seen(0, 0, Versions(moves=now.versions.moves)) if seen is None else seen
        changed, before = now.versions, known.versions
        first = max(known.next, rows.oldest)
        header: dict[str, Any] = {"kind": "whole" if whole else "delta", "oldest": rows.oldest, "first": first}
        new_alerts = min(changed.alerts - before.alerts, len(self._alerts))
        header["alerts"] = list(self._alerts)[len(self._alerts) - new_alerts :]
        if whole:
            columns = [column.described() for column in self.columns]
            header |= {"title": self.title, "color": self.color, "columns": columns, "capacity": rows.capacity}
        if now.names != known.names:
            header["names"] = [list(column.names) for column in self.columns]
        arrays: dict[str, NDArray[Any] | Quantized] = {}
        if changed.moves != before.moves and first > rows.oldest:
            slots = rows.slots(rows.oldest, first)
            arrays |= {"moved_x": rows.positions[slots, 0], "moved_y": rows.positions[slots, 1]}
        if self._moved is not None and (whole or changed.moves != before.moves):
            header["moved"] = self._moved._asdict()
        if rows.next > first or whole:
            slots = rows.slots(first, rows.next)
            arrays |= {"x": rows.positions[slots, 0], "y": rows.positions[slots, 1]}
            arrays |= {f"v{j}": row[slots] for j, row in enumerate(rows.values)}
            arrays["nearest"] = rows.nearest[slots]
        if self._landmarks is not None and changed.landmarks != before.landmarks:
            arrivals, positions, masses = self._landmarks
            x, y = positions.T.astype(np.float32)
            arrays |= {"landmark": arrivals, "landmark_x": x, "landmark_y": y, "mass": masses.astype(np.float32)}
        if self._change is not None and changed.change != before.change:
            report, positions, log_ratios = self._change
            header["change"] = report
            x, y = positions.T.astype(np.float32)
            arrays |= {"change_x": x, "change_y": y, "change": log_ratios.astype(np.float32)}
        if len(self._curves) and changed.curves != before.curves:
            table = self._curves.table()
            arrays |= {name: table[:, i] for i, name in enumerate(CURVES)}
        return header, arrays

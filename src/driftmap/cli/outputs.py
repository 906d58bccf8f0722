"""Observers that write what is mapped: tables of coordinates and landmarks, alerts, records of a sink, hints."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from driftmap.cli.errors import note, print_line
from driftmap.cli.files import writing
from driftmap.io.brokers.base import Record
from driftmap.io.writers import Column, Writer
from driftmap.map import StreamMap
from driftmap.map.observer import Observer, Update
from driftmap.metrics.table import ALIASES, METRICS, KnownMetric
from driftmap.utils import Array
from driftmap.utils.columns import some

if TYPE_CHECKING:
    from driftmap.io.brokers.sinks import Sink

UNEQUAL = 100.0
"""How many times wider than another a column is when it decides the map alone."""


def axis_names(k: int) -> list[str]:
    """Names of the coordinates."""
    return [f"x{i}" for i in range(1, k + 1)]


@dataclass(eq=False)
class Coordinates(Observer):
    """The coordinates of every row, after its label and its frame where there are any, before its novelty."""

    writer: Writer
    with_label: bool
    with_novelty: bool
    after_rows: Callable[[], None] | None = None
    """Is called when rows have been written."""

    def observe(self, update: Update, mapper: StreamMap) -> None:
        """Write the rows that are mapped."""
        if update.coordinates is None:
            return
        columns: list[Column] = [update.rows.labels] if self.with_label and update.rows.labels is not None else []
        if update.frames is not None:
            columns.append(update.frames)
        novelty = update.novelty().values() if self.with_novelty else ()
        with writing():
            self.writer.write([*columns, *update.coordinates.T, *novelty])
            if self.after_rows is not None:
                self.after_rows()

    def finish(self, mapper: StreamMap) -> None:
        """Complete the table."""
        self.writer.close()


class Alerts(Observer):
    """One line of JSON for each alert, written at once: to a file, or to standard error."""

    def __init__(self, file: BinaryIO | None) -> None:
        self._file = file

    def observe(self, update: Update, mapper: StreamMap) -> None:
        """Write the alerts."""
        for alert in update.alerts:
            if self._file is None:
                print_line(json.dumps(alert.as_json()))
                continue
            with writing():
                self._file.write(f"{json.dumps(alert.as_json())}\n".encode())
                self._file.flush()


class Sent(Observer):
    """Coordinates, novelty and alerts as records of JSON for a message broker, with the number of the row as id.

    ``names``: of the id, of an alert, and of all columns in their order.
    """

    def __init__(self, sink: Sink, names: Sequence[str]) -> None:
        self._sink, (self._id, self._alert, *self._names) = sink, names
        self._records: list[Record] = []

    def observe(self, update: Update, mapper: StreamMap) -> None:
        """Send the rows that are mapped."""
        if update.coordinates is None:
            return
        columns: list[Any] = [] if update.rows.labels is None else [list(update.rows.labels)]
        columns += [] if update.frames is None else [update.frames.tolist()]
        columns += [column.tolist() for column in (*update.coordinates.T, *update.novelty().values())]
        for i, values in enumerate(zip(*columns, strict=True)):
            row = update.first + i
            finite = [None if isinstance(value, float) and not np.isfinite(value) else value for value in values]
            record = {self._id: row, **dict(zip(self._names, finite, strict=True))}
            self._records.append(Record(str(row), json.dumps(record, default=str).encode()))
        for alert in update.alerts:
            record = {self._id: f"alert-{alert.row}", self._alert: alert.as_json()}
            self._records.append(Record(f"alert-{alert.row}", json.dumps(record).encode()))
        self.flush()

    def flush(self) -> None:
        """Wait until the broker has all records."""
        if self._records:
            self._sink.send(self._records)
            self._records = []


class Landmarks(Observer):
    """The landmarks at the end: arrival number, mass, coordinates, and their rows as they stand in the input."""

    def __init__(self, writer: Writer, *, with_label: bool) -> None:
        self._writer, self._with_label = writer, with_label
        self._rows: dict[int, tuple[Array, Any]] = {}

    def observe(self, update: Update, mapper: StreamMap) -> None:
        """Store the mapped rows that are landmarks now: only an arrival becomes one, so no other will be later."""
        if update.coordinates is None:
            return
        features, labels, _ = update.rows
        stop = update.first + len(features)
        present = mapper.landmark_indices_.tolist()
        self._rows = {i: self._rows[i] for i in present if i < update.first} | {
            i: (features[i - update.first], None if labels is None else labels[i - update.first])
            for i in present
            if update.first <= i < stop
        }

    def finish(self, mapper: StreamMap) -> None:
        """Write the table."""
        arrivals: NDArray[np.int64] = mapper.landmark_indices_
        rows = [self._rows[i] for i in arrivals.tolist()]
        columns: list[Column] = [arrivals, mapper.landmark_mass_, *mapper.landmark_embedding_.T]
        labels = [label for _, label in rows]
        if self._with_label and labels[0] is not None:
            columns.append(labels if isinstance(labels[0], str) else np.array(labels))
        self._writer.write([*columns, *np.array([features for features, _ in rows]).T])
        self._writer.close()


@dataclass(eq=False)
class Spreads(Observer):
    """Says which columns are constant, and whether one of them outweighs the others."""

    columns: Sequence[str]
    metric: str
    n_rows: int = 0
    low: Array | float = np.inf
    high: Array | float = -np.inf
    """The least and the largest number of each column so far."""

    def observe(self, update: Update, mapper: StreamMap) -> None:
        """Take in the rows that are learnt."""
        if update.is_learnt:
            self.n_rows += len(update.rows.features)
            self.low = np.fmin(self.low, np.fmin.reduce(update.rows.features))
            self.high = np.fmax(self.high, np.fmax.reduce(update.rows.features))

    def finish(self, mapper: StreamMap) -> None:
        """One line for each hint."""
        if self.n_rows < 2:
            return
        metric = METRICS.get(ALIASES.get(self.metric, self.metric), KnownMetric(self.metric))
        spread = np.subtract(self.high, self.low)
        constant = [name for name, width in zip(self.columns, spread, strict=True) if width == 0]
        if constant:
            counts = metric.counts_constants
            effect = f"yet they count in {self.metric} distances: --exclude leaves them out" if counts else "no effect"
            note(f"constant columns: {some([*map(repr, constant)])} ({effect})")
        widths = np.where(spread > 0, spread, np.nan)
        if len(constant) < len(spread) and not metric.scale_free:
            widest, narrowest = int(np.nanargmax(widths)), int(np.nanargmin(widths))
            if spread[widest] >= UNEQUAL * spread[narrowest]:
                note(
                    f"column {self.columns[widest]!r} spreads over {spread[widest]:.3g}, "
                    f"{self.columns[narrowest]!r} over {spread[narrowest]:.3g}: the widest columns decide the map; "
                    "--normalize zscore gives all the same weight"
                )

"""Observers that write what is mapped: tables of coordinates and landmarks, alerts, records of a sink."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from operator import itemgetter
from typing import TYPE_CHECKING, Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from driftmap.cli.errors import note, print_line
from driftmap.cli.files import writing
from driftmap.cli.groups import ISOLATION
from driftmap.map import StreamMap
from driftmap.pipeline.observer import Observer, Update
from driftmap.sources.brokers.base import Record
from driftmap.tables.writers import Column, Writer, output_names
from driftmap.utils import Array
from driftmap.utils.columns import some

if TYPE_CHECKING:
    from driftmap.sources.brokers.base import Sink

RECORD = ("id", "alert")
"""The fields of a sink's records besides the columns of a table."""
NOVELTY = ("reach", "quantile", "residual")
"""The columns of an update that measure the novelty of its rows."""


def axis_names(k: int) -> list[str]:
    """Names of the coordinates."""
    return [f"x{i}" for i in range(1, k + 1)]


def distinct(output: str, theirs: Sequence[str], ours: Sequence[str]) -> tuple[list[str], list[str]]:
    """Return distinct names for columns from the input and for ours; print a note about those that changed."""
    named, kept = output_names(ours, theirs)
    changed = [f"{old!r} is {new!r}" for old, new in zip([*theirs, *ours], [*kept, *named], strict=True) if old != new]
    if changed:
        note(f"the input has columns of the same names, so in {output} {some(changed)}")
    return kept, named


@dataclass(frozen=True)
class Layout:
    """The columns of a table of coordinates, in this order."""

    label: str | None
    components: int
    frame: bool = False
    novelty: bool = False
    isolation: bool = False

    @property
    def label_names(self) -> list[str]:
        """Name of the column that comes from the input, if there is one."""
        return [] if self.label is None else [self.label]

    @property
    def own_names(self) -> list[str]:
        """Names of the columns that the map adds."""
        return [
            *["frame"] * self.frame,
            *axis_names(self.components),
            *NOVELTY * self.novelty,
            *[ISOLATION] * self.isolation,
        ]

    def names(self, output: str) -> list[str]:
        """Return the names of all columns of an output, which are distinct."""
        label, own = distinct(output, self.label_names, self.own_names)
        return [*label, *own]

    def columns(self, update: Update) -> list[Column]:
        """Return the columns of an update with coordinates."""
        assert update.coordinates is not None
        columns: list[Column] = []
        if self.label is not None and update.rows.labels is not None:
            columns.append(update.rows.labels)
        if self.frame and update.frames is not None:
            columns.append(update.frames)
        columns += [*update.coordinates.T]
        if self.novelty:
            columns += [getattr(update, name) for name in NOVELTY if getattr(update, name) is not None]
        if self.isolation and update.isolation is not None:
            columns.append(update.isolation)
        return columns


@dataclass(eq=False)
class Coordinates(Observer):
    """Writes the coordinates of every row."""

    writer: Writer
    layout: Layout
    after_rows: Callable[[], None] | None = None
    """Called when rows have been written."""

    def observe(self, update: Update, mapper: StreamMap) -> None:
        """Write the rows that are mapped."""
        if update.coordinates is None:
            return
        with writing():
            self.writer.write(self.layout.columns(update))
            if self.after_rows is not None:
                self.after_rows()

    def finish(self, mapper: StreamMap) -> None:
        """Complete the table."""
        self.writer.close()


class Alerts(Observer):
    """Writes each alert and each drift immediately as one line of JSON, to a file or to standard error."""

    def __init__(self, file: BinaryIO | None) -> None:
        self._file = file

    def observe(self, update: Update, mapper: StreamMap) -> None:
        """Write the alerts and drifts, in the order of their rows."""
        alerts = (alert.as_json() for alert in update.alerts)
        for record in sorted([*alerts, *(drift.as_json() for drift in update.drifts)], key=itemgetter("row")):
            if self._file is None:
                print_line(json.dumps(record))
                continue
            with writing():
                self._file.write(f"{json.dumps(record)}\n".encode())
                self._file.flush()


class Sent(Observer):
    """Sends coordinates, novelty and alerts to a broker as JSON records, with the number of the row as id."""

    def __init__(self, sink: Sink, layout: Layout) -> None:
        self._sink, self._layout = sink, layout
        label, (self._id, self._alert, *own) = distinct("the records", layout.label_names, [*RECORD, *layout.own_names])
        self._names = [*label, *own]

    def observe(self, update: Update, mapper: StreamMap) -> None:
        """Send the rows that are mapped."""
        if update.coordinates is None:
            return
        records: list[Record] = []
        columns: list[Any] = [
            column.tolist() if isinstance(column, np.ndarray) else list(column)
            for column in self._layout.columns(update)
        ]
        for i, values in enumerate(zip(*columns, strict=True)):
            row = update.first + i
            finite = [None if isinstance(value, float) and not np.isfinite(value) else value for value in values]
            record = {self._id: row, **dict(zip(self._names, finite, strict=True))}
            records.append(Record(str(row), json.dumps(record, default=str).encode()))
        for alert in update.alerts:
            record = {self._id: f"alert-{alert.row}", self._alert: alert.as_json()}
            records.append(Record(f"alert-{alert.row}", json.dumps(record).encode()))
        for drift in update.drifts:
            record = {self._id: f"drift-{drift.arrival}", self._alert: drift.as_json()}
            records.append(Record(f"drift-{drift.arrival}", json.dumps(record).encode()))
        if records:
            self._sink.send(records)  # waits until the broker has them


class Landmarks(Observer):
    """Writes the landmarks at the end: arrival, mass, coordinates, and their rows as in the input."""

    def __init__(self, writer: Writer, *, with_label: bool) -> None:
        self._writer, self._with_label = writer, with_label
        self._rows: dict[int, tuple[Array, Any]] = {}

    def observe(self, update: Update, mapper: StreamMap) -> None:
        """Keep those mapped rows that are landmarks now. Only arrivals become landmarks, so the others never will."""
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

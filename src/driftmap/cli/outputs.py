"""What becomes of mapped rows: tables of coordinates and landmarks, a figure, an animation. Each watches them go by."""

from __future__ import annotations

import datetime
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, Protocol

import numpy as np
from numpy.typing import NDArray

from driftmap.cli.errors import writing
from driftmap.cli.files import StandardOutput
from driftmap.cli.stages import Mapped
from driftmap.io.tables import Table
from driftmap.io.writers import Column, Writer
from driftmap.map import Novelty, StreamMap
from driftmap.plot import map_figure, save_figure
from driftmap.utils import Array

if TYPE_CHECKING:
    from driftmap.plot.animation import Film


class Output(Protocol):
    """Something made from the mapped rows."""

    @property
    def closed(self) -> bool:
        """Whether it needs no more rows."""

    def take(self, mapped: Mapped, mapper: StreamMap) -> None:
        """See some rows, in order."""

    def finish(self, mapper: StreamMap) -> None:
        """All rows have been seen."""


def axis_names(k: int) -> list[str]:
    """Names of the coordinates."""
    return [f"x{i}" for i in range(1, k + 1)]


def coordinate_columns(table: Table, k: int, *, online: bool, with_label: bool, with_novelty: bool) -> list[str]:
    """Names of the columns that :class:`Coordinates` writes."""
    label = [table.label] if with_label and table.label is not None else []
    return label + ["frame"] * online + axis_names(k) + list(Novelty._fields) * with_novelty


class Coordinates:
    """The coordinates of every row, after its label and its frame where there are any, before its novelty."""

    def __init__(
        self, writer: Writer, *, with_label: bool, with_novelty: bool, flush: Callable[[], None] | None = None
    ) -> None:
        self._writer, self._with_label, self._with_novelty, self._flush = writer, with_label, with_novelty, flush

    @property
    def closed(self) -> bool:
        """Whether their reader has closed the pipe."""
        return isinstance(self._writer, StandardOutput) and self._writer.closed

    def take(self, mapped: Mapped, mapper: StreamMap) -> None:
        """Write the rows."""
        columns: list[Column] = [mapped.chunk.labels] if self._with_label and mapped.chunk.labels is not None else []
        if mapped.frames is not None:
            columns.append(mapped.frames)
        novelty = mapped.novelty if self._with_novelty and mapped.novelty is not None else ()
        with writing():
            self._writer.write([*columns, *mapped.coordinates.T, *novelty])
            if self._flush is not None:
                self._flush()

    def finish(self, mapper: StreamMap) -> None:
        """Nothing is left to do; whoever opened the writer closes it."""


def landmark_columns(table: Table, k: int, *, with_label: bool) -> list[str]:
    """Names of the columns that :class:`Landmarks` writes."""
    label = [table.label] if with_label and table.label is not None else []
    return ["arrival", "mass", *axis_names(k), *label, *table.columns]


class Landmarks:
    """The landmarks at the end: arrival number, mass, coordinates, and their rows as they stand in the input."""

    closed = False

    def __init__(self, writer: Writer, *, with_label: bool) -> None:
        self._writer, self._with_label = writer, with_label
        self._rows: dict[int, tuple[Array, Any]] = {}

    def take(self, mapped: Mapped, mapper: StreamMap) -> None:
        """Keep the rows that are landmarks now: only an arrival becomes one, so no other will be later."""
        features, labels, _ = mapped.chunk
        stop = mapped.first + len(features)
        present = mapper.landmark_indices_.tolist()
        self._rows = {i: self._rows[i] for i in present if i < mapped.first} | {
            i: (features[i - mapped.first], None if labels is None else labels[i - mapped.first])
            for i in present
            if mapped.first <= i < stop
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


class Picture:
    """The map as a figure, coloured by novelty if it is to be shaded, by label if there is one, or else by arrival."""

    closed = False

    def __init__(self, file: BinaryIO, path: Path, table: Table, *, online: bool, shade: str | None) -> None:
        self._file, self._kind = file, path.suffix[1:].lower()
        self._title = Path(table.name).name + (" (each row when it came)" if online else "")
        self._label, self._shade = table.label, shade
        self._coordinates: list[Array] = []
        self._shades: list[Array] = []
        self._labels: list[Any] = []

    def take(self, mapped: Mapped, mapper: StreamMap) -> None:
        """Keep the coordinates, and what colours them."""
        self._coordinates.append(mapped.coordinates)
        if self._shade is not None:
            self._shades.append(getattr(mapped.novelty, self._shade))
        elif mapped.chunk.labels is not None:
            self._labels.extend(mapped.chunk.labels)

    def finish(self, mapper: StreamMap) -> None:
        """Draw."""
        figure = map_figure(
            np.concatenate(self._coordinates),
            mapper.landmark_embedding_,
            color=_color(self._labels) if self._shade is None else np.concatenate(self._shades),
            color_label=self._label if self._shade is None else self._shade,
            title=self._title,
            landmark_arrivals=mapper.landmark_indices_,
        )
        save_figure(figure, self._file, self._kind)


class Animation:
    """The map growing as the stream arrives, coloured by label or else by arrival."""

    closed = False

    def __init__(self, file: BinaryIO, path: Path, table: Table, film: Film) -> None:
        self._file, self._kind = file, path.suffix[1:].lower()
        self._title, self._label, self._film = Path(table.name).name, table.label, film
        self._labels: list[Any] = []
        self._stride = 1

    def take(self, mapped: Mapped, mapper: StreamMap) -> None:
        """Keep the labels of the points that may be drawn."""
        labels = mapped.chunk.labels
        if labels is None:
            return
        from driftmap.plot.animation import stride

        self._labels.extend(labels[-mapped.first % self._stride :: self._stride])
        needed = stride(mapped.first + len(labels))
        if needed > self._stride:
            self._labels = self._labels[:: needed // self._stride]
            self._stride = needed

    def finish(self, mapper: StreamMap) -> None:
        """Draw."""
        from driftmap.plot.animation import save_animation

        color = _color(self._labels)
        save_animation(self._film, self._file, self._kind, color=color, color_label=self._label, title=self._title)


def _color(labels: list[Any]) -> NDArray[Any] | None:
    if not labels:
        return None
    return as_color(labels) if any(isinstance(label, str) for label in labels) else np.array(labels)


def as_color(labels: Sequence[str]) -> NDArray[Any]:
    """The labels as numbers or dates if all of them (but the empty ones) are, else as they are.

    >>> as_color(["1", "2.5", ""])
    array([1. , 2.5, nan])
    >>> as_color(["2013-01-02", "2013-01-03T12:00"]).astype("datetime64[h]")
    array(['2013-01-02T00', '2013-01-03T12'], dtype='datetime64[h]')
    >>> as_color(["cat", "2"]).tolist()
    ['cat', '2']
    """
    given = [label.strip() for label in labels]
    if any(given):
        for read in (_number, _date):
            try:
                return np.array([read(label) for label in given])
            except ValueError:
                continue
    return np.array(given, dtype=str)


def _number(label: str) -> float:
    return float(label) if label else np.nan


def _date(label: str) -> np.datetime64:
    if not label:
        return np.datetime64("NaT", "us")
    moment = datetime.datetime.fromisoformat(label)
    if moment.tzinfo is not None:
        moment = moment.astimezone(datetime.UTC).replace(tzinfo=None)
    return np.datetime64(moment, "us")

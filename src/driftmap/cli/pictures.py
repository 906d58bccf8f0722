"""Observers that draw what is mapped: a figure, an HTML page, an animation."""

from __future__ import annotations

import datetime
from collections.abc import Sequence
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from driftmap.cli.contacts import ContactTable
from driftmap.cli.files import writing
from driftmap.io.tables import Table
from driftmap.io.writers import output_names
from driftmap.map import StreamMap
from driftmap.map.observer import Observer, Update
from driftmap.plot import html, map_figure, save_figure
from driftmap.utils import Array


class Picture(Observer):
    """The map as a figure, coloured by novelty if it is to be shaded, by label if there is one, or else by arrival."""

    def __init__(self, file: BinaryIO, path: Path, table: Table, *, online: bool, shade: str | None) -> None:
        self._file, self._kind = file, path.suffix[1:].lower()
        self._title = Path(table.name).name + (" (each row when it came)" if online else "")
        self._table, self._shade = table, shade
        self._coordinates: list[Array] = []
        self._shades: list[Array] = []
        self._labels: list[Any] = []

    def observe(self, update: Update, mapper: StreamMap) -> None:
        """Store the coordinates, and what colours them."""
        if update.coordinates is None:
            return
        self._coordinates.append(update.coordinates)
        if self._shade is not None:
            self._shades.append(getattr(update, self._shade))
        if update.rows.labels is not None and (self._shade is None or mapper.n_components == 1):
            self._labels.extend(update.rows.labels)

    def finish(self, mapper: StreamMap) -> None:
        """Draw."""
        labels, label, arrivals = _color(self._labels), self._table.label, mapper.landmark_indices_
        times: dict[str, Any] = {"landmark_times": arrivals}
        if mapper.n_components == 1 and labels is not None and _are_times(labels, self._table):
            times = {"times": labels, "time_label": label, "landmark_times": labels[arrivals]}
        color, name = _chosen(self._table) or (None if "times" in times else labels, label)
        if self._shade is not None:
            color, name = np.concatenate(self._shades), self._shade
        coordinates = np.concatenate(self._coordinates)
        options = {"color": color, "color_label": name, "title": self._title, **times}
        save_figure(map_figure(coordinates, mapper.landmark_embedding_, **options), self._file, self._kind)


PAGE_COLUMNS = 256
"""Columns in an HTML file, at most."""


class Page(Observer):
    """The map as an HTML file that can be coloured by every column, by the label and by novelty where it is known."""

    def __init__(self, file: BinaryIO, table: Table, *, online: bool, shade: str | None) -> None:
        self._file, self._table, self._shade = file, table, shade
        self._title = Path(table.name).name + (" (each row when it came)" if online else "")
        self._coordinates: list[Array] = []
        self._features: list[NDArray[np.float32]] = []
        self._labels: list[Any] = []
        self._novelty: list[dict[str, Array]] = []

    def observe(self, update: Update, mapper: StreamMap) -> None:
        """Store the coordinates and the rows."""
        if update.coordinates is None:
            return
        self._coordinates.append(update.coordinates)
        self._features.append(update.rows.features[:, :PAGE_COLUMNS].astype(np.float32))
        if update.rows.labels is not None:
            self._labels.extend(update.rows.labels)
        if novelty := update.novelty():
            self._novelty.append(novelty)

    def finish(self, mapper: StreamMap) -> None:
        """Write the file."""
        features, label = np.concatenate(self._features), self._table.label
        columns: dict[str, Any] = {} if label is None else {label: _color(self._labels)}
        if (chosen := _chosen(self._table)) is not None:
            columns[chosen[1]], label = chosen[0], chosen[1]
        others = [name for name in self._table.columns if name not in columns]  # the label may be a feature, too
        shown = [column for name, column in zip(self._table.columns, features.T, strict=False) if name not in columns]
        fields = list(self._novelty[0]) if self._novelty else []
        ours, theirs = output_names(fields, [*columns, *others])
        columns |= dict(zip(theirs[len(columns) :], shown, strict=False))
        for field, name in zip(fields, ours, strict=True):
            columns[name] = np.concatenate([part[field] for part in self._novelty])
        shade = None if self._shade is None else dict(zip(fields, ours, strict=True))[self._shade]
        text = html(
            np.concatenate(self._coordinates),
            mapper.landmark_embedding_,
            columns=columns,
            color=shade or label,
            title=self._title,
            landmark_arrivals=mapper.landmark_indices_,
            landmark_mass=mapper.landmark_mass_,
        )
        with writing():
            self._file.write(text.encode())


class Animation(Observer):
    """The map growing as the stream arrives, coloured by label or else by arrival."""

    def __init__(self, file: BinaryIO, path: Path, table: Table, mapper: StreamMap, n_frames: int) -> None:
        from driftmap.plot.animation import Film  # which few need

        self._file, self._kind = file, path.suffix[1:].lower()
        self._title, self._table, self._film = Path(table.name).name, table, Film(mapper, n_frames)
        self.every = self._film.every

    def observe(self, update: Update, mapper: StreamMap) -> None:
        """Record the rows that are learnt."""
        self._film.observe(update, mapper)
        self.every = self._film.every  # fewer pictures as the film grows long

    def finish(self, mapper: StreamMap) -> None:
        """Draw."""
        from driftmap.plot.animation import save_animation

        color, label = _color(self._film.labels), self._table.label
        if (chosen := _chosen(self._table)) is not None:
            color, label = chosen[0][self._film.arrivals], chosen[1]
        save_animation(self._film, self._file, self._kind, color=color, color_label=label, title=self._title)


def _chosen(table: Table) -> tuple[NDArray[Any], str] | None:
    """What ``--color-by`` asks for: a value for each row, and its name."""
    if not isinstance(table, ContactTable) or table.color is None:
        return None
    return table.color, table.color_label


def _are_times(labels: NDArray[Any], table: Table) -> bool:
    if labels.dtype.kind == "M":
        return not bool(np.isnat(labels).any())
    return isinstance(table, ContactTable)


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

"""Observers that draw what is mapped: a figure, an HTML page, an animation."""

from __future__ import annotations

import datetime
from collections.abc import Sequence
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from driftmap.cli.files import writing
from driftmap.cli.groups import ISOLATION
from driftmap.cli.writing import NOVELTY
from driftmap.map import StreamMap
from driftmap.map.changes import Check, Drift
from driftmap.map.truth import in_words, sampled_stress
from driftmap.pipeline.observer import Observer, Update
from driftmap.plot import html, map_figure, save_figure
from driftmap.plot.changes import add_drifts
from driftmap.tables.table import Table
from driftmap.tables.writers import output_names
from driftmap.utils import Array


class Subject(NamedTuple):
    """The subject of a picture: a table, with the columns that the map sees."""

    title: str
    columns: Sequence[str]
    label: str | None
    labels_are_times: bool = False
    color: tuple[NDArray[Any], str] | None = None
    """Values that colour rows instead of their label, and their name."""
    limits: str = "bulk"
    """What the axes hold."""

    @classmethod
    def of(cls, table: Table, columns: Sequence[str]) -> Self:
        """Return the subject of a table."""
        return cls(Path(table.name).name, columns, table.label, table.labels_are_times, table.color)


def when_it_came(title: str) -> str:
    """Return the title of a map whose rows were each placed in the frame of their arrival."""
    return f"{title} (each row when it came)"


def note_on(mapper: StreamMap) -> str:
    """Return a note on how true the map is; empty if the embedding does not keep distances."""
    stress = sampled_stress(mapper)
    return "" if stress is None else in_words(stress)


class Picture(Observer):
    """Draws the map as a figure, coloured by novelty if it is to be shaded, else by label or by arrival.

    With a monitor, cells that grew or shrank at the last drift are marked, and p-values are drawn below the map.
    """

    def __init__(self, file: BinaryIO, suffix: str, subject: Subject, *, shade: str | None) -> None:
        self._file, self._kind = file, suffix[1:]
        self._subject, self._shade = subject, shade
        self._coordinates: list[Array] = []
        self._shades: list[Array] = []
        self._labels: list[Any] = []
        self._checks: list[Check] = []
        self._drifts: list[Drift] = []

    def observe(self, update: Update, mapper: StreamMap) -> None:
        """Store the coordinates, and the values that colour them."""
        if update.coordinates is None:
            return
        self._checks += update.checks
        self._drifts += update.drifts
        self._coordinates.append(update.coordinates)
        if self._shade is not None:
            self._shades.append(getattr(update, self._shade))
        if update.rows.labels is not None and (self._shade is None or mapper.n_components == 1):
            self._labels.extend(update.rows.labels)

    def finish(self, mapper: StreamMap) -> None:
        """Draw the figure."""
        labels, label, arrivals = _color(self._labels), self._subject.label, mapper.landmark_indices_
        times: dict[str, Any] = {"landmark_times": arrivals}
        if mapper.n_components == 1 and labels is not None and _are_times(labels, self._subject):
            times = {"times": labels, "time_label": label, "landmark_times": labels[arrivals]}
        color, name = self._subject.color or (None if "times" in times else labels, label)
        if self._shade is not None:
            color, name = np.concatenate(self._shades), self._shade
        coordinates = np.concatenate(self._coordinates)
        options = {"color": color, "color_label": name, "title": self._subject.title, "note": note_on(mapper), **times}
        options["limits"] = self._subject.limits
        figure = map_figure(coordinates, mapper.landmark_embedding_, **options)
        if self._checks:
            add_drifts(figure, self._checks, self._drifts, len(coordinates))
        save_figure(figure, self._file, self._kind)


PAGE_COLUMNS = 256
"""Most columns in an HTML file."""


class Page(Observer):
    """Writes the map as an HTML file that can be coloured by every column, the label and, if known, novelty."""

    def __init__(self, file: BinaryIO, subject: Subject, *, shade: str | None) -> None:
        self._file, self._subject, self._shade = file, subject, shade
        self._coordinates: list[Array] = []
        self._features: list[NDArray[np.float32]] = []
        self._labels: list[Any] = []
        self._novelty: dict[str, list[Array]] = {name: [] for name in (*NOVELTY, ISOLATION)}

    def observe(self, update: Update, mapper: StreamMap) -> None:
        """Store the coordinates and the rows."""
        if update.coordinates is None:
            return
        self._coordinates.append(update.coordinates)
        self._features.append(update.rows.features[:, :PAGE_COLUMNS].astype(np.float32))
        if update.rows.labels is not None:
            self._labels.extend(update.rows.labels)
        for name in NOVELTY if update.residual is not None else ():
            self._novelty[name].append(getattr(update, name))
        if update.isolation is not None:
            self._novelty[ISOLATION].append(update.isolation)

    def finish(self, mapper: StreamMap) -> None:
        """Write the file."""
        features, label = np.concatenate(self._features), self._subject.label
        columns: dict[str, Any] = {} if label is None else {label: _color(self._labels)}
        if self._subject.color is not None:
            values, label = self._subject.color
            columns[label] = values
        shown = zip(self._subject.columns, features.T, strict=False)  # the label may also be a feature
        others = {name: column for name, column in shown if name not in columns}
        scored = {name: np.concatenate(parts) for name, parts in self._novelty.items() if parts}
        ours, theirs = output_names([*scored], [*columns, *others])
        own = dict(zip(scored, ours, strict=True))
        columns = dict(zip(theirs, [*columns.values(), *others.values()], strict=True))
        columns |= {own[name]: values for name, values in scored.items()}
        text = html(
            np.concatenate(self._coordinates),
            mapper.landmark_embedding_,
            columns=columns,
            color=label if self._shade is None else own[self._shade],
            title=self._subject.title,
            landmark_arrivals=mapper.landmark_indices_,
            landmark_mass=mapper.landmark_mass_,
            note=note_on(mapper),
            limits=self._subject.limits,
        )
        with writing():
            self._file.write(text.encode())


class Animation(Observer):
    """Draws the map growing as the stream arrives, coloured by label or else by arrival."""

    def __init__(self, file: BinaryIO, suffix: str, subject: Subject, mapper: StreamMap, n_frames: int) -> None:
        from driftmap.plot.animation import Film  # slow to import, and rarely needed

        self._file, self._kind = file, suffix[1:]
        self._subject, self._film = subject, Film(mapper, n_frames)
        self.every = self._film.every

    def observe(self, update: Update, mapper: StreamMap) -> None:
        """Record the rows that are learnt."""
        self._film.observe(update, mapper)
        self.every = self._film.every  # fewer pictures as the film grows long

    def finish(self, mapper: StreamMap) -> None:
        """Draw the animation."""
        from driftmap.plot.animation import save_animation

        color, label = _color(self._film.labels), self._subject.label
        if self._subject.color is not None:
            values, label = self._subject.color
            color = values[self._film.arrivals]
        title, limits = self._subject.title, self._subject.limits
        save_animation(self._film, self._file, self._kind, color=color, color_label=label, title=title, limits=limits)


def _are_times(labels: NDArray[Any], subject: Subject) -> bool:
    if labels.dtype.kind == "M":
        return not bool(np.isnat(labels).any())
    return subject.labels_are_times


def _color(labels: list[Any]) -> NDArray[Any] | None:
    if not labels:
        return None
    return as_color(labels) if any(isinstance(label, str) for label in labels) else np.array(labels)


def as_color(labels: Sequence[str]) -> NDArray[Any]:
    """Return labels as numbers or dates if all of them (except empty ones) are, else unchanged.

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

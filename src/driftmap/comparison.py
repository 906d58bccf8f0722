"""Compares two tables, or a table with what a map remembers: whether they differ, where on the map, and in what."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from driftmap.landmarks.engine_estimator import EngineEstimator
from driftmap.map.changes import FeatureShift
from driftmap.map.stream_map import StreamMap
from driftmap.map.two_tables import (
    LEAST_P_VALUE,
    CellChange,
    Compared,
    Rows,
    check_comparable,
    compared,
    remembered,
    sampled,
)
from driftmap.metrics import make_store
from driftmap.storage.atomic import replacing
from driftmap.utils import Array, Ids, validation
from driftmap.utils.columns import some
from driftmap.utils.data_frames import materialized
from driftmap.utils.errors import InputError

if TYPE_CHECKING:
    from matplotlib.figure import Figure

PRINTED = 5
"""Cells and features that are printed, at most."""
OF_ONE_STREAM = ("memory", "window", "half_life", "replace_on", "frame_tolerance", "n_jobs")
"""Parameters of a map that are about the stream it learns."""
Tables = tuple[str, str]


@dataclass(frozen=True, eq=False)
class Comparison:
    """What differs between a reference and the rows of now; printed as a short report."""

    names: Tables
    """What the two tables are called."""
    rows: tuple[Rows, Rows]
    """The compared rows: a random sample of at most 5,000 of each table."""
    found: Compared

    @property
    def p_value(self) -> float:
        """P-value of a permutation test that both come from one distribution; at least 0.0001."""
        return self.found.p_value

    @property
    def cells(self) -> list[CellChange]:
        """The Voronoi cells of the map; those that changed most come first."""
        return self.found.cells

    @property
    def features(self) -> list[FeatureShift]:
        """How the means of the features differ, in standard deviations of both tables together, largest first."""
        return self.found.features

    @property
    def coordinates(self) -> tuple[Array, Array]:
        """Positions of the compared rows of both tables on the map."""
        n = self.found.n_before
        return self.found.coordinates[:n], self.found.coordinates[n:]

    @property
    def is_now(self) -> NDArray[np.bool_]:
        """For each compared row, the reference first, whether it is of now."""
        return np.arange(len(self.found.coordinates)) >= self.found.n_before

    def __str__(self) -> str:
        reference, now = self.names
        counts = [_counted(rows) for rows in self.rows]
        verdict = f"p = {self.p_value:.4f}" if self.p_value > LEAST_P_VALUE else "p = 0.0001, the least possible"
        lines = [
            f"reference: {reference}, {counts[0]}; now: {now}, {counts[1]}",
            f"{verdict} (permutation test that both have one distribution); {len(self.cells)} cells",
            "cells that changed most, with their shares before and now:",
        ]
        lines += [
            f"  {100 * one.before:.1f} % -> {100 * one.now:.1f} %, {_times(one.log_ratio)}, "
            f"around row {one.row} of {one.table}"
            for one in self.cells[:PRINTED]
        ]
        if self.features:
            lines.append("features that changed most, with their means before and now, in standard deviations:")
        lines += [
            f"  {one.feature}: {one.before:.4g} -> {one.now:.4g}, {one.difference:+.2f}"
            for one in self.features[:PRINTED]
        ]
        return "\n".join(lines)

    __repr__ = __str__

    def as_json(self) -> dict[str, Any]:
        """Return everything but the rows as JSON values."""
        sizes = [
            {"name": name, "rows": rows.n_given, "compared": len(rows.numbers)}
            for name, rows in zip(self.names, self.rows, strict=True)
        ]
        return {
            "p_value": self.p_value,
            "reference": sizes[0],
            "now": sizes[1],
            "metric": str(self.found.mapper.metric),
            "cells": [one._asdict() | {"position": list(one.position)} for one in self.cells],
            "features": [one._asdict() for one in self.features],
        }

    def figure(self) -> Figure:
        """Draw the map, its cells coloured by the log ratio of their shares, and the features that changed most."""
        from driftmap.plot.changes import changes_figure

        return changes_figure(
            self.found.coordinates,
            np.array([one.log_ratio for one in self.cells])[self.found.cell],
            self.found.mapper.landmark_embedding_,
            self.features,
            title=f"{self.names[1]} against {self.names[0]}: p = {self.p_value:.2g}",
        )

    def html(self) -> str:
        """Return the map as an HTML file for a browser, with what changed beside it."""
        from driftmap.plot.changes import comparison_page

        return comparison_page(self.as_json(), self.found, [rows.points for rows in self.rows])

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write :meth:`html` or :meth:`figure` to a file, by its suffix: .html, .png, .svg or .pdf."""
        with replacing(Path(path)) as file:
            self.write(file, Path(path).suffix.lower())

    def write(self, file: BinaryIO, suffix: str) -> None:
        """Write :meth:`html` or :meth:`figure` to an open file."""
        if suffix == ".html":
            file.write(self.html().encode())
        else:
            from driftmap.plot import save_figure

            save_figure(self.figure(), file, suffix[1:])

    def in_units(self, shift: Array, scale: Array) -> Comparison:
        """Return the comparison of rows that were normalised, with rows and means in the units of the table."""
        shift, scale = np.broadcast_to(shift, len(self.features)), np.broadcast_to(scale, len(self.features))
        place = {name: j for j, name in enumerate(self.found.mapper.feature_names)}
        features = []
        for one in self.features:
            j = place[str(one.feature)]
            before, now = (float(mean * scale[j] + shift[j]) for mean in (one.before, one.now))
            features.append(one._replace(before=before, now=now))
        reference, current = (rows._replace(points=rows.points * scale + shift) for rows in self.rows)
        return replace(self, rows=(reference, current), found=self.found._replace(features=features))


def compare(X: Any, Y: Any, *, names: Tables = ("reference", "now"), seed: int = 0, **params: Any) -> Comparison:
    """Compare the rows of Y with those of X, or with those that a map remembers.

    One map is learnt from both, in random order. The p-value is that of a permutation test of how many rows are in each
    Voronoi cell and of the distances to the landmarks, as :class:`~driftmap.map.drift.DriftMonitor` compares them.

    Parameters
    ----------
    X : array, data frame, sparse matrix, list of objects, or fitted DriftMap
        The reference. A map stands for its stored points; the parameters are its own.
    Y : likewise, but no map
        The rows of now, with the same columns.
    names : pair of str
        What the report calls them.
    seed : int
        Of the random order, the samples and the permutations.
    **params
        Parameters of :class:`driftmap.DriftMap`, such as ``n_landmarks`` and ``metric``.

    Raises
    ------
    InputError
        If columns differ, if there are fewer than 20 rows, or if a map has another metric.

    Examples
    --------
    >>> import numpy as np
    >>> from driftmap import compare
    >>> before, now = np.random.default_rng(0).standard_normal((2, 400, 3))
    >>> now[:100, 1] += 4
    >>> found = compare(before, now, n_landmarks=20)
    >>> found.p_value, found.features[0].feature, found.cells[0].now > found.cells[0].before
    (0.0001, 1, True)
    """
    mapper: StreamMap | None = None
    if isinstance(X, EngineEstimator):
        mapper = X._fitted_engine()
    elif isinstance(X, StreamMap):
        mapper = X
    else:
        X = materialized(X)
    Y = materialized(Y)
    known = validation.column_names(X) if mapper is None else mapper.feature_names
    order = column_order(known, validation.column_names(Y), names)
    if mapper is not None:
        if "metric" in params and params["metric"] != mapper.metric:
            raise InputError(f"={params['metric']!r} is not that of the map, {mapper.metric!r}", parameter="metric")
        params = {name: value for name, value in mapper.params().items() if name not in OF_ONE_STREAM} | params
    StreamMap(**params).validate()
    metric, metric_params = params.get("metric", "euclidean"), params.get("metric_params")
    store = make_store(metric, metric_params, Y) if mapper is None else mapper._landmark_engine().store
    if store.metric.form == "distances":
        raise InputError("='precomputed' does not know distances between two tables", parameter="metric")
    with named(names[0]):
        before = sampled(store.check(X), seed) if mapper is None else remembered(mapper, seed)
    with named(names[1]):
        rows = store.check_queries(Y)
        now = sampled(rows if order is None else rows[:, order], seed + 1)
    check_comparable(before, now, names)
    return Comparison(names, (before, now), compared(store, before, now, params, known, seed))


def column_order(known: Sequence[str], given: Sequence[str], names: Tables) -> Ids | None:
    """Return where the known columns are among the given ones, or raise an error that names those of one table only.

    >>> column_order(["a", "b"], ["b", "a"], ("x.csv", "y.csv"))
    array([1, 0])
    """
    if not known or not given:
        return None
    for here, there, (name, other) in ((known, given, names), (given, known, names[::-1])):
        if lone := [repr(one) for one in here if one not in there]:
            raise InputError(f"has columns that {other} lacks: {some(lone)}", source=name)
    return np.array([given.index(name) for name in known])


@contextlib.contextmanager
def named(table: str, numbers: Ids | None = None) -> Iterator[None]:
    """Errors about rows name their table; ``numbers``: of the rows in it."""
    try:
        yield
    except InputError as error:
        error.source = error.source or table
        if numbers is not None and error.row is not None:
            error.row = int(numbers[error.row])
        error.parameter = None if error.parameter == "X" else error.parameter
        raise


def _counted(rows: Rows) -> str:
    n, given = len(rows.numbers), round(rows.n_given)
    return f"{given:,} rows" + (f" ({n:,} of them compared)" if n < given else "")


def _times(log_ratio: float) -> str:
    """A ratio in words.

    >>> _times(1.0), _times(-2.0)
    ('2.0 times as many', '4.0 times fewer')
    """
    return f"{2 ** abs(log_ratio):.1f} times {'as many' if log_ratio >= 0 else 'fewer'}"

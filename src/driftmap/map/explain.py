"""Explains a map by the features that matter along an axis, in a region or at a landmark.

Explanations are based on the stored points, each weighted by the number of points it represents.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from driftmap.map.frame import Frame
from driftmap.map.stream_map import StreamMap
from driftmap.utils import Array, Ids, validation
from driftmap.utils.errors import InputError

REGRESSION_POINTS = 2000
"""Most stored points in a regression, evenly spread over time."""
MOST_SPARSE = 1000
"""Most columns of sparse rows that are considered: those with the largest variance."""
NEIGHBOURS = 100
"""Stored points in a local regression: those nearest to the position on the map."""
RIDGE = 1e-3
"""Ridge penalty as a share of each feature's variance, so that correlated features share their slope."""
PRINTED_FEATURES = 10
"""Most features printed."""


class AxisFeature(NamedTuple):
    """How a coordinate of the map depends on a feature."""

    feature: int | str
    """Its name, or its number if features have no names."""
    correlation: float
    """Correlation between feature and coordinate."""
    slope: float
    """Change of the coordinate per standard deviation of the feature, with the other features fixed."""


class RegionFeature(NamedTuple):
    """How the points of a region differ from all others in a feature."""

    feature: int | str
    """Its name, or its number if features have no names."""
    difference: float
    """Difference of the means inside and outside, in standard deviations of all points."""
    inside: float
    """Mean inside."""
    outside: float
    """Mean outside."""


@dataclass(frozen=True)
class Explanation:
    """Features in order of importance; printed as a table."""

    question: str
    """What the features explain; the first line of the table."""
    share: float
    """For an axis, the adjusted R^2 of a linear regression on the features; for a region, its share of the points."""
    features: list[AxisFeature] | list[RegionFeature]

    def __str__(self) -> str:
        names = self.features[0]._fields
        rows = [
            names,
            *((str(row[0]), *(f"{value:.3g}" for value in row[1:])) for row in self.features[:PRINTED_FEATURES]),
        ]
        widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
        lines = ["  ".join([row[0].ljust(widths[0]), *map(str.rjust, row[1:], widths[1:])]).rstrip() for row in rows]
        more = len(self.features) - PRINTED_FEATURES
        return "\n".join([self.question, *lines, *([f"and {more} more"] if more > 0 else [])])

    __repr__ = __str__


def explain(
    mapper: StreamMap,
    *,
    axis: int | None = None,
    near: ArrayLike | None = None,
    region: Any = None,
    landmark: int | None = None,
) -> Explanation:
    """Find the features that drive an axis or distinguish a region or a cell; see :meth:`driftmap.DriftMap.explain`."""
    given = [name for name, value in (("axis", axis), ("region", region), ("landmark", landmark)) if value is not None]
    if near is not None and axis is None:
        raise InputError("is a position at which to explain an axis: give axis, too", parameter="near")
    if len(given) != 1:
        problem = f"got {' and '.join(given) or 'none'}"
        raise InputError(f"explain takes one of axis, region and landmark; {problem}")
    with mapper.lock:
        points = stored_points(mapper, mapper.frames.present(mapper._landmark_engine()))
        if landmark is not None:
            return _of_landmark(mapper, points, landmark)
    if axis is not None:
        return of_axis(points, axis, near)
    return _of_region(points, _inside(points.coordinates, region), "the region")


def explain_axes(mapper: StreamMap) -> list[Explanation]:
    """Return which features drive each axis of the map. What the axes share is computed once."""
    with mapper.lock:
        points = stored_points(mapper, mapper.frames.present(mapper._landmark_engine()))
    effects = _axis_effects(points)
    return [_of_axis(points, axis, effects) for axis in range(points.coordinates.shape[1])]


class Points(NamedTuple):
    """Stored points with their features and positions."""

    ids: Ids
    rows: Array
    names: Sequence[int | str]
    """Names or numbers of the columns."""
    masses: Array
    coordinates: Array


def stored_points(mapper: StreamMap, frame: Frame) -> Points:
    """Return all stored points with their positions in this frame."""
    landmarks = mapper._landmark_engine()
    if landmarks.store.metric.form not in ("rows", "sparse"):
        raise InputError("the points are objects or distances: only a map of rows of features can be explained")
    ids, masses = landmarks.stored_indices_, landmarks.stored_masses()
    rows, names = landmarks.stored_points(ids), mapper.feature_names or mapper.dict_names
    coordinates = frame.place_stored(landmarks, ids)
    columns = np.arange(rows.shape[1])
    if hasattr(rows, "tocsc"):
        rows, columns = _widest(rows)
    rows = _filled(np.asarray(rows, dtype=np.float64), masses)
    return Points(ids, rows, [names[j] if names else j for j in columns.tolist()], masses, coordinates)


def _widest(rows: Any) -> tuple[Array, Ids]:
    """Return the columns of sparse rows with the largest variance, as a dense array."""
    squares, means = np.asarray(rows.multiply(rows).mean(axis=0)).ravel(), np.asarray(rows.mean(axis=0)).ravel()
    columns = np.sort(np.argsort(means**2 - squares, kind="stable")[:MOST_SPARSE])
    return rows.tocsc()[:, columns].toarray(), columns


def _filled(rows: Array, masses: Array) -> Array:
    """Replace missing numbers, which some metrics allow, by the mean of the column."""
    missing = np.isnan(rows)
    if not missing.any():
        return rows
    known = masses[:, None] * ~missing
    means = (known * np.where(missing, 0.0, rows)).sum(axis=0) / np.maximum(known.sum(axis=0), 1e-300)
    return np.where(missing, means, rows)


def of_axis(points: Points, axis: int, near: ArrayLike | None = None) -> Explanation:
    """Find the features that drive an axis, locally around the position ``near`` if it is given."""
    k = points.coordinates.shape[1]
    if validation.integer_at_least(axis, "axis", 0) >= k:
        raise InputError(f"must be below the number of dimensions, {k}, got {axis}", parameter="axis")
    if near is None:
        return _of_axis(points, axis, _axis_effects(points))
    place = np.asarray(near, dtype=np.float64)
    if place.shape != (k,) or not np.isfinite(place).all():
        raise InputError(f"must be a position on the map, {k} numbers, got {near!r}", parameter="near")
    return _of_axis(points, axis, _axis_effects(points, place), " near this place")


def _of_axis(points: Points, axis: int, effects: LinearEffects, where: str = "") -> Explanation:
    correlation, slope, share = effects.on(points.coordinates[_regressed(points), axis])
    found = zip(points.names, correlation.tolist(), slope.tolist(), strict=True)
    features = sorted((AxisFeature(*effect) for effect in found), key=lambda one: -abs(one.correlation))
    linear = "" if np.isnan(share) else f": {share:.0%} of its variance is linear in the features"
    return Explanation(f"axis {axis}{where}{linear}", share, features)


def _regressed(points: Points) -> Ids:
    """The points of a regression."""
    return np.unique(np.linspace(0, len(points.ids) - 1, REGRESSION_POINTS).astype(np.int64))


def _axis_effects(points: Points, near: Array | None = None) -> LinearEffects:
    """The regression of coordinates on the features; ``near``: weighted towards this place."""
    some = _regressed(points)
    rows, weights = points.rows[some], points.masses[some]
    deviations = moments(rows, weights)[1]
    if near is not None:
        weights = weights * tricube(np.linalg.norm(points.coordinates[some] - near, axis=1))
    return LinearEffects(rows, weights, deviations)


def _of_landmark(mapper: StreamMap, points: Points, landmark: int) -> Explanation:
    landmarks = mapper._landmark_engine()
    place = np.flatnonzero(landmarks.landmark_indices_ == landmark)
    if not len(place):
        problem = f"={landmark!r} is not the arrival number of a landmark: landmark_indices_ lists them"
        raise InputError(problem, parameter="landmark")
    cell = landmarks.cells()[0][place[0]]
    return _of_region(points, np.isin(points.ids, np.append(cell, landmark)), f"the cell of landmark {landmark}")


def _of_region(points: Points, inside: NDArray[np.bool_], name: str) -> Explanation:
    if inside.all() or not inside.any():
        extent = "all of the" if inside.any() else "none of the"
        raise InputError(f"{name} holds {extent} {len(inside)} stored points: there is nothing to compare")
    means = [moments(points.rows[part], points.masses[part])[0] for part in (inside, ~inside)]
    deviations = moments(points.rows, points.masses)[1]
    differences = (means[0] - means[1]) / np.where(deviations > 0, deviations, np.inf)
    columns = zip(points.names, differences.tolist(), means[0].tolist(), means[1].tolist(), strict=True)
    features = sorted((RegionFeature(*column) for column in columns), key=lambda found: -abs(found.difference))
    share = float(points.masses[inside].sum() / points.masses.sum())
    return Explanation(f"{name}: {share:.1%} of all points", share, features)


def _inside(coordinates: Array, region: Any) -> NDArray[np.bool_]:
    n, k = coordinates.shape
    if isinstance(region, Callable):  # type: ignore[arg-type]
        inside = np.asarray(region(coordinates))
        if inside.shape != (n,) or inside.dtype != np.bool_:
            problem = f"must return a boolean for each of {n} positions, got {inside.dtype} of shape {inside.shape}"
            raise InputError(problem, parameter="region")
        return inside
    try:
        box = np.asarray(region, dtype=np.float64)
    except (TypeError, ValueError):
        box = np.empty(0)
    if box.shape != (k, 2) or not (box[:, 0] <= box[:, 1]).all():
        problem = f"must be a pair (low, high) for each of {k} axes, or a function of positions, got {region!r}"
        raise InputError(problem, parameter="region")
    return np.asarray(((coordinates >= box[:, 0]) & (coordinates <= box[:, 1])).all(axis=1))


def moments(X: Array, weights: Array) -> tuple[Array, Array]:
    """Return weighted means and standard deviations of columns; a constant column has standard deviation 0 exactly."""
    shares = weights / weights.sum()
    means = shares @ X
    centred = X - means
    deviations = np.sqrt(shares @ np.square(centred, out=centred))
    return means, np.where(np.ptp(X, axis=0) > 0, deviations, 0.0)


def tricube(distances: Array) -> Array:
    """Return weights of a local regression (Cleveland, 1979): 1 at distance 0, 0 beyond the ``NEIGHBOURS`` nearest."""
    reach = np.partition(distances, min(NEIGHBOURS, len(distances)) - 1)[:NEIGHBOURS].max() * (1 + 1e-9)
    return np.maximum(1 - (distances / max(reach, 1e-300)) ** 3, 0.0) ** 3


class LinearEffects:
    """Effects of columns on targets: weighted correlations, and ridge regressions. The targets share one Gram matrix.

    >>> X = np.array([[0.0, 5.0], [1.0, 3.0], [2.0, 7.0], [3.0, 5.0]])
    >>> correlation, slope, share = LinearEffects(X, weights=np.ones(4), deviations=np.ones(2)).on(2 * X[:, 0])
    >>> correlation.round(2), slope.round(2), round(share, 2)
    (array([1.  , 0.32]), array([2., 0.]), 1.0)
    """

    def __init__(self, X: Array, weights: Array, deviations: Array) -> None:
        self.used, self.deviations = weights > 0, deviations
        X = X if self.used.all() else X[self.used]
        self.shares = weights[self.used] / weights[self.used].sum()
        means, local = moments(X, self.shares)
        self.scale = np.where(local > 0, local, np.inf)
        Z = X - means
        Z /= self.scale
        Z *= np.sqrt(self.shares)[:, None]
        n, d = Z.shape
        self.Z = Z
        self.gram = Z.T @ Z + RIDGE * np.eye(d) if d < n else Z @ Z.T + RIDGE * np.eye(n)

    def on(self, y: Array) -> tuple[Array, Array, float]:
        """Return the correlations of the columns with y, their slopes in its regression, and its share of the variance.

        Slopes are per one of the ``deviations``. The share is the adjusted R^2, NaN unless rows outnumber columns.
        """
        y, Z = y[self.used], self.Z
        mean, deviation = moments(y[:, None], self.shares)
        target = (y - mean) / np.where(deviation > 0, deviation, np.inf) * np.sqrt(self.shares)
        n, d = Z.shape
        slope = np.linalg.solve(self.gram, Z.T @ target) if d < n else Z.T @ np.linalg.solve(self.gram, target)
        rest = float(np.sum((target - Z @ slope) ** 2)) * (n - 1) / (n - 1 - d) if n - 1 > d else np.nan
        share = 1.0 - rest if deviation > 0 else 0.0
        return Z.T @ target, slope * deviation * self.deviations / self.scale, share


def landmark_table(mapper: StreamMap, names: Any = None) -> dict[str, Any]:
    """Return the landmarks as columns; see :meth:`driftmap.DriftMap.landmark_table`."""
    with mapper.lock:
        landmarks = mapper._landmark_engine()
        frame = mapper.frames.present(landmarks)
        arrivals = landmarks.landmark_indices_
        table: dict[str, Any] = {"arrival": arrivals}
        if names is not None:
            if len(names) < landmarks.n_samples_seen_:
                problem = f"must name all {landmarks.n_samples_seen_} points seen, got {len(names)} names"
                raise InputError(problem, parameter="names")
            table["name"] = np.asarray(names)[arrivals]
        table["mass"] = landmarks.landmark_mass_
        for i, column in enumerate(frame.landmark_positions().T):
            table[f"driftmap{i}"] = column
        if landmarks.store.metric.form == "distances":
            return table
        points = landmarks.landmarks_
        if landmarks.n_features is None:
            return table | {"landmark": points}
        if not hasattr(points, "tocsr"):
            columns = mapper.feature_names or mapper.dict_names or [f"x{j}" for j in range(points.shape[1])]
            table |= {f"feature {name}" if name in table else name: points[:, j] for j, name in enumerate(columns)}
        return table

"""Distances: where the points of a stream are stored and how far apart they are.

A *space* stores the arrivals and answers how far apart any two of them are. Distances between stored points are given
in a *comparison scale* that orders pairs as their distances do: the square for Euclidean points (no root, so one pair
always has one value to the bit), the distance itself elsewhere. A dissimilarity is taken as symmetric and evaluated as
``metric(later, earlier)``.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.distance import cdist

from driftmap import checks

Array = NDArray[np.float64]
Ids = NDArray[np.int64]
Metric = str | Callable[[Any, Any], float]

ALIASES = {"l2": "euclidean", "l1": "cityblock", "manhattan": "cityblock"}
# Named metrics of scipy that obey the triangle inequality (jensenshannon is a metric in scipy: the root is taken).
OBEY_TRIANGLE = {"euclidean", "cityblock", "chebyshev", "hamming", "jaccard", "jensenshannon", "canberra"}
NEED_DATA = {
    "seuclidean": "V (the variance of each column)",
    "mahalanobis": "VI (the inverse covariance matrix)",
}


class Space(Protocol):
    """Stored points and the distances between them."""

    triangle: bool
    """Whether the triangle inequality is known to hold."""

    def __len__(self) -> int: ...
    def check(self, X: Any) -> Any:
        """Return X in the form :meth:`extend` takes, or raise; changes nothing."""

    def extend(self, prepared: Any) -> None:
        """Store checked points as the next arrivals."""

    def truncate(self, n: int) -> None:
        """Forget all arrivals from number n on."""

    def take(self, ids: Ids) -> Any:
        """The stored points with these arrival numbers."""

    def pairs(self, rows: Ids, columns: Ids) -> Array:
        """Distances between stored points, in the comparison scale."""

    def check_queries(self, X: Any) -> Any:
        """Return points that are to be measured but not stored in the form :meth:`to_stored` takes, or raise."""

    def to_stored(self, queries: Any, ids: Ids) -> Array:
        """True distances of checked points that are not stored to stored ones."""

    def comparable(self, distance: float) -> float:
        """A distance in the comparison scale."""

    def true(self, comparable: float) -> float:
        """A value of the comparison scale as a distance."""

    def true_all(self, comparable: Array) -> Array:
        """Values of the comparison scale as distances."""


def make_space(metric: Metric, metric_params: dict[str, Any] | None, X: Any) -> Space:
    """The space for a metric; a callable measures rows if X is a numeric matrix, else arbitrary objects."""
    params = dict(metric_params or {})
    if callable(metric):
        return RowSpace(metric, params) if _is_matrix(X) else ObjectSpace(metric, params)
    if not isinstance(metric, str):
        raise TypeError(f"metric must be a name or a callable, got {metric!r}")
    name = ALIASES.get(metric, metric)
    if name == "precomputed":
        return PrecomputedSpace()
    if name == "euclidean" and not params:
        return EuclideanSpace()
    return NamedSpace(name, params)


def _is_matrix(X: Any) -> bool:
    """Whether X is a table of numbers: a data frame, a numeric matrix, or rows of numbers of one length."""
    if isinstance(X, np.ndarray):
        return X.ndim == 2 and X.dtype.kind in "biuf"
    if hasattr(X, "columns"):  # data frames
        return True
    if not isinstance(X, list | tuple) or not all(isinstance(row, list | tuple | np.ndarray) for row in X):
        return False  # other objects may look like sequences, for example graphs
    try:
        array = np.asarray(X)
    except ValueError:
        return False
    return array.ndim == 2 and array.dtype.kind in "biuf"


class PlainScale:
    """The comparison scale is the distance itself."""

    def comparable(self, distance: float) -> float:
        """A distance in the comparison scale."""
        return distance

    def true(self, comparable: float) -> float:
        """A value of the comparison scale as a distance."""
        return comparable

    def true_all(self, comparable: Array) -> Array:
        """Values of the comparison scale as distances."""
        return comparable

    def check_queries(self, X: Any) -> Any:
        """Queries look like the points themselves."""
        return self.check(X)  # type: ignore[attr-defined]


class Table(PlainScale):
    """Rows of one width in an array that grows; unused capacity is never touched, so it takes no memory."""

    def __init__(self) -> None:
        self.rows: Array = np.empty((0, 0))
        self.n = 0

    def __len__(self) -> int:
        return self.n

    def extend(self, X: Array) -> None:
        """Store checked rows as the next arrivals."""
        n = self.n + len(X)
        if n > len(self.rows):
            grown = np.empty((max(n, 2 * len(self.rows)), X.shape[1]))
            grown[: self.n] = self.rows[: self.n] if self.n else 0.0
            self.rows = grown
        self.rows[self.n : n] = X
        self.n = n

    def truncate(self, n: int) -> None:
        """Forget all arrivals from number n on."""
        self.n = n

    def check(self, X: Any) -> Array:
        """Return X as a matrix of the stored width, or raise."""
        columns = list(map(str, X.columns)) if hasattr(X, "columns") else None
        array = checks.points(X, columns)
        if self.n and array.shape[1] != self.rows.shape[1]:
            raise ValueError(f"X has {array.shape[1]} features, but the points seen so far have {self.rows.shape[1]}")
        return array

    def take(self, ids: Ids) -> Array:
        """The stored points with these arrival numbers."""
        return self.rows[ids]


class EuclideanSpace(Table):
    """Points with the Euclidean distance; the comparison scale is the square."""

    triangle = True

    def pairs(self, rows: Ids, columns: Ids) -> Array:
        """Squared distances, summed over coordinates in order as everywhere."""
        return self._squared(self.rows[rows], columns)

    def to_stored(self, queries: Any, ids: Ids) -> Array:
        """True distances of checked points that are not stored to stored ones."""
        return np.sqrt(self._squared(queries, ids))

    def _squared(self, X: Array, ids: Ids) -> Array:
        from driftmap._kernels.distances import cross_squared

        out = np.empty((len(X), len(ids)))
        cross_squared(X, np.ascontiguousarray(self.rows[ids].T), out)
        return out

    def comparable(self, distance: float) -> float:
        """The largest number whose root is at most the distance; its square may miss a pair at just this distance."""
        square = distance * distance
        if square < math.inf:
            while math.sqrt(square) > distance:
                square = math.nextafter(square, 0.0)
            while math.sqrt(above := math.nextafter(square, math.inf)) <= distance:
                square = above
        return square

    def true(self, comparable: float) -> float:
        """The root."""
        return float(np.sqrt(comparable))

    def true_all(self, comparable: Array) -> Array:
        """The roots."""
        return np.sqrt(comparable)


class NamedSpace(Table):
    """Points with a metric that scipy's cdist knows by name."""

    def __init__(self, name: str, params: dict[str, Any]) -> None:
        super().__init__()
        need = NEED_DATA.get(name)
        if need is not None and need.split()[0] not in params:
            raise ValueError(
                f"metric {name!r} needs metric_params={{{need.split()[0]!r}: ...}}: {need}; "
                "taken from each batch it would change with the batch size"
            )
        try:
            cdist(np.zeros((1, 2)), np.ones((1, 2)), name)
        except ValueError as error:
            if "metric" in str(error).lower():
                raise ValueError(
                    f"unknown metric {name!r}: give a name that scipy's cdist knows or a callable"
                ) from None
        self.name, self.params = name, params
        self.triangle = name in OBEY_TRIANGLE or (name == "minkowski" and params.get("p", 2) >= 1)

    def pairs(self, rows: Ids, columns: Ids) -> Array:
        """Distances between stored points, each evaluated as metric(later, earlier)."""
        X, Y = self.rows[rows], self.rows[columns]
        out = self._distances(X, Y)
        earlier = rows[:, None] < columns[None, :]
        if earlier.any():
            out = np.where(earlier, self._distances(Y, X).T, out)
        out[rows[:, None] == columns[None, :]] = 0.0
        return _usable(out, rows, columns)

    def to_stored(self, queries: Any, ids: Ids) -> Array:
        """True distances of checked points that are not stored to stored ones."""
        return _usable(self._distances(queries, self.rows[ids]), None, ids)

    def check(self, X: Any) -> Array:
        """Return X as a matrix of the stored width that the metric's parameters fit, or raise."""
        array = super().check(X)
        d = array.shape[1]
        for name, shape in (("VI", (d, d)), ("V", (d,)), ("w", (d,))):
            given = np.shape(self.params.get(name, np.empty(shape)))
            if given != shape:
                raise ValueError(f"metric_params[{name!r}] must have shape {shape} for {d} features, got {given}")
        return array

    def _distances(self, X: Array, Y: Array) -> Array:
        with np.errstate(divide="ignore", invalid="ignore"):
            try:
                distances = cdist(X, Y, self.name, **self.params)
            except TypeError as error:
                raise ValueError(f"metric {self.name!r} does not take metric_params={self.params}") from error
        # Rounding may leave a tiny negative value, for example in the cosine distance, or the root of one.
        for i, j in np.argwhere(np.isnan(distances)):
            x, y = X[i], Y[j]
            shares = self.name == "jensenshannon" and min(x.min(), y.min()) >= 0 < min(x.sum(), y.sum())
            if shares or np.array_equal(x, y):
                distances[i, j] = 0.0
        return np.maximum(distances, 0.0)


class CallableMixin:
    """Distances from a Python function of two points."""

    triangle = False

    def __init__(self, metric: Callable[..., float], params: dict[str, Any]) -> None:
        super().__init__()
        self.metric, self.params = metric, params

    def _get(self, i: int) -> Any:
        raise NotImplementedError

    def pairs(self, rows: Ids, columns: Ids) -> Array:
        """Distances between stored points, each evaluated as metric(later, earlier)."""
        out = np.zeros((len(rows), len(columns)))
        for i, r in enumerate(rows):
            for j, s in enumerate(columns):
                if r != s:
                    out[i, j] = self.metric(self._get(max(r, s)), self._get(min(r, s)), **self.params)
        return _usable(out, rows, columns)

    def to_stored(self, queries: Any, ids: Ids) -> Array:
        """True distances of checked points that are not stored to stored ones."""
        out = np.array([[self.metric(x, self._get(s), **self.params) for s in ids] for x in queries], dtype=float)
        return _usable(out.reshape(len(queries), len(ids)), None, ids)


class RowSpace(CallableMixin, Table):
    """Rows of numbers with a function of two rows."""

    def _get(self, i: int) -> Array:
        return self.rows[i]


class ObjectSpace(CallableMixin, PlainScale):
    """Arbitrary objects (strings, graphs, anything) with a function of two of them."""

    def __init__(self, metric: Callable[..., float], params: dict[str, Any]) -> None:
        super().__init__(metric, params)
        self.objects: list[Any] = []

    def __len__(self) -> int:
        return len(self.objects)

    def _get(self, i: int) -> Any:
        return self.objects[i]

    def check(self, X: Any) -> list[Any]:
        """A list of the objects; a bare string is refused, since it would be taken letter by letter."""
        if isinstance(X, str | bytes) or not hasattr(X, "__iter__"):
            raise ValueError(f"X must be a sequence of objects, got a {type(X).__name__}; put single objects in a list")
        objects = list(X)
        if not objects:
            raise ValueError("X is empty: at least one object is needed")
        return objects

    def extend(self, objects: Sequence[Any]) -> None:
        """Store checked objects as the next arrivals."""
        self.objects.extend(objects)

    def truncate(self, n: int) -> None:
        """Forget all arrivals from number n on."""
        del self.objects[n:]

    def take(self, ids: Ids) -> list[Any]:
        """The stored objects with these arrival numbers."""
        return [self.objects[i] for i in ids]


class PrecomputedSpace(PlainScale):
    """Each arrival brings its distances to all earlier arrivals; they are kept as one packed triangle."""

    triangle = False

    def __init__(self) -> None:
        self.n = 0
        self.triangle_of_distances: Array = np.empty(0)

    def __len__(self) -> int:
        return self.n

    def check(self, X: Any) -> list[Array]:
        """The distances that count: for the i-th new row, those to all earlier arrivals."""
        array = _distances_given(X)
        if array.ndim != 2:
            raise ValueError(f"Expected 2D array, got {array.ndim}D array instead: one row of distances per arrival")
        new = len(array)
        if new == 0:
            raise ValueError("Found array with 0 sample(s): at least one row of distances is needed")
        if array.shape[1] not in (self.n + new, self.n + new - 1):
            raise ValueError(
                f"{new} new rows after {self.n} arrivals need {self.n + new} columns (distances to all arrivals "
                f"up to the last new one), got {array.shape[1]}"
            )
        return [
            _usable(array[i, None, : self.n + i], np.array([self.n + i]), np.arange(self.n + i))[0] for i in range(new)
        ]

    def extend(self, rows: Sequence[Array]) -> None:
        """Store checked rows as the next arrivals."""
        n = self.n + len(rows)
        size = n * (n - 1) // 2
        if size > len(self.triangle_of_distances):
            grown = np.empty(max(size, 2 * len(self.triangle_of_distances)))
            used = self.n * (self.n - 1) // 2
            grown[:used] = self.triangle_of_distances[:used]
            self.triangle_of_distances = grown
        for i, row in enumerate(rows, start=self.n):
            self.triangle_of_distances[i * (i - 1) // 2 : i * (i + 1) // 2] = row
        self.n = n

    def truncate(self, n: int) -> None:
        """Forget all arrivals from number n on."""
        self.n = n

    def take(self, ids: Ids) -> Array:
        """The distances among these arrivals: all that is known of them."""
        return self.pairs(ids, ids)

    def pairs(self, rows: Ids, columns: Ids) -> Array:
        """Distances between stored points."""
        later = np.maximum(rows[:, None], columns[None, :])
        earlier = np.minimum(rows[:, None], columns[None, :])
        same = later == earlier
        at = np.where(same, 0, later * (later - 1) // 2 + earlier)
        if not len(self.triangle_of_distances):
            return np.zeros(at.shape)
        return np.where(same, 0.0, self.triangle_of_distances[at])

    def check_queries(self, X: Any) -> Array:
        """Rows of distances to all arrivals."""
        array = _distances_given(X)
        if len(array) == 0:
            raise ValueError("Found array with 0 sample(s): at least one row of distances is needed")
        if array.ndim != 2 or array.shape[1] != self.n:
            raise ValueError(
                f"X must hold the distances to all {self.n} arrivals: shape (n, {self.n}), got {array.shape}"
            )
        return array

    def to_stored(self, queries: Array, ids: Ids) -> Array:
        """The distances to some of the arrivals."""
        return _usable(queries[:, ids], None, ids)


def _distances_given(X: Any) -> Array:
    if hasattr(X, "toarray"):
        raise TypeError("Sparse data was passed for X, but dense distances are needed: use X.toarray()")
    array = np.asarray(X)
    if array.dtype.kind == "c":
        raise ValueError("Complex data not supported: distances are real numbers")
    return array.astype(np.float64)


def _usable(distances: Array, rows: Ids | None, columns: Ids) -> Array:
    """The distances, or an error that names the first pair whose distance is no finite number >= 0."""
    good = (distances >= 0) & (distances < np.inf)
    if good.all():
        return distances + 0.0  # no negative zeros: the kernels order distances by their bits
    i, j = (int(k) for k in np.argwhere(~good)[0])
    who = f"row {i}" if rows is None else f"arrival {rows[i]}"
    raise ValueError(
        f"the distance between {who} and arrival {columns[j]} is {distances[i, j]}: "
        "a distance must be a finite number and not negative"
    )

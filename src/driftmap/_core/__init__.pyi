"""The compiled core: the arrival loop of a stream, and the placement of points on a map.

``src/core`` is the code, ``src/bindings`` makes it a module of Python.

**Distances.** One pair of points has one distance, to the bit, on every processor level. A sum over coordinates is
taken in their order below 16 coordinates. From 16 on there are sixteen partial sums, coordinate k going to sum
k mod 16 in order; then partial sum i is added to i + 8, and so on with 4, 2 and 1. Nothing is fused or reordered.
Points are converted to double precision first. Euclidean distances are compared by their squares (the reduced
distance), all others as they are.
"""

from collections.abc import Callable
from typing import Any, Protocol

from numpy.typing import NDArray

from driftmap.utils import Array, Ids

level: str
"""The processor level of the loaded module: "v2", "v3" or "v4" (x86-64), or "generic"."""

METRICS: dict[str, bool]
"""The metrics that are measured natively: by name, whether the triangle inequality holds ("minkowski": with p >= 1)."""

class DistanceSource(Protocol):
    """Measures what the core does not know how to measure: objects, callables, precomputed distances.

    It stores the points. Rows of the present batch are numbered from 0; stored points are numbered in the order of
    their arrival. Distances are true distances, finite and not negative; an exception undoes the batch.
    """

    triangle: bool
    """Whether the triangle inequality is known to hold."""

    def cross(self, batch_rows: Ids, stored_rows: Ids) -> Array:
        """Distances of rows of the present batch to stored points."""

    def pairs(self, rows: Ids, columns: Ids) -> Array:
        """Distances between stored points."""

    def keep(self, batch_row: int) -> None:
        """Store a row of the present batch as the next stored point."""

    def retain(self, rows: Ids) -> None:
        """Keep only these stored points, ascending; they are renumbered."""

    def save(self) -> None:
        """Remember the stored points as they are now."""

    def restore(self) -> None:
        """Go back to the stored points as they were remembered."""

class Stream:
    """The landmarks of one stream, and the points stored of it: a core-set that represents every point seen.

    One loop takes in the arrivals, for every metric, rule and memory. Stored points are named by rows, ascending in the
    order of arrival; rows are renumbered when points merge or are forgotten. Not thread-safe: the caller locks.
    """

    def __init__(
        self,
        metric: str | DistanceSource,
        n_features: int = 0,
        *,
        n_landmarks: int,
        rule: str = "tight",
        initial_radius: float = 1e-20,
        slack: float = 0.0,
        memory: int | None = None,
        window: float = ...,
        half_life: float = ...,
        p: float = 2.0,
    ) -> None:
        """``n_features`` is the width of the points of a native metric; ``p`` is the exponent of "minkowski".

        ``memory``: the most points stored, None for all; ``window`` and ``half_life`` are infinite by default.
        Parameters have been validated.
        """

    def learn(
        self,
        batch: NDArray[Any] | int,
        *,
        times: Array | None = None,
        weights: Array | None = None,
        spreads: Array | None = None,
        arrivals: Ids | None = None,
        gate: Callable[[float], bool] | None = None,
        nearest_before: bool = False,
    ) -> tuple[Ids, Array] | None:
        """Take in further arrivals.

        ``batch`` is a C-contiguous matrix of float64 or float32, or the number of rows where a DistanceSource measures.
        ``times`` are given if and only if points expire. Weighted arrivals stand for several points within ``spreads``
        of them; they need a memory limit or expiry. With ``arrivals`` they are the stored points of a later stream:
        their numbers, ascending, and at the end how many points have been seen then. Each is stored as it is; if they
        are then too many, they are thinned once. ``gate`` is shown the distance of each arrival to its nearest
        landmark, divided by the radius, once all landmarks are there; replacements wait until it returns True.

        With ``nearest_before``, returns for each arrival the arrival number of its nearest landmark before it was
        learnt (-1: there was none) and the distance to it (infinity).

        After an exception of a metric or gate the whole batch is undone. An interrupt (Ctrl-C) of a native metric
        without a gate leaves the arrivals before it learnt.
        """

    broken: bool
    """Whether an arrival was left half learnt, as no memory was left or its row was changed by another thread."""
    seen: int
    """Number of arrivals."""
    n_stored: int
    """Number of rows, forgotten ones among them."""
    radius: float
    """The radius (the paper's rho)."""
    covering_radius: float
    """The largest distance of a stored point to its nearest landmark."""
    resolution: float
    """The largest spread of a stored point: every point seen lies within it of a stored one."""
    coverage_bound: float
    """The largest distance of a stored point to its nearest landmark plus its spread, rounded up."""
    n_replacements: int
    version: int
    """Changes whenever landmarks or row numbers do."""

    def landmark_rows(self) -> Ids:
        """Rows of the landmarks, ascending."""

    def landmark_masses(self) -> Array:
        """Per landmark, the weight of the stored points nearest to it."""

    def arrivals(self) -> Ids:
        """Per row, its arrival number."""

    def masses(self) -> Array:
        """Per row, how many points it represents now, more than 0; 0: it is forgotten."""

    def spreads(self) -> Array:
        """Per row, within which distance of it the points lie that it represents."""

    def cells(self) -> Ids:
        """Per row, the position of its nearest landmark in :meth:`landmark_rows`; -1: it is forgotten."""

    def points(self, rows: Ids) -> Array:
        """Stored points of a native metric."""

    def events(self) -> list[tuple[int, str, int | None, int | None, float, float]]:
        """The last 10,000 changes of landmarks: arrival, kind, came, left, radius before and after.

        Kinds are "added", "replaced", "widened" (the newcomer left again) and "forgotten".
        """

    def state(self) -> dict[str, Any]:
        """Everything as arrays and numbers; of a DistanceSource, all but the points. Forgotten points are dropped."""

    def restore(self, state: dict[str, Any]) -> None:
        """Bring a stream that has seen nothing to a state that :meth:`state` gave.

        A state with an index, an order or a number that :meth:`state` cannot give is a TypeError or ValueError, which
        says what is wrong with "its" part; the stream is then as before. Distances are not measured again.
        """

def distances(X: NDArray[Any], Y: NDArray[Any], metric: str = "euclidean", p: float = 2.0) -> Array:
    """Distances between the rows of two matrices, (n, m), by a native metric."""

class Placement:
    """Places points at a minimum of the stress of their distances to fixed points, each by itself."""

    def __init__(
        self,
        fixed: Array,
        projection: Array,
        shift: Array,
        origin: Array,
        size: float,
        tolerance: float,
        max_iter: int,
        matrix: Array | None,
        offsets: Array | None,
        centre: Array | None,
        steadiness: float,
        places: Array,
        basis: Array,
        losses: Array,
    ) -> None:
        """Of a fixed points on a map of size 1 round 0: their k coordinates and weights, ``fixed`` (k + 1, a).

        A point starts at ``projection`` (k, a) times its squared distances plus ``shift`` (k,). Its place times
        ``size`` plus ``origin`` (k,) is returned. ``steadiness`` weighs the squared distance to the start. Squared
        distances are :func:`affine` of the rows that are placed, or their squares where there is no ``matrix``.
        A point off the map starts from one of ``places`` (8 p, k), that with the least stress. Up to a constant this
        is the product of ``losses`` (p (a + 1), 8) with the distances and 1; or, if there is a ``basis``
        (b (a + 1), 8), that of ``losses`` (p (8 b + 1), 8) with the product of the basis with the distances, and 1.
        """

    def place(self, X: NDArray[Any]) -> Array:
        """Places of rows of float64 or float32, (n, k)."""

class TsnePlacement:
    """Places points at a minimum of t-SNE's loss of a further row, given points that stay where they are."""

    def __init__(
        self,
        positions: Array,
        perplexity: float,
        repels: bool,
        matrix: Array | None,
        offsets: Array | None,
        centre: Array | None,
    ) -> None:
        """By fixed points at ``positions`` (a, k); squared distances to them follow as in :class:`Placement`."""

    def place(self, X: NDArray[Any]) -> Array:
        """Places of rows of float64 or float32, (n, k)."""

def descend_tsne(
    starts: Ids,
    columns: Ids,
    values: Array,
    exaggeration: float,
    momentum: float,
    rate: float,
    n_iter: int,
    positions: Array,
) -> None:
    """Move points by gradient descent of t-SNE's loss, in place, given a sparse matrix of affinities by rows."""

def affine(X: NDArray[Any], matrix: Array, offsets: Array, centre: Array | None = None) -> Array:
    """Row by row, ``(x - centre) matrix + offsets``; without a centre, ``x^2 matrix + offsets``."""

def sweep(distances: Array, weights: Array, positions: Array) -> float:
    """Move one point after the other to less stress, in place; returns the root mean square of the moves."""

"""t-SNE of the landmarks, exactly; other points where their neighbours among the landmarks draw them.

van der Maaten and Hinton (2008). Landmarks are few enough for all of their pairs.
"""

from __future__ import annotations

from typing import Any, NamedTuple, Self

import numpy as np

from driftmap.embedding.affinities import joint_affinities, nearest_affinities, shared_affinities
from driftmap.embedding.base import (
    Configured,
    RowPlacer,
    StoredPoints,
    check_between,
    check_masses,
    check_stored,
    check_to_landmarks,
)
from driftmap.embedding.lmds import classical_mds
from driftmap.embedding.rows import in_blocks, rows_by_squares
from driftmap.utils import Array, Ids, validation
from driftmap.utils.concurrency import one_thread
from driftmap.utils.errors import InputError

AFFINITIES = ("stored", "landmarks")
FEWEST = 4
"""Fewer landmarks than this have no neighbourhoods: they are placed by classical MDS."""
NEIGHBOURHOOD = 5.0
"""The perplexity of a point's affinities to the landmarks."""
SMALL = 1e-4
"""The size of a map at the start of early exaggeration."""
EXAGGERATION = 12.0
"""By how much attraction is enlarged then, so that clusters find together."""
EARLY, LATE = 150, 400
"""Iterations with exaggeration, and after it."""
WARM, SETTLING = 50, 200
"""Iterations from a start, and further ones before the result is compared with one of early exaggeration."""
FLAT = 1e-6
"""A start whose extent in some direction is below this share of its largest one says nothing about that direction."""
STALE = 0.5
"""The share of landmarks that may be exchanged before the map goes through early exaggeration again."""
STRAY = 1.1
"""A start is followed as long as the loss is at most this many times that of the last map with early exaggeration."""
SLOWEST = 50.0
"""The least rate of learning."""
TINY = float(np.finfo(np.float64).tiny)
STEPS = 15
"""Steps of a point to where it is drawn."""


class Layout(NamedTuple):
    """A map of landmarks by t-SNE."""

    landmarks: Ids
    """Arrival numbers, or 0, 1, 2, ... if they are not known."""
    positions: Array
    """(m, k)"""
    loss: float
    """The Kullback-Leibler divergence of affinities on the map from the true ones."""
    reference: float
    """That of the last map with early exaggeration."""
    n_exchanged: int
    """Landmarks exchanged since then."""


class LandmarkTSNE(Configured):
    """t-SNE of the landmarks; points by attraction alone.

    A point has affinities to the landmarks near it (perplexity 5). It goes to where their attraction, with t-SNE's
    heavy tails, is in balance: a fixed point of the mean of landmarks weighted by affinity and by nearness on the map.

    Under ``partial_fit`` a map starts from the last one and stays near it. It goes through early exaggeration again,
    from there, when half of the landmarks have been exchanged or when its loss is 1.1 times what it was then. There is
    no chance in it: without a last map, it starts from classical MDS.

    Parameters
    ----------
    n_components : int
        Dimension of the map.
    affinities : {"stored", "landmarks"}
        What makes landmarks neighbours: stored points that are near both of them, or their distances, as in t-SNE.
    perplexity : float or None
        Effective number of neighbours of a landmark, for ``affinities="landmarks"``; None: 30, or a third of the other
        landmarks.

    Examples
    --------
    >>> import numpy as np
    >>> from driftmap import DriftMap
    >>> rng = np.random.default_rng(0)
    >>> label = np.repeat(np.arange(4), 100)
    >>> points = 9 * rng.standard_normal((4, 20))[label] + rng.standard_normal((400, 20))
    >>> places = DriftMap(n_landmarks=60, embedding="tsne").fit_transform(points)
    >>> apart = np.linalg.norm(places[:, None] - places, axis=2) + 1e9 * np.eye(400)
    >>> bool(np.all(label[apart.argmin(axis=1)] == label))  # the nearest neighbour is of the same cluster
    True
    """

    coordinates_: Array
    """Positions of the landmarks, (m, k)."""
    n_dimensions_: int
    """How many of the k coordinates are real; the others are 0."""
    layout_: Layout
    """The map of the landmarks, and its loss."""

    def __init__(self, n_components: int = 2, *, affinities: str = "stored", perplexity: float | None = None) -> None:
        self.n_components = n_components
        self.affinities = affinities
        self.perplexity = perplexity

    @property
    def needs(self) -> frozenset[str]:
        """The stored points, and where the last map has the landmarks."""
        return frozenset({"to_landmarks" if self.affinities == "stored" else "stored", "start"})

    def check(self, n_landmarks: int) -> None:
        """Refuse parameters that no stream could satisfy."""
        validation.one_of(self.affinities, "affinities", AFFINITIES)
        fewest, needed_by = FEWEST, " for t-SNE"
        if self.perplexity is not None:
            if validation.positive_number(self.perplexity, "perplexity") < 1:
                raise InputError(f"must be at least 1, got {self.perplexity}", parameter="perplexity")
            fewest, needed_by = max(FEWEST, int(self.perplexity) + 2), f" for a perplexity of {self.perplexity:g}"
        validation.integer_at_least(n_landmarks, "n_landmarks", fewest, needed_by)

    def fit(
        self,
        distances: Array,
        masses: Array | None = None,
        *,
        stored: StoredPoints | None = None,
        start: Array | None = None,
    ) -> Self:
        """Place landmarks given their (m, m) distances, the stored points, and where the last map has the landmarks."""
        distances = check_between(distances)
        m = len(distances)
        self.check(max(m, FEWEST if self.perplexity is None else int(self.perplexity) + 2))
        if start is not None and np.shape(start) != (m, self.n_components):
            raise ValueError(f"start must have shape {(m, self.n_components)}, got {np.shape(start)}")
        ids = np.arange(m) if stored is None else stored.ids[stored.landmarks]
        check_masses(masses, m)
        with one_thread():
            mds = classical_mds(distances, self.n_components).coordinates
            affinities = self._affinities(distances, stored)
            start = self._start(distances, ids, start)
            self.layout_ = lay_out(mds, affinities, ids, start, getattr(self, "layout_", None))
            self._prepare(distances)
        return self

    def _affinities(self, distances: Array, stored: StoredPoints | None) -> Array:
        m = len(distances)
        if m < FEWEST:
            return np.zeros((m, m))
        if self.affinities == "landmarks":
            return joint_affinities(distances, min(self.perplexity or 30.0, (m - 1) / 3))
        if stored is None or stored.to_landmarks is None:
            near, masses = nearest_affinities(distances**2, neighbourhood(m)), np.ones(m)
        else:
            near, masses = nearest_affinities(stored.to_landmarks**2, neighbourhood(m)), stored.masses
        return shared_affinities(near.dense(m), masses)

    def _start(self, distances: Array, ids: Ids, start: Array | None) -> Array | None:
        """Where t-SNE starts, if not from classical MDS."""
        return start

    def _prepare(self, distances: Array) -> None:
        """What places points."""
        self.coordinates_ = self.layout_.positions
        self.n_dimensions_ = int(np.sum(self.coordinates_.any(axis=0)))

    def place(self, distances: Array) -> Array:
        """Place points from their (n, m) distances to the landmarks; each row by itself."""
        distances = check_to_landmarks(distances, len(self.coordinates_))
        return in_blocks(lambda part: self._place_squared(part * part), distances)

    def for_rows(self, landmarks: Array) -> RowPlacer:
        """What places rows of numbers as :meth:`place` does their Euclidean distances to these landmarks, (m, d)."""
        return rows_by_squares(self._place_squared, landmarks, self.n_components)

    def _place_squared(self, squared: Array) -> Array:
        near = nearest_affinities(squared, neighbourhood(squared.shape[1]))
        return attracted(near.landmarks, near.shares, self.layout_.positions)

    def state(self) -> dict[str, Any]:
        """What a checkpoint holds."""
        return self.layout_._asdict()

    def restore(self, distances: Array, masses: Array, state: dict[str, Any]) -> Self:
        """Go back to a state, or raise an error that says why it cannot be one."""
        distances = check_between(distances)
        m = len(distances)
        layout = Layout(**state)
        check_stored("landmarks", layout.landmarks, (m,), np.int64)
        check_stored("positions", layout.positions, (m, self.n_components))
        self.layout_ = layout._replace(
            loss=validation.number_at_least_zero(layout.loss, "loss"),
            reference=validation.number_at_least_zero(layout.reference, "reference"),
            n_exchanged=validation.integer_at_least(layout.n_exchanged, "n_exchanged", 0),
        )
        with one_thread():
            self._prepare(distances)
        return self


def neighbourhood(m: int) -> float:
    """The perplexity of a point's affinities to m landmarks; less than m."""
    return min(NEIGHBOURHOOD, 1.0 + (m - 1) / 3)


def attracted(landmarks: Ids, shares: Array, positions: Array) -> Array:
    """Where points are drawn by landmarks, (n, s), with these affinities: a fixed point of attraction.

    It starts from the mean of their positions. A step goes to the mean with weights p / (1 + |y - y_j|^2).
    """
    columns = [column.take(landmarks) for column in positions.T]
    places = [(shares * column).sum(axis=1) for column in columns]
    for _ in range(STEPS):
        weights = np.ones_like(shares)
        for place, column in zip(places, columns, strict=True):
            gap = column - place[:, None]
            gap *= gap
            weights += gap
        np.divide(shares, weights, out=weights)
        total = weights.sum(axis=1)
        places = [(weights * column).sum(axis=1) / total for column in columns]
    return np.stack(places, axis=1)


def lay_out(mds: Array, affinities: Array, ids: Ids, start: Array | None, before: Layout | None) -> Layout:
    """A map of landmarks with these affinities to each other, (m, m), given their positions in classical MDS, (m, k).

    It starts from there, or from a ``start`` near which it stays.
    """
    m = len(mds)
    if m < FEWEST:
        return Layout(ids, mds, 0.0, 0.0, 0)
    warm, n_exchanged = None, 0
    if start is not None and _extent(start) >= _extent(mds):
        warm = descend(affinities, start, WARM)
        if before is None:
            return Layout(ids, *warm, warm[1], 0)
        n_exchanged = before.n_exchanged + int(np.sum(~np.isin(ids, before.landmarks)))
        if n_exchanged <= STALE * m and warm[1] <= STRAY * before.reference:
            return Layout(ids, *warm, before.reference, n_exchanged)
        warm, mds = descend(affinities, warm[0], SETTLING), start
    small = mds * (SMALL / max(float(np.sqrt((mds**2).sum(axis=1).mean())), TINY))
    gathered = descend(affinities, small, EARLY, EXAGGERATION)
    cold = descend(affinities, gathered[0], LATE)
    return Layout(ids, *(warm if warm is not None and warm[1] <= STRAY * cold[1] else cold), cold[1], 0)


def _extent(positions: Array) -> int:
    """In how many directions positions extend."""
    sizes = np.linalg.svd(positions - positions.mean(axis=0), compute_uv=False)
    return int(np.sum(sizes > FLAT * sizes[0])) if sizes.size and sizes[0] > 0 else 0


def descend(affinities: Array, start: Array, n_iter: int, exaggeration: float = 1.0) -> tuple[Array, float]:
    """Gradient descent of t-SNE's loss with momentum and gains (Jacobs, 1988), from a start; positions and loss."""
    m = len(start)
    attraction = exaggeration * affinities
    momentum, rate = (0.5 if exaggeration > 1 else 0.8), max(m / exaggeration, SLOWEST)
    positions, velocity, gains = start - start.mean(axis=0), np.zeros_like(start), np.ones_like(start)
    near, pull = np.empty((m, m)), np.empty((m, m))
    for _ in range(n_iter):
        _nearness(positions, near)
        np.multiply(near, -1.0 / near.sum(), out=pull)
        pull += attraction
        pull *= near
        gradient = 4.0 * (pull.sum(axis=1)[:, None] * positions - pull @ positions)
        gains = np.maximum(np.where(gradient * velocity < 0, gains + 0.2, gains * 0.8), 0.01)
        velocity = momentum * velocity - rate * gains * gradient
        positions = positions + velocity
        positions -= positions.mean(axis=0)
    _nearness(positions, near)
    near /= near.sum()
    there = affinities > 0
    loss = np.sum(affinities[there] * np.log(affinities[there] / np.maximum(near[there], TINY)))
    return positions, float(loss)


def _nearness(positions: Array, out: Array) -> None:
    """1 / (1 + |y - y'|^2) of all pairs, 0 of a point with itself."""
    squares = (positions**2).sum(axis=1) + 0.5
    np.matmul(positions * -2.0, positions.T, out=out)
    out += squares
    out += squares[:, None]
    np.maximum(out, 1.0, out=out)
    np.divide(1.0, out, out=out)
    np.fill_diagonal(out, 0.0)

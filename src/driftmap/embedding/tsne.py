"""t-SNE of the landmarks and of some stored points; other points where their neighbours among these draw them.

Landmarks cover the points: where a few of these are outliers, most landmarks are. So stored points are added where the
mass is (anchors). Distances to them follow from those to the landmarks.
"""

from __future__ import annotations

from typing import Any, NamedTuple, Self

import numpy as np

from driftmap import _core
from driftmap.embedding.affinities import joint_affinities, nearest_affinities, shared_affinities
from driftmap.embedding.anchors import Inference, choose_anchors, infer_distances
from driftmap.embedding.base import (
    Configured,
    RowPlacer,
    StoredPoints,
    check_arrivals,
    check_between,
    check_stored,
    check_to_landmarks,
)
from driftmap.embedding.lmds import classical_mds, place
from driftmap.embedding.row_placement import in_blocks, rows_by_squares
from driftmap.embedding.tsne_fit import FEWEST_POINTS, Layout, attracted, carried_over, lay_out, neighbourhood
from driftmap.utils import Array, Ids, validation
from driftmap.utils.concurrency import one_thread
from driftmap.utils.errors import InputError

AFFINITIES = ("stored", "landmarks")
MAX_ANCHORS = 1_000
"""Anchors, if not asked for more."""
LARGEST_DISTANCE = 1e140
"""Larger distances than this count as this: the sum of their squares would overflow."""


class MapPoints(NamedTuple):
    """The points of which a map is made."""

    ids: Ids
    """Arrival numbers, or 0, 1, 2, ... if they are not known, ascending, (a,)."""
    landmarks: Ids
    """Which of them are the landmarks, (m,)."""
    to_landmarks: Array
    """Distances to the landmarks, (a, m)."""


class LandmarkTSNE(Configured):
    """t-SNE of the landmarks and of stored points; other points by attraction alone.

    A point has affinities to the points of the map near it (perplexity 5). It goes to where their attraction, with
    t-SNE's heavy tails, is in balance: a fixed point of their mean weighted by affinity and by nearness on the map.

    Under ``partial_fit`` a map starts from the last one and stays near it. It goes through early exaggeration again,
    from there, when half of its points have been exchanged or when its loss is 1.1 times what it was then. It is
    deterministic: without a last map, it starts from classical MDS.

    Parameters
    ----------
    n_components : int
        Dimension of the map.
    affinities : {"stored", "landmarks"}
        What makes points of the map neighbours: stored points that are near both of them ("stored"), or their
        distances, as in t-SNE ("landmarks").
    perplexity : float or None
        Effective number of neighbours of such a point, for ``affinities="landmarks"``; None: 30, or a third of the
        others.
    n_anchors : int or None
        Points of which the map is made: all landmarks, and stored points by mass, as many as are missing. None: twice
        as many as landmarks, at most 1,000; 0: landmarks only. The fit takes time by their square, placing by their
        number. Where distances are far from Euclidean, those to anchors are estimates.

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
    points_: MapPoints
    """The points of the map."""
    layout_: Layout
    """The map of these points, and its loss."""

    def __init__(
        self,
        n_components: int = 2,
        *,
        affinities: str = "stored",
        perplexity: float | None = None,
        n_anchors: int | None = None,
    ) -> None:
        self.n_components = n_components
        self.affinities = affinities
        self.perplexity = perplexity
        self.n_anchors = n_anchors

    @property
    def needs(self) -> frozenset[str]:
        """The stored points, and whether there is a last map."""
        by_distance = self.affinities == "stored" or self.n_anchors != 0
        return frozenset({"to_landmarks" if by_distance else "stored", "start"})

    def check(self, n_landmarks: int) -> None:
        """Refuse parameters that no stream could satisfy."""
        validation.one_of(self.affinities, "affinities", AFFINITIES)
        if self.n_anchors is not None:
            validation.integer_at_least(self.n_anchors, "n_anchors", 0)
        fewest, needed_by = FEWEST_POINTS, " for t-SNE"
        if self.perplexity is not None:
            if validation.positive_number(self.perplexity, "perplexity") < 1:
                raise InputError(f"must be at least 1, got {self.perplexity}", parameter="perplexity")
            fewest, needed_by = (
                max(FEWEST_POINTS, int(self.perplexity) + 2),
                f" for a perplexity of {self.perplexity:g}",
            )
        validation.integer_at_least(n_landmarks, "n_landmarks", fewest, needed_by)

    def fit(
        self,
        distances: Array,
        masses: Array | None = None,
        *,
        stored: StoredPoints | None = None,
        start: Array | None = None,
    ) -> Self:
        """Place landmarks given their (m, m) distances, and the stored points.

        With a ``start``, where the last map has the landmarks, the new map stays near the last one.
        """
        distances = check_between(distances)
        m = len(distances)
        masses = validation.positive_masses(masses, m)
        self.check(max(m, FEWEST_POINTS if self.perplexity is None else int(self.perplexity) + 2))
        if start is not None and np.shape(start) != (m, self.n_components):
            raise ValueError(f"start must have shape {(m, self.n_components)}, got {np.shape(start)}")
        before = None if stored is None else getattr(self, "layout_", None)
        with one_thread():
            self.points_ = map_points(distances, stored, self.n_anchors)
            self._inference = infer(distances, masses, self.points_)
            squared = self._squared(self.points_.to_landmarks)
            if start is not None and before is not None:
                start = carried_over(before, self.points_.ids, squared)
            mds = place(self.points_.to_landmarks**2, classical_mds(distances, self.n_components))
            self.layout_ = lay_out(mds, self._affinities(squared, stored), self.points_.ids, start, before)
            self._prepare(distances)
        return self

    def _affinities(self, squared: Array, stored: StoredPoints | None) -> Array:
        """Of the points of the map to each other, (a, a), given their squared distances."""
        a = len(squared)
        if a < FEWEST_POINTS:
            return np.zeros((a, a))
        if self.affinities == "landmarks":
            return joint_affinities(squared, min(self.perplexity or 30.0, (a - 1) / 3))
        if stored is not None and stored.to_landmarks is not None:
            near, masses = nearest_affinities(self._squared(stored.to_landmarks), neighbourhood(a)), stored.masses
        else:
            near, masses = nearest_affinities(squared, neighbourhood(a)), np.ones(a)
        return shared_affinities(near.dense(a), masses)

    def _squared(self, distances: Array) -> Array:
        """Squared distances to the points of the map, (n, a), given the distances to the landmarks, (n, m)."""
        if self._inference is None:
            return distances * distances
        squared = _core.affine(np.minimum(distances, LARGEST_DISTANCE), *self._inference)
        return np.maximum(squared, 0.0, out=squared)

    def _prepare(self, distances: Array) -> None:
        """What places points."""
        self.coordinates_ = self.layout_.positions[self.points_.landmarks]
        self.n_dimensions_ = int(np.sum(self.layout_.positions.any(axis=0)))

    def place(self, distances: Array) -> Array:
        """Place points from their (n, m) distances to the landmarks; each row by itself."""
        distances = check_to_landmarks(distances, len(self.coordinates_))
        return in_blocks(lambda part: self._place_squared(self._squared(part)), distances)

    def for_rows(self, landmarks: Array) -> RowPlacer:
        """What places rows of numbers as :meth:`place` does their Euclidean distances to these landmarks, (m, d)."""
        rows = rows_by_squares(self._place_squared, landmarks, self.n_components)
        return rows if self._inference is None else rows.onto(*self._inference)

    def _place_squared(self, squared: Array) -> Array:
        near = nearest_affinities(squared, neighbourhood(squared.shape[1]))
        return attracted(near, self.layout_.positions)

    def state(self) -> dict[str, Any]:
        """What a checkpoint holds."""
        return self.layout_._asdict() | {name: getattr(self.points_, name) for name in ("landmarks", "to_landmarks")}

    def restore(self, distances: Array, masses: Array, state: dict[str, Any]) -> Self:
        """Go back to a state, or raise an error that says why it cannot be one."""
        distances = check_between(distances)
        m = len(distances)
        layout = Layout(*(state[name] for name in Layout._fields))
        points = MapPoints(layout.ids, state["landmarks"], state["to_landmarks"])
        a = len(points.ids)
        check_arrivals("points", points.ids, a)
        check_stored("landmarks", points.landmarks, (m,), np.int64)
        check_stored("distances", points.to_landmarks, (a, m))
        check_stored("positions", layout.positions, (a, self.n_components))
        if (points.to_landmarks < 0).any() or not (np.diff(points.landmarks, prepend=-1, append=a) > 0).all():
            raise ValueError("its landmarks are not among its points")
        self.points_ = points
        self.layout_ = layout._replace(
            loss=validation.positive_number(layout.loss, "loss", or_zero=True),
            reference=validation.positive_number(layout.reference, "reference", or_zero=True),
            n_exchanged=validation.integer_at_least(layout.n_exchanged, "n_exchanged", 0),
        )
        with one_thread():
            self._inference = infer(distances, validation.positive_masses(masses, m), points)
            self._prepare(distances)
        return self


def map_points(distances: Array, stored: StoredPoints | None, n_anchors: int | None) -> MapPoints:
    """The landmarks, given their (m, m) distances, and stored points by mass, ``n_anchors`` in all."""
    m = len(distances)
    if stored is None:
        return MapPoints(np.arange(m), np.arange(m), distances)
    landmarks = stored.ids[stored.landmarks]
    n_anchors = min(2 * m, MAX_ANCHORS) if n_anchors is None else n_anchors
    if stored.to_landmarks is None or n_anchors <= m:
        return MapPoints(landmarks, np.arange(m), distances)
    nearest = np.argmin(stored.to_landmarks, axis=1)
    nearest[stored.masses == 0] = -1  # forgotten
    nearest[stored.landmarks] = -1
    cells = [np.flatnonzero(nearest == j) for j in range(m)]
    with np.errstate(over="ignore"):  # masses that have decayed to almost nothing
        weights = [stored.masses[cell] for cell in cells]
        ids, _ = choose_anchors([stored.ids[cell] for cell in cells], n_anchors - m, weights)
    ids = np.union1d(landmarks, ids)
    to_landmarks = stored.to_landmarks[np.searchsorted(stored.ids, ids)]
    return MapPoints(ids, np.searchsorted(ids, landmarks), to_landmarks)


def infer(distances: Array, masses: Array, points: MapPoints) -> Inference | None:
    """How distances to the points of a map follow from those to landmarks; None: these are all."""
    return None if len(points.ids) == len(distances) else infer_distances(distances, masses, points.to_landmarks)

"""t-SNE of stored points; other points where t-SNE would put one more row.

Landmarks cover the points: where a few of these are outliers, most landmarks are, and where all distances are alike,
most landmarks stay where the stream began. So the map is also made of stored points (anchors): the last ones, among
which a new group is large, and others by mass.
"""

from __future__ import annotations

from typing import Any, ClassVar, Self

import numpy as np

from driftmap.embedding.affinities import divergences
from driftmap.embedding.anchors import infer_distances
from driftmap.embedding.base import (
    Anchors,
    Configured,
    RowPlacer,
    check_arrivals,
    check_between,
    check_stored,
    check_to_landmarks,
)
from driftmap.embedding.tsne_fit import FEWEST_POINTS, Layout, lay_out
from driftmap.embedding.tsne_placer import PERPLEXITY, TsnePlacer, perplexity_of
from driftmap.utils import Array, validation
from driftmap.utils.concurrency import one_thread
from driftmap.utils.errors import InputError

FEW_LANDMARKS, MANY_LANDMARKS = 10, 3
"""Anchors per landmark: ten up to ``FEW_ANCHORS``, then no more until there are three per landmark."""
FEW_ANCHORS = 1_000
FIT_PERPLEXITY = 30.0
LARGEST_DISTANCE = 1e140
"""Larger distances than this count as this: the sum of their squares would overflow."""


class LandmarkTSNE(Configured):
    """t-SNE of landmarks and stored points; other points by the loss of their row, with its repulsion.

    A point has affinities to the points of the map near it (perplexity 10). It starts at one of these, the one that the
    others attract most, and goes to a minimum of the part of t-SNE's loss that depends on one more point: neighbours
    attract it, and all points of the map keep it away, so that points do not pile up.

    Under ``partial_fit`` a map starts from the last one and stays near it. It goes through early exaggeration again,
    from there, when half of its points have been exchanged or when its loss is 1.1 times what it was then. It is
    deterministic: without a last map, it starts from classical MDS.

    Parameters
    ----------
    n_components : int
        Dimension of the map.
    perplexity : float or None
        Effective number of neighbours of a point of the map; None: 30, or a third of the others.
    n_anchors : int or None
        Points of which the map is made: the landmarks, the last points (a quarter), and others by mass. None: ten per
        landmark, at most 1,000 up to 333 landmarks, and three per landmark from there; 0: the landmarks. The fit takes
        time by their square, placing by their number. Where a Python function measures, distances to anchors are
        inferred from those to the landmarks.

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

    keeps_neighbours: ClassVar[bool] = True

    coordinates_: Array
    """Positions of the landmarks, (m, k)."""
    n_dimensions_: int
    """How many of the k coordinates are real; the others are 0."""
    anchors_: Anchors
    """The points of the map; the landmarks if ``fit`` was given no others."""
    layout_: Layout
    """The map of these points, and its loss."""
    _placer: TsnePlacer

    def __init__(self, n_components: int = 2, *, perplexity: float | None = None, n_anchors: int | None = None) -> None:
        self.n_components = n_components
        self.perplexity = perplexity
        self.n_anchors = n_anchors

    @property
    def needs(self) -> frozenset[str]:
        """The anchors, and where the last map has them."""
        return frozenset({"anchors", "start"})

    def anchors_for(self, n_landmarks: int) -> int:
        """How many anchors the map is made of; none are needed if these are not more than the landmarks."""
        if self.n_anchors is not None:
            return self.n_anchors
        return max(min(FEW_LANDMARKS * n_landmarks, FEW_ANCHORS), MANY_LANDMARKS * n_landmarks)

    def check(self, n_landmarks: int) -> None:
        """Refuse parameters that no stream could satisfy."""
        if self.n_anchors is not None:
            validation.integer_at_least(self.n_anchors, "n_anchors", 0)
        validation.integer_at_least(n_landmarks, "n_landmarks", FEWEST_POINTS, " for t-SNE")
        if self.perplexity is None:
            return
        if validation.positive_number(self.perplexity, "perplexity") < 1:
            raise InputError(f"must be at least 1, got {self.perplexity}", parameter="perplexity")
        n, fewest = max(n_landmarks, self.anchors_for(n_landmarks)), int(self.perplexity) + 2
        if n < fewest:
            problem = f"={self.perplexity:g} needs a map of at least {fewest} points, but it is made of {n}"
            raise InputError(f"{problem}; take more landmarks or anchors", parameter="perplexity")

    def fit(
        self,
        distances: Array,
        masses: Array | None = None,
        *,
        anchors: Anchors | None = None,
        start: Array | None = None,
    ) -> Self:
        """Place landmarks given their (m, m) distances, or measured anchors given theirs.

        With a ``start``, where the last map has these points, the new map stays near the last one.
        """
        distances = check_between(distances)
        n = len(distances)
        masses = validation.positive_masses(masses, n)
        self.check(max(n, FEWEST_POINTS if self.perplexity is None else int(self.perplexity) + 2))
        before = None if anchors is None else getattr(self, "layout_", None)
        anchors = anchors or Anchors(np.arange(n), np.arange(n), masses, None)
        a = len(anchors.ids)
        if start is not None and np.shape(start) != (a, self.n_components):
            raise ValueError(f"start must have shape {(a, self.n_components)}, got {np.shape(start)}")
        with one_thread():
            between = np.minimum(self._between(distances, masses, anchors), LARGEST_DISTANCE)
            self.anchors_, perplexity = anchors, perplexity_of(self.perplexity or FIT_PERPLEXITY, a - 1)
            self.layout_ = lay_out(between, perplexity, self.n_components, anchors.ids, start, before)
            self._prepare(distances)
        return self

    @property
    def anchor_coordinates_(self) -> Array:
        """Positions of the points of the map, (a, k)."""
        return self.layout_.positions

    def _between(self, distances: Array, masses: Array, anchors: Anchors) -> Array:
        """Distances between the points of the map; those that are not measured are inferred."""
        self._inference = None
        if anchors.to_landmarks is None or anchors.measured:
            return distances
        self._inference = infer_distances(distances, masses, anchors.to_landmarks)
        squared = anchors.to_landmarks**2 @ self._inference.coefficients + self._inference.offsets
        between = np.sqrt(np.maximum((squared + squared.T) / 2, 0.0))
        np.fill_diagonal(between, 0.0)
        return between

    def _prepare(self, distances: Array) -> None:
        """What places points."""
        matrix, offsets = self._inference or (None, None)
        positions, to_landmarks = np.ascontiguousarray(self.layout_.positions), self.anchors_.to_landmarks
        self._placer = TsnePlacer(positions, len(positions) >= FEWEST_POINTS, matrix, offsets)
        self.n_dimensions_ = int(np.sum(positions.any(axis=0)))
        if to_landmarks is not None:
            self.coordinates_ = self._placer.place(to_landmarks.T if self.anchors_.measured else distances)
        elif not self.anchors_.measured:
            self.coordinates_ = positions

    def place(self, distances: Array) -> Array:
        """Place points from their (n, m) distances to the points that ``fit`` was given; each row by itself."""
        anchors = self.anchors_
        n = len(anchors.landmarks if self._inference is not None else anchors.ids)
        return self._placer.place(np.minimum(check_to_landmarks(distances, n), LARGEST_DISTANCE))

    def for_rows(self, landmarks: Array) -> RowPlacer:
        """What places rows of numbers as :meth:`place` does their Euclidean distances to these points, (m, d)."""
        return self._placer.of_rows(landmarks)

    def point_losses(self, distances: Array, positions: Array, weights: Array) -> Array:
        """Loss of each point of a sample: how far affinities on the map diverge from the true ones."""
        n = len(distances)
        if n < FEWEST_POINTS:
            return np.zeros(n)
        return divergences(np.minimum(distances, LARGEST_DISTANCE), positions, perplexity_of(PERPLEXITY, n - 1))

    def state(self) -> dict[str, Any]:
        """What a checkpoint holds."""
        state = self.anchors_._asdict() | self.layout_._asdict() | {"coordinates": None}
        if self.anchors_.measured:  # places say all that these distances are needed for
            state |= {"coordinates": self.coordinates_, "to_landmarks": None}
        return state

    def restore(self, distances: Array, masses: Array, state: dict[str, Any]) -> Self:
        """Go back to a state, or raise an error that says why it cannot be one."""
        distances = check_between(distances)
        anchors = Anchors(*(state[name] for name in Anchors._fields))
        layout = Layout(*(state[name] for name in Layout._fields))
        a, m = len(anchors.ids), len(anchors.landmarks)
        check_arrivals("points", anchors.ids, a)
        check_arrivals("landmarks", anchors.landmarks, m)
        check_stored("masses", anchors.masses, (a,))
        if anchors.to_landmarks is not None:
            check_stored("distances", anchors.to_landmarks, (a, m))
            if (anchors.to_landmarks < 0).any():
                raise ValueError("it has negative distances")
        elif a != m and not anchors.measured:
            raise ValueError("it lacks the distances from its points to the landmarks")
        if len(distances) != (a if anchors.measured else m):
            raise ValueError("its distances are not those of its points or landmarks")
        check_stored("positions", layout.positions, (a, self.n_components))
        if anchors.measured:
            check_stored("places", state["coordinates"], (m, self.n_components))
        masses = validation.positive_masses(masses, len(distances))
        layout = layout._replace(
            loss=validation.positive_number(layout.loss, "loss", or_zero=True),
            reference=validation.positive_number(layout.reference, "reference", or_zero=True),
            n_exchanged=validation.integer_at_least(layout.n_exchanged, "n_exchanged", 0),
        )
        with one_thread():
            self._between(distances, masses, anchors)
            self.anchors_, self.layout_ = anchors, layout
            if anchors.measured:
                self.coordinates_ = state["coordinates"]
            self._prepare(distances)
        return self

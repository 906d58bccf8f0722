"""How well a frame places points: its loss on a sample of the stored points, on recent ones, and per Voronoi cell.

A frame is replaced when it has become worse than a new one would be. Mass alone would judge too late: what is new has
little of it, so recent points and the cells of single landmarks count separately.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from driftmap.landmarks.online import LandmarkEngine
from driftmap.metrics import euclidean
from driftmap.utils import Array, Ids
from driftmap.utils.hashing import GOLDEN

SAMPLED, RECENT = 200, 100
"""The most stored points in the sample that stands for all of them, and in that of recent ones."""
RECENT_SHARE = 0.5
"""The share of the stored points, the last ones, that are recent; all of the last ``RECENT`` are."""
NEIGHBOURS = 10
"""By which maps are judged that do not keep distances."""
LEAST_LOSS = 0.01
"""Of smaller losses than this, only differences as large as of this one count."""
FAR_ABOVE = 1.5
"""A cell has become bad if its loss is this many times what nearly all had when the frame was last found good."""
BEYOND = 2
"""A landmark farther than this many radii from all fixed points is not represented by them."""
NEARLY_ALL = 0.95
JUDGED_GROWTH, JUDGED_EXCHANGES = 0.03, 0.1
"""A frame is judged again after this share of the mass has arrived, or this share of the landmarks was replaced."""
GROWTH = 0.1
"""The arrivals, as a share of the mass, after which a frame that did not get worse is compared with a new one."""


class Sample(NamedTuple):
    """Stored points on which frames are judged, with shares that sum to 1."""

    ids: Ids
    """Arrival numbers, ascending; the landmarks are among them."""
    shares: Array
    """A sample of all stored points, by mass."""
    recent: Array
    """The points that came last, equally."""
    cells: Ids
    """Positions of the landmarks."""


class Losses(NamedTuple):
    """The loss of a frame: over all points, over recent ones, and of each landmark's cell."""

    total: float
    recent: float
    cells: Array


class Reference(NamedTuple):
    """The losses of a frame when it was last found good, how many points had arrived, and when it was last judged."""

    total: float
    recent: float
    cell: float
    """Nearly all cells had less."""
    seen: int
    judged: int
    """How many points had arrived when the frame was last judged."""
    replaced: int
    """How many landmarks had been replaced then."""


def sample_of(engine: LandmarkEngine, landmarks: Ids) -> Sample:
    """The points by which frames of these landmarks are judged; where a Python function measures, the landmarks."""
    if engine.store.metric.quick:
        stored, masses = engine.stored_indices_, engine.stored_masses()
        chosen, weights = sampled(stored, masses, SAMPLED)
        last = stored[-max(RECENT, int(RECENT_SHARE * len(stored))) :]
        last, _ = sampled(last, np.ones(len(last)), RECENT)
    else:
        chosen, weights = landmarks, engine.fitted_stream().landmark_masses()
        last = landmarks[-max(len(landmarks) // 4, 1) :]
    ids = np.union1d(np.union1d(chosen, last), landmarks)
    shares, recent = np.zeros((2, len(ids)))
    shares[np.searchsorted(ids, chosen)] = weights / weights.sum() if weights.sum() > 0 else 1 / len(chosen)
    recent[np.searchsorted(ids, last)] = 1 / len(last)
    return Sample(ids, shares, recent, np.searchsorted(ids, landmarks))


def sampled(ids: Ids, masses: Array, n: int) -> tuple[Ids, Array]:
    """A sample of n points by mass, which hardly changes when points arrive, and what each stands for.

    Priority sampling (Duffield, Lund and Thorup, 2007), with numbers that follow from the arrival instead of random
    ones: heavy points are always in it, and the others stand for equal masses.

    >>> ids, masses = sampled(np.arange(1000), np.ones(1000), 4)
    >>> len(ids), bool(np.ptp(masses) == 0)
    (4, True)
    """
    if len(ids) <= n:
        return ids, masses
    priorities = masses / (((ids + 1).astype(np.uint64) * GOLDEN).astype(np.float64) / 2.0**64)
    order = np.argsort(-priorities, kind="stable")[: n + 1]
    chosen = np.sort(order[:n])
    return ids[chosen], np.maximum(masses[chosen], priorities[order[n]])


def losses(embedding: Any, sample: Sample, distances: Array, positions: Array) -> Losses:
    """The losses of positions of the sample, given the distances between its points.

    The embedding's own loss, if it has one. Else normalised stress for a map that keeps distances; for another one, the
    share of nearest neighbours that it loses.
    """
    weights = (sample.shares + sample.recent) / 2
    if hasattr(embedding, "point_losses"):
        own = embedding.point_losses(distances, positions, weights)
        return Losses(float(sample.shares @ own), float(sample.recent @ own), own[sample.cells])
    on_map = euclidean(positions, positions)
    if getattr(embedding, "keeps_distances", False):
        above, below = (distances - on_map) ** 2 @ weights, distances**2 @ weights
        total, recent = (_ratio(shares @ above, shares @ below) ** 0.5 for shares in (sample.shares, sample.recent))
        cells = np.sqrt(np.divide(above, below, out=np.zeros_like(above), where=below > 0)[sample.cells])
        return Losses(total, recent, cells)
    lost = 1.0 - kept_neighbours(distances, on_map, NEIGHBOURS)
    return Losses(float(sample.shares @ lost), float(sample.recent @ lost), lost[sample.cells])


def kept_neighbours(distances: Array, on_map: Array, k: int) -> Array:
    """Per point, the share of its k nearest on the map that are among its k nearest; of few points, fewer than k.

    >>> line = np.abs(np.subtract.outer([0.0, 1.0, 3.0, 7.0, 8.0], [0.0, 1.0, 3.0, 7.0, 8.0]))
    >>> kept_neighbours(line, line, 1), kept_neighbours(line, np.zeros((5, 5)), 1)
    (array([1., 1., 1., 1., 1.]), array([0.25, 0.25, 0.25, 0.25, 0.25]))
    """
    n = len(distances)
    k = min(k, (n - 1) // 4)
    if not k:
        return np.ones(n)
    near = []
    for matrix in (distances.copy(), on_map.copy()):
        np.fill_diagonal(matrix, np.inf)
        near.append(matrix <= np.partition(matrix, k - 1, axis=1)[:, [k - 1]])  # of equally near ones, all
    true, found = near
    return (true & found).sum(axis=1) / np.maximum(found.sum(axis=1), k)


def reference_of(found: Losses, seen: int, replaced: int) -> Reference:
    """What later losses are compared with."""
    cell = float(np.quantile(found.cells, NEARLY_ALL)) if len(found.cells) else 0.0
    return Reference(found.total, found.recent, cell, seen, seen, replaced)


def is_due(reference: Reference, seen: int, replaced: int, mass: float, n_landmarks: int) -> bool:
    """Whether enough has changed since a frame was judged to judge it again, which takes longer than to learn a row."""
    has_grown = seen - reference.judged >= JUDGED_GROWTH * mass
    return has_grown or replaced - reference.replaced >= JUDGED_EXCHANGES * n_landmarks


def reason_to_compare(present: Losses, reference: Reference, tolerance: float, seen: int, mass: float) -> str | None:
    """Why a frame is to be compared with a new one; None: it is as good as it was, and few points have come since."""
    if is_worse(present.total, reference.total, tolerance):
        return "stress"
    if is_worse(present.recent, reference.recent, tolerance):
        return "recent points"
    if present.cells.max(initial=0.0) > FAR_ABOVE * max(reference.cell, LEAST_LOSS):
        return "a cell"
    return "growth" if seen - reference.seen >= GROWTH * mass else None


def is_better(candidate: Losses, present: Losses, tolerance: float) -> bool:
    """Whether a new frame is better than the present one by more than the tolerance: all and recent points count alike.

    It also is if the worst cell is placed far better, and the points are not placed worse by the tolerance.
    """
    new, old = ((found.total + found.recent) / 2 for found in (candidate, present))
    worst = int(np.argmax(present.cells))
    has_place = present.cells[worst] > FAR_ABOVE * max(float(candidate.cells[worst]), LEAST_LOSS)
    return is_worse(old, new, tolerance) or (has_place and not is_worse(new, old, tolerance))


def is_worse(loss: float, other: float, tolerance: float) -> bool:
    """Whether a loss is larger than another one by more than the tolerance."""
    return loss - other > tolerance * max(other, LEAST_LOSS)


def _ratio(above: Any, below: Any) -> float:
    return float(above / below) if below > 0 else 0.0

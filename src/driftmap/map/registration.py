"""Registration: laying a map on an older one, by the stored points of both (weighted Procrustes)."""

from __future__ import annotations

from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from driftmap.embedding.base import FLAT
from driftmap.embedding.procrustes import dilation, move, procrustes
from driftmap.map.frame import Frame
from driftmap.metrics import Store
from driftmap.quality import Displacement, displacement
from driftmap.utils import Array
from driftmap.utils.errors import InputError

MOST_COMPARED = 1000
"""The most stored points of each map by which one is laid on the other."""
REPRESENTED = 2
"""A map has no place for points farther than this many radii from all its landmarks."""
METRIC_CHECKED = 5
"""Points of either map by which metrics are compared."""


class Side(NamedTuple):
    """One of two maps: a frame, and points that stand for its stream."""

    frame: Frame
    store: Store
    points: Any
    masses: Array
    radius: float
    names: tuple[str, ...] = ()
    """Names of the features, if there are any."""

    def represents(self, points: Any) -> NDArray[np.bool_]:
        """Whether points lie near a landmark."""
        nearest = self.frame.distances(self.store, self.store.check_queries(points)).min(axis=1)
        return nearest <= REPRESENTED * self.radius

    def place(self, points: Any) -> Array:
        """Positions of points."""
        return self.frame.place_queries(self.store, self.store.check_queries(points))


class Reference(Protocol):
    """A map that another one can be laid on."""

    def side(self) -> Side:
        """What a registration needs of it."""


class Registration(NamedTuple):
    """How a map is laid on another one: ``scale * positions @ rotation + translation``."""

    rotation: Array
    translation: Array
    scale: float
    residual: Displacement
    """How far points then lie from their places on the other map, relative to its diameter."""


def registration(new: Side, old: Side, *, scale: bool = False) -> Registration:
    """Lay a map on an older one by weighted Procrustes, where both have a place for the stored points of either.

    The points of both maps count alike, each by mass. Raises an error if the maps cannot be compared, or if their
    common points do not fix a rotation.
    """
    check_comparable(new, old)
    k = len(new.frame.translation)
    places, targets, shares = [np.empty((0, k))], [np.empty((0, k))], [np.empty(0)]
    for side, other in ((new, old), (old, new)):
        known = other.represents(side.points)
        places.append(new.place(side.points)[known])
        targets.append(old.place(side.points)[known])
        shares.append(_shares(side.masses[known]))
    after, before, weights = np.concatenate(places), np.concatenate(targets), np.concatenate(shares)
    if len(after) <= k:
        problem = f"and this map have {len(after)} points in common, and {k + 1} are needed"
        raise InputError(f"{problem} to say how the map is to be turned", parameter="reference")
    weights = weights / weights.sum()
    for name, positions in (("this map", after), ("the reference", before)):
        if not _is_full(positions, weights):
            problem = (
                f"and this map have {len(after)} points in common, which on {name} do not extend in {k} dimensions"
            )
            raise InputError(f"{problem}: they do not say how the map is to be turned", parameter="reference")
    rotation, translation = procrustes(after, before, weights)
    factor = 1.0
    if scale:
        factor = dilation(after, before, rotation, weights)
        translation = weights @ before - factor * (weights @ after) @ rotation
    laid = move(after, factor * rotation, translation)
    return Registration(rotation, translation, factor, displacement(before, laid))


def check_comparable(new: Side, old: Side) -> None:
    """Raise an error unless the maps have the same components, features and metric."""
    widths = [(len(side.frame.translation), side.store.n_features) for side in (new, old)]
    for mine, its, what in zip(*widths, ("components", "features"), strict=True):
        if mine != its:
            raise InputError(f"has {its} {what}, but this map has {mine}", parameter="reference")
    if new.names and old.names and new.names != old.names:
        problem = f"has the columns {list(old.names)}, but this map was learnt from {list(new.names)}"
        raise InputError(problem, parameter="reference")
    metrics = new.store.metric, old.store.metric
    if any(metric.form == "distances" for metric in metrics):
        raise InputError("of metric='precomputed' has no points that another map could place", parameter="reference")
    if len({(metric.form, metric.name) for metric in metrics}) > 1 or not _measure_alike(new, old):
        raise InputError(f"measures by {_shown(old)}, but this map by {_shown(new)}", parameter="reference")


def _measure_alike(new: Side, old: Side) -> bool:
    """Whether metrics of one name also have the same parameters, by some distances."""
    some = [side.points[:METRIC_CHECKED] for side in (new, old)]
    mine, its = (side.store.to_points(*(side.store.check_queries(points) for points in some)) for side in (new, old))
    return np.array_equal(mine, its)


def _shown(side: Side) -> str:
    metric = side.store.metric
    form = {"rows": "", "sparse": ", of sparse rows", "objects": ", of objects", "distances": ""}[metric.form]
    return f"metric={metric.name!r}{form}"


def _shares(masses: Array) -> Array:
    """Shares that sum to 1, by mass."""
    return masses / masses.sum() if masses.any() else np.full(len(masses), 1 / max(len(masses), 1))


def _is_full(positions: Array, shares: Array) -> bool:
    """Whether points extend in every dimension."""
    sizes = np.linalg.svd((positions - shares @ positions) * np.sqrt(shares)[:, None], compute_uv=False)
    return bool(sizes[-1] > FLAT * sizes[0])

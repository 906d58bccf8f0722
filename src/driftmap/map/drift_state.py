"""What a :class:`~driftmap.map.drift.DriftMonitor` knows of a stream, and how it is saved."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from driftmap.map.changes import joined_moments, moments_of
from driftmap.storage.schema import ArrayOf, Count
from driftmap.utils import Array, Ids

MOST_REFERENCE = 1000
"""A reference is a uniform random sample of at most this many of its rows."""


@dataclass(frozen=True, eq=False)
class Followed:
    """What a monitor knows of a stream. Its arrays are never changed in place."""

    seen: int
    """Rows of the stream that the map has learnt."""
    mark: tuple[float, int] = (0.0, 0)
    """Radius and replacements of the map after them: the monitor of one map does not fit another."""
    ids: Ids | None = None
    """Arrival numbers of the landmarks; None before they are taken."""
    points: Any = None
    """The landmarks."""
    reference: Array | None = None
    """Distances of the sampled rows of the reference to the landmarks."""
    keys: Array | None = None
    """A random number for each of them: those with the smallest are the sample."""
    n_reference: int = 0
    """Rows of the reference."""
    moments: Array | None = None
    """Number, mean and sum of squared deviations of each feature in the reference, (3, d)."""
    recent: Array | None = None
    """Distances of the last rows, which are not in the reference."""
    rows: Array | None = None
    """The features of these rows."""
    since_check: int = 0
    is_out: bool = False
    """Whether the last check found a drift from a reference that stays."""

    def begun(self, ids: Ids, points: Any, n_features: int) -> Followed:
        """Return the state with other landmarks and empty samples."""
        m = len(ids)
        return replace(
            self,
            ids=ids,
            points=points,
            reference=np.empty((0, m)),
            keys=np.empty(0),
            n_reference=0,
            moments=np.zeros((3, n_features)),
            recent=np.empty((0, m)),
            rows=np.empty((0, n_features)),
            since_check=0,
        )

    def referring(self, distances: Array, rows: Array, seed: int) -> Followed:
        """Return the state after further rows of the reference."""
        assert self.reference is not None
        assert self.keys is not None
        assert self.moments is not None
        keys = np.concatenate([self.keys, np.random.default_rng([1, seed]).random(len(distances))])
        kept = np.sort(np.argsort(keys, kind="stable")[:MOST_REFERENCE])
        return replace(
            self,
            reference=np.concatenate([self.reference, distances])[kept],
            keys=keys[kept],
            n_reference=self.n_reference + len(distances),
            moments=joined_moments(self.moments, moments_of(rows)),
        )


class MonitorState(NamedTuple):
    """What a :class:`DriftMonitor` saves beside its arrays."""

    window: Count
    reference: str
    """"past", "first", or "rows" for an array."""
    alpha: float
    n_checks: Count
    n_drifts: Count
    p_value: float
    followed: FollowedNumbers | None


class FollowedNumbers(NamedTuple):
    """The numbers of a :class:`Followed`."""

    seen: Count
    radius: float
    replacements: Count
    n_reference: Count
    since_check: Count
    is_out: bool


KINDS = {
    "ids": ArrayOf(np.int64, ("m",), least=0),
    "points": ArrayOf(float, ("m", "d"), finite=False),
    "reference": ArrayOf(float, ("n", "m"), least=0, finite=True),
    "keys": ArrayOf(float, ("n",), least=0, most=1),
    "moments": ArrayOf(float, (3, "d")),
    "recent": ArrayOf(float, ("w", "m"), least=0, finite=True),
    "rows": ArrayOf(float, ("w", "d")),
}
"""The arrays of a :class:`Followed`."""

"""Novelty of arrivals: how far out each was before it was learnt, how unusual that is, and when to raise an alert.

The *reach* of an arrival is its distance to the nearest landmark divided by the radius, both as of just before it
arrived: above 1, it is farther out than all points seen. Its *quantile* is its rank among the reaches of recent
arrivals, a conformal p-value: if the reaches of a stream are exchangeable, at most one arrival in 1,000 has a quantile
of 0.999 or more.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Self

import numpy as np

from driftmap.storage.schema import Count
from driftmap.utils import Array, validation
from driftmap.utils.errors import InputError

__all__ = ["Alert", "Difference", "NoveltyDetector", "RecentReaches"]

RECENT = 2000
"""Number of recent arrivals from which quantiles are computed."""
FEWEST_FOR_TAIL = 100
"""From this many recent arrivals on, the quantile of a reach above all of them is estimated."""
UNUSUAL = 0.99
"""Least quantile of an alert by reach. Early in a stream the radius is small, so large reaches are common."""
ALERT_FEATURES = 3
"""Most features listed in an alert."""


class Difference(NamedTuple):
    """A feature in which an arrival differs from its nearest landmark."""

    feature: int | str
    """Its name, or its number if features have no names."""
    value: float
    """Its value in the arrival."""
    landmark: float
    """Its value in the landmark."""


class Alert(NamedTuple):
    """A novel arrival."""

    row: int
    """Number of the arrival, from 0."""
    time: Any
    """Its time of arrival, if known."""
    reach: float
    quantile: float
    nearest: int
    """Arrival number of the nearest landmark."""
    features: tuple[Difference, ...]
    """The features that differ most from that landmark, largest difference first."""

    def as_json(self) -> dict[str, Any]:
        """Return the alert as JSON values; infinite and unknown values become None.

        >>> Alert(7, "noon", np.inf, 0.99, -1, ()).as_json()
        {'row': 7, 'time': 'noon', 'reach': None, 'quantile': 0.99, 'nearest': None, 'features': []}
        """
        return self._asdict() | {
            "time": self.time.item() if isinstance(self.time, np.generic) else self.time,
            "reach": self.reach if self.reach < np.inf else None,
            "nearest": self.nearest if self.nearest >= 0 else None,
            "features": [{"name": name, "value": value, "landmark": at} for name, value, at in self.features],
        }


def reaches(distances: Array, radii: Array, no_radius: float) -> Array:
    """Return distances divided by radii; infinity while the radius is the initial one, which is meaningless.

    >>> reaches(np.array([np.inf, 3.0, 0.0, 3.0]), np.array([1e-20, 1e-20, 1e-20, 2.0]), 1e-20)
    array([inf, inf, 0. , 1.5])
    """
    meaningless = (radii <= no_radius * (1 + 1e-9)) & (distances > 0)
    return np.where(meaningless, np.inf, distances / radii)


@dataclass(eq=False)
class RecentReaches:
    """A window of the reaches of recent arrivals, which gives each further reach a quantile.

    A quantile is the share of smaller reaches, including the arrival itself in the total: after n arrivals it is at
    most n / (n + 1). Infinite reaches, of arrivals before the first radius, are not stored.

    >>> recent = RecentReaches(3)
    >>> recent.add([0.5, 0.7, 0.6, 0.8, 0.8])
    array([0.        , 0.5       , 0.33333333, 0.75      , 0.5       ])
    """

    size: int = RECENT
    _n: int = 0
    _ring: Array = field(default_factory=lambda: np.empty(0))
    """Allocated with the first reach, since many maps are never scored."""

    def add(self, reaches: Sequence[float] | Array) -> Array:
        """Append reaches; return the quantile of each among those before it."""
        return self.add_with_tails(reaches)[0]

    def add_with_tails(self, reaches: Sequence[float] | Array) -> tuple[Array, Array]:
        """Append reaches; return their quantiles, and the same with estimates for those above all recent ones.

        >>> quantiles, estimates = RecentReaches().add_with_tails([*np.linspace(0.5, 1.0, 200), 1.001, 5.0])
        >>> quantiles[-2:].round(4).tolist(), estimates[-2:].round(4).tolist()
        ([0.995, 0.995], [0.995, 1.0])
        """
        if self._n == 0:
            self._ring = np.empty(self.size)
        (quantiles, estimates), ring = np.empty((2, len(reaches))), self._ring
        for i, reach in enumerate(np.asarray(reaches).tolist()):
            n = min(self._n, self.size)
            smaller = np.count_nonzero(ring[:n] < reach)
            quantiles[i] = estimates[i] = smaller / (n + 1)
            if reach < np.inf:
                if smaller == n >= FEWEST_FOR_TAIL:
                    estimates[i] = max(estimates[i], tail_quantile(ring[:n], reach))
                ring[self._n % self.size] = reach
                self._n += 1
        return quantiles, estimates

    @property
    def values(self) -> Array:
        """The reaches, oldest first."""
        return np.roll(self._ring, -self._n) if self._n >= self.size else self._ring[: self._n].copy()

    @classmethod
    def of(cls, values: Array, size: int = RECENT) -> Self:
        """Return a window with these reaches; raise ValueError if they are invalid."""
        if values.ndim != 1 or len(values) > size or not ((values >= 0) & (values < np.inf)).all():
            raise ValueError("its recent reaches are not valid")
        recent = cls(size, len(values), np.empty(size))
        recent._ring[: len(values)] = values
        return recent

    @classmethod
    def joined(cls, parts: Sequence[Array]) -> Self:
        """Return the window of concatenated streams, given the :attr:`values` of each."""
        return cls.of(np.concatenate(parts)[-RECENT:])

    def copy(self) -> Self:
        """Return an independent copy."""
        return self.of(self.values, self.size)


def tail_quantile(values: Array, value: float) -> float:
    """Return the quantile of a value above all others, by a generalised Pareto distribution of their largest tenth.

    Its shape and scale are those of probability-weighted moments (Hosking and Wallis, 1987). A tail that seems lighter
    than an exponential one is taken as exponential, with the uncertainty of its scale: a false end of the range would
    make everything beyond it novel.

    >>> exponential = -np.log1p(-(np.arange(1000) + 0.5) / 1000)
    >>> round(tail_quantile(exponential, -np.log(1e-4)), 4)
    0.9999
    """
    n = len(values)
    k = n // 10
    largest = np.sort(values)[-k - 1 :]
    excesses, excess = largest[1:] - largest[0], value - float(largest[0])
    mean = float(excesses.mean())
    if mean == 0:
        return 1.0
    weighted = float((excesses * (1 - (np.arange(k) + 0.65) / k)).mean())
    shape = 2 - mean / (mean - 2 * weighted) if mean > 2 * weighted else 0.0
    if shape > 0:
        beyond = (1 + shape * excess / (2 * mean * weighted / (mean - 2 * weighted))) ** (-1 / shape)
    else:
        beyond = (1 + excess / (k * mean)) ** -k
    return float(1 - beyond * k / n)


class DetectorState(NamedTuple):
    """What a :class:`NoveltyDetector` saves."""

    threshold: float
    quiet: Count
    n_alerts: Count
    n_novel: Count
    calm: Count
    """Arrivals since the last novel one, up to ``quiet``."""


class NoveltyDetector:
    """Decides which arrivals are novel, and raises an alert for the first of each run of them.

    Parameters
    ----------
    threshold : float
        Below 1, a quantile: with 0.999, one arrival in 1,000 is novel in a stationary stream. From the 100th on, since
        the quantiles of reaches above all recent ones are estimated. From 1 on, a reach: with 3, arrivals are novel if
        they are three times as far out as all points seen and fewer than 1 in 100 recent arrivals were as far out.
    quiet : int
        Number of successive arrivals without a novel one before the next alert; 0: every novel arrival is an alert.
    callback : callable or None
        Called with each :class:`Alert`, after the arrivals of the call have been learnt.

    Examples
    --------
    >>> import numpy as np
    >>> from driftmap import DriftMap
    >>> rows = np.random.default_rng(0).standard_normal((600, 3))
    >>> rows[500] = 40.0
    >>> detector = NoveltyDetector(3)
    >>> alerts = DriftMap().update(rows, detector=detector).alerts
    >>> [alert.row for alert in alerts], detector.n_alerts
    ([500], 1)
    """

    def __init__(
        self, threshold: float = 0.999, *, quiet: int = 10, callback: Callable[[Alert], Any] | None = None
    ) -> None:
        self.threshold = validation.positive_number(threshold, "threshold")
        if RECENT / (RECENT + 1) < threshold < 1:
            problem = f"={threshold:g} cannot be resolved with {RECENT:,} recent arrivals"
            raise InputError(f"{problem}: give at most {1 - 1 / RECENT:g}, or a reach from 1 on", parameter="threshold")
        self.quiet = validation.integer_at_least(quiet, "quiet", 0)
        self.callback = callback
        self.n_alerts = self.n_novel = 0
        """Number of alerts and of novel arrivals so far."""
        self._calm = self.quiet  # arrivals since the last novel one, at most ``quiet``

    def __repr__(self) -> str:
        return f"NoveltyDetector({self.threshold:g}, quiet={self.quiet})"

    def update(self, reaches: Array, quantiles: Array) -> list[int]:
        """Process further arrivals; return the positions in the batch of those that raise an alert.

        >>> detector = NoveltyDetector(0.9, quiet=2)
        >>> detector.update(np.ones(7), np.array([0.5, 0.95, 0.5, 0.99, 0.5, 0.5, 0.9]))
        [1, 6]
        >>> detector.n_novel
        3
        """
        if self.threshold < 1:
            novel = quantiles >= self.threshold
        else:
            novel = (reaches >= self.threshold) & (quantiles >= UNUSUAL)
        alerts, last = [], -1
        for place in np.flatnonzero(novel).tolist():
            if self._calm + place - last - 1 >= self.quiet:
                alerts.append(place)
            self._calm, last = 0, place
        self._calm = min(self._calm + len(novel) - last - 1, self.quiet)
        self.n_novel += int(novel.sum())
        self.n_alerts += len(alerts)
        return alerts

    def silent(self) -> Self:
        """Return a copy that does not call back."""
        found = copy.copy(self)
        found.callback = None
        return found

    def go_on_from(self, other: NoveltyDetector) -> None:
        """Take the state of a copy."""
        vars(self).update(vars(other) | {"callback": self.callback})

    def notify(self, alerts: Sequence[Alert]) -> None:
        """Call the callback with each alert."""
        if self.callback is not None:
            for alert in alerts:
                self.callback(alert)

    def state(self) -> DetectorState:
        """Everything but the callback, as numbers."""
        return DetectorState(self.threshold, self.quiet, self.n_alerts, self.n_novel, self._calm)

    @classmethod
    def from_state(cls, found: DetectorState, callback: Callable[[Alert], Any] | None = None) -> Self:
        """Return a detector that goes on from what :meth:`state` gave; a ValueError if it contradicts itself."""
        detector = cls(found.threshold, quiet=found.quiet, callback=callback)
        if not (found.n_alerts <= found.n_novel and found.calm <= found.quiet):
            raise ValueError(f"its {found} contradicts itself")
        detector.n_alerts, detector.n_novel, detector._calm = found.n_alerts, found.n_novel, found.calm
        return detector


def differences(row: Array, landmark: Array, names: Sequence[str]) -> tuple[Difference, ...]:
    """Return the features in which a row differs most from a landmark, largest difference first.

    >>> differences(np.array([1.0, 5.0, 2.0]), np.array([0.0, 0.0, 2.0]), ["a", "b", "c"])
    (Difference(feature='b', value=5.0, landmark=0.0), Difference(feature='a', value=1.0, landmark=0.0))
    """
    gaps = np.abs(row - landmark)
    order = [j for j in np.argsort(-gaps, kind="stable")[:ALERT_FEATURES].tolist() if gaps[j] > 0]
    return tuple(Difference(names[j] if names else j, float(row[j]), float(landmark[j])) for j in order)

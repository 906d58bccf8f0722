"""Drift detectors, which signal that a stream has changed."""

from __future__ import annotations

from typing import Any, Protocol, Self

from driftmap.utils import validation


class Detector(Protocol):
    """The interface of river's drift detectors: ``update`` takes a number and sets ``drift_detected``."""

    drift_detected: bool

    def update(self, x: float) -> Any:
        """Process the next number."""


class RatioShift:
    """Page-Hinkley test that signals when arrivals lie farther from the landmarks than before.

    It accumulates the excess of the ratio of distance to radius over its running mean plus a tolerance, clipped at
    zero, and signals when the sum exceeds the threshold; then it resets. Ratios are clipped at 2, so that a single
    outlier does not cause a signal.

    Parameters
    ----------
    tolerance : float
        Excess over the mean that is ignored.
    threshold : float
        A larger threshold gives fewer and later signals.
    warm_up : int
        Least number of ratios before the first signal.

    Examples
    --------
    >>> detector = RatioShift(warm_up=5)
    >>> signals = []
    >>> for ratio in [0.5] * 20 + [3.0] + [0.5] * 20 + [1.2] * 10:
    ...     detector.update(ratio)
    ...     signals.append(detector.drift_detected)
    >>> signals.index(True)  # not at the isolated one, number 20
    45
    """

    def __init__(self, *, tolerance: float = 0.05, threshold: float = 2.5, warm_up: int = 30) -> None:
        self.tolerance = validation.positive_number(tolerance, "tolerance")
        self.threshold = validation.positive_number(threshold, "threshold")
        self.warm_up = validation.integer_at_least(warm_up, "warm_up", 1)
        self.drift_detected = False
        self.n, self.mean, self.total = 0, 0.0, 0.0

    def __repr__(self) -> str:
        return f"RatioShift(tolerance={self.tolerance}, threshold={self.threshold}, warm_up={self.warm_up})"

    def update(self, x: float) -> None:
        """Process the next ratio."""
        if self.drift_detected:
            self.n, self.mean, self.total = 0, 0.0, 0.0
        ratio = min(x, 2.0)
        self.n += 1
        self.mean += (ratio - self.mean) / self.n
        self.total = max(self.total + ratio - self.mean - self.tolerance, 0.0)
        self.drift_detected = self.n >= self.warm_up and self.total > self.threshold

    def _asdict(self) -> dict[str, Any]:
        """Return parameters and state for a checkpoint."""
        return dict(vars(self))

    @classmethod
    def _from_dict(cls, *, n: int, mean: float, total: float, drift_detected: bool, **params: Any) -> Self:
        detector = cls(**params)
        detector.n, detector.drift_detected = validation.integer_at_least(n, "n", 0), bool(drift_detected)
        detector.mean, detector.total = (
            validation.positive_number(value, name, or_zero=True) for value, name in ((mean, "mean"), (total, "total"))
        )
        return detector

"""Drift detectors: what signals that a stream has changed."""

from __future__ import annotations

from typing import Any, Protocol, Self

from driftmap.utils import validation


class Detector(Protocol):
    """As river's drift detectors: ``update`` takes one number, ``drift_detected`` says whether it was a change."""

    drift_detected: bool

    def update(self, x: float) -> Any:
        """Look at the next number."""


class RatioShift:
    """Signals when arrivals lie farther from the landmarks than they used to: Page and Hinkley's test.

    It adds up by how much the ratios of distance to radius exceed their mean so far and a tolerance, restarting
    whenever the sum falls below zero, and signals when it exceeds the threshold; then it begins from the beginning. A
    single ratio counts as no more than 2, so one isolated point never makes a change.

    Parameters
    ----------
    tolerance : float
        By how much ratios may exceed their mean without counting.
    threshold : float
        Larger: fewer signals, later.
    warm_up : int
        Ratios to see before the first signal.

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
        """Look at the next ratio."""
        if self.drift_detected:
            self.n, self.mean, self.total = 0, 0.0, 0.0
        ratio = min(x, 2.0)
        self.n += 1
        self.mean += (ratio - self.mean) / self.n
        self.total = max(self.total + ratio - self.mean - self.tolerance, 0.0)
        self.drift_detected = self.n >= self.warm_up and self.total > self.threshold

    def _asdict(self) -> dict[str, Any]:
        """Everything, for a checkpoint."""
        return dict(vars(self))

    @classmethod
    def _from_dict(cls, *, n: int, mean: float, total: float, drift_detected: bool, **params: Any) -> Self:
        detector = cls(**params)
        detector.n, detector.drift_detected = validation.integer_at_least(n, "n", 0), bool(drift_detected)
        detector.mean, detector.total = (
            validation.positive_number(value, name, or_zero=True) for value, name in ((mean, "mean"), (total, "total"))
        )
        return detector

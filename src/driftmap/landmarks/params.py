"""The parameters of landmarks, shared by engines, estimators and checkpoints."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any

from driftmap.landmarks.drift import Detector
from driftmap.metrics import MetricLike


@dataclass(eq=False, kw_only=True)
class LandmarkParams:
    """The parameters that :class:`~driftmap.landmarks.OnlineLandmarks` documents."""

    n_landmarks: int = 100
    rule: str = "tight"
    metric: MetricLike = "euclidean"
    metric_params: dict[str, Any] | None = None
    slack: float = 0.02
    memory: int | str | None = "auto"
    window: Any = None
    half_life: Any = None
    replace_on: str | Detector = "uncovered"

    def params(self) -> dict[str, Any]:
        """Return all parameters by name."""
        return self.params_of(self)

    @classmethod
    def params_of(cls, owner: Any) -> dict[str, Any]:
        """Return the values of these parameters in an object such as an estimator."""
        return {field.name: getattr(owner, field.name) for field in fields(cls)}

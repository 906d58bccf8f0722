"""Driftmap: a true, steady, low-dimensional map of a data stream."""

from __future__ import annotations

from driftmap._lazy import TYPE_CHECKING, lazily

if TYPE_CHECKING:
    from driftmap.comparison import compare
    from driftmap.estimator import DriftMap
    from driftmap.landmarks import OnlineLandmarks
    from driftmap.map.frozen import FrozenMap
    from driftmap.utils.errors import InputError

__all__ = ["DriftMap", "FrozenMap", "InputError", "OnlineLandmarks", "compare"]
__version__ = "0.2.0"

# The command line imports no estimator, and so no scikit-learn.
__getattr__ = lazily(
    __name__,
    {
        "DriftMap": "driftmap.estimator",
        "FrozenMap": "driftmap.map.frozen",
        "InputError": "driftmap.utils.errors",
        "OnlineLandmarks": "driftmap.landmarks",
        "compare": "driftmap.comparison",
    },
)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})

"""Driftmap: a true, steady, low-dimensional map of a data stream."""

from __future__ import annotations

TYPE_CHECKING = False  # to import typing takes milliseconds, in which the command does not handle signals yet
if TYPE_CHECKING:
    from typing import Any

    from driftmap.estimator import DriftMap
    from driftmap.landmarks import OnlineLandmarks
    from driftmap.map.frozen import FrozenMap
    from driftmap.utils.errors import InputError

__all__ = ["DriftMap", "FrozenMap", "InputError", "OnlineLandmarks"]
__version__ = "0.2.0"

_MODULES = {
    "DriftMap": "driftmap.estimator",
    "FrozenMap": "driftmap.map.frozen",
    "InputError": "driftmap.utils.errors",
    "OnlineLandmarks": "driftmap.landmarks",
}


def __getattr__(name: str) -> Any:
    """Import the estimators, and scikit-learn with them, on first use: the command line does without."""
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    return globals().setdefault(name, getattr(import_module(_MODULES[name]), name))


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})

"""Driftmap: a true, steady, low-dimensional map of a data stream."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from driftmap.landmarks import OnlineLandmarks
    from driftmap.map import DriftMap

__all__ = ["DriftMap", "OnlineLandmarks"]
__version__ = "0.1.0"

MODULES = {"DriftMap": "driftmap.map", "OnlineLandmarks": "driftmap.landmarks"}
"""Where the public names are."""


def __getattr__(name: str) -> Any:
    """The public names, imported when they are asked for: the command line has other things to do first."""
    if name not in MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    found = globals()[name] = getattr(import_module(MODULES[name]), name)
    return found


def __dir__() -> list[str]:
    """All names, also those that have not been asked for."""
    return sorted({*globals(), *__all__})

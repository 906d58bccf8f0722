"""Loads the compiled core: its module for the best level of this processor. ``__init__.pyi`` documents what it offers.

The environment variable ``DRIFTMAP_LEVEL`` forces a level; results are the same bits on all of them.
"""

import os
import sys
from importlib import import_module
from types import ModuleType


def _import(name: str) -> ModuleType:
    try:
        return import_module(f"driftmap._core.{name}")
    except ImportError as error:
        python = f"{sys.implementation.cache_tag} on {sys.platform}"
        how = "build it with `pip install .` in the folder of its sources"
        raise ImportError(f"Driftmap's compiled core is missing for {python}; {how} ({error})") from None


def _choose() -> str:
    """The level that is forced, or the best one that is built and that the processor has."""
    machine = _import("_level")
    built = sorted(machine.built.split(), reverse=True)
    levels = [name for name in built if name == "generic" or int(name[1:]) <= machine.processor]
    level = os.environ.get("DRIFTMAP_LEVEL") or next(iter(levels), built[-1])
    if level not in levels:
        there = ", ".join(levels) or "none"
        raise ImportError(
            f"Driftmap's compiled core has no level {level!r} for this processor; DRIFTMAP_LEVEL can be {there}"
        )
    return level


level = _choose()
_module = _import(f"_core_{level}")
globals().update({name: value for name, value in vars(_module).items() if not name.startswith("_")})

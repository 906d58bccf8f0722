"""scikit-learn without what it imports but does not use here, which takes longer to import than all the rest."""

from __future__ import annotations

import contextlib
import importlib
import sys
from collections.abc import Iterator
from types import ModuleType
from typing import Any


class Later(ModuleType):
    """A module that is imported when somebody asks for what is in it."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") and name != "__path__":  # questions of the import system
            raise AttributeError(name)
        if sys.modules.get(self.__name__) is self:
            del sys.modules[self.__name__]
        return getattr(importlib.import_module(self.__name__), name)


LATER = (
    "narwhals",
    "narwhals.stable",
    "narwhals.stable.v2",
    "numpy.f2py",
    "scipy.spatial.transform",
    "scipy.stats",
)
"""Modules that are imported for functions that are not called here, each after the one it is part of."""


def import_sklearn() -> None:
    """Import what the library needs of scikit-learn and scipy, while what these need elsewhere is out of the way.

    Functions that use such a module find it when they are called; of pandas scikit-learn wants to know only whether it
    is there, for tables that no command gives it.
    """
    if "sklearn" in sys.modules:
        return
    import scipy  # noqa: F401

    absent: dict[str, ModuleType | None] = {name: Later(name) for name in LATER} | {"pandas": None}
    # A version that needs more fails half-way; what is missing then is imported as usual, when it is needed.
    with _replaced(absent), contextlib.suppress(ImportError):
        importlib.import_module("sklearn.utils.validation")
        importlib.import_module("scipy.spatial.distance")


@contextlib.contextmanager
def _replaced(modules: dict[str, ModuleType | None]) -> Iterator[None]:
    """Let imports find these modules (None: nothing) instead of those that are not imported yet."""
    new = {name: module for name, module in modules.items() if name not in sys.modules}
    sys.modules.update(new)  # type: ignore[arg-type]
    parts: list[tuple[ModuleType, str, ModuleType | None]] = []
    for name, module in new.items():
        package = sys.modules.get(name.rpartition(".")[0])
        if package is not None:  # which has it as an attribute, too
            parts.append((package, name.rpartition(".")[2], module))
            setattr(*parts[-1])
    try:
        yield
    finally:
        for name, module in new.items():
            if sys.modules.get(name) is module:
                del sys.modules[name]
        for package, part, module in parts:
            if vars(package).get(part) is module:
                delattr(package, part)

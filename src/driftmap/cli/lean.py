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


def import_sklearn() -> None:
    """Import what the library needs of scikit-learn, while scipy.stats and pandas are out of the way.

    scikit-learn's functions that use scipy.stats find it when they are called; of pandas it wants to know only whether
    it is there, for tables that no command gives it.
    """
    if "sklearn" in sys.modules:
        return
    import scipy  # noqa: F401

    absent: dict[str, ModuleType | None] = {"scipy.stats": Later("scipy.stats"), "pandas": None}
    # A version that needs more fails half-way; what is missing then is imported as usual, when it is needed.
    with _replaced(absent), contextlib.suppress(ImportError):
        importlib.import_module("sklearn.utils.validation")


@contextlib.contextmanager
def _replaced(modules: dict[str, ModuleType | None]) -> Iterator[None]:
    """Let imports find these modules (None: nothing) instead of those that are not imported yet."""
    new = {name: module for name, module in modules.items() if name not in sys.modules}
    sys.modules.update(new)  # type: ignore[arg-type]
    try:
        yield
    finally:
        for name, module in new.items():
            if sys.modules.get(name) is module:
                del sys.modules[name]

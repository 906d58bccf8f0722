"""scikit-learn without what it imports but does not use here, which takes longer to import than all the rest."""

from __future__ import annotations

import contextlib
import importlib
import sys
from collections.abc import Iterator
from types import ModuleType


def import_sklearn() -> None:
    """Import what the library needs of scikit-learn, while scipy.stats and pandas are out of the way.

    scikit-learn calls scipy.stats by its full name, and scipy imports its parts when they are asked for; of pandas it
    wants to know only whether it is there, for tables that no command gives it. Both are as they were afterwards.
    """
    if "sklearn" in sys.modules:
        return
    import scipy  # noqa: F401

    absent: dict[str, ModuleType | None] = {"scipy.stats": ModuleType("scipy.stats"), "pandas": None}
    # A version that needs more of them fails half-way; what is missing then is imported as usual, when it is needed.
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
        for name in new:
            del sys.modules[name]

"""Names of a package that are imported when they are asked for."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from typing import Any


def on_demand(
    package: str, modules: Mapping[str, Sequence[str]]
) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """``__getattr__`` and ``__dir__`` of a package, given the names that some modules have for it."""
    places = {name: module for module, names in modules.items() for name in names}

    def find(name: str) -> Any:
        if name not in places:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        found = getattr(import_module(places[name]), name)
        setattr(sys.modules[package], name, found)
        return found

    def names() -> list[str]:
        return sorted({*vars(sys.modules[package]), *places})

    return find, names

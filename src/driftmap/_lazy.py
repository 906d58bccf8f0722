"""Attributes of a package that are imported on first use; this module imports nothing slow."""

from __future__ import annotations

TYPE_CHECKING = False  # importing typing takes milliseconds, in which the command does not handle signals yet
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any


def lazily(package: str, modules: Mapping[str, str]) -> Callable[[str], Any]:
    """Return a ``__getattr__`` for a package that imports attributes from the modules named here."""

    def find(name: str) -> Any:
        if name not in modules:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        import sys
        from importlib import import_module

        return vars(sys.modules[package]).setdefault(name, getattr(import_module(modules[name]), name))

    return find

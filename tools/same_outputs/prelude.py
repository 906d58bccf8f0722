"""Runs a script of the list with a checkout: ``prelude.py SCRIPT``.

A script uses the names of ``spelling.py`` without imports, and the functions below. It prints numbers to the last bit.
"""

from __future__ import annotations

import ast
import hashlib
import importlib
import sys
import warnings
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import spelling


def exact(value: Any) -> str:
    """Return a value as text, with numbers to the last bit."""
    if isinstance(value, np.ndarray) and value.dtype.kind in "biufMm":
        contiguous = np.ascontiguousarray(value)
        return f"{value.dtype.str}{list(value.shape)}:{hashlib.sha256(contiguous.tobytes()).hexdigest()[:16]}"
    if isinstance(value, np.ndarray):
        return exact(value.tolist())
    if isinstance(value, np.generic):
        return exact(value.item())
    if isinstance(value, float):
        return value.hex()
    if isinstance(value, bytes):
        return f"bytes[{len(value)}]:{hashlib.sha256(value).hexdigest()[:16]}"
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{key}: {exact(part)}" for key, part in value.items()) + "}"
    if hasattr(value, "tocsr"):
        return exact(value.toarray())
    if isinstance(value, list | tuple):
        return "(" + ", ".join(map(exact, value)) + ")"
    if value is None or isinstance(value, bool | int | str):
        return repr(value)
    raise TypeError(f"a {type(value).__name__} has no exact text")


def show(*values: Any) -> None:
    """Print values to the last bit, one line each."""
    for value in values:
        print(exact(value))


def landmarks(fitted: Any) -> None:
    """Print the attributes of landmarks."""
    show(fitted.landmark_indices_, fitted.landmark_mass_, fitted.radius_, fitted.n_samples_seen_)
    show(fitted.covering_radius_, fitted.n_replacements_)


def state(mapper: Any, X: Any, *, bounds: bool = True) -> None:
    """Print the attributes of a map, the positions of X and their novelty."""
    landmarks(mapper)
    show(mapper.resolution_, mapper.stored_indices_, mapper.landmark_distances(), list(map(list, mapper.events_)))
    if bounds:
        show(mapper.coverage_bound_, mapper.radius_lower_bound_)
    show(mapper.landmark_embedding_, mapper.n_dimensions_, mapper.transform(X), mapper.frame_)
    show(list(mapper.novelty(X)))


def arrivals(found: Any) -> None:
    """Print the result of ``update``."""
    show(found.coordinates, found.frame, found.landmarks_changed, found.reach, found.quantile, found.nearest)
    show([[a.row, str(a.time), a.reach, a.quantile, a.nearest, list(map(list, a.features))] for a in found.alerts])


def explained(found: Any) -> None:
    """Print an explanation."""
    show(found.share, list(map(list, found.features)))


def fails(work: Callable[[], Any]) -> None:
    """Print the type of an error and its location, but not its wording."""
    try:
        work()
    except Exception as error:
        place = [getattr(error, name, None) for name in ("row", "column", "parameter")]
        print("fails:", type(error).__name__, *map(exact, place))
    else:
        print("no error")


def walk(n: int = 400, d: int = 3, seed: int = 0) -> Any:
    """Return a random walk."""
    return np.cumsum(np.random.default_rng(seed).standard_normal((n, d)), axis=0)


def noise(n: int = 400, d: int = 3, seed: int = 0) -> Any:
    """Return normal noise."""
    return np.random.default_rng(seed).standard_normal((n, d))


def clusters(n: int = 400, d: int = 8, seed: int = 0) -> Any:
    """Return five clusters that alternate."""
    rng = np.random.default_rng(seed)
    return 6 * rng.standard_normal((5, d))[np.arange(n) % 5] + rng.standard_normal((n, d))


def spiral(n: int = 400) -> Any:
    """Return a bent sheet in space."""
    turns = np.linspace(1.0, 4.0, n)
    return np.column_stack([turns * np.cos(3 * turns), turns * np.sin(3 * turns), np.random.default_rng(0).random(n)])


def imported(name: str) -> Any:
    """Import the object of a name in ``spelling.py``."""
    if name in spelling.MODULES:
        return importlib.import_module(spelling.MODULES[name])
    for module in spelling.modules_of(name):
        try:
            return getattr(importlib.import_module(module), name)
        except (ImportError, AttributeError) as error:
            problem = error
    raise problem


def main(path: str) -> None:
    """Run a script."""
    warnings.simplefilter("ignore")
    code = Path(path).read_text()
    names = {node.id for node in ast.walk(ast.parse(code)) if isinstance(node, ast.Name)}
    known = {*spelling.MODULES, *(name for listed in spelling.NAMES.values() for name in listed)}
    found = {name: imported(name) for name in sorted(names & known)}
    exec(compile(code, path, "exec"), {**globals(), **found})


if __name__ == "__main__":
    main(sys.argv[1])

"""Values as JSON and arrays, which a checkpoint can hold, and back. Nothing is executed on the way back.

A value is None, a number, a string, an array, a list or dict of values, or an object of a class that the caller knows:
one whose ``_asdict`` tells what it is made from (a named tuple), or anything whose attributes are values.
"""

from __future__ import annotations

import math
import os
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from driftmap.checkpoint import UNREADABLE, Checkpoint, CheckpointError, read

Arrays = dict[str, NDArray[Any]]


def flatten(value: Any, name: str, arrays: Arrays, known: Iterable[type] = ()) -> Any:
    """The value as JSON; its arrays go to ``arrays``, under names that begin with ``name``."""
    if isinstance(value, np.generic):
        value = value.item()
    if value is None or isinstance(value, bool | int | str):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else {"float": repr(value)}
    if isinstance(value, np.ndarray) and value.dtype.names is not None:
        fields = {field: flatten(value[field], f"{name}.{field}", arrays) for field in value.dtype.names}
        return {"table": fields}
    if isinstance(value, np.ndarray) and value.dtype.kind in "biuf":
        arrays[name] = value
        return {"array": name}
    for kind in known:
        if type(value) is kind:
            parts: dict[str, Any] = value._asdict() if hasattr(value, "_asdict") else vars(value)
            return {"object": kind.__name__, "parts": _flatten_all(parts, name, arrays, known)}
    if type(value) in (list, tuple):
        parts_of = [flatten(part, f"{name}.{i}", arrays, known) for i, part in enumerate(value)]
        return {"list" if type(value) is list else "tuple": parts_of}
    if isinstance(value, dict) and all(isinstance(key, str) for key in value):
        return {"dict": _flatten_all(value, name, arrays, known)}
    raise CheckpointError(
        f"{name} cannot be saved: it is of type {type(value).__name__}, and a checkpoint holds numbers, text, arrays "
        "and lists of these"
    )


def _flatten_all(values: Mapping[str, Any], name: str, arrays: Arrays, known: Iterable[type]) -> dict[str, Any]:
    return {key: flatten(part, f"{name}.{key}", arrays, known) for key, part in values.items()}


def rebuild(tree: Any, arrays: Mapping[str, NDArray[Any]], known: Iterable[type] = ()) -> Any:
    """The value that was flattened."""
    if not isinstance(tree, dict):
        return tree
    if "float" in tree:
        return float(tree["float"])
    if "array" in tree:
        return arrays[tree["array"]]
    if "list" in tree:
        return [rebuild(part, arrays, known) for part in tree["list"]]
    if "tuple" in tree:
        return tuple(rebuild(part, arrays, known) for part in tree["tuple"])
    if "dict" in tree:
        return {key: rebuild(part, arrays, known) for key, part in tree["dict"].items()}
    if "table" in tree:
        columns = {key: rebuild(part, arrays) for key, part in tree["table"].items()}
        table = np.empty(len(next(iter(columns.values()))), [(key, column.dtype) for key, column in columns.items()])
        for key, column in columns.items():
            table[key] = column
        return table
    kind = {one.__name__: one for one in known}[tree["object"]]
    parts = {key: rebuild(part, arrays, known) for key, part in tree["parts"].items()}
    if hasattr(kind, "_asdict"):
        return kind(**parts)
    value: Any = object.__new__(kind)
    vars(value).update(parts)
    return value


def unpacked(kind: Any, path: str | os.PathLike[str], **given: Any) -> Any:
    """The estimator in a checkpoint file, which must be of this kind."""
    return unpack(kind, read(path), str(path), given)


def unpack(kind: Any, checkpoint: Checkpoint, place: str, given: dict[str, Any]) -> Any:
    """The estimator in a checkpoint, which must be of this kind."""
    header, arrays = checkpoint
    if header.get("kind") != kind._kind:
        raise CheckpointError(f"{place} holds a {header.get('kind')}, not a {kind._kind}")
    try:
        return kind._unpack(header, dict(arrays), given)
    except CheckpointError as error:
        raise CheckpointError(f"{place} cannot be loaded: {error}") from None
    except UNREADABLE as error:
        reason = " ".join(str(error).split()) or type(error).__name__
        raise CheckpointError(f"{place} does not hold a usable {kind._kind}: {reason}") from error

"""Serialisation of engines to JSON and arrays for checkpoints. Deserialisation executes no user code.

A value is None, a number, a string, an array, a list, tuple or dict of values, or an object of a class that the caller
lists: its state is the result of ``_asdict``, if it has this method, or its attributes.
"""

from __future__ import annotations

import datetime
import math
from collections.abc import Iterable, Mapping
from typing import Any, ClassVar, Protocol, Self, TypeVar

import numpy as np
from numpy.typing import NDArray

from driftmap.storage import checkpoint
from driftmap.storage.checkpoint import UNREADABLE, Checkpoint, CheckpointError, read
from driftmap.utils import PathLike

Arrays = dict[str, NDArray[Any]]

USER_DEFINED = ("metric", "embedding", "replace_on")
"""Parameters that may be user-defined functions or objects."""


class Saveable(Protocol):
    """An engine that can be saved."""

    kind: ClassVar[str]
    """The name of the type in a checkpoint."""

    @classmethod
    def unpack(cls, header: dict[str, Any], arrays: Arrays, given: Mapping[str, Any]) -> Self:
        """Restore the engine from its packed state; ``given`` are the parameters that are not stored."""


E = TypeVar("E", bound=Saveable)


def load(path: PathLike, kind: type[E], **given: Any) -> E:
    """Load an engine of this type from a checkpoint file."""
    return unpack(read(path), kind, place=str(path), **given)


def from_bytes(blob: bytes, kind: type[E], **given: Any) -> E:
    """Return the engine of this type in the bytes of a checkpoint."""
    return unpack(checkpoint.from_bytes(blob), kind, **given)


def unpack(found: Checkpoint, *kinds: type[E], place: str = "the checkpoint", **given: Any) -> E:
    """Return the engine in a checkpoint, which must be of one of these types; it continues like the original."""
    header, arrays = found
    names = [kind.kind for kind in kinds]
    if header.get("kind") not in names:
        raise CheckpointError(f"{place} holds a {header.get('kind')}, not a {' or a '.join(names)}")
    kind = kinds[names.index(header["kind"])]
    try:
        return kind.unpack(header, dict(arrays), given)
    except CheckpointError as error:
        raise CheckpointError(f"{place} cannot be loaded: {error}") from None
    except UNREADABLE as error:
        reason = " ".join(str(error).split()) or type(error).__name__
        raise CheckpointError(f"{place} does not hold a usable {kind.kind}: {reason}") from error


def flatten(value: Any, name: str, arrays: Arrays, known: Iterable[type] = ()) -> Any:
    """Return a value as JSON; add its arrays to ``arrays``, under names that begin with ``name``."""
    parts: dict[str, Any]
    if isinstance(value, np.generic):
        value = value.item()
    if value is None or isinstance(value, bool | int | str):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else {"float": repr(value)}
    if isinstance(value, np.ndarray) and value.dtype.kind in "biuf":
        arrays[name] = value
        return {"array": name}
    if hasattr(value, "indptr") and hasattr(value, "tocsr"):
        parts = {"data": value.data, "indices": value.indices, "indptr": value.indptr}
        return {"sparse": _flatten_all(parts, name, arrays, ()), "shape": list(value.shape)}
    for kind in known:
        if type(value) is kind:
            parts = value._asdict() if hasattr(value, "_asdict") else vars(value)
            return {"object": kind.__name__, "parts": _flatten_all(parts, name, arrays, known)}
    if type(value) in (list, tuple):
        parts_of = [flatten(part, f"{name}.{i}", arrays, known) for i, part in enumerate(value)]
        return {"list" if type(value) is list else "tuple": parts_of}
    if isinstance(value, dict) and all(isinstance(key, str) for key in value):
        return {"dict": _flatten_all(value, name, arrays, known)}
    raise CheckpointError(
        f"{name} cannot be saved: it is of type {type(value).__name__}, but a checkpoint can hold only numbers, text, "
        "arrays and lists of these"
    )


def _flatten_all(values: Mapping[str, Any], name: str, arrays: Arrays, known: Iterable[type]) -> dict[str, Any]:
    return {key: flatten(part, f"{name}.{key}", arrays, known) for key, part in values.items()}


def rebuild(tree: Any, arrays: Mapping[str, NDArray[Any]], known: Iterable[type] = ()) -> Any:
    """Return the value from the result of :func:`flatten`."""
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
    if "sparse" in tree:
        return _sparse({key: rebuild(part, arrays) for key, part in tree["sparse"].items()}, tree["shape"])
    kind: Any = {one.__name__: one for one in known}[tree["object"]]
    parts = {key: rebuild(part, arrays, known) for key, part in tree["parts"].items()}
    if hasattr(kind, "_asdict"):
        return getattr(kind, "_from_dict", kind)(**parts)
    value: Any = object.__new__(kind)
    vars(value).update(parts)
    return value


def _sparse(parts: dict[str, NDArray[Any]], shape: list[int]) -> Any:
    from scipy.sparse import csr_array

    matrix = csr_array((parts["data"], parts["indices"], parts["indptr"]), shape=tuple(shape))
    matrix.check_format(full_check=True)
    return matrix


def pack_params(params: Mapping[str, Any], arrays: Arrays, known: tuple[type, ...] = ()) -> dict[str, Any]:
    """Return the parameters of an engine as JSON; functions and objects that cannot be stored become their names."""
    packed: dict[str, Any] = {}
    for key, value in params.items():
        if key in USER_DEFINED and not (isinstance(value, str) or type(value) in known):
            packed[key] = {"given": _name(value)}
        elif key == "random_state" and not isinstance(value, int | None):
            packed[key] = None
        else:
            packed[key] = flatten(seconds(value), f"params.{key}", arrays, known)
    return packed


def unpack_params(
    packed: Mapping[str, Any], arrays: Arrays, known: tuple[type, ...], given: Mapping[str, Any]
) -> dict[str, Any]:
    """Return the parameters; those that are not stored must be in ``given``."""
    params = {}
    for key, value in packed.items():
        if isinstance(value, dict) and "given" in value:
            if given.get(key) is None:
                raise CheckpointError(
                    f"it was made with {key}={value['given']}, which a checkpoint does not store: pass {key}=..."
                )
            if _name(given[key]) != value["given"]:
                other = _name(given[key])
                raise CheckpointError(f"it was made with {key}={value['given']}, but {key}={other} is given")
            params[key] = given[key]
        elif given.get(key) is not None:
            raise CheckpointError(f"it stores its {key}: do not pass another")
        else:
            params[key] = rebuild(value, arrays, known)
    return params


def seconds(duration: Any) -> Any:
    """Return a time span as a number of seconds; return other values unchanged."""
    if isinstance(duration, datetime.timedelta):
        return duration.total_seconds()
    if isinstance(duration, np.timedelta64):
        return float(duration / np.timedelta64(1, "s"))
    return duration


def _name(value: Any) -> str:
    return str(getattr(value, "__qualname__", type(value).__qualname__))

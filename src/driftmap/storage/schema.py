"""Schemas of saved records: a dataclass or named tuple says what a record holds, and JSON is checked against it."""

from __future__ import annotations

import dataclasses
import types
from collections.abc import Mapping
from typing import Annotated, Any, Literal, TypeVar, Union, get_args, get_origin, get_type_hints


class AtLeast(int):
    """The least value of an integer: ``Annotated[int, AtLeast(0)]``."""


Count = Annotated[int, AtLeast(0)]
"""An integer that is not negative."""
LARGEST = 2**62
"""Integers of a record are smaller than this, so that sums of them fit into 64 bits."""

T = TypeVar("T")


def as_json(record: Any) -> Any:
    """Return a record as JSON: dataclasses become objects, tuples become lists.

    >>> from typing import NamedTuple
    >>> class Place(NamedTuple):
    ...     rows: Count
    >>> as_json({"place": Place(3)}), from_json(Place, [3], "place")
    ({'place': [3]}, Place(rows=3))
    >>> from_json(Place, [-3], "place")
    Traceback (most recent call last):
    ValueError: its place.rows is -3, not an integer of at least 0
    """
    if dataclasses.is_dataclass(record) and not isinstance(record, type):
        return {field.name: as_json(getattr(record, field.name)) for field in dataclasses.fields(record)}
    if isinstance(record, Mapping):
        return {key: as_json(value) for key, value in record.items()}
    if isinstance(record, list | tuple):
        return [as_json(value) for value in record]
    return record


def from_json(kind: type[T], value: Any, name: str) -> T:
    """Return the record of a type that JSON holds, or raise a ValueError that says what is wrong with which part."""
    checked: T = _checked(kind, value, name)
    return checked


def _checked(kind: Any, value: Any, name: str) -> Any:
    origin, parts = get_origin(kind), get_args(kind)
    if kind is Any:
        return value
    if origin is Annotated:
        return _integer(value, name, parts[1])
    if origin in (Union, types.UnionType):
        return _one_of(parts, value, name)
    if origin is Literal:
        _require(isinstance(value, str) and value in parts, value, name, f"one of {', '.join(parts)}")
        return value
    if dataclasses.is_dataclass(kind):
        return _record(kind, value, name)
    if kind is int:
        return _integer(value, name, -LARGEST)
    if kind is float:
        _require(type(value) in (int, float) and value == value, value, name, "a number")
        return float(value)
    if kind in (str, bool):
        _require(type(value) is kind, value, name, "text" if kind is str else "true or false")
        return value
    if origin is dict:
        _require(isinstance(value, dict), value, name, "an object")
        return {key: _checked(parts[1], part, f"{name}.{key}") for key, part in value.items()}
    _require(isinstance(value, list | tuple), value, name, "a list")
    if origin is list or (origin is tuple and parts[1:] == (...,)):
        return origin(_checked(parts[0], part, f"{name}[{i}]") for i, part in enumerate(value))
    return _fixed(kind, parts, value, name)


def _fixed(kind: Any, parts: tuple[Any, ...], value: Any, name: str) -> Any:
    """A tuple with a type for each place, named or not."""
    hints = get_type_hints(kind, include_extras=True) if hasattr(kind, "_fields") else dict(enumerate(parts))
    _require(len(value) == len(hints), value, name, f"a list of {len(hints)}")
    found = [_checked(hint, part, f"{name}.{key}") for (key, hint), part in zip(hints.items(), value, strict=True)]
    return kind(*found) if hasattr(kind, "_fields") else tuple(found)


def _record(kind: Any, value: Any, name: str) -> Any:
    hints = get_type_hints(kind, include_extras=True)
    _require(isinstance(value, dict) and value.keys() == hints.keys(), value, name, f"an object of {', '.join(hints)}")
    return kind(**{key: _checked(hint, value[key], f"{name}.{key}") for key, hint in hints.items()})


def _one_of(kinds: tuple[Any, ...], value: Any, name: str) -> Any:
    if value is None and types.NoneType in kinds:
        return None
    some = [kind for kind in kinds if kind is not types.NoneType]
    for kind in some[:-1]:
        try:
            return _checked(kind, value, name)
        except ValueError:
            continue
    return _checked(some[-1], value, name)


def _integer(value: Any, name: str, least: int) -> int:
    known = type(value) is int and least <= value < LARGEST
    _require(known, value, name, f"an integer of at least {least}" if isinstance(least, AtLeast) else "an integer")
    return int(value)


def _require(holds: bool, value: Any, name: str, expected: str) -> None:
    if not holds:
        shown = repr(value)
        raise ValueError(f"its {name} is {shown if len(shown) < 60 else type(value).__name__}, not {expected}")

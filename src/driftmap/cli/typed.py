"""Typed options: a command's options are one frozen dataclass, whose fields say how each is given and what it means."""

from __future__ import annotations

import argparse
import dataclasses
from collections.abc import Iterator
from typing import Any, TypeVar, get_type_hints

GROUP, FLAGS, SETTINGS, SHAPES = "group", "flags", "settings", "shapes"
T = TypeVar("T")


def option(*flags: str, default: Any = None, shapes: bool = True, **settings: Any) -> Any:
    """Return a field that is given by these flags; ``settings`` are those of ``argparse``.

    A Boolean needs no type: its flag makes it true. ``shapes``: whether the option affects the result, so that a run
    must be resumed with the same value.
    """
    if default is False:
        settings = {"action": "store_true", **settings}
    return dataclasses.field(default=default, metadata={FLAGS: flags, SETTINGS: settings, SHAPES: shapes})


def argument(**settings: Any) -> Any:
    """Return a field that is given by its position on the command line."""
    metadata = {FLAGS: (), SETTINGS: settings, SHAPES: False}
    if settings.get("nargs") == "?":
        return dataclasses.field(default=None, metadata=metadata)
    return dataclasses.field(metadata=metadata)


def group(kind: type[T], title: str) -> Any:
    """Return a field that holds a dataclass of further options, under a title in the help text."""
    return dataclasses.field(default_factory=kind, metadata={GROUP: title})


def add_options(parser: Any, kind: type[Any], defaults: Any = None) -> None:
    """Add the options of a dataclass to a parser.

    ``defaults``: an instance with the default values, since a command may change those of a group.
    """
    hints = get_type_hints(kind)
    for field in dataclasses.fields(kind):
        if GROUP in field.metadata:
            assert callable(field.default_factory)
            title = parser.add_argument_group(field.metadata[GROUP])
            add_options(title, hints[field.name], field.default_factory())
        elif flags := field.metadata[FLAGS]:
            default = field.default if defaults is None else getattr(defaults, field.name)
            parser.add_argument(*flags, dest=field.name, default=default, **field.metadata[SETTINGS])
        else:
            parser.add_argument(field.name, **field.metadata[SETTINGS])


def parsed(kind: type[T], given: argparse.Namespace) -> T:
    """Return the options that a parser found."""
    hints = get_type_hints(kind)
    values = {
        field.name: parsed(hints[field.name], given) if GROUP in field.metadata else getattr(given, field.name)
        for field in dataclasses.fields(kind)  # type: ignore[arg-type]
    }
    return kind(**values)


def flag(field: dataclasses.Field[Any]) -> str:
    """Return the name of an option in messages."""
    flags: tuple[str, ...] = field.metadata[FLAGS]
    return flags[0] if flags else field.name


def flag_of(name: str) -> str:
    """Return the name in messages of the option of a field.

    >>> flag_of("output"), flag_of("landmarks_out")
    ('-o', '--landmarks-out')
    """
    return "-o" if name == "output" else f"--{name.replace('_', '-')}"


def shapes(field: dataclasses.Field[Any]) -> bool:
    """Return True if an option affects the result."""
    return bool(field.metadata[SHAPES])


def flat(options: Any) -> Iterator[tuple[dataclasses.Field[Any], Any]]:
    """Yield all options with their values, including those of groups."""
    for field in dataclasses.fields(options):
        value = getattr(options, field.name)
        if GROUP in field.metadata:
            yield from flat(value)
        else:
            yield field, value

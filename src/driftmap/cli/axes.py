"""The meaning of the axes of a map: the columns of the table that drive them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from driftmap.cli.errors import note
from driftmap.map import StreamMap
from driftmap.map.explain import explain_axes

SHOWN = 3
"""Columns named for an axis."""


def explained_axes(mapper: StreamMap, columns: Sequence[str]) -> list[list[dict[str, Any]]]:
    """Return the columns for each axis, most correlated first; print a line that names the first ones."""
    axes = []
    for axis, explained in enumerate(explain_axes(mapper)):
        found = [feature._asdict() for feature in explained.features]
        axes.append([{"column": columns[one.pop("feature")], **one} for one in found])
        named = ", ".join(f"{one['column']!r} {one['correlation']:+.2f}" for one in axes[-1][:SHOWN])
        note(f"x{axis + 1} correlates with {named}")
    return axes

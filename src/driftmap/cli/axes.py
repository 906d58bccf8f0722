"""What the axes of a map mean: the columns of the table that drive them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from driftmap.cli.errors import note
from driftmap.map import StreamMap
from driftmap.map.explain import explain

SHOWN = 3
"""Columns that are named for an axis."""


def explained_axes(mapper: StreamMap, columns: Sequence[str]) -> list[list[dict[str, Any]]]:
    """For each axis the columns, those that correlate most with it first; one line names the first of them."""
    axes = []
    for axis in range(mapper.n_components):
        found = [feature._asdict() for feature in explain(mapper, axis=axis).features]
        axes.append([{"column": columns[one.pop("feature")], **one} for one in found])
        named = ", ".join(f"{one['column']!r} {one['correlation']:+.2f}" for one in axes[-1][:SHOWN])
        note(f"x{axis + 1} correlates with {named}")
    return axes

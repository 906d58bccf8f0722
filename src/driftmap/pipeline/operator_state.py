"""The saved state of an operator: its record, beside its map and its arrays."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from driftmap.map.drift_state import MonitorState
from driftmap.map.novelty import DetectorState
from driftmap.storage.schema import Count, from_json

OWN = "operator"
"""The key of an operator's state in a checkpoint header, and the prefix of its arrays."""


@dataclass(frozen=True)
class OperatorState:
    """What every operator saves."""

    n_rows: Count
    detector: DetectorState | None
    monitor: MonitorState | None


@dataclass(frozen=True)
class Params:
    """The parameters of a :class:`~driftmap.pipeline.map_operator.MapOperator`."""

    label: str | None
    each_row: bool
    residuals: bool
    isolation: bool
    steps: list[Any]
    """Flattened. A step that a checkpoint cannot hold is an object with its name under "given"."""


@dataclass(frozen=True)
class MapOperatorState(OperatorState):
    """What a :class:`~driftmap.pipeline.map_operator.MapOperator` saves."""

    columns: tuple[str, ...]
    names: tuple[str, ...]
    width: Count | None
    params: Params
    mapper: dict[str, Any] | None
    """The packed parameters of a map that has seen no row. None: the map itself is beside this record."""


def own_state(header: Mapping[str, Any]) -> OperatorState:
    """Return the record in a header, or raise a ValueError that says what is wrong with it."""
    found = header[OWN]
    kind = MapOperatorState if isinstance(found, dict) and "params" in found else OperatorState
    return from_json(kind, found, OWN)

"""``--register-to``: the map of an earlier run or a saved map, on which a new map is laid."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from driftmap.cli.errors import UserError
from driftmap.cli.groups import Mapping, Normalizing
from driftmap.map import StreamMap
from driftmap.map.frozen import FrozenMap
from driftmap.pipeline import state as run_state
from driftmap.pipeline.operator import part_of
from driftmap.pipeline.operator_state import OWN
from driftmap.storage import checkpoint, serialization
from driftmap.tables.scaling import Scaling

FLAG = "--register-to"


@dataclass(frozen=True)
class OlderMap:
    """The map that a new one is laid on."""

    path: Path
    map: StreamMap | FrozenMap
    columns: tuple[str, ...]
    """The features of its table, before any steps; empty if they are not known."""
    scaling: Scaling | None
    """How its rows were normalised."""

    def check(self, columns: Sequence[str], n_features: int) -> None:
        """Raise an error unless a table has the columns of the older map; ``n_features``: their number after steps."""
        if self.columns and self.columns != tuple(columns):
            raise UserError(f"{FLAG} {self.path} has the columns {list(self.columns)}, not {list(columns)}")
        if (has := self.map.side().store.n_features) != n_features:
            raise UserError(f"{FLAG} {self.path} has {has} features, but the rows have {n_features}")


def older_map(path: Path, mapping: Mapping, normalizing: Normalizing) -> OlderMap:
    """Read a map, or raise an error that says why no map with these options can be laid on it."""
    found = checkpoint.read(path)
    header, columns, normalize = found.header, tuple[str, ...](), "none"
    if run_state.KEY in header:
        state = run_state.read(path).state
        if state.stage != "finished":
            raise UserError(f"{FLAG} {path} holds a run that is not finished, so its map was never given out")
        columns, normalize = state.columns, state.arguments.get("normalize", "none")
    older: Any = serialization.unpack(found, StreamMap, FrozenMap, place=f"{FLAG} {path}")
    params = older.params() if isinstance(older, StreamMap) else older.params
    embedding = params["embedding"] if isinstance(params["embedding"], str) else mapping.embedding
    for flag, its, mine in (
        ("--components", params["n_components"], mapping.components),
        ("--embedding", embedding, mapping.embedding),
        ("--metric", params["metric"], mapping.metric),
        ("--normalize", normalize, normalizing.normalize),
    ):
        if its != mine:
            raise UserError(f"{FLAG} {path} has {flag} {its}, and this map {mine}: give the same")
    arrays = part_of(dict(found.arrays), f"{OWN}.scaling.")
    with checkpoint.reading(path):
        scaling = Scaling.of(arrays) if arrays else None
    return OlderMap(path, older, columns, scaling)

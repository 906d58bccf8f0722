"""The three passes of a two-pass run over a table: measure its columns, learn its rows, place its rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from driftmap.map.novelty import Alert
from driftmap.map.registration import Reference
from driftmap.map.stream_map import StreamMap
from driftmap.pipeline.observer import Update
from driftmap.pipeline.operator import Operator, part_of
from driftmap.pipeline.operator_state import OWN
from driftmap.quality import Displacement
from driftmap.storage.serialization import Arrays
from driftmap.tables.cache import CachedRows
from driftmap.tables.scaling import Moments, statistics_for
from driftmap.tables.steps import Step
from driftmap.tables.table import Chunk
from driftmap.utils.errors import InputError
from driftmap.utils.validation import LEAST_SQUARABLE


class Measuring(Operator):
    """Measures all columns; the scaling of the other passes follows from that."""

    stage = "measuring"

    def __init__(self, mapper: StreamMap, steps: Sequence[Step], kind: str) -> None:
        super().__init__(mapper, steps)
        self.kind = kind
        self.known = statistics_for(kind)

    def apply(self, first: int, rows: Chunk) -> Update:
        """Take in further rows."""
        self.known.update(rows.features)
        return Update(self.stage, first, rows)

    def complete(self) -> None:
        """Find the scaling."""
        if isinstance(self.known, Moments) and self.kind == "zscore" and len(bad := self.known.without_square()):
            problem = (
                f"holds numbers that differ by less than {LEAST_SQUARABLE:g}, where squares underflow; multiply them"
            )
            raise InputError(problem, column=self.columns[int(bad[0])])
        self.scaling = self.known.scaling(self.kind)

    def _arrays(self) -> Arrays:
        return super()._arrays() | {f"known.{name}": array for name, array in self.known.state().items()}

    def unpack(self, header: Mapping[str, Any], arrays: Arrays, *, within: bool = True, **given: Any) -> None:
        """Go on from a packed state."""
        super().unpack(header, arrays, within=within, **given)
        self.known = statistics_for(self.kind, part_of(arrays, f"{OWN}.known."), len(self.columns) or None)


class Learning(Operator):
    """Learns all rows. ``scores`` keeps reach and quantile of each, for the pass that places it."""

    stage = "learning"
    scores: CachedRows | None = None
    older: Reference | None = None
    """The map on which the new one is laid when all rows are learnt; ``residual`` is then how far off rows lie."""
    residual: Displacement | None = None

    def complete(self) -> None:
        """Lay the map on the older one, in its scale where distances on the map are not those of the data."""
        if self.older is not None:
            keeps = getattr(self.mapper.fitted_embedding_, "keeps_distances", False)
            self.residual = self.mapper.register(self.older, scale=not keeps)

    def apply(self, first: int, rows: Chunk) -> Update:
        """Learn further rows."""
        features, alerts = self.scaled(rows), list[Alert]()
        learnt = rows._replace(features=features)
        if self.detector is None and self.scores is None:
            self.mapper.partial_fit(features)
        else:
            found = self.mapper.learn(features, detector=self.detector)
            alerts = [self.shown(alert, first, rows.labels) for alert in found.alerts]
            if self.scores is not None:
                self.scores.append(np.column_stack([found.reach, found.quantile]))
        return Update(self.stage, first, learnt, True, alerts=alerts)


class Placing(Operator):
    """Places all rows on the finished map. It changes nothing, so threads may share the work."""

    stage = "mapping"
    scores: CachedRows | None = None
    _packed: tuple[dict[str, Any], Arrays] | None = None

    def apply(self, first: int, rows: Chunk) -> Update:
        """Place further rows, with their novelty where learning kept their scores."""
        features = self.scaled(rows)
        update = Update(self.stage, first, rows, coordinates=self.mapper.transform(features))
        if self.scores is None:
            return update
        scores = self.scores.read(first, len(features))
        return update._replace(
            reach=scores[:, 0], quantile=scores[:, 1], residual=self.mapper.novelty(features).residual
        )

    def pack(self) -> tuple[dict[str, Any], Arrays]:
        """Return the state; the map is packed once."""
        self._packed = self._packed or super().pack()
        header, arrays = self._packed
        return header | {OWN: self._own()}, arrays | self._prefixed()


class Counting(Learning):
    """Learns all rows on a map that is only used to count how many landmarks are enough."""

    stage = "measuring"

    def apply(self, first: int, rows: Chunk) -> Update:
        """Learn further rows."""
        super().apply(first, rows)
        return Update(self.stage, first, rows)

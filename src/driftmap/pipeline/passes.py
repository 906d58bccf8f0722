"""The three passes of a two-pass run over a table: measure its columns, learn its rows, place its rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from driftmap.map.novelty import Alert, NoveltyDetector
from driftmap.map.registration import Reference
from driftmap.map.stream_map import StreamMap
from driftmap.pipeline.observer import Update
from driftmap.pipeline.operator import Operator, part_of
from driftmap.pipeline.operator_state import OWN
from driftmap.quality import Displacement
from driftmap.storage.serialization import Arrays
from driftmap.tables.cache import CachedRows
from driftmap.tables.scaling import Moments, Scaling, statistics_for
from driftmap.tables.steps import Step
from driftmap.tables.table import Chunk
from driftmap.utils.errors import InputError
from driftmap.utils.validation import LEAST_SQUARABLE


class Pass(Operator):
    """A pass over a table, whose columns may have been measured before: ``scaling`` normalises them."""

    def __init__(
        self,
        mapper: StreamMap,
        steps: Sequence[Step] = (),
        detector: NoveltyDetector | None = None,
        scaling: Scaling | None = None,
    ) -> None:
        super().__init__(mapper, steps, detector)
        self.scaling = scaling

    def scaled(self, rows: Chunk) -> Any:
        """Return the features as the map sees them."""
        return rows.features if self.scaling is None else self.scaling(rows.features)

    def units(self) -> tuple[ArrayLike, ArrayLike]:
        """Return (shift, scale) of each feature: a number x of the map is x * scale + shift in the table."""
        return super().units() if self.scaling is None else self.scaling

    def _arrays(self) -> Arrays:
        scaling = {} if self.scaling is None else self.scaling._asdict()
        return super()._arrays() | {f"scaling.{name}": np.asarray(array) for name, array in scaling.items()}

    def unpack(self, header: Mapping[str, Any], arrays: Arrays, *, within: bool = True, **given: Any) -> None:
        """Continue from a packed state."""
        found = part_of(arrays, f"{OWN}.scaling.")
        scaling = Scaling.of(found, len(self.columns) or None) if found else self.scaling
        super().unpack(header, arrays, within=within, **given)
        self.scaling = scaling


class Measuring(Pass):
    """Measures all columns, from which the scaling of the following passes is computed."""

    stage = "measuring"

    def __init__(self, mapper: StreamMap, steps: Sequence[Step], kind: str) -> None:
        super().__init__(mapper, steps)
        self.kind = kind
        self.known = statistics_for(kind)

    def apply(self, first: int, rows: Chunk) -> Update:
        """Measure further rows."""
        self.known.update(rows.features)
        return Update(self.stage, first, rows)

    def complete(self) -> None:
        """Compute the scaling."""
        if isinstance(self.known, Moments) and self.kind == "zscore" and len(bad := self.known.without_square()):
            problem = (
                f"holds numbers that differ by less than {LEAST_SQUARABLE:g}, where squares underflow; multiply them"
            )
            raise InputError(problem, column=self.columns[int(bad[0])])
        self.scaling = self.known.scaling(self.kind)

    def _arrays(self) -> Arrays:
        return super()._arrays() | {f"known.{name}": array for name, array in self.known.state().items()}

    def unpack(self, header: Mapping[str, Any], arrays: Arrays, *, within: bool = True, **given: Any) -> None:
        """Continue from a packed state."""
        super().unpack(header, arrays, within=within, **given)
        self.known = statistics_for(self.kind, part_of(arrays, f"{OWN}.known."), len(self.columns) or None)


class Learning(Pass):
    """Learns all rows. ``scores`` keeps reach and quantile of each, for the pass that places it."""

    stage = "learning"
    scores: CachedRows | None = None
    isolation = False
    """Whether the scores have a third column, the isolation of each row."""
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
            found = self.mapper.learn(features, detector=self.detector, isolation=self.isolation)
            alerts = [self.shown(alert, first, rows.labels) for alert in found.alerts]
            if self.scores is not None:
                isolation = [] if found.isolation is None else [found.isolation]
                self.scores.append(np.column_stack([found.reach, found.quantile, *isolation]))
        return Update(self.stage, first, learnt, True, alerts=alerts)


class Placing(Pass):
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
        update = update._replace(isolation=scores[:, 2] if scores.shape[1] > 2 else None)
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

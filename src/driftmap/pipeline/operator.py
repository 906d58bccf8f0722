"""Operators: one pass of a map over batches of rows, without files, terminals or threads."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from driftmap.map.changes import Drift
from driftmap.map.drift import DriftMonitor
from driftmap.map.drift_state import MonitorState
from driftmap.map.novelty import Alert, DetectorState, Difference, NoveltyDetector
from driftmap.map.stream_map import StreamMap
from driftmap.pipeline.observer import Update
from driftmap.pipeline.operator_state import OWN, OperatorState, own_state
from driftmap.storage.checkpoint import Checkpoint
from driftmap.storage.schema import as_json
from driftmap.storage.serialization import Arrays, unpack
from driftmap.tables.steps import Step, Steps
from driftmap.tables.table import Chunk, Labels


class Operator(ABC):
    """One pass over the rows of a stream: ``prepare`` applies the steps, ``apply`` does the work of the pass.

    Attributes
    ----------
    n_rows : int
        Rows applied so far.
    columns : tuple of str
        Names of the features after the steps.
    """

    stage: ClassVar[str]

    def __init__(
        self,
        mapper: StreamMap,
        steps: Sequence[Step] = (),
        detector: NoveltyDetector | None = None,
        monitor: DriftMonitor | None = None,
    ) -> None:
        self.mapper, self.detector, self.monitor = mapper, detector, monitor
        self.steps = Steps(steps)
        self.n_rows = 0
        self.names: tuple[str, ...] = ()
        """Names of the features before the steps."""
        self.columns: tuple[str, ...] = ()

    def name_columns(self, columns: Sequence[str]) -> None:
        """Set the names of the features before the steps."""
        self.names = tuple(columns)
        self.columns = self.steps.columns(columns)

    def prepare(self, rows: Chunk) -> Chunk:
        """Apply the steps to the next rows of the stream."""
        return self.steps(rows)

    @abstractmethod
    def apply(self, first: int, rows: Chunk) -> Update:
        """Do the work of the pass for prepared rows; ``first`` is the arrival number of the first of them."""

    def units(self) -> tuple[ArrayLike, ArrayLike]:
        """Return (shift, scale) of each feature: a number x of the map is x * scale + shift in the table."""
        return 0.0, 1.0

    def shown(self, alert: Alert, first: int, labels: Labels) -> Alert:
        """Return an alert in the names and units of the table, with the label of its row as time."""
        shift, scale = (np.broadcast_to(part, len(self.columns)) for part in self.units())
        features = []
        for feature, value, landmark in alert.features:
            j = self.columns.index(feature) if isinstance(feature, str) else feature
            units = float(value * scale[j] + shift[j]), float(landmark * scale[j] + shift[j])
            features.append(Difference(self.columns[j], *units))
        return alert._replace(time=None if labels is None else labels[alert.row - first], features=tuple(features))

    def shown_drift(self, drift: Drift, first: int, labels: Labels) -> Drift:
        """Return a drift with the names of the features, and the label of its row as time."""
        features = [
            one._replace(feature=self.columns[one.feature]) if isinstance(one.feature, int) else one
            for one in drift.features
        ]
        return drift._replace(time=None if labels is None else labels[drift.arrival - first], features=features)

    # --- state ---

    def pack(self) -> tuple[dict[str, Any], Arrays]:
        """Return the state as a JSON header and arrays: those of the map, and the operator's own beside them."""
        header, arrays = self.mapper.pack() if self.mapper.fitted else ({"kind": OWN}, {})
        return header | {OWN: self._own()}, arrays | self._prefixed()

    def _prefixed(self) -> Arrays:
        return {f"{OWN}.{name}": array for name, array in self._arrays().items()}

    def _own(self) -> dict[str, Any]:
        own: dict[str, Any] = as_json(OperatorState(self.n_rows, self._detector(), self._monitor()))
        return own

    def _detector(self) -> DetectorState | None:
        return None if self.detector is None else self.detector.state()

    def _monitor(self) -> MonitorState | None:
        return None if self.monitor is None else self.monitor.pack()[0]

    def _arrays(self) -> Arrays:
        arrays = {f"steps.{name}": array for name, array in self.steps.state().items()}
        if self.monitor is not None:
            arrays |= {f"monitor.{name}": array for name, array in self.monitor.pack()[1].items()}
        return arrays

    def complete(self) -> None:  # noqa: B027
        """Called once after the last row of the pass."""

    def unpack(self, header: Mapping[str, Any], arrays: Arrays, *, within: bool = True, **given: Any) -> None:
        """Continue from a packed state.

        ``within``: the state was packed during this pass. False: it is that of the pass before, and this one begins.
        ``given`` are parameters of the map that a checkpoint cannot hold.
        """
        own = own_state(header)
        detector, monitor = self.detector, self.monitor
        if own.detector is not None:
            callback = None if detector is None else detector.callback
            if detector is not None and (detector.threshold, detector.quiet) != own.detector[:2]:
                raise ValueError(f"its {own.detector} is not one of {detector}")
            detector = NoveltyDetector.from_state(own.detector, callback=callback)
        mine = part_of(arrays, f"{OWN}.")
        if own.monitor is not None:
            monitor = DriftMonitor.unpack(own.monitor, part_of(mine, "monitor."))
            if self.monitor is not None and repr(self.monitor) != repr(monitor):
                raise ValueError(f"its {monitor} is not {self.monitor}")
        if header["kind"] != OWN:
            rest = {key: value for key, value in header.items() if key != OWN}
            theirs = {name: array for name, array in arrays.items() if not name.startswith(f"{OWN}.")}
            self.mapper = unpack(Checkpoint(rest, theirs), StreamMap, **given)
        self.detector, self.monitor = detector, monitor
        if within:
            self.n_rows = own.n_rows
            self.steps.restore(part_of(mine, "steps."), self.names or None)


def part_of(arrays: Mapping[str, Any], prefix: str) -> dict[str, Any]:
    """Return the arrays whose names begin with a prefix, without the prefix."""
    return {name.removeprefix(prefix): array for name, array in arrays.items() if name.startswith(prefix)}

"""Operators: one pass of a map over batches of rows, without files, terminals or threads."""

from __future__ import annotations

import contextlib
import copy
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, ClassVar, Self

import numpy as np

from driftmap.map.changes import Check, Drift
from driftmap.map.drift import DriftMonitor
from driftmap.map.drift_state import MonitorState
from driftmap.map.novelty import Alert, DetectorState, Difference, NoveltyDetector, RecentReaches
from driftmap.map.stream_map import StreamMap
from driftmap.pipeline.batches import Layout, as_chunk
from driftmap.pipeline.observer import Update
from driftmap.pipeline.operator_state import OWN, MapOperatorState, OperatorState, Params, own_state
from driftmap.storage import checkpoint
from driftmap.storage.checkpoint import Checkpoint, CheckpointError
from driftmap.storage.schema import as_json
from driftmap.storage.serialization import Arrays, flatten, rebuild, unpack
from driftmap.tables.delay import DelayEmbedding
from driftmap.tables.missing import FillMissing
from driftmap.tables.scaling import RunningScale, Scaling
from driftmap.tables.steps import Step, Steps
from driftmap.tables.table import Chunk, Labels
from driftmap.utils.concurrency import new_lock
from driftmap.utils.errors import InputError

STEP_TYPES = (FillMissing, DelayEmbedding, RunningScale)
"""The steps that a checkpoint can make again."""


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
        scaling: Scaling | None = None,
    ) -> None:
        self.mapper, self.detector, self.scaling = mapper, detector, scaling
        self.monitor: DriftMonitor | None = None
        self.steps = Steps(steps)
        self.n_rows = 0
        self.names: tuple[str, ...] = ()
        """Names of the features before the steps."""
        self.columns: tuple[str, ...] = ()

    def name_columns(self, columns: Sequence[str]) -> None:
        """Name the features of the rows that come."""
        self.names = tuple(columns)
        self.columns = self.steps.columns(columns)

    def prepare(self, rows: Chunk) -> Chunk:
        """Return the rows that the steps make of further rows; in the order of the stream."""
        return self.steps(rows)

    @abstractmethod
    def apply(self, first: int, rows: Chunk) -> Update:
        """Do the work of the pass for prepared rows; ``first`` rows came before them."""

    def scaled(self, rows: Chunk) -> Any:
        """Return the features as the map sees them."""
        return rows.features if self.scaling is None else self.scaling(rows.features)

    def shown(self, alert: Alert, first: int, labels: Labels) -> Alert:
        """Return an alert in the names and units of the table, with the label of its row as time."""
        shift, scale = (0.0, 1.0) if self.scaling is None else self.scaling
        shift, scale = np.broadcast_to(shift, len(self.columns)), np.broadcast_to(scale, len(self.columns))
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
        scaling = {} if self.scaling is None else {"shift": self.scaling.shift, "scale": self.scaling.scale}
        return arrays | {f"scaling.{name}": np.asarray(array) for name, array in scaling.items()}

    def complete(self) -> None:  # noqa: B027
        """All rows of the pass have been applied."""

    def unpack(self, header: Mapping[str, Any], arrays: Arrays, *, within: bool = True, **given: Any) -> None:
        """Go on from a packed state.

        ``within``: from within the pass, after the rows that were applied; otherwise its own rows are still to come.
        ``given`` are parameters of the map that a checkpoint cannot hold.
        """
        own = own_state(header)
        n_rows, detector, scaling = own.n_rows, self.detector, self.scaling
        if own.detector is not None:
            callback = None if detector is None else detector.callback
            if detector is not None and (detector.threshold, detector.quiet) != own.detector[:2]:
                raise ValueError(f"its {own.detector} is not one of {detector}")
            detector = NoveltyDetector.from_state(own.detector, callback=callback)
        mine = part_of(arrays, f"{OWN}.")
        monitor = self.monitor
        if own.monitor is not None:
            monitor = DriftMonitor.unpack(own.monitor, part_of(mine, "monitor."))
            if self.monitor is not None and repr(self.monitor) != repr(monitor):
                raise ValueError(f"its {monitor} is not {self.monitor}")
        if found := part_of(mine, "scaling."):
            scaling = Scaling.of(found, len(self.columns) or None)
        if header["kind"] != OWN:
            rest = {key: value for key, value in header.items() if key != OWN}
            theirs = {name: array for name, array in arrays.items() if not name.startswith(f"{OWN}.")}
            self.mapper = unpack(Checkpoint(rest, theirs), StreamMap, **given)
        self.detector, self.scaling, self.monitor = detector, scaling, monitor
        if within:
            self.n_rows = n_rows
            self.steps.restore(part_of(mine, "steps."), self.names or None)


class MapOperator(Operator):
    """Scores, learns and places the rows of a stream, batch by batch: the middle of every run.

    ``follow`` and ``watch`` drive it, and so can Spark's ``foreachBatch``, a web service or a test. Several threads may
    share one.

    Parameters
    ----------
    mapper : StreamMap
        The map. ``driftmap.map.StreamMap(2, n_landmarks=100)`` takes the parameters of :class:`driftmap.DriftMap`.
    steps : sequence of Step
        What happens to rows before they are learnt: ``FillMissing``, ``DelayEmbedding``, ``RunningScale``.
    detector : NoveltyDetector, optional
        Decides which rows are alerts. Its callback is called when a whole batch has been learnt.
    monitor : DriftMonitor, optional
        Compares recent rows with earlier ones.
    label : str, optional
        The column that labels rows. It is not a feature. Batches then need names of columns.
    each_row : bool
        Place each row in the frame right after it was learnt, as if it had come alone. False: place all rows of a
        batch in the frame after its last row, which is faster.
    residuals : bool
        Also compute how well the map keeps each row's landmark distances.

    Examples
    --------
    >>> import numpy as np
    >>> from driftmap.map import StreamMap
    >>> from driftmap.pipeline import MapOperator
    >>> operator = MapOperator(StreamMap(2, n_landmarks=10))
    >>> rows = np.random.default_rng(0).random((50, 3))
    >>> operator.on_batch(rows[:30]).coordinates.shape
    (30, 2)
    >>> copy = MapOperator.restore(operator.snapshot())
    >>> bool((copy.on_batch(rows[30:]).coordinates == operator.on_batch(rows[30:]).coordinates).all())
    True
    """

    stage = "mapping"

    def __init__(
        self,
        mapper: StreamMap,
        steps: Sequence[Step] = (),
        detector: NoveltyDetector | None = None,
        *,
        monitor: DriftMonitor | None = None,
        label: str | None = None,
        each_row: bool = False,
        residuals: bool = False,
    ) -> None:
        super().__init__(mapper, steps, detector)
        self.monitor = monitor
        self._lock = new_lock()
        self._is_torn = False
        """Set when an exception leaves the map with only some rows of a batch; the operator is then unusable."""
        self.label, self.each_row, self.residuals = label, each_row, residuals
        self.n_rows = mapper.n_samples_seen_ if mapper.fitted else 0
        self._given_steps = list(steps)
        self._names: tuple[str, ...] = ()
        """Names of the features as batches bring them, before the steps; none if they bring no names."""
        self._width: int | None = None
        """Features of a batch, once one has come."""
        if mapper.landmarks is not None and not steps:
            self._names = mapper.feature_names or mapper.dict_names
            self._width = mapper.landmarks.n_features
            self._name()

    def on_batch(self, batch: Any) -> Update:
        """Score, learn and place the rows of a batch; an error changes nothing.

        A batch is an array, an Arrow batch or table, a data frame, or a list of dicts. Names and types are checked
        before any row is learnt. Later batches need the columns of the first one, in any order. An empty batch is
        allowed. Rows that a step holds back come with a later batch.

        Raises
        ------
        InputError
            If the batch cannot be used. Or if an exception, such as Ctrl-C, interrupted an earlier batch after some of
            its rows were learnt: then go on from a snapshot.
        """
        with self._lock:
            self._check_whole()
            update = self._on_batch(batch)
        if self.detector is not None:
            self.detector.notify(update.alerts)
        return update

    def finish(self) -> Update:
        """Score, learn and place the rows that wait for their scale, when a stream ends before the warm-up."""
        with self._lock:
            self._check_whole()
            with self._all_or_nothing():
                rows = self.steps.finish() or Chunk(np.empty((0, len(self.columns))))
                update = self._learnt(self.n_rows, rows)
                self.n_rows += len(rows.features)
        if self.detector is not None:
            self.detector.notify(update.alerts)
        return update

    def _on_batch(self, batch: Any) -> Update:
        missing = self.mapper.metric == "nan_euclidean" or any(isinstance(s, FillMissing) for s in self._given_steps)
        chunk, names = as_chunk(batch, Layout(self._names, self.label, missing))
        n, width = chunk.features.shape
        if n and self._width not in (None, width):
            problem = f"has {width} features, but the batches before had {self._width}"
            raise InputError(problem, parameter="batch")
        with self._all_or_nothing():
            if n and self._width is None:
                self._names, self._width = names, width
                self._name()
            rows = self.prepare(chunk)
            update = self._learnt(self.n_rows, rows)
            self.n_rows += len(rows.features)
        return update

    def _name(self) -> None:
        self.name_columns(self._names or [f"x{i}" for i in range(self._width or 0)])

    def _check_whole(self) -> None:
        if self._is_torn:
            problem = "was interrupted after some rows of a batch were learnt: go on from a snapshot"
            raise InputError(problem, parameter="operator")

    @contextlib.contextmanager
    def _all_or_nothing(self) -> Iterator[None]:
        """Take back what an error left half done.

        A batch is checked first, so only a metric, a rule or an embedding of the user can fail after rows were learnt:
        only for these the map is copied beforehand. Ctrl-C or a lack of memory may still tear a batch.
        """
        before = self._names, self._width, self.names, self.columns, self.n_rows
        steps = self.steps.state()
        detector = None if self.detector is None else dict(vars(self.detector))
        mark = None if self.monitor is None else self.monitor.mark()
        mapper = self.mapper
        was_fitted, n_learnt = mapper.fitted, mapper.n_samples_seen_ if mapper.fitted else 0
        own_code = not all(isinstance(part, str) for part in (mapper.metric, mapper.embedding, mapper.replace_on))
        saved = copy.deepcopy(mapper) if own_code and was_fitted else None
        try:
            yield
        except BaseException:
            self._names, self._width, self.names, self.columns, self.n_rows = before
            self.steps = Steps(self._given_steps)
            self.steps.restore(steps)
            if self.detector is not None:
                vars(self.detector).update(detector or {})
            if self.monitor is not None and mark is not None:
                self.monitor.back_to(mark)
            if saved is not None:
                vars(mapper).update(vars(saved))
            elif not was_fitted:
                mapper.landmarks, mapper.recent = None, RecentReaches()
            else:
                self._is_torn = mapper.n_samples_seen_ != n_learnt
            raise

    def apply(self, first: int, rows: Chunk) -> Update:
        """Score, learn and place prepared rows, and call back for their alerts."""
        update = self._learnt(first, rows)
        if self.detector is not None:
            self.detector.notify(update.alerts)
        return update

    def _learnt(self, first: int, rows: Chunk) -> Update:
        mapper, features = self.mapper, rows.features
        n, together = len(features), not self.each_row
        if n == 0:
            return Update(self.stage, first, rows, True, *_nothing(mapper.n_components, self.residuals))
        if self.each_row and mapper.landmarks is not None:
            mapper.landmarks.store.check(features)  # all rows, before the first of them is learnt
        coordinates = np.empty((n, mapper.n_components))
        frames, nearest = np.empty((2, n), dtype=np.int64)
        reach, quantile, residual = np.empty((3, n))
        alerts, drifts, checks = list[Alert](), list[Drift](), list[Check]()
        detector = self.detector if self.detector is None else self.detector.silent()
        for i in range(0, n, n if together else 1):
            part = slice(i, n if together else i + 1)
            with numbered(i):
                arrivals = mapper.update(features[part], detector=detector, monitor=self.monitor)
                coordinates[part], frames[part], nearest[part] = arrivals.coordinates, arrivals.frame, arrivals.nearest
                reach[part], quantile[part] = arrivals.reach, arrivals.quantile
                if self.residuals:
                    residual[part] = mapper.novelty(features[part]).residual
                alerts += [self.shown(alert, first, rows.labels) for alert in arrivals.alerts]
                drifts += [self.shown_drift(drift, first, rows.labels) for drift in arrivals.drifts]
                checks += arrivals.checks
        if self.detector is not None and detector is not None:
            self.detector.go_on_from(detector)
        kept = residual if self.residuals else None
        scores = reach, quantile, kept, nearest
        return Update(self.stage, first, rows, True, coordinates, frames, *scores, alerts, drifts, checks)

    def snapshot(self) -> bytes:
        """Return the state as bytes; equal states give equal bytes."""
        with self._lock:
            self._check_whole()
            header, arrays = self.pack()
        return checkpoint.to_bytes(header, arrays)

    def _own(self) -> dict[str, Any]:
        steps = [
            flatten(step, "steps", {}, STEP_TYPES) if type(step) in STEP_TYPES else {"given": type(step).__qualname__}
            for step in self._given_steps
        ]
        params = Params(self.label, self.each_row, self.residuals, steps)
        unfitted = None if self.mapper.fitted else self.mapper.packed_params({})
        layout = self.columns, self._names, self._width
        detector, monitor = self._detector(), self._monitor()
        own: dict[str, Any] = as_json(MapOperatorState(self.n_rows, detector, monitor, *layout, params, unfitted))
        return own

    def _arrays(self) -> Arrays:
        arrays = super()._arrays()
        if not self.mapper.fitted:
            self.mapper.packed_params(arrays)
        return arrays

    @classmethod
    def restore(
        cls,
        blob: bytes,
        *,
        steps: Sequence[Step] | None = None,
        callback: Callable[[Alert], Any] | None = None,
        metric: Any = None,
        embedding: Any = None,
        replace_on: Any = None,
    ) -> Self:
        """Return the operator that a snapshot holds.

        A snapshot holds numbers and text only. An operator with ``steps``, a ``metric``, an ``embedding`` or a rule
        ``replace_on`` of your own needs the same here, and its detector calls this ``callback``.

        Raises
        ------
        CheckpointError
            If the bytes are damaged or hold something else, or if an object of your own is missing.
        """
        given = {"metric": metric, "embedding": embedding, "replace_on": replace_on}
        with checkpoint.reading("the snapshot"):
            found = checkpoint.from_bytes(blob, "the snapshot")
            operator = cls._restored(found, steps, {name: part for name, part in given.items() if part is not None})
        if operator.detector is not None:
            operator.detector.callback = callback
        return operator

    @classmethod
    def _restored(cls, found: Checkpoint, steps: Sequence[Step] | None, given: Mapping[str, Any]) -> Self:
        header, arrays = found
        if OWN not in header:
            raise CheckpointError(f"the snapshot holds a {header.get('kind')}, not an operator")
        own = own_state(header)
        if not isinstance(own, MapOperatorState):
            raise CheckpointError("the snapshot holds a pass of a run, not an operator")
        params = own.params
        theirs = [step["given"] for step in params.steps if "given" in step]
        if steps is None and theirs:
            raise CheckpointError(
                f"the snapshot has a step {theirs[0]}, which it does not store: pass steps=..., all of them"
            )
        if steps is None:
            steps = [rebuild(step, {}, STEP_TYPES) for step in params.steps]
        elif len(steps) != len(params.steps):
            raise CheckpointError(f"the snapshot has {len(params.steps)} steps, but {len(steps)} are given")
        mapper = (
            StreamMap() if own.mapper is None else StreamMap.of_params(own.mapper, part_of(arrays, f"{OWN}."), given)
        )
        operator = cls(mapper, steps, label=params.label, each_row=params.each_row, residuals=params.residuals)
        operator._names, operator._width = own.names, own.width
        if own.width is not None:
            operator._name()
        operator.unpack(header, arrays, **given)
        operator.columns = own.columns
        return operator


def _nothing(k: int, residuals: bool) -> tuple[Any, ...]:
    """The columns of an update without rows."""
    empty, none = np.empty(0), np.empty(0, np.int64)
    return np.empty((0, k)), none, empty, empty, empty if residuals else None, none, []


def part_of(arrays: Mapping[str, Any], prefix: str) -> dict[str, Any]:
    """The arrays whose names begin with a prefix, under the rest of their names."""
    return {name.removeprefix(prefix): array for name, array in arrays.items() if name.startswith(prefix)}


@contextlib.contextmanager
def numbered(first: int) -> Iterator[None]:
    """Errors about a row of a part number it within the whole; ``first`` rows are before the part."""
    try:
        yield
    except InputError as error:
        if error.row is not None:
            error.row += first
        raise

"""The middle of every run: scores, learns and places the rows of a stream, batch by batch."""

from __future__ import annotations

import contextlib
import copy
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Self

import numpy as np

from driftmap.map.changes import Check, Drift
from driftmap.map.drift import DriftMonitor
from driftmap.map.novelty import Alert, NoveltyDetector, RecentReaches
from driftmap.map.stream_map import StreamMap
from driftmap.pipeline.batches import Layout, as_chunk
from driftmap.pipeline.observer import Update
from driftmap.pipeline.operator import Operator, part_of
from driftmap.pipeline.operator_state import OWN, MapOperatorState, Params, own_state
from driftmap.storage import checkpoint
from driftmap.storage.checkpoint import Checkpoint, CheckpointError
from driftmap.storage.schema import as_json
from driftmap.storage.serialization import Arrays, flatten, rebuild
from driftmap.tables.delay import DelayEmbedding
from driftmap.tables.missing import FillMissing
from driftmap.tables.scaling import RunningScale
from driftmap.tables.steps import Step
from driftmap.tables.table import Chunk
from driftmap.utils import Array
from driftmap.utils.concurrency import new_lock
from driftmap.utils.errors import InputError

STEP_TYPES = (FillMissing, DelayEmbedding, RunningScale)
"""The steps that a checkpoint stores."""


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
        isolation: bool = False,
    ) -> None:
        super().__init__(mapper, steps, detector, monitor)
        self.each_row, self.residuals, self.isolation = each_row, residuals, isolation
        self.n_rows = mapper.n_samples_seen_ if mapper.fitted else 0
        self.layout = Layout(label=label)
        if mapper.landmarks is not None and not steps:
            self._lay_out(mapper.feature_names or mapper.dict_names, mapper.landmarks.n_features)
        self._lock = new_lock()
        self._is_torn = False
        """Set when an exception leaves the map with only some rows of a batch; the operator is then unusable."""

    def on_batch(self, batch: Any) -> Update:
        """Score, learn and place the rows of a batch; an error changes nothing.

        A batch is an array, an Arrow batch or table, a data frame, or a list of dicts. Names and types are checked
        before any row is learnt. Later batches need the columns of the first one, in any order. A batch may be empty.
        Rows that a step holds back come with a later batch.

        Raises
        ------
        InputError
            If the batch cannot be used. Or if an exception, such as Ctrl-C, interrupted an earlier batch after some of
            its rows were learnt: then continue from a snapshot.
        """
        with self._lock:
            self._check_whole()
            update = self._on_batch(batch)
        if self.detector is not None:
            self.detector.notify(update.alerts)
        return update

    def finish(self) -> Update:
        """Score, learn and place the rows held back by a warm-up that is longer than the stream."""
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
        fills = any(isinstance(step, FillMissing) for step in self.steps.steps)
        missing = fills or self.mapper.metric == "nan_euclidean"
        chunk, names = as_chunk(batch, self.layout._replace(missing=missing))
        n, width = chunk.features.shape
        if n and self.layout.width not in (None, width):
            problem = f"has {width} features, but the batches before had {self.layout.width}"
            raise InputError(problem, parameter="batch")
        with self._all_or_nothing():
            if n and self.layout.width is None:
                self._lay_out(names, width)
            rows = self.prepare(chunk)
            update = self._learnt(self.n_rows, rows)
            self.n_rows += len(rows.features)
        return update

    def _lay_out(self, names: Sequence[str], width: int | None) -> None:
        """Note the names of the features in batches, none if these bring no names, and their number."""
        self.layout = self.layout._replace(columns=tuple(names), width=width)
        self.name_columns(names or [f"x{i}" for i in range(width or 0)])

    def _check_whole(self) -> None:
        if self._is_torn:
            problem = "was interrupted after some rows of a batch were learnt: continue from a snapshot"
            raise InputError(problem, parameter="operator")

    @contextlib.contextmanager
    def _all_or_nothing(self) -> Iterator[None]:
        """Restore the state before a batch if an exception interrupts it.

        The map is copied only if its metric, rule or embedding is user-defined: only these can raise an error after
        rows of a checked batch were learnt. Ctrl-C or a lack of memory may still tear a batch.
        """
        before = self.layout, self.names, self.columns, self.n_rows
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
            self.layout, self.names, self.columns, self.n_rows = before
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
            update = Update(self.stage, first, rows, True, *_nothing(mapper.n_components, self.residuals))
            return update._replace(isolation=np.empty(0)) if self.isolation else update
        if self.each_row and mapper.landmarks is not None:
            mapper.landmarks.store.check(features)  # all rows, before the first of them is learnt
        coordinates = np.empty((n, mapper.n_components))
        frames, nearest = np.empty((2, n), dtype=np.int64)
        reach, quantile, residual = np.empty((3, n))
        alerts, drifts, checks = list[Alert](), list[Drift](), list[Check]()
        isolations: list[Array] = []
        detector = self.detector if self.detector is None else self.detector.silent()
        for i in range(0, n, n if together else 1):
            part = slice(i, n if together else i + 1)
            with numbered(i):
                arrivals = mapper.update(
                    features[part], detector=detector, monitor=self.monitor, isolation=self.isolation
                )
                isolations += [] if arrivals.isolation is None else [arrivals.isolation]
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
        update = Update(self.stage, first, rows, True, coordinates, frames, *scores, alerts, drifts, checks)
        return update._replace(isolation=np.concatenate(isolations)) if self.isolation else update

    def snapshot(self) -> bytes:
        """Return the state as bytes; equal states give equal bytes."""
        with self._lock:
            self._check_whole()
            header, arrays = self.pack()
        return checkpoint.to_bytes(header, arrays)

    def _own(self) -> dict[str, Any]:
        steps = [
            flatten(step, "steps", {}, STEP_TYPES) if type(step) in STEP_TYPES else {"given": type(step).__qualname__}
            for step in self.steps.steps
        ]
        params = Params(self.layout.label, self.each_row, self.residuals, self.isolation, steps)
        unfitted = None if self.mapper.fitted else self.mapper.packed_params({})
        layout = self.columns, self.layout.columns, self.layout.width
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
        operator = cls(
            mapper,
            steps,
            label=params.label,
            each_row=params.each_row,
            residuals=params.residuals,
            isolation=params.isolation,
        )
        if own.width is not None:
            operator._lay_out(own.names, own.width)
        operator.unpack(header, arrays, **given)
        operator.columns = own.columns
        return operator


def _nothing(k: int, residuals: bool) -> tuple[Any, ...]:
    """Return the columns of an update without rows."""
    empty, none = np.empty(0), np.empty(0, np.int64)
    return np.empty((0, k)), none, empty, empty, empty if residuals else None, none, []


@contextlib.contextmanager
def numbered(first: int) -> Iterator[None]:
    """Shift the row numbers of errors in a part of a batch by ``first``, the number of rows before the part."""
    try:
        yield
    except InputError as error:
        if error.row is not None:
            error.row += first
        raise

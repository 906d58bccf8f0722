"""Steps: what is applied to the rows of a stream before a map sees them, such as filling, delays and normalisation."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from driftmap.storage.schema import ArrayOf, check_arrays, from_json
from driftmap.tables.table import Chunk, Labels
from driftmap.utils import Array, Ids

State = dict[str, NDArray[Any]]
REASONS = {"missing": "missing numbers", "delay": "the delay"}
"""The reasons for leaving out rows, in words."""


class RowsLeftOut(NamedTuple):
    """Rows that a step has left out, for one reason."""

    reason: str
    """"missing" or "delay"."""
    n_rows: int
    lacking: Mapping[str, int] = {}
    """By column: the number of these rows in which its number is missing."""


def described(left_out: Sequence[RowsLeftOut]) -> str:
    """Describe rows that were left out and, if they lack numbers, the column that lacks most of them.

    >>> described([RowsLeftOut("missing", 4887, {"ISK": 4800, "HRK": 96}), RowsLeftOut("delay", 9)])
    "4,887 for missing numbers (4,800 in column 'ISK'), 9 for the delay"
    """
    said = []
    for reason, n_rows, lacking in left_out:
        column = next(iter(lacking), None)
        where = "" if column is None else f" ({lacking[column]:,} in column {column!r})"
        said += [f"{n_rows:,} for {REASONS[reason]}{where}"] if n_rows else []
    return ", ".join(said)


class Step(Protocol):
    """Transforms the rows of a stream. The result does not depend on the batches in which rows come."""

    warm_up: int
    """Rows that the first call needs together, unless the stream is shorter."""

    def __call__(self, rows: Array) -> tuple[Array, Ids]:
        """Return the transformed rows, and the position of each in the given rows."""

    def columns(self, names: Sequence[str]) -> list[str]:
        """Return the names of the resulting columns, given those of the input."""

    def left_out(self, names: Sequence[str]) -> list[RowsLeftOut]:
        """Return the rows that went in but did not come out, given the names of the input columns."""

    def state(self) -> State:
        """Return everything that the step remembers of earlier rows."""

    def restore(self, state: Mapping[str, NDArray[Any]], n_columns: int | None = None) -> None:
        """Continue from a state; raise a ValueError if it is invalid or has another number of columns."""


class Steps:
    """A sequence of steps, applied to rows and their labels.

    The first rows are held back until the last step has as many as it needs; :meth:`finish` releases them at the end of
    a shorter stream.
    """

    def __init__(self, steps: Sequence[Step] = ()) -> None:
        self.steps = list(steps)
        self._needed = self.steps[-1].warm_up if self.steps else 1
        self._waiting: list[Chunk] = []
        self._is_warm = self._needed <= 1

    def __call__(self, chunk: Chunk) -> Chunk:
        """Return the transformed rows; an empty chunk while rows are held back."""
        if not self.steps:
            return chunk
        chunk = _through(chunk, self.steps[:-1])
        if self._is_warm:
            return _through(chunk, self.steps[-1:])
        if len(chunk.features):  # an empty chunk may come without labels
            self._waiting.append(chunk)
        if sum(len(waiting.features) for waiting in self._waiting) < self._needed:
            return chunk.part(0, 0)
        return self._release()

    def finish(self) -> Chunk | None:
        """Return the rows that are still held back at the end of the stream; None if there are none."""
        return self._release() if self._waiting else None

    def _release(self) -> Chunk:
        chunk, self._waiting, self._is_warm = _joined(self._waiting), [], True
        return _through(chunk, self.steps[-1:])

    def columns(self, names: Sequence[str]) -> tuple[str, ...]:
        """Return the names of the resulting columns, given those of the input."""
        for step in self.steps:
            names = step.columns(names)
        return tuple(names)

    def left_out(self, names: Sequence[str]) -> list[RowsLeftOut]:
        """Return the rows that the steps have left out so far, given the names of the input columns."""
        found = []
        for step in self.steps:
            found += step.left_out(names)
            names = step.columns(names)
        return found

    def state(self) -> State:
        """Return everything that the steps remember of earlier rows, and the rows held back."""
        state = {f"{i}.{name}": array for i, step in enumerate(self.steps) for name, array in step.state().items()}
        if self._waiting:
            waiting = _joined(self._waiting)
            state["waiting"] = waiting.features
            if isinstance(waiting.labels, np.ndarray):
                state["labels"] = waiting.labels
            elif waiting.labels is not None:
                state["labels"] = np.frombuffer(json.dumps(waiting.labels).encode(), np.uint8)
        elif self.steps:
            state["is_warm"] = np.array(self._is_warm)
        return state

    @property
    def n_held(self) -> int:
        """Number of rows that went in and did not come out: they are held back, or were left out."""
        waiting = sum(len(chunk.features) for chunk in self._waiting)
        return waiting + sum(part.n_rows for part in self.left_out(()))

    def restore(self, state: Mapping[str, NDArray[Any]], names: Sequence[str] | None = None) -> None:
        """Continue from a state; raise a ValueError if it is not one of these steps, or has other columns.

        An empty state is the beginning.
        """
        known = {"waiting", "labels", "is_warm"}
        numbers = set(map(str, range(len(self.steps))))
        strange = [name for name in state if name not in known and name.partition(".")[0] not in numbers]
        remembers = [f"{i}." for i, step in enumerate(self.steps) if step.state()]
        if strange or (state and not all(any(name.startswith(start) for name in state) for start in remembers)):
            raise ValueError(f"its steps.{(strange or ['state'])[0]} is not what these steps have saved")
        for i, step in enumerate(self.steps):
            start = f"{i}."
            own = {name.removeprefix(start): array for name, array in state.items() if name.startswith(start)}
            if own:
                step.restore(own, None if names is None else len(names))
            names = None if names is None or i == len(self.steps) - 1 else step.columns(names)
        self._waiting, self._is_warm = [], bool(state.get("is_warm", self._needed <= 1))
        if "is_warm" in state:
            check_arrays({"is_warm": state["is_warm"]}, {"is_warm": ArrayOf(np.bool_, ())}, "steps")
        if "waiting" in state:
            sizes = {} if names is None else {"d": len(names)}
            check_arrays({"waiting": state["waiting"]}, {"waiting": ArrayOf(np.float64, (-1, "d"))}, "steps", **sizes)
            labels = _checked_labels(state.get("labels"), len(state["waiting"]))
            if "is_warm" in state or len(state["waiting"]) >= self._needed:
                raise ValueError(f"its {len(state['waiting'])} waiting rows are too many to wait")
            self._waiting = [Chunk(state["waiting"], labels)]
        elif "labels" in state or (state and self.steps and "is_warm" not in state):
            raise ValueError("its steps have no waiting rows")


def _checked_labels(stored: NDArray[Any] | None, n: int) -> Labels:
    """Return the labels of rows held back; text is stored as JSON in bytes."""
    if stored is None:
        return None
    if stored.dtype == np.uint8:
        labels = from_json(list[str], json.loads(stored.tobytes()), "labels")
        if len(labels) != n:
            raise ValueError(f"its steps have {len(labels)} labels of {n} waiting rows")
        return labels
    check_arrays({"labels": stored}, {"labels": ArrayOf(np.float64, (n,))}, "steps")
    return stored


def _through(chunk: Chunk, steps: Sequence[Step]) -> Chunk:
    features, labels = chunk.features, chunk.labels
    for step in steps:
        features, kept = step(features)
        labels = _some(labels, kept)
    return Chunk(features, labels, chunk.fraction)


def _some(labels: Labels, kept: Ids) -> Labels:
    if labels is None or len(kept) == len(labels):
        return labels
    return labels[kept] if isinstance(labels, np.ndarray) else [labels[i] for i in kept.tolist()]


def _joined(chunks: Sequence[Chunk]) -> Chunk:
    if len(chunks) == 1:
        return chunks[0]
    labels: Labels = None
    given = [chunk.labels for chunk in chunks if chunk.labels is not None]
    if given and all(isinstance(some, np.ndarray) for some in given):
        labels = np.concatenate(given)
    elif given:  # numbers become text if other labels are text
        labels = [str(label) for some in given for label in some]
    return Chunk(np.concatenate([chunk.features for chunk in chunks]), labels, chunks[-1].fraction)

"""When and how the state of a run is saved, together with the lengths of the outputs that it counts on."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, BinaryIO, cast

from driftmap.pipeline.observer import Observer
from driftmap.pipeline.operator import Operator
from driftmap.pipeline.passes import Placing
from driftmap.pipeline.state import STAGES, RunState, SavedRun, Tail, write
from driftmap.storage import atomic, checkpoint
from driftmap.storage.serialization import Arrays
from driftmap.tables.rejected import RejectedLines
from driftmap.tables.table import Position, Table

BEFORE_MAPPING = ("alerts", "scores")
"""Outputs that are complete before mapping starts, so that it can start again without them."""
SHARE = 10
"""Saving takes at most one part in this many of the time, even if that makes checkpoints rarer than asked."""


class Saver:
    """Saves the state of a run in a file, and says where a resumed run goes on.

    Parameters
    ----------
    path : Path
        The checkpoint.
    state : RunState
        The state at the start: of a new run, or of the one that is resumed.
    rejected : RejectedLines
        The bad lines of the input.
    every : float
        Seconds between two checkpoints, at least.
    resumed : SavedRun, optional
        The run that goes on.
    """

    def __init__(
        self,
        path: Path,
        state: RunState,
        rejected: RejectedLines,
        every: float = 30.0,
        resumed: SavedRun | None = None,
    ) -> None:
        self.path, self.state, self.every = path, state, every
        self.rejected = rejected
        self.files: dict[str, BinaryIO] = {}
        """Open outputs, by the names of their options."""
        self.observers: Sequence[Observer] = ()
        """Those that are asked to flush before their outputs are counted on."""
        self.unsent: Callable[[], list[str]] = list
        """Returns the alerts that a webhook has not taken."""
        self.restarts = False
        """Whether mapping starts again when it is resumed, because an output cannot be continued."""
        self.saved = resumed is not None
        self._resumed = resumed
        self._is_current = True
        self._last, self._cost = time.monotonic(), 0.0

    @property
    def n_mapped(self) -> int | None:
        """Rows that were mapped when the state was saved, before the run goes on; None: this is its start."""
        if self._resumed is None:
            return None
        state = self._resumed.state
        return self._resumed.operator.n_rows if state.stage == "mapping" and state.position is not None else 0

    @property
    def age(self) -> float | None:
        """Seconds since the last checkpoint was written; None: none was."""
        return time.monotonic() - self._last if self.saved else None

    def continues(self, name: str) -> bool:
        """Whether an output goes on where it was when the state was saved."""
        return not self.restarts or name in BEFORE_MAPPING

    def knows(self, table: Table) -> bool:
        """Whether a table has the columns that it had when the run was started; they are noted if this is its start."""
        if not self.state.columns:
            self.state = replace(self.state, columns=tuple(table.columns), label=table.label)
        return (self.state.columns, self.state.label) == (tuple(table.columns), table.label)

    def passed(self, stage: str) -> bool:
        """Whether a pass was complete when the state was saved."""
        return STAGES.index(self.state.stage) > STAGES.index(stage)

    def begin(self, operator: Operator) -> Position | None:
        """Take an operator to where its pass was interrupted; returns the place in the table, None: its beginning."""
        if self._resumed is not None and self._resumed.state.stage == operator.stage:
            within = self._resumed.state.position is not None
            with checkpoint.reading(self.path):
                operator.unpack(self._resumed.header, self._resumed.arrays, within=within)
                self._check_rows(operator)
            self._resumed = None
            return self.state.position
        self.state = replace(self.state, stage=cast(Any, operator.stage), position=None)
        return None

    def _check_rows(self, operator: Operator) -> None:
        """Raise a ValueError unless position, operator, steps and map have seen the same rows."""
        position, learnt = self.state.position, operator.n_rows
        if position is not None and position.rows != operator.n_rows + operator.steps.n_held:
            raise ValueError(f"its position is after {position.rows} rows, but its state after {operator.n_rows}")
        if position is None or operator.stage == "measuring":
            return
        if isinstance(operator, Placing):
            learnt = self.state.rows.get("learning", -1)
        seen = operator.mapper.n_samples_seen_ if operator.mapper.fitted else 0
        if seen != learnt:
            raise ValueError(f"its map has seen {seen} rows, but its run {learnt}")

    def is_due(self, position: Position) -> bool:
        """Note that rows up to a position are done; true if it is time to save."""
        if self.restarts and self.state.stage == "mapping":
            return False
        self.state, self._is_current = replace(self.state, position=position), False
        return time.monotonic() - self._last >= max(self.every, (SHARE - 1) * self._cost)

    def is_due_when_idle(self) -> bool:
        """Whether rows are unsaved, and saving them now would not take too much of the time."""
        return not self._is_current and time.monotonic() - self._last >= (SHARE - 1) * self._cost

    def save(self, operator: Operator, table: Table | None = None) -> None:
        """Write the checkpoint, after making sure that the output it counts on is on the disk."""
        start = time.monotonic()
        for name, file in self.files.items():
            if not file.closed and (self.continues(name) or self.state.stage == "finished"):
                _sync(file)
                self.state.lengths[name] = file.seek(0, os.SEEK_END)
        for observer in self.observers:
            observer.flush()
        found = self.state.tail if table is None else table.tail()
        tail = None if found is None else Tail(*found)
        settled = self.rejected.settled, self.rejected.last
        self.state = replace(self.state, rejected=settled, tail=tail, unsent=self.unsent())
        self._write(*operator.pack())
        if table is not None and self.state.position is not None:
            table.done(self.state.position)
        self._is_current = True
        self._last = time.monotonic()
        self._cost = self._last - start

    def complete(self, operator: Operator) -> None:
        """A pass is complete: a resumed run does not repeat it.

        The last pass is complete with its outputs, and that of a stream that grows never is.
        """
        if operator.stage != "mapping":
            following = STAGES[STAGES.index(operator.stage) + 1]
            self._next(following, operator)

    def finish(self, operator: Operator) -> None:
        """All outputs are complete: from now on they only need their final names."""
        if self.state.stage != "finished":
            self._next("finished", operator)

    def _next(self, stage: str, operator: Operator) -> None:
        rows = self.state.rows | {operator.stage: operator.n_rows}
        self.state = replace(self.state, stage=cast(Any, stage), position=None, rows=rows)
        self.save(operator)

    def _write(self, header: dict[str, Any], arrays: Arrays) -> None:
        write(self.path, self.state, header, arrays)
        self.saved = True


def _sync(file: BinaryIO) -> None:
    try:
        atomic.sync(file)
    except OSError as error:  # the system's message alone would not say what failed
        raise OSError(error.errno, f"the output cannot be written: {error.strerror}") from error

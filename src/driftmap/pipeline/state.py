"""The saved state of a run: one record, beside the state of its operator, in one file that is replaced as a whole."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal, NamedTuple

from driftmap.pipeline.operator_state import OperatorState, own_state
from driftmap.storage import checkpoint
from driftmap.storage.checkpoint import CheckpointError
from driftmap.storage.schema import Count, as_json, from_json
from driftmap.storage.serialization import Arrays
from driftmap.tables.table import Position

KEY = "run"
"""The key of the record in the header of the file."""
STAGES = ("measuring", "learning", "mapping", "finished")
"""The passes of a run, in their order. "finished": all outputs are complete, but may lack their final names."""


class Tail(NamedTuple):
    """The last bytes that were read of a file that grows, by which it is recognised."""

    start: Count
    stop: Count
    digest: str


@dataclass(frozen=True)
class InputFile:
    """What changes when a file is changed or replaced. Of a stream only the name is known."""

    name: str
    size: Count | None = None
    device: int | None = None
    inode: int | None = None
    changed: int | None = None
    """Time of the last change, in nanoseconds."""


@dataclass(frozen=True)
class RunState:
    """Where a run stands between two pieces of work."""

    input: InputFile
    arguments: dict[str, Any]
    """The options that shape the result; a run is resumed with the same ones."""
    columns: tuple[str, ...] = ()
    """The columns of the table as it was opened; empty before that."""
    label: str | None = None
    stage: Literal["measuring", "learning", "mapping", "finished"] = "measuring"
    position: Position | None = None
    """Place in the table up to which the present pass has come. None: its beginning."""
    rows: dict[str, Count] = field(default_factory=dict)
    """Rows of the passes that are complete."""
    lengths: dict[str, Count] = field(default_factory=dict)
    """Bytes of the outputs that can be continued, by option."""
    rejected: tuple[Count, Count] = (0, 0)
    """Bad lines so far, and the last line that was looked at."""
    tail: Tail | None = None
    unsent: list[str] = field(default_factory=list)
    """Alerts that a webhook has not taken, oldest first."""

    def __post_init__(self) -> None:
        """Raise a ValueError where parts contradict each other."""
        done = STAGES[: STAGES.index(self.stage)]
        if not set(self.rows) <= set(done) or ("mapping" in done and "mapping" not in self.rows):
            raise ValueError(f"its run.rows are those of {', '.join(self.rows) or 'no pass'}, while {self.stage}")
        if self.position is not None and self.input.size is not None and isinstance(self.position.offset, dict):
            raise ValueError("its run.position is not one in a file")
        if self.tail is not None and self.tail.start > self.tail.stop:
            raise ValueError("its run.tail ends before it begins")


class SavedRun(NamedTuple):
    """The content of a run's checkpoint."""

    state: RunState
    operator: OperatorState
    header: dict[str, Any]
    arrays: Arrays
    """The state of the operator, as :meth:`~driftmap.pipeline.operator.Operator.pack` gave it."""

    def finished(self, path: Path) -> SavedRun:
        """Write that the run is finished, and return its state then."""
        saved = self._replace(state=replace(self.state, stage="finished"))
        write(path, saved.state, self.header, self.arrays)
        return saved


def write(path: Path, state: RunState, header: dict[str, Any], arrays: Arrays) -> None:
    """Replace the checkpoint of a run."""
    checkpoint.write(path, header | {KEY: as_json(state)}, arrays)


def read(path: Path) -> SavedRun:
    """Return what a run's checkpoint holds, or raise a :class:`CheckpointError` that says what is wrong with it."""
    found = checkpoint.read(path)
    if KEY not in found.header:
        raise CheckpointError(f"{path} holds a {found.header.get('kind')}, no run: name another file")
    header = {key: value for key, value in found.header.items() if key != KEY}
    with checkpoint.reading(path):
        state = from_json(RunState, found.header[KEY], KEY)
        return SavedRun(state, own_state(header), header, dict(found.arrays))

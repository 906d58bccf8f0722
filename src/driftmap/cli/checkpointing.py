"""The driver of a run: its stages, its position in the input, and the checkpoint from which it can be resumed."""

from __future__ import annotations

import contextlib
import os
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO

from driftmap.cli.errors import UserError
from driftmap.cli.files import writing
from driftmap.cli.signals import Stop
from driftmap.io import atomic, checkpoint
from driftmap.io.brokers import Broker
from driftmap.io.paths import OutputError, OutputPath, open_regular, open_stream
from driftmap.io.preprocessing import PreparedTable
from driftmap.io.spool import Spool
from driftmap.io.tables import Chunk, Position, RejectedLines, Table
from driftmap.map import StreamMap
from driftmap.map.novelty import NoveltyDetector
from driftmap.map.observer import Observer, Update
from driftmap.utils import Array

STAGES = ("measuring", "learning", "mapping", "closing", "finished")
"""What a run does, in this order; "closing": all is written, but the output has not got its name yet."""
STEP_PREFIX = "steps."
"""How the arrays of steps are named."""
WORK_PER_SAVING = 10
"""Writing checkpoints takes at most one part in so many of the time, even if that makes them rarer than asked."""


@dataclass(eq=False)
class Job:
    """Leads the passes over a table from where they are, and saves the state between two pieces of work.

    Without a path nothing is saved, and the passes run as they would alone.
    """

    mapper: StreamMap
    rejected: RejectedLines
    path: OutputPath | None = None
    detector: NoveltyDetector | None = None
    """Decides on alerts, if there are to be any."""
    stop: Stop | None = None
    waiting: Callable[[], AbstractContextManager[None]] = contextlib.nullcontext
    """Around reading, where a request to stop is answered at once."""
    every: float = 0.0
    """Seconds between two checkpoints, at least."""
    observers: list[Observer] = field(default_factory=list)
    about: dict[str, Any] = field(default_factory=dict)
    """What does not change: the input and the arguments."""
    stage: str = STAGES[0]
    position: Position | None = None
    """The place in the input up to which the present stage has come."""
    counts: dict[str, int] = field(default_factory=dict)
    """Rows of the stages that are done."""
    sums: dict[str, Array] = field(default_factory=dict)
    """What measuring has found."""
    steps: dict[str, Array] = field(default_factory=dict)
    """What the steps of the table know at that place."""
    files: dict[str, BinaryIO] = field(default_factory=dict)
    """Open files that can be continued, by their options: coordinates, alerts, scores."""
    lengths: dict[str, int] = field(default_factory=dict)
    """Their bytes when the state was saved last."""
    spool: Spool | None = None
    """The scores of all rows before they were learnt, where mapping needs them."""
    restarts: bool = False
    """Whether mapping has to start again when it is interrupted, because its outputs cannot be continued."""
    table: Table | None = None
    saved: bool = False
    """Whether there is a checkpoint of this run."""
    resumed: bool = False
    """Whether it was there at the start."""
    _is_saved: bool = True
    """Whether the checkpoint holds all rows that are done."""
    _last: float = field(default_factory=time.monotonic)
    """When the state was saved last."""
    _cost: float = 0.0
    """The seconds that took."""
    _packed: tuple[dict[str, Any], dict[str, Any]] | None = None

    def notify(self, update: Update) -> None:
        """Show the observers what has been done."""
        for observer in self.observers:
            observer.observe(update, self.mapper)

    def chunks(self, stage: str, table: Table, rows: int) -> Iterator[tuple[int, Chunk]]:
        """The rows that a stage still has to do, each time with the number of those before them.

        Rows are done when the next ones are asked for.
        """
        if STAGES.index(self.stage) > STAGES.index(stage):
            return
        if self.stage != stage:
            self.stage, self.position = stage, None
        keeps = self.path is not None and not (self.restarts and stage == "mapping")
        done = 0 if self.position is None else self.position.rows
        self.table, chunks = table, table.chunks(rows, self.position)
        source = getattr(table, "followed", None)
        while True:
            with self.waiting():
                chunk = next(chunks, None)
            if chunk is None:
                break
            if len(chunk.features):
                yield done, chunk
            done += len(chunk.features)
            if isinstance(source, Broker) and self.path is None:
                source.done(table.position().offset)
            if keeps:
                # Together: a request to stop may come while the steps are at work on the rows behind this position.
                self.position, self.steps = table.position(), _steps_of(table)
                self._is_saved = False
                if time.monotonic() - self._last >= max(self.every, (WORK_PER_SAVING - 1) * self._cost):
                    self.save()
        if done == 0:
            raise UserError(f"{table.name} has no rows")
        self.counts[stage] = done
        if self.path is not None and stage != "mapping":  # whose outputs are still to be completed
            self.next_stage(STAGES[STAGES.index(stage) + 1])

    def idle(self) -> None:
        """There is no row to be done. A broker may wait until those that are have been saved.

        A request to stop raises an exception in the reader. A library that ignores exceptions loses it, so ask again.
        """
        if self.stop is not None:
            self.stop.check()
        is_broker = isinstance(getattr(self.table, "followed", None), Broker)
        if is_broker and not self._is_saved and time.monotonic() - self._last >= (WORK_PER_SAVING - 1) * self._cost:
            self.save()

    def next_stage(self, stage: str) -> None:
        """A stage is complete: from now on it need not be done again."""
        if STAGES.index(self.stage) < STAGES.index(stage):
            self.stage, self.position = stage, None
            self.save()

    def save(self) -> None:
        """Write the checkpoint, after making sure that the rows it counts on are on the disk."""
        if self.path is None:
            return
        start = time.monotonic()
        for name, file in self.files.items():
            if not file.closed:
                with writing():
                    atomic.sync(file)
                self.lengths[name] = file.seek(0, os.SEEK_END)
        for observer in self.observers:
            observer.flush()
        header, arrays = self._pack()
        state = {
            **self.about,
            "stage": self.stage,
            "position": self.position,
            "counts": self.counts,
            "bytes": self.lengths,
            "detector": None if self.detector is None else self.detector.state(),
            "bad_lines": [self.rejected.settled, self.rejected.last],
            "tail": None if (tail := getattr(self.table, "tail", None)) is None else tail(),
        }
        steps = {} if self.position is None else self.steps
        own = {f"job.{name}": array for name, array in self.sums.items()}
        own |= {f"job.{STEP_PREFIX}{name}": array for name, array in steps.items()}
        checkpoint.write(self.path, header | {"job": state}, arrays | own)
        source = getattr(self.table, "followed", None)
        if isinstance(source, Broker) and self.position is not None:
            source.done(self.position.offset)
        self.saved = self._is_saved = True
        self._last = time.monotonic()
        self._cost = self._last - start

    def _pack(self) -> tuple[dict[str, Any], dict[str, Any]]:
        if not self.mapper.fitted:
            return {"kind": "job"}, {}
        if self.stage == "mapping" and "learning" in self.counts:  # placing changes nothing
            self._packed = self._packed or self.mapper.pack()
            return self._packed
        return self.mapper.pack()

    def restore(self, state: dict[str, Any], arrays: dict[str, Array]) -> None:
        """Take up the state of an interrupted run."""
        self.stage, self.counts, self.lengths = state["stage"], state["counts"], state["bytes"]
        if self.detector is not None:
            self.detector = NoveltyDetector.from_state(state["detector"])
        self.position = None if state["position"] is None else Position(*state["position"])
        self.rejected.settled, self.rejected.last = state["bad_lines"]
        self.sums = {name: array for name, array in arrays.items() if not name.startswith(STEP_PREFIX)}
        self.steps = {
            name.removeprefix(STEP_PREFIX): array for name, array in arrays.items() if name.startswith(STEP_PREFIX)
        }
        self.saved = self.resumed = True

    # --- the files of a run that may be interrupted ---

    @contextlib.contextmanager
    def open_output(self, name: str, path: OutputPath) -> Iterator[BinaryIO]:
        """A file that takes the place of ``path`` at the end, if all goes well.

        Otherwise it stays for the run that goes on from the checkpoint, which takes it back to the length that it had
        when the state was saved; or to none, if its format cannot be continued.
        """
        continued = name == "alerts" or not self.restarts
        unfinished = atomic.partial(path)
        with reopened(unfinished, path, self.lengths.get(name, 0) if continued else 0) as file:
            if continued:
                self.files[name] = file
            try:
                yield file
                with writing():
                    atomic.sync(file)
                if continued:
                    self.lengths[name] = file.seek(0, os.SEEK_END)
                    del self.files[name]
                    self.next_stage("closing")
                atomic.publish(unfinished, path.true)
            except BaseException:
                if not self.saved:
                    unfinished.unlink(missing_ok=True)
                raise

    @contextlib.contextmanager
    def open_growing(self, name: str, path: OutputPath) -> Iterator[BinaryIO]:
        """A stream, or a file that is appended to under its own name, for rows that never end.

        A new file is removed if it stays empty.
        """
        if path.is_stream:
            with open_stream(path) as stream:
                yield stream
            return
        is_new = not path.true.exists()
        if name not in self.lengths and not is_new and path.true.stat().st_size:
            raise UserError(
                f"{path} exists; --follow goes on with it only from a checkpoint (--checkpoint FILE --resume): "
                "delete it or name another"
            )
        with reopened(path.true, path, self.lengths.get(name, 0)) as file:
            self.files[name] = file
            try:
                yield file
            except BaseException:
                if is_new and file.tell() == 0:  # another output could not be opened
                    path.true.unlink(missing_ok=True)
                raise

    @contextlib.contextmanager
    def open_spool(self, folder: Path) -> Iterator[None]:
        """The file of scores: without a name, or next to the checkpoint, where it stays until the run is finished."""
        if self.path is None:
            with writing():  # it has no name, so nothing is left behind however the run ends
                file: Any = tempfile.TemporaryFile(dir=folder, prefix="driftmap-")  # noqa: SIM115
            with file:
                self.spool = Spool(file, 2)
                yield
            return
        place = spool_path(self.path)
        with reopened(place, place, self.lengths.get("scores", 0)) as opened:
            self.files["scores"], self.spool = opened, Spool(opened, 2)
            try:
                yield
            except BaseException:
                if not self.saved:
                    place.unlink(missing_ok=True)
                raise


def _steps_of(table: Table) -> dict[str, Array]:
    return table.state() if isinstance(table, PreparedTable) else {}


def spool_path(path: OutputPath) -> Path:
    """Where a run with this checkpoint keeps the scores of rows until they are mapped."""
    return path.true.with_name(f".{path.true.name}.scores.partial")


@contextlib.contextmanager
def reopened(file: Path, shown: OutputPath | Path, length: int) -> Iterator[BinaryIO]:
    """A file with its first bytes as they are and nothing after them; an error if it has fewer."""
    try:
        # Neither mode of open() does: one that creates the file truncates it, or writes only at its end.
        opened = open_regular(file, atomic.REOPENING_FLAGS)
    except OutputError:
        raise
    except OSError as error:
        raise UserError(f"{shown} cannot be written: {error.strerror}") from error
    with contextlib.ExitStack() as stack:
        stack.callback(_close, opened)
        if not atomic.lock(opened):
            raise UserError(f"{shown} is being written by another run")
        if opened.seek(0, os.SEEK_END) < length:
            raise UserError(
                f"{file} has {opened.tell()} bytes, but had {length} when the checkpoint was made: it was deleted or "
                "changed; delete the checkpoint to start again"
            )
        opened.truncate(length)
        opened.seek(length)
        yield opened
        with writing():
            opened.close()


def _close(file: BinaryIO) -> None:
    """Close a file after an error, whatever becomes of the rows that are still in memory."""
    with contextlib.suppress(OSError):
        file.close()

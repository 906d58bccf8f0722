"""A session: a run of a command that may be interrupted, and resumed by the same command with ``--resume``."""

from __future__ import annotations

import contextlib
import os
import shlex
import tempfile
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

from threadpoolctl import threadpool_limits

from driftmap.cli import run_files, typed
from driftmap.cli.errors import UserError, note
from driftmap.cli.groups import Recovering
from driftmap.cli.signals import Stop, Stopped
from driftmap.pipeline import state as run_state
from driftmap.pipeline.observer import Observer
from driftmap.pipeline.operator import Operator
from driftmap.pipeline.run import Run
from driftmap.pipeline.saver import Saver
from driftmap.pipeline.state import InputFile, RunState
from driftmap.sources.addresses import address_in
from driftmap.sources.follow import digest
from driftmap.storage import atomic
from driftmap.storage.paths import OutputPath
from driftmap.tables.rejected import RejectedLines
from driftmap.tables.table import Table


class FinishedError(Exception):
    """Raised if the run was finished before; the message states its result."""


class Session:
    """The state that the passes of a command share: how they are interrupted, and where they are saved."""

    def __init__(self, stop: Stop | None, saver: Saver | None, checkpoint: OutputPath | None) -> None:
        self.stop, self.saver, self.checkpoint = stop, saver, checkpoint
        self.resumed = saver is not None and saver.saved
        self.observers: list[Observer] = []
        if saver is not None:
            saver.observers = self.observers  # those that come later, too
        self.stage = "reading"
        self.run: Run | None = None

    def waiting(self, *, clean: bool = True) -> AbstractContextManager[None]:
        """Return a context for waiting, which a request to stop ends immediately."""
        return contextlib.nullcontext() if self.stop is None else self.stop.waiting(clean=clean)

    def idle(self) -> None:
        """Answer a request to stop, and save unsaved rows. A source calls this while it has no rows.

        A request to stop raises an exception in the reader. A library that ignores exceptions loses it, so ask again.
        """
        if self.stop is not None:
            self.stop.check()
        for observer in self.observers:
            observer.idle()
        if self.run is not None:
            self.run.idle()

    def stop_midway(self) -> None:
        """Answer a request to stop between learning rows and sending them, a state that is not saved."""
        with self.waiting(clean=False):
            pass

    def check_columns(self, table: Table) -> None:
        """Raise an error if the input has other columns than when the run was started."""
        if self.saver is not None and not self.saver.knows(table):
            raise UserError(
                f"{table.name} has other columns than when {self.checkpoint} was started; delete that to start again"
            )

    def passes(self, table: Table, operator: Operator, rows: int, threads: int = 1) -> None:
        """Pass over the table from the saved position; do nothing if the pass was complete."""
        if self.saver is not None and self.saver.passed(operator.stage):
            return
        self.stage = operator.stage
        self.run = Run(table, operator, self.observers, self.saver, self.waiting)
        try:
            self.run(rows, threads)
        except Stopped as stopped:
            if stopped.clean and self.stop is not None:
                self.stop.ignore()
                self.run.save()
            raise

    def finish(self, operator: Operator) -> None:
        """Complete the outputs."""
        for observer in self.observers:
            observer.finish(operator.mapper)
        if self.saver is not None:
            self.saver.finish(operator)

    def begin_growing(self, operator: Operator) -> None:
        """Save before the first byte of an output that grows, so that a killed run knows its files."""
        if self.saver is not None and not self.saver.saved:
            self.saver.save(operator)

    def end_growing(self, operator: Operator) -> None:
        """Complete outputs that grow; a resumed run continues them."""
        for observer in self.observers:
            observer.finish(operator.mapper)
        if self.run is not None:
            self.run.save()


@contextlib.contextmanager
def begin(
    recovering: Recovering,
    checkpoint: OutputPath | None,
    start: RunState,
    paths: Mapping[str, OutputPath],
    rejected: RejectedLines,
    *,
    endless: bool,
) -> Iterator[Session]:
    """Begin a run, or resume one; raise a :class:`FinishedError` if it was finished."""
    # The first rows of any stream span too few dimensions; a command warns only if all rows do.
    warnings.filterwarnings("ignore", "the landmarks so far span", UserWarning)
    # Reading and mapping have their own threads; BLAS threads gain little and never sleep.
    with threadpool_limits(1, user_api="blas"), contextlib.ExitStack() as stack:
        if checkpoint is None:
            yield Session(stack.enter_context(Stop()) if endless else None, None, None)
            return
        stop = stack.enter_context(Stop())
        saver = _saver(recovering, checkpoint, start, paths, rejected, endless=endless)
        yield Session(stop, saver, checkpoint)


def _saver(
    recovering: Recovering,
    checkpoint: OutputPath,
    start: RunState,
    paths: Mapping[str, OutputPath],
    rejected: RejectedLines,
    *,
    endless: bool,
) -> Saver:
    place = checkpoint.true
    found = run_state.read(place) if place.exists() else None
    _check_writable(checkpoint)
    if not recovering.resume:
        if found is not None and found.state.stage != "finished":
            raise UserError(f"{checkpoint} holds an interrupted run: continue it with --resume, or delete it")
        return Saver(place, start, rejected, every=recovering.interval)
    atomic.remove_leftovers(place.parent, place.name)
    if found is None:
        note(f"there is no {checkpoint} yet: this run starts from the beginning")
        return Saver(place, start, rejected, every=recovering.interval)
    _check_arguments(start.arguments, found.state.arguments, checkpoint)
    _check_input(start.input, found.state, checkpoint, endless=endless)
    if found.state.stage == "finished":
        run_files.complete(paths, found.state.lengths, checkpoint)
        rows = found.state.rows.get("mapping")
        result = f"{rows:,} rows" + ("" if "output" not in paths else f", in {paths['output']}")
        raise FinishedError(f"{checkpoint} says that this run is finished ({result}); delete it to start again")
    rejected.settled, rejected.last = found.state.rejected
    return Saver(place, found.state, rejected, every=recovering.interval, resumed=found)


def _check_writable(checkpoint: OutputPath) -> None:
    """Raise an error if the checkpoint cannot be written, before hours of work depend on it."""
    try:
        with tempfile.TemporaryFile(dir=checkpoint.true.parent):
            pass
    except OSError as error:
        raise UserError(f"{checkpoint} cannot be written: {error.strerror}") from error


def shaping(options: Any) -> dict[str, Any]:
    """Return the options that a run and its continuation must share, as JSON."""
    values = {field.name: value for field, value in typed.flat(options) if typed.shapes(field)}
    return {name: str(value) if isinstance(value, Path) else value for name, value in values.items()}


def _check_arguments(now: Mapping[str, Any], then: Mapping[str, Any], checkpoint: OutputPath) -> None:
    for name in [*now, *(name for name in then if name not in now)]:
        if now.get(name) != then.get(name):
            changed = f"{typed.flag_of(name)} is {_shown(now.get(name))}, but was {_shown(then.get(name))}"
            problem = f"{changed} when {checkpoint} was started"
            raise UserError(f"{problem}: give the same arguments, or delete it to start again")


def _shown(value: Any) -> str:
    if value is None or value is False:
        return "not given"
    return "given" if value is True else ",".join(map(str, value)) if isinstance(value, list) else str(value)


def input_file(file: str) -> InputFile:
    """Return the properties of a file by which a change or replacement is recognised."""
    source, address = Path(file), address_in(file)
    if address is not None:
        return InputFile(str(address))
    if file == "-" or not source.is_file():
        return InputFile(file)
    now = source.stat()
    return InputFile(file, now.st_size, now.st_dev, now.st_ino, now.st_ctime_ns)


def _check_input(now: InputFile, state: RunState, checkpoint: OutputPath, *, endless: bool) -> None:
    then, again = state.input, f"; delete {checkpoint} to start again"
    if (now.size is None) != (then.size is None) or ("://" in now.name and now.name != then.name):
        raise UserError(f"{checkpoint} was started from {then.name}, not from {now.name}{again}")
    if now.size is None:
        return
    if endless:
        _check_followed(now.name, state, again)
    elif now.size != then.size:
        raise UserError(f"{now.name} has {now.size} bytes, but had {then.size} when {checkpoint} was started{again}")
    elif now != InputFile(now.name, then.size, then.device, then.inode, then.changed):
        raise UserError(f"{now.name} was changed or replaced after {checkpoint} was started{again}")


def _check_followed(file: str, state: RunState, again: str) -> None:
    """Check a followed file: it may have grown, but must still contain the bytes that were read last."""
    if state.position is None or state.tail is None:
        return
    start, stop, expected = state.tail
    with Path(file).open("rb") as stream:
        size = stream.seek(0, os.SEEK_END)
        if size < stop:
            raise UserError(f"{file} has {size} bytes, but {stop} were read before: it was cut{again}")
        stream.seek(start)
        if digest(stream.read(stop - start)) != expected:
            raise UserError(f"{file} was changed or replaced: the last bytes before {stop} are others{again}")


def interrupted(current: Session, stopped: Stopped, done: str, argv: Sequence[str], file: str, *, resumes: bool) -> str:
    """Return one line: what is done, and how to continue."""
    if current.saver is None or not current.saver.saved:
        return done
    state = "state saved in" if stopped.clean else "the last state saved is in"
    return f"{done}; {state} {current.checkpoint}; {_how_to_go_on(argv, file, resumes=resumes)}"


def _how_to_go_on(argv: Sequence[str], file: str, *, resumes: bool) -> str:
    """Return the command that resumes a run, in the syntax of a shell."""
    again = "" if file != "-" else ", with the same input from its start"
    words = [*map(str, argv), *([] if resumes else ["--resume"])]
    return f"go on with: driftmap {shlex.join(words)}{again}"

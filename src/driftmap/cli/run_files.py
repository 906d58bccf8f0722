"""The output files of a run: opened before any work, and truncated to a saved length when it is resumed."""

from __future__ import annotations

import contextlib
import os
import stat
import sys
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

from driftmap.cli.errors import UserError
from driftmap.cli.files import new_file, writing
from driftmap.cli.typed import flag_of
from driftmap.pipeline.saver import Saver
from driftmap.sources.addresses import address_in
from driftmap.storage import atomic
from driftmap.storage.paths import OutputError, OutputPath, identity, open_regular, open_stream, output_path
from driftmap.tables.cache import CachedRows

SCORES = "scores"
"""Suffix of the file that keeps the scores of rows from one pass to the next."""


def scores_path(checkpoint: OutputPath) -> Path:
    """Return the file in which a run with this checkpoint keeps scores."""
    return checkpoint.true.with_name(f".{checkpoint.true.name}.{SCORES}.partial")


def query_path(checkpoint: OutputPath) -> Path:
    """Where a run with this checkpoint keeps the result of its query, so that all its parts read the same rows."""
    return checkpoint.true.with_name(f".{checkpoint.true.name}.query.partial")


def resolved(**paths: Path | None) -> dict[str, OutputPath]:
    """Resolve the paths of outputs, by the names of their options, once for the whole run."""
    return {name: output_path(path) for name, path in paths.items() if path is not None}


def check_distinct(
    inputs: Mapping[str, str | Path | None], outputs: Mapping[str, OutputPath], checkpoint: OutputPath | None = None
) -> None:
    """Raise an error if an output is an input or another output, by whatever name."""
    used = {
        _standard(sys.stdin) if path == "-" else identity(_file_of(path)): name
        for name, path in inputs.items()
        if path is not None
    }
    written: list[tuple[str, OutputPath | Path]] = [(flag_of(name), path) for name, path in outputs.items()]
    if checkpoint is not None:
        for path in (checkpoint, *outputs.values()):
            if path.is_stream:
                raise UserError(f"{path}: it is not a file, and a run with --checkpoint could not go on with it")
        written.append(("--checkpoint", checkpoint))
        written += [(f"the unfinished file of {path}", atomic.partial(path)) for path in outputs.values()]
        written.append(("the scores of --checkpoint", scores_path(checkpoint)))
        written.append(("the query of --checkpoint", query_path(checkpoint)))
    for flag, place in written:
        other = used.setdefault(identity(place), flag)
        if other != flag:
            raise UserError(f"{flag} ({place}) is the same file as {other}: name another")
    if (shared := used.get(_standard(sys.stdout))) is not None:
        raise UserError(f"standard output is the same file as {shared}: name another")


def _file_of(name: str | Path) -> Path:
    """The path of an input, which may be a database in a file."""
    address = None if isinstance(name, Path) else address_in(name)
    return Path(name if address is None else address.file or address)


def _standard(stream: Any) -> tuple[int | str, ...]:
    """Return the identity of the file to or from which a standard stream was redirected."""
    with contextlib.suppress(OSError, ValueError, AttributeError):
        found = os.fstat(stream.fileno())
        if stat.S_ISREG(found.st_mode):
            return found.st_dev, found.st_ino
    return (repr(stream),)


@dataclass(frozen=True)
class RunFiles:
    """Opens the outputs of a run.

    ``grows``: rows are appended to files under their final names, since the stream never ends. Otherwise a file
    receives its name when it is complete.
    """

    paths: Mapping[str, OutputPath]
    saver: Saver | None
    grows: bool = False

    @contextlib.contextmanager
    def open(self) -> Iterator[dict[str, BinaryIO]]:
        """Open all outputs, by the names of their options; they are complete when the block succeeds."""
        with contextlib.ExitStack() as stack:
            yield {name: stack.enter_context(self._open(name, path)) for name, path in self.paths.items()}

    def _open(self, name: str, path: OutputPath) -> contextlib.AbstractContextManager[BinaryIO]:
        if self.grows:
            return open_stream(path) if path.is_stream else self._growing(name, path)
        return new_file(path) if self.saver is None else self._resumable(name, path, self.saver)

    @contextlib.contextmanager
    def _resumable(self, name: str, path: OutputPath, saver: Saver) -> Iterator[BinaryIO]:
        """Open a file that receives its name at the end; after an interruption it is kept for the resumed run."""
        unfinished = atomic.partial(path)
        length = saver.state.lengths.get(name, 0) if saver.continues(name) else 0
        with reopened(unfinished, path, length) as file:
            saver.files[name] = file
            try:
                yield file
                with writing():
                    atomic.sync(file)
                atomic.publish(unfinished, path.true)
            except BaseException:
                if not saver.saved:
                    unfinished.unlink(missing_ok=True)
                raise

    @contextlib.contextmanager
    def _growing(self, name: str, path: OutputPath) -> Iterator[BinaryIO]:
        """Open a file that grows under its own name; a new one is removed if it stays empty."""
        lengths = {} if self.saver is None else self.saver.state.lengths
        is_new = not path.true.exists()
        if name not in lengths and not is_new and path.true.stat().st_size:
            raise UserError(
                f"{path} exists; a stream goes on with it only from a checkpoint (--checkpoint FILE --resume): "
                "delete it or name another"
            )
        with reopened(path.true, path, lengths.get(name, 0)) as file:
            if self.saver is not None:
                self.saver.files[name] = file
            try:
                yield file
            except BaseException:
                if is_new and file.tell() == 0:  # another output could not be opened
                    path.true.unlink(missing_ok=True)
                raise


@contextlib.contextmanager
def open_scores(folder: Path, saver: Saver | None, checkpoint: OutputPath | None, width: int) -> Iterator[CachedRows]:
    """Open the file that keeps scores, ``width`` a row: unnamed, or beside the checkpoint until the run is done."""
    if saver is None or checkpoint is None:
        with writing():  # unnamed, so that it disappears however the run ends
            file: Any = tempfile.TemporaryFile(dir=folder, prefix="driftmap-")  # noqa: SIM115
        with file:
            yield CachedRows(file, width)
        return
    place = scores_path(checkpoint)
    with reopened(place, place, saver.state.lengths.get(SCORES, 0)) as opened:
        saver.files[SCORES] = opened
        try:
            yield CachedRows(opened, width)
        except BaseException:
            if not saver.saved:
                place.unlink(missing_ok=True)
            raise
    place.unlink(missing_ok=True)


@contextlib.contextmanager
def reopened(file: Path, shown: Any, length: int) -> Iterator[BinaryIO]:
    """Open a file that keeps its first bytes and loses the rest; raise an error if it is shorter."""
    try:
        # Neither mode of open() does this: one truncates the file, the other one writes only at its end.
        opened = open_regular(file, atomic.REOPENING_FLAGS)
    except OutputError:  # its message names the file
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
    """Close a file after an error, even if its buffered rows cannot be written."""
    with contextlib.suppress(OSError):
        file.close()


def complete(paths: Mapping[str, OutputPath], lengths: Mapping[str, int], checkpoint: OutputPath) -> None:
    """Rename the outputs of a run that was interrupted at its very end; raise an error if one has changed."""
    for name, path in paths.items():
        unfinished = atomic.partial(path)
        found = unfinished if unfinished.exists() else path.true
        if not (found.exists() and found.stat().st_size == lengths.get(name)):
            raise UserError(f"{path} was deleted or changed; delete {checkpoint} to start again")
        atomic.publish(found, path.true)  # a renamed file may not be on the disk under its new name yet
    scores_path(checkpoint).unlink(missing_ok=True)
    query_path(checkpoint).unlink(missing_ok=True)


def folder_of(paths: Iterable[OutputPath]) -> Path | None:
    """Return the folder of the first output that is a file."""
    return next((path.true.parent for path in paths if not path.is_stream), None)

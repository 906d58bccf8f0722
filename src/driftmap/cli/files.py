"""Files and standard output as the command line writes them; a failed run leaves no partial file."""

from __future__ import annotations

import contextlib
import io
import os
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, BinaryIO

from driftmap.cli.errors import UserError
from driftmap.storage.atomic import replacing
from driftmap.storage.paths import OutputError, OutputPath
from driftmap.tables.writers import Column, CSVWriter, JSONWriter, Writer


@contextlib.contextmanager
def new_file(path: Path | OutputPath) -> Iterator[BinaryIO]:
    """Open a new file that replaces ``path`` when the block succeeds, and is removed otherwise."""
    opened = False
    try:
        with replacing(path) as file:
            opened = True
            yield file
    except (BrokenPipeError, OutputError):
        raise
    except OSError as error:
        failed = f"{path} cannot be written" if not opened else "the output cannot be written"
        raise UserError(f"{failed}: {error.strerror or error}") from error


@contextlib.contextmanager
def writing() -> Iterator[None]:
    """Turn system errors of writing into errors that say what failed."""
    try:
        yield
    except (BrokenPipeError, OutputError):
        raise
    except OSError as error:
        raise UserError(f"the output cannot be written: {error.strerror or error}") from error


class StandardOutput:
    """Text on standard output. If its reader closes the pipe, the run ends if it is ``alone``, and otherwise continues.

    ``flushes``: each call of ``write`` reaches the reader; ``continued``: an earlier run has written the header.
    """

    def __init__(self, names: Sequence[str], *, alone: bool, flushes: bool, kind: str, continued: bool) -> None:
        self._closed = False
        self._alone, self._flushes, self._kind, self._continued = alone, flushes, kind, continued
        self._writer: Writer | None = None
        self._names = names
        # Without a buffer (python -u) a write may be truncated silently.
        raw: Any = sys.stdout.buffer
        self._stream: BinaryIO = io.BufferedWriter(raw) if isinstance(raw, io.RawIOBase) else raw

    def write(self, columns: Sequence[Column]) -> None:
        """Append rows, given column by column."""
        if self._closed:
            return
        try:
            if self._writer is None:
                stream = self._stream
                json_lines = self._kind == "jsonl"
                self._writer = (
                    JSONWriter(stream, self._names)
                    if json_lines
                    else CSVWriter(stream, self._names, continued=self._continued)
                )
            self._writer.write(columns)
            if self._flushes:
                self._stream.flush()
        except OSError as error:
            self._abandon(error)

    def close(self) -> None:
        """Do nothing: text has no end."""

    def send(self) -> None:
        """Send what is still buffered; called however the run ends."""
        try:
            self._stream.flush()
            if isinstance(self._stream, io.BufferedWriter) and self._stream is not sys.stdout.buffer:
                self._stream.detach()
        except OSError as error:
            self._abandon(error)

    def _abandon(self, error: OSError) -> None:
        self._closed = True
        abandon_stdout()
        if isinstance(error, BrokenPipeError):
            if self._alone:
                raise error
        else:
            raise UserError(f"the output cannot be written: {error.strerror or error}") from error


def abandon_stdout() -> None:
    """Redirect standard output to the null device, since Python flushes it at exit and its reader has closed it."""
    with contextlib.suppress(OSError, ValueError):
        null = os.open(os.devnull, os.O_WRONLY)
        os.dup2(null, sys.stdout.fileno())
        os.close(null)

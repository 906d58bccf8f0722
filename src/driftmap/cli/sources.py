"""Where rows come from: a file, or a stream that is copied to a temporary file if it has to be read twice."""

from __future__ import annotations

import contextlib
import shutil
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO, NamedTuple

from driftmap.cli.errors import UserError


class Source(NamedTuple):
    """An input and what to call it in messages; ``stream`` is set where it can be read only once."""

    name: str
    path: Path | None = None
    stream: BinaryIO | None = None
    follow: bool = False
    """Whether the input is still growing, so that its end is waited for."""

    @contextlib.contextmanager
    def open(self) -> Iterator[BinaryIO]:
        """The bytes from the start; those of a stream only the first time."""
        if self.stream is not None:
            yield self.stream
        else:
            assert self.path is not None
            with self.path.open("rb") as file:
                yield file

    @property
    def size(self) -> int | None:
        """Number of bytes, where it is known."""
        return None if self.path is None or self.stream is not None else self.path.stat().st_size

    @property
    def kind(self) -> str:
        """The suffix of the name without a final ``.gz``, in lower case; empty for a stream."""
        suffixes = [suffix.lower() for suffix in Path(self.name).suffixes]
        if self.stream is not None or self.name == STANDARD_INPUT or not suffixes:
            return ""
        gzipped = suffixes[-1] == ".gz"
        return "".join(suffixes[-2:]) if gzipped else suffixes[-1]


STANDARD_INPUT = "standard input"


@contextlib.contextmanager
def open_source(file: str, *, once: bool, follow: bool = False) -> Iterator[Source]:
    """The file, or for ``-`` and named pipes the stream: directly if read ``once``, else a copy of it."""
    path = Path(file)
    if file != "-" and not path.is_fifo():
        if path.is_dir():
            raise UserError(f"{file} is a folder, not a file")
        with path.open("rb"):  # a missing or unreadable file is reported before anything else is done
            pass
        yield Source(file, path, follow=follow)
        return
    with contextlib.ExitStack() as stack:
        name = STANDARD_INPUT if file == "-" else file
        stream = sys.stdin.buffer if file == "-" else stack.enter_context(path.open("rb"))
        if once:
            yield Source(name, path if follow and file != "-" else None, stream, follow=follow)
            return
        copy = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="driftmap-"))) / "input"
        with copy.open("wb") as target:
            shutil.copyfileobj(stream, target)
        yield Source(name, copy)

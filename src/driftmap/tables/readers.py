"""Opening a table: its source, and the reader of a file by its suffix, of a stream by its first character."""

from __future__ import annotations

import contextlib
import shutil
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from driftmap.sources import Source
from driftmap.sources.addresses import address_in
from driftmap.sources.brokers import open_broker
from driftmap.sources.follow import FollowedFile, FollowedStream
from driftmap.sources.generated import GENERATED, GeneratedRows
from driftmap.storage.atomic import scratch_folder
from driftmap.tables.table import Table, Wanted, chunk_rows
from driftmap.tables.text import Parser, TextTable
from driftmap.utils.errors import InputError

TABS = (".tsv", ".tab")
SEPARATED = (".csv", ".txt", *TABS)
JSON = (".jsonl", ".ndjson")
PARQUET = (".parquet", ".pq")
ARROW = (".arrow", ".arrows", ".feather", ".ipc")
BINARY = (".npy", *PARQUET, *ARROW)
COMPRESSIONS = (".gz", ".zst")
STANDARD_INPUT = "standard input"
LARGE = 2**20
"""Bytes of a file that is worth a thread of its own to read it."""


@contextlib.contextmanager
def open_source(file: str, *, once: bool, following: bool = False) -> Iterator[Source]:
    """The file, or for ``-`` and named pipes the stream: directly if read ``once``, else a copy of it."""
    path = Path(file)
    if file == GENERATED and following:
        yield Source(file, rows=GeneratedRows())
        return
    if (address := address_in(file)) is not None:
        if not following:
            problem = "never ends, so it cannot be mapped as a whole"
            raise InputError(problem, source=address, advice="endless")
        with contextlib.closing(open_broker(address)) as broker:
            yield Source(broker.name, rows=broker)
        return
    if file != "-" and not path.is_fifo():
        if path.is_dir():
            raise InputError("is a folder, not a file", source=file)
        suffixes = [suffix.lower() for suffix in path.suffixes if suffix.lower() not in COMPRESSIONS]
        suffix = suffixes[-1] if suffixes else ""
        if following:
            with contextlib.closing(FollowedFile(file, path)) as followed:
                yield Source(file, path, rows=followed, size=path.stat().st_size, suffix=suffix)
            return
        with path.open("rb"):  # a missing or unreadable file is reported before anything else is done
            pass
        yield Source(file, path, size=path.stat().st_size, suffix=suffix)
        return
    with contextlib.ExitStack() as stack:
        name = STANDARD_INPUT if file == "-" else file
        if file == "-" and sys.stdin is None:
            raise InputError("is closed", source=name)
        stream = sys.stdin.buffer if file == "-" else stack.enter_context(path.open("rb"))
        if once:
            pipe = path if following and file != "-" else None
            rows = FollowedStream(name, stream, ends=pipe is None) if following else None
            yield Source(name, pipe, stream, rows)
            return
        copy = stack.enter_context(scratch_folder()) / "input"
        with copy.open("wb") as target:
            shutil.copyfileobj(stream, target)
        yield Source(name, copy, size=copy.stat().st_size)


@contextlib.contextmanager
def open_table(
    file: str,
    wanted: Wanted,
    *,
    once: bool,
    following: bool = False,
    spool: Path | None = None,
    waiting: Callable[[], Any] = lambda: None,
) -> Iterator[Table]:
    """The table in a file or, for ``-``, on standard input; ``once``: it will be read only once.

    ``following``: it is still growing; a pass never ends, unless standard input does. ``spool``: a folder where the
    numbers of a large file may be stored, so that it is parsed only once, from now on. ``waiting`` is called again and
    again while a followed source has no row.
    """
    with open_source(file, once=once, following=following) as source:
        if source.rows is not None:
            source.rows.waiting = waiting
            source.rows.report = wanted.rejected.report
        table = _table(source, wanted, once=once)
        if spool is not None and not once and source.suffix != ".npy" and (source.size or 0) >= LARGE:
            from driftmap.tables.read_ahead import ReadAhead

            # To read binary columns again takes less time than to write down what was read.
            table = reader = ReadAhead(table, None if source.suffix in BINARY else spool)
            reader.begin(chunk_rows(len(table.columns)))
        with contextlib.closing(table):
            yield table


def _table(source: Source, wanted: Wanted, *, once: bool) -> Table:
    """The reader of a source. If it is read more than ``once``, all rows decide which columns have numbers."""
    kind = source.suffix
    if kind == ".npy":
        from driftmap.tables.npy import NumpyTable

        return NumpyTable(source, wanted, once=once)
    if kind in (*PARQUET, *ARROW):
        from driftmap.tables.arrow import ArrowTable, ParquetTable

        return (ParquetTable if kind in PARQUET else ArrowTable)(source, wanted, once=once)
    if kind not in (None, *SEPARATED, *JSON):
        raise InputError(
            "has no known suffix: .csv, .tsv or .jsonl (each also with .gz or .zst), .parquet, .arrow, .feather or "
            ".npy; other text can come through standard input, as -",
            source=source.name,
        )

    def parser(head: bytes) -> Parser:
        if kind in JSON or (not kind and head.lstrip()[:1] in (b"{", b"[")):
            from driftmap.tables.jsonl import JSONLines

            return JSONLines(missing=wanted.missing)
        from driftmap.tables.csv import CSV

        single = wanted.rejected.skip or source.rows is not None
        return CSV(source.name, head, wanted, tabs=kind in TABS, single=single)

    return TextTable(source, wanted, parser, once=once)

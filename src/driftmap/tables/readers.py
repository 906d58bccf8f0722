"""Opening a table: a file by its suffix, a stream by its first character, or a source that is still growing."""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any, BinaryIO

from driftmap import sources
from driftmap.sources.database import Query, database_in
from driftmap.sources.files import COMPRESSIONS, Source, open_source
from driftmap.storage.atomic import replacing, scratch_folder
from driftmap.tables.blocks import FileText, FollowedText, Parser
from driftmap.tables.columns import Wanted
from driftmap.tables.formats import CSV, KEYS, Format, format_of, format_of_text
from driftmap.tables.table import Table
from driftmap.tables.text import open_text
from driftmap.utils.errors import InputError

LARGE = 2**20
"""Fewest bytes of a file for which a cache and a reading thread are worth their cost."""


@contextlib.contextmanager
def open_table(file: str, wanted: Wanted, *, once: bool, cache: Path | None = None) -> Iterator[Table]:
    """Open the table in a file or, for ``-``, on standard input; ``once``: it will be read only once.

    ``cache``: a folder where the numbers of a large file may be stored, so that it is parsed only once.
    """
    with open_source(file, once=once) as source:
        kind = _format(source.suffix, source.name, wanted)
        table = _opened(source, kind, wanted, once=once)
        is_large = source.suffix is not None and (source.size or 0) >= LARGE
        if kind is not None and kind.cached != "never" and is_large and cache is not None and not once:
            from driftmap.tables.cache import CachedTable

            table = CachedTable(table, cache if kind.cached == "disk" else None)
        with contextlib.closing(table):
            yield table


@contextlib.contextmanager
def open_query(name: str, query: str, wanted: Wanted, *, once: bool, kept: Path | None = None) -> Iterator[Table]:
    """Open the result of a query, which is executed once: every pass reads the same rows, from a file.

    ``kept``: the file, which is made unless it is there, and removed when the block ends well; None: a temporary one.
    """
    from driftmap.tables.arrow import IPCFile, open_arrow

    address = database_in(name)
    with contextlib.ExitStack() as stack:
        place = stack.enter_context(scratch_folder()) / "query" if kept is None else kept
        if not place.exists():
            with replacing(place) as file:
                _write(sources.sql(address, query), file)
        source = Source(address.name, place, size=place.stat().st_size)
        with contextlib.closing(open_arrow(source, wanted, IPCFile, once=once)) as table:
            yield table
    place.unlink(missing_ok=True)


def _write(batches: Iterator[Any], file: BinaryIO) -> None:
    """Write record batches to a file."""
    import pyarrow as pa

    first = next(batches)
    with pa.ipc.new_file(file, first.schema) as writer:
        for batch in itertools.chain([first], batches):
            writer.write_batch(batch)


@contextlib.contextmanager
def follow_table(
    file: str, wanted: Wanted, waiting: Callable[[], Any] = lambda: None, query: Query | None = None
) -> Iterator[Table]:
    """Open a table that grows: a pass never ends, unless the source does. ``waiting`` is called while it has no row."""
    with contextlib.closing(sources.open(file, query)) as rows:
        rows.waiting, rows.report = waiting, wanted.rejected.report
        kind = _format(rows.suffix, rows.name, wanted)
        text = FollowedText(rows, wanted.rejected, partial(_parser, rows.name, kind, wanted, single=True, follows=True))
        with contextlib.closing(open_text(text, wanted)) as table:
            yield table


def _format(suffix: str | None, name: str, wanted: Wanted) -> Format | None:
    """Return the format of an input: as the user says, by its suffix or, for a stream, None, by its first bytes."""
    if wanted.format is not None:
        kind = KEYS[wanted.format]
    elif suffix is not None:
        kind = format_of(suffix, name)
    else:
        return CSV if wanted.delimiter is not None else None
    if wanted.delimiter is not None and not kind.has_delimiter:
        raise InputError(f"separates the cells of CSV, and {name} is read as {kind.name}", parameter="delimiter")
    return kind


def _opened(source: Source, kind: Format | None, wanted: Wanted, *, once: bool) -> Table:
    if kind is not None and kind.reader is not None:
        if source.path is None:
            raise InputError(f"is read once, and {kind.name} cannot be: give it as a file", source=source.name)
        if source.path.suffix.lower() in [way.suffix for way in COMPRESSIONS]:
            raise InputError(f"holds {kind.name}, and only text is read compressed: unpack it", source=source.name)
        return kind.reader(source, wanted, once=once)
    parser = partial(_parser, source.name, kind, wanted, single=wanted.rejected.skip)
    return open_text(FileText(source, parser), wanted, once=once)


def _parser(
    name: str, kind: Format | None, wanted: Wanted, head: bytes, *, single: bool, follows: bool = False
) -> Parser:
    """Return the parser of a text that begins with these bytes."""
    found = kind or format_of_text(head)
    if found.parser is None:
        raise InputError("is not text", source=name)
    if follows and not found.is_followable:
        raise InputError(f"is read as {found.name}, whose rows are not lines, and cannot be followed", source=name)
    return found.parser(name, head, wanted, single=single)

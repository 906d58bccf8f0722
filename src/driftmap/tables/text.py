"""Tables of text: a parser reads blocks of whole rows; a refused block is bisected until the bad row is found."""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Generator, Iterator
from typing import Any

from driftmap.tables.blocks import Block, Text
from driftmap.tables.columns import Selection, Wanted, candidates, select
from driftmap.tables.rejected import RejectedLines, report_order
from driftmap.tables.table import Chunk, Position, Table
from driftmap.utils import Array
from driftmap.utils.errors import InputError
from driftmap.utils.validation import usable

LOOK_ROWS, LOOK_CELLS = 100, 2**14
"""Most rows and cells that decide which columns hold numbers."""


class TextTable(Table):
    """Rows from text: first those of the blocks read to select the columns, then the following ones.

    Parameters
    ----------
    text : Text
        Where the blocks come from.
    wanted : Wanted
        What is read.
    selection : Selection
        Which columns these are.
    first : Position
        The place of the first row.
    read : list of Block
        Rows that are read already.
    reading : generator of Block
        The blocks that follow these.
    """

    def __init__(
        self,
        text: Text,
        wanted: Wanted,
        selection: Selection,
        first: Position,
        read: list[Block],
        reading: Generator[Block],
    ) -> None:
        self.name, self.label, self.left_out = text.name, wanted.label, selection.left_out
        self.is_live, self.waits = text.is_live, text.waits
        self.columns = tuple(text.parser.choose(selection.places, selection.label))
        self._text, self._wanted = text, wanted
        self._first = self._place = first
        self._read: list[Block] | None = read
        self._reading = reading

    def chunks(self, rows: int, start: Position | None = None) -> Iterator[Chunk]:
        """Yield all rows from the first, or from a position of an earlier pass, at most ``rows`` at a time."""
        place = start or self._first
        read, self._read = self._read, None
        blocks: Iterator[Block]
        if read is not None and (start is None or self._text.resumes != "position"):
            blocks = itertools.chain(read, self._reading)
            blocks = blocks if start is None else self._text.resumed(blocks, start)
        else:
            self._reading.close()
            blocks = self._reading = self._text.blocks(place)
        size = self._text.size
        given = place.rows
        for block in blocks:
            for part, features, labels in self._parsed(block):
                for first in range(0, len(part), rows):
                    last = min(first + rows, len(part))
                    given += last - first
                    self._place = part.after(last)._replace(rows=given)
                    self._wanted.rejected.settle(self._place.lines)
                    fraction = min(1.0, self._text.consumed / size) if size else None
                    yield Chunk(features[first:last], None if labels is None else labels[first:last], fraction)

    def position(self) -> Position:
        """Return the position after the last chunk."""
        return self._text.exact(self._place)

    def close(self) -> None:
        """Close the file."""
        self._reading.close()

    def tail(self) -> tuple[int, int, str] | None:
        """Return begin, end and digest of the last bytes before the present position, if a file is followed."""
        return self._text.tail(self._place)

    def done(self, position: Position) -> None:
        """Note that all rows up to a position have been processed."""
        self._text.done(position)

    def _parsed(self, block: Block) -> Iterator[tuple[Block, Array, list[Any] | None]]:
        """Yield runs of usable rows with their features and labels; reject the others."""
        try:
            features, labels = self._text.parser.parse(block)
            self._wanted.marks.clear(features)
            if not usable(features, missing=self._wanted.missing):
                raise ValueError
        except ValueError:
            if len(block) > 1:
                half = len(block) // 2
                yield from self._parsed(block.part(0, half))
                yield from self._parsed(block.part(half, len(block)))
            else:
                _reject(self._text, block, self._text.where(block), self._wanted.rejected)
            return
        yield block, features, labels


def open_text(text: Text, wanted: Wanted, *, once: bool = True) -> TextTable:
    """Read the first rows of a text, select the columns by them, and return the table.

    The first rows decide what a column holds. A column that is empty there is decided by all rows if the text can be
    read more than ``once``, and otherwise counts as numbers. For a stream, only the first row is awaited.
    """
    with contextlib.ExitStack() as stack:
        blocks = stack.enter_context(contextlib.closing(text.blocks(Position(0))))
        read, skipped = _read_header(text, blocks, wanted.rejected)
        places = candidates(text.parser.names, wanted, text.name)
        kinds = _kinds(text, read, skipped, blocks, places, once=once) if places else []
        _check_order(text, read, skipped, wanted)
        selection = select(text.parser.names, wanted, text.name, kinds)
        stack.pop_all()
    first = read[0].after(skipped)._replace(rows=0)
    text.header = read[0].data[: read[0].bounds[skipped]]
    rest = [read[0].part(skipped, len(read[0]))] if len(read[0]) > skipped else []
    return TextTable(text, wanted, selection, first, [*rest, *read[1:]], blocks)


def _read_header(text: Text, blocks: Iterator[Block], rejected: RejectedLines) -> tuple[list[Block], int]:
    """Let the parser find the names; return the blocks read for that, and the number of rows that are not data."""
    for block in blocks:
        read, skipped = [block], 0

        def more(read: list[Block] = read) -> Block | None:
            read.extend(itertools.islice(blocks, 1))
            return read[1] if len(read) > 1 else None

        while skipped < len(block):
            rows = block.part(skipped, len(block))
            try:
                return read, skipped + text.parser.read_header(rows, more)
            except InputError:
                raise
            except ValueError:
                _reject(text, rows.part(0, 1), text.name, rejected)
                skipped += 1
    raise InputError("is empty", source=text.name)


def _kinds(
    text: Text, read: list[Block], skipped: int, blocks: Iterator[Block], places: list[int], *, once: bool
) -> list[str]:
    """Return what the columns hold. Blocks read for this are appended to ``read``."""
    parser = text.parser
    wanted = 1 if text.is_live else max(1, min(LOOK_ROWS, LOOK_CELLS // max(1, len(parser.names))))
    rows = [*read[0].rows(skipped, skipped + wanted)]
    while len(rows) < wanted and (block := next(blocks, None)) is not None:
        read.append(block)
        rows += block.rows(0, wanted - len(rows))
    kinds = [""] * len(parser.names)
    columns = parser.cells(rows, places)
    empty = []
    for place, column in zip(places, columns, strict=True):
        present = [cell for cell in column if cell is not None]
        kinds[place] = parser.kind(place, present) if present else ""
        empty += [] if present else [place]
    if empty and not (once or text.is_live):
        for place, kind in _late_kinds(text, empty, first=read[0].after(skipped)).items():
            kinds[place] = kind
    return kinds


def _check_order(text: Text, read: list[Block], skipped: int, wanted: Wanted) -> None:
    """Report columns of dates that run backwards in the rows read so far."""
    parser = text.parser
    wanted_rows = min(LOOK_ROWS, LOOK_CELLS // max(1, len(parser.names)))
    rows = read[0].rows(skipped, skipped + wanted_rows)
    for block in read[1:]:
        rows += block.rows(0, wanted_rows - len(rows))
    for name, cells in zip(parser.names, parser.cells(rows, list(range(len(parser.names)))), strict=True):
        report_order(name, [cell for cell in cells if isinstance(cell, str)], wanted.rejected, text.name)


def _late_kinds(text: Text, places: list[int], first: Position) -> dict[int, str]:
    """Return what columns hold that are empty in the first rows: their first cells in all rows decide."""
    consumed, n_usable, parser = text.consumed, 0, text.parser
    found: dict[int, list[Any]] = {place: [] for place in places}
    kinds: dict[int, str] = {}
    with contextlib.closing(text.blocks(first)) as blocks:
        for block in blocks:
            waiting = [place for place in places if place not in kinds]
            if not waiting:
                break
            columns = parser.cells(block.rows(0, len(block)), waiting)
            n_usable += len(columns[0])
            for place, column in zip(waiting, columns, strict=True):
                cells = found[place]
                cells += [cell for cell in column if cell is not None][: LOOK_ROWS - len(cells)]
                kind = parser.kind(place, cells)
                if kind == "" or len(cells) == LOOK_ROWS:
                    kinds[place] = kind
    text.consumed = consumed
    if not n_usable:  # the parser reports what is wrong with the rows
        return {}
    return {place: kinds.get(place, parser.kind(place, found[place])) for place in places}


def _reject(text: Text, row: Block, source: str, rejected: RejectedLines) -> None:
    """Reject a row that the parser refused."""
    error = text.parser.error(row.data)
    error.source, error.line = source, row.line() + (error.line or 0)
    rejected.reject(error)

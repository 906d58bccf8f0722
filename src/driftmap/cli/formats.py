"""The formats of text: CSV, TSV and JSON lines."""

from __future__ import annotations

import contextlib
import csv
import itertools
import json
import zlib
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from driftmap.cli import blocks
from driftmap.cli.errors import UserError
from driftmap.cli.lines import Lines
from driftmap.cli.sources import Source
from driftmap.cli.tables import Position, Wanted, numbered
from driftmap.cli.text import MISSING, BlockParser, Record, TextTable


class SeparatedTable(TextTable):
    """CSV or TSV. The first line is a header if any of its cells is not a number."""

    def _parse(self, lines: Lines) -> Iterator[Record]:
        head = next(iter(lines), "")
        rows = self._rows(lines, head)
        first = next(rows, None)
        if first is None:
            return
        behind = Position(0, lines.count, lines.tell())
        numeric = [_is_number(cell) for cell in first.cells]
        # Only where the first line does not settle it is the second one waited for.
        mixed = self._header == "auto" and any(numeric) and not all(numeric)
        second = list(itertools.islice(rows, 1)) if mixed else []
        if second and [_is_number(cell) for cell in second[0].cells] == numeric:
            raise UserError(
                f"{self.name}, line {first.line} has text and numbers in the same columns as the next line, so it may "
                "be names or data: say --header yes or --header no"
            )
        if self._header == "no" or (self._header == "auto" and all(numeric)):
            yield Record(0, numbered(len(numeric)))
            second = [first]
        else:
            lines.repeated = head
            self._first = behind
            yield Record(first.line, [cell.strip() for cell in first.cells])
        yield from rows if self._jump(lines) else itertools.chain(second, rows)

    def _rows(self, lines: Lines, head: str) -> Iterator[Record]:
        """Non-empty rows with their first lines; only at the end may there be empty lines."""
        tabs = self._source.kind.startswith((".tsv", ".tab"))
        # Decimal commas make semicolons usual in some countries; a comma in the first line settles it.
        delimiter = "\t" if tabs else next((mark for mark in ",;\t" if mark in head), ",")
        text = itertools.chain([head], lines)
        self._delimiter = delimiter
        # Where bad lines are skipped or lines are waited for, one that opens a quote must not take all others with it.
        alone = self._bad.skip or self._source.follow
        rows = _EachLine(text, delimiter) if alone else csv.reader(text, delimiter=delimiter, strict=True)
        line, empty = 1, 0
        while True:
            try:
                cells = next(rows, None)
            except csv.Error as error:
                line = lines.count if alone else line
                self._bad.refuse(line, UserError(f"{self.name}, line {line}: {error}"))
                line = lines.count + 1
                continue
            if cells is None:
                return
            if alone:
                line = lines.count
            if empty and cells:
                self._bad.refuse(empty, UserError(f"{self.name}, line {empty} is empty; fill or drop such rows first"))
                empty = 0
            if cells:
                yield Record(line, cells)
            else:
                empty = empty or line
            line = lines.count + 1

    def _block_parser(self) -> BlockParser | None:
        if blocks.optional("pyarrow.csv") is None:
            return None
        return blocks.CSVBlocks(len(self._names), self._places, self._label_place, self._delimiter)

    def _numbers(self, cells: Sequence[str]) -> Iterable[float]:
        if "_" in "".join(cells):  # float takes 2013_01 for 201301
            raise ValueError
        return map(float, cells)


class _EachLine:
    """CSV in which every row is one line; an iterator that, unlike a generator, goes on after an error."""

    def __init__(self, lines: Iterable[str], delimiter: str) -> None:
        self._lines, self._delimiter = iter(lines), delimiter

    def __iter__(self) -> Iterator[list[str]]:
        return self

    def __next__(self) -> list[str]:
        return next(csv.reader([next(self._lines)], delimiter=self._delimiter, strict=True), [])


def _is_number(cell: str) -> bool:
    """Whether a cell of the first line speaks for data; a missing number does, since names are rarely left out."""
    if cell.strip().lower() in MISSING:
        return True
    with contextlib.suppress(ValueError):
        float(cell)
        return "_" not in cell
    return False


class JSONTable(TextTable):
    """JSON lines: objects with the same keys, or arrays of the same length."""

    def _parse(self, lines: Lines) -> Iterator[Record]:
        names: list[str] | None = None
        for string in lines:
            if not string.strip():
                continue
            try:
                value = self._value(string, lines.count)
                if names is None:
                    names = list(value) if isinstance(value, dict) else numbered(len(value))
                    kind = self._kind = type(value)
                    yield Record(0, names)
                    if self._jump(lines):
                        continue
                if type(value) is not kind:
                    raise UserError(f"{self.name}, line {lines.count}: objects and arrays are mixed")
                cells = self._ordered(value, names, lines.count) if isinstance(value, dict) else value
            except UserError as error:
                self._bad.refuse(lines.count, error)
                continue
            yield Record(lines.count, cells)

    def _value(self, string: str, line: int) -> dict[str, Any] | list[Any]:
        try:
            value = json.loads(string)
        except (ValueError, RecursionError) as error:
            raise UserError(f"{self.name}, line {line} is not JSON: {error}") from error
        if not isinstance(value, dict | list):
            raise UserError(f"{self.name}, line {line} is neither an object nor an array")
        return value

    def _ordered(self, value: dict[str, Any], names: Sequence[str], line: int) -> list[Any]:
        try:
            cells = [value[name] for name in names]
        except KeyError as error:
            raise UserError(f"{self.name}, line {line} has no {error.args[0]!r}, which the first line has") from None
        if len(value) > len(cells):
            new = next(name for name in value if name not in names)
            raise UserError(f"{self.name}, line {line} has {new!r}, which the first line has not")
        return cells

    def _block_parser(self) -> BlockParser | None:
        if blocks.optional("orjson") is None:
            return None
        return blocks.JSONBlocks(self._names, self._places, self._label_place, arrays=self._kind is list)

    def _numbers(self, cells: Sequence[Any]) -> Iterable[float]:
        if any(type(cell) is not float and type(cell) is not int for cell in cells):
            raise ValueError
        return map(float, cells)

    @staticmethod
    def _as_label(cell: Any) -> str:
        return cell if isinstance(cell, str) else "" if cell is None else json.dumps(cell)


def detected_table(source: Source, wanted: Wanted) -> TextTable:
    """CSV, TSV or JSON lines, by the first character that is not blank."""
    # A stream can be looked at only as far as its buffer reaches; leading blank lines beyond it are nobody's data.
    with source.open() as stream:
        head = stream.peek(4096)[:4096]  # type: ignore[attr-defined]
        if head[:2] == b"\x1f\x8b":
            with contextlib.suppress(EOFError, OSError, zlib.error):
                head = zlib.decompressobj(wbits=31).decompress(head)
    start = head.lstrip(b"\xef\xbb\xbf \t\r\n")
    return (JSONTable if start.startswith((b"{", b"[")) else SeparatedTable)(source, wanted)

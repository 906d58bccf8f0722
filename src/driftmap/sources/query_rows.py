"""The rows of a query as they are added: those beyond the last value of a column, by looking again and again.

The position is the last value of that column, how many rows up to it were there, and a digest of the last row. Every
read begins with that row, so a table that was dropped, emptied or filled again is recognised before a row is learnt.
"""

from __future__ import annotations

import contextlib
import itertools
import time
from decimal import Decimal
from functools import partial
from typing import Any, NamedTuple

from driftmap.sources.addresses import Address
from driftmap.sources.brokers.connection import WAIT_SECONDS, digest, persist
from driftmap.sources.database import Query, connected, fetched, quoted, schema_of, value_of
from driftmap.sources.row_source import RowSource
from driftmap.utils.errors import InputError

POLL_SECONDS = 0.5
"""Seconds between two looks at a table that has no further rows."""
CHECK_SECONDS = 10.0
"""Seconds between two counts of the rows before the last one, at least; they take a tenth of the time at most."""
SHARE = 10
LATE = "read only rows that are settled, as in WHERE created < now() - interval '1 minute', and start again"


class Mark(NamedTuple):
    """The last row read."""

    last: int | str
    there: int
    """Rows up to it that were there."""
    digest: str


class QueryRows(RowSource):
    """Rows of a query as lines of JSON, in the order of a column whose values are distinct and only grow."""

    def __init__(self, address: Address, query: Query) -> None:
        super().__init__(address.name)
        self.address, self.query = address, query
        self._by = query.order_by or ""
        self._stack = contextlib.ExitStack()
        self._connection: Any = None
        self._kinds: dict[str, str] = {}
        self._next_check: float | None = None
        """When rows are counted again; None: they have not been counted yet."""
        self._read: tuple[Any, list[Mark]] = 0, []
        """A position, and the marks after the rows that were read from there."""

    def read(self, position: Any, limit: int) -> tuple[list[bytes], Any]:
        """The next rows, at most ``limit``, and the position after the last of them; looks until there is one."""
        mark = None if position == 0 else Mark(**position)
        while True:
            rows, marks, mark = persist(self, partial(self._look, mark, limit))
            if rows:
                self._read = position, marks
                return rows, marks[-1]._asdict()
            end = time.monotonic() + POLL_SECONDS
            while (left := end - time.monotonic()) > 0:
                self.waiting()
                time.sleep(min(WAIT_SECONDS, left))

    def where(self, position: Any, ahead: int) -> str:
        """The value that it follows."""
        return self.name if position == 0 else f"{self.name}, row {ahead + 1} after {self._by} {position['last']!r}"

    def exact(self, position: Any, ahead: int) -> tuple[Any, int]:
        """The mark of the last of these rows: a row that is deleted later must not shift those after it."""
        start, marks = self._read
        return (marks[ahead - 1]._asdict(), 0) if ahead and start == position else (position, ahead)

    def close(self) -> None:
        """Close the connection; the next read opens another one."""
        self._connection = None
        self._stack.close()

    def _look(self, mark: Mark | None, limit: int) -> tuple[list[bytes], list[Mark], Mark | None]:
        """The next rows, the marks after each of them, and the mark from which they were read."""
        if self._connection is None:
            self._connection = self._stack.enter_context(connected(self.address))
        try:
            if self._next_check is None:
                mark = self._count(mark)
            rows, marks = self._rows_after(mark, limit)
            if not rows and time.monotonic() >= (self._next_check or 0.0):
                mark = self._count(mark)
            return rows, marks, mark
        finally:
            if self.address.file is not None:  # others may write to the file meanwhile
                self.close()

    def _rows_after(self, mark: Mark | None, limit: int) -> tuple[list[bytes], list[Mark]]:
        """The next rows and the mark after each. The row at the mark is read again, and one more row for its value."""
        by = quoted(self._by)
        condition, parameters = ("", ()) if mark is None else (f"WHERE {by} >= $1 ", (mark.last,))
        most = limit + (1 if mark is None else 2)
        text = f"SELECT * FROM {self.query.rows(condition)}ORDER BY {by} LIMIT {most}"
        table = fetched(self._connection, self.address, text, parameters, batch_rows=most)
        self._check_kinds(table, mark)
        found = table.to_pylist()
        values = [row[self._by] for row in found]
        for value, following in itertools.pairwise(values):
            if value == following:
                raise self._error(f"has several rows with {self._by} {value!r}: --order-by needs distinct values")
        lines = [_line(row) for row in found]
        if mark is not None and values and values[0] == mark.last:
            if digest(lines[0]) != mark.digest:
                problem = (
                    f"has another row with {self._by} {mark.last!r} than the one that was read: it was changed, or "
                )
                raise self._error(f"{problem}the table was filled again; start again without the checkpoint")
            values, lines = values[1:], lines[1:]
        values, lines, there = values[:limit], lines[:limit], 0 if mark is None else mark.there
        marks = [
            Mark(value, there + i, digest(line)) for i, (value, line) in enumerate(zip(values, lines, strict=True), 1)
        ]
        return lines, marks

    def _count(self, mark: Mark | None) -> Mark | None:
        """Count the rows that no read can find: those without a value, and those that came late with a smaller one."""
        start, by = time.monotonic(), quoted(self._by)
        counted = partial(value_of, self._connection, self.address)
        schema = schema_of(self._connection, self.address, f"SELECT * FROM {self.query.rows('LIMIT 0')}")
        if self._by not in schema.names:  # SQLite takes an unknown name in quotes for a text
            raise InputError(f"has no column {self._by!r}, which --order-by names", source="the query")
        without = counted(f"SELECT count(*) FROM {self.query.rows(f'WHERE {by} IS NULL')}")
        if without:
            problem = f"has rows without {self._by} (NULL, {without:,} of them), which have no place in its order"
            raise self._error(f"{problem}: leave them out by WHERE {self._by} IS NOT NULL")
        if mark is not None:
            there = counted(f"SELECT count(*) FROM {self.query.rows(f'WHERE {by} <= $1')}", (mark.last,))
            if there > mark.there:
                late = f"rows that appeared late ({there - mark.there:,} of them): their {self._by} is at most "
                raise self._error(f"has {late}{mark.last!r}, up to which all rows had been read; {LATE}")
            if there < mark.there:
                gone = f"rows that were read have been deleted ({mark.there - there:,} of them)"
                self.report(f"{self.name}: {gone}; the map keeps them")
            mark = mark._replace(there=there)
        now = time.monotonic()
        self._next_check = now + max(CHECK_SECONDS, (SHARE - 1) * (now - start))
        return mark

    def _check_kinds(self, table: Any, mark: Mark | None) -> None:
        """Raise an error if the order is by no integer or text, or a column is of another kind than before."""
        for field in table.schema:
            column, kind = table.column(field.name), _kind(field.type)
            if field.name == self._by and kind not in ("an integer", "text"):
                problem = f"is {kind}, and --order-by needs integers or texts: cast it in the query"
                raise InputError(problem, source=self.name, column=self._by)
            if column.null_count == len(column) and field.name != self._by:
                continue
            before = self._kinds.setdefault(field.name, kind)
            if {before, kind} > {"text"}:
                place = self.where(0 if mark is None else mark._asdict(), 0)
                problem = f"is {kind} now, and was {before} before: cast it in the query"
                raise InputError(problem, source=place, column=field.name)

    def _error(self, problem: str) -> InputError:
        return InputError(problem, source=self.name)


def _kind(kind: Any) -> str:
    """What a column of this type holds, in words."""
    import pyarrow as pa

    types = pa.types
    if types.is_integer(kind):
        return "an integer"
    if types.is_floating(kind) or types.is_decimal(kind) or types.is_boolean(kind):
        return "a number"
    if types.is_string(kind) or types.is_large_string(kind):
        return "text"
    return str(kind)


def _line(row: dict[str, Any]) -> bytes:
    """A row as a line of JSON."""
    import orjson

    return orjson.dumps({name: _value(value) for name, value in row.items()}, default=str) + b"\n"


def _value(value: Any) -> Any:
    """A value that JSON has: truth values and decimals as numbers, infinity as text, which is no number."""
    if isinstance(value, list):
        return [_value(entry) for entry in value]
    if isinstance(value, bool):
        return int(value)
    if isinstance(value, Decimal):
        value = float(value)
    if isinstance(value, float) and value in (float("inf"), float("-inf")):
        return str(value)
    return value

"""Options for databases, and the observer that appends results to a table."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from driftmap.cli import run_files
from driftmap.cli.errors import UserError, note
from driftmap.cli.reading import ReadingOptions
from driftmap.cli.session import Session
from driftmap.cli.typed import flag_of, option
from driftmap.cli.writing import Layout, distinct
from driftmap.map import StreamMap
from driftmap.pipeline.observer import Observer, Update
from driftmap.sources.addresses import MEMORY, Address, address_in
from driftmap.sources.database import Query, database_in, kind_of
from driftmap.sources.result_table import NUMBER, ResultTable
from driftmap.sources.schemes import database_forms
from driftmap.tables.formats import listed

AT_ONCE = 1000
"""Rows that are appended in one transaction, about."""
SECONDS = 1.0
"""How long rows wait for their transaction while further ones come."""


@dataclass(frozen=True)
class Querying:
    """What is read from a database, and where results go in it."""

    query: str | None = option(
        "--query", metavar="SQL", help=f"a SELECT, whose result is mapped; of {listed(database_forms())}"
    )
    to_table: str | None = option(
        "--to-table",
        metavar="TABLE",
        help="append results to this table of the database; a run that is killed and resumed neither loses nor doubles "
        "rows",
    )

    def __post_init__(self) -> None:
        if self.to_table is not None and self.query is None:
            raise UserError("--to-table is a table of the database that --query reads: add --query")

    def check(self, file: str, reading: ReadingOptions) -> None:
        """Raise an error unless a database comes with a query, and a query with a database."""
        address = address_in(file)
        if address is not None and address.is_database and self.query is None:
            raise UserError(f'{address.name} is a database: add --query "SELECT ..."')
        if self.query is not None:
            if not self.query.strip().rstrip(";"):
                raise UserError("--query is empty")
            if database_in(file).file == MEMORY and self.to_table is not None:
                raise UserError(f"--to-table needs a database that stays: {file} is gone after the run")
            for name in ("input_format", "delimiter"):
                if getattr(reading, name) is not None:
                    raise UserError(f"{flag_of(name)} is for files, and --query reads a database: leave it out")


@dataclass(frozen=True)
class FollowedQuery(Querying):
    """The same of a query whose result grows."""

    order_by: str | None = option(
        "--order-by",
        metavar="COLUMN",
        help="of --query: a column of distinct integers or texts that only grow, such as a serial number; rows beyond "
        "the last one are read as they appear",
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        if (self.order_by is None) != (self.query is None):
            missing, given = ("--query", "--order-by") if self.query is None else ("--order-by", "--query")
            raise UserError(f"{given} needs {missing}: `driftmap embed` maps the result of a query once")

    @property
    def rows(self) -> Query | None:
        """Return the query whose rows are followed, if there is one."""
        return None if self.query is None else Query(self.query, self.order_by)

    def labelled(self, reading: ReadingOptions) -> ReadingOptions:
        """Return how columns are read: that of --order-by is the label, or else is left out."""
        if self.order_by is None or self.order_by in (reading.columns or ()):
            return reading
        if reading.label is None:
            return replace(reading, label=self.order_by)
        if self.order_by == reading.label or reading.columns is not None:
            return reading
        return replace(reading, exclude=[*(reading.exclude or ()), self.order_by])


class TableRows(Observer):
    """Appends each row that is mapped to a table: with a checkpoint in parts, without one all at the end."""

    def __init__(self, table: ResultTable, layout: Layout, *, in_parts: bool) -> None:
        self._table, self._layout, self._in_parts = table, layout, in_parts
        self._first, self._parts = 0, list[list[Any]]()
        self._due = 0.0

    def observe(self, update: Update, mapper: StreamMap) -> None:
        """Keep the rows that are mapped until their transaction."""
        if update.coordinates is None or not len(update.coordinates):
            return
        if not self._parts:
            self._first, self._due = update.first, time.monotonic() + SECONDS
        self._parts.append(list(self._layout.columns(update)))
        n = update.first + len(update.coordinates) - self._first
        if self._in_parts and (n >= AT_ONCE or time.monotonic() >= self._due):
            self.flush()

    def idle(self) -> None:
        """Append what there is: further rows are not in sight."""
        if self._in_parts:
            self.flush()

    def flush(self) -> None:
        """Append the rows that wait."""
        if self._parts and self._in_parts:
            self._append()

    def finish(self, mapper: StreamMap) -> None:
        """Append the rows that wait."""
        if self._parts:
            self._append()

    def _append(self) -> None:
        self._table.append(self._first, [_joined(parts) for parts in zip(*self._parts, strict=True)])
        self._parts = []


def _joined(parts: Sequence[Any]) -> Any:
    if all(isinstance(part, np.ndarray) for part in parts):
        return np.concatenate(parts)
    return [value for part in parts for value in part]


@dataclass(frozen=True)
class Target:
    """The table to which results go, and the query they come from."""

    address: Address
    table: str
    query: str

    def __str__(self) -> str:
        return f"table {self.table!r} of {self.address.name}"

    def open(self, current: Session, layout: Layout) -> None:
        """Create the table or go on with it, and let the run append to it."""
        label, own = distinct("the table", [NUMBER, *layout.label_names], layout.own_names)
        kinds = {name: "integer" if name == "frame" else "number" for name in own}
        if layout.label is not None:
            kinds = {label[1]: kind_of(self.address, self.query, layout.label)} | kinds
        table = ResultTable(self.address, self.table, kinds)
        table.report, table.waiting = note, current.stop_midway
        table.begin(None if current.saver is None else current.saver.n_mapped)
        current.observers.append(TableRows(table, layout, in_parts=current.saver is not None))


def target(file: str, querying: Querying) -> Target | None:
    """Return where results go in the database that is read, if they do."""
    if querying.to_table is None or querying.query is None:
        return None
    return Target(database_in(file), querying.to_table, querying.query)


def kept_query(current: Session) -> Path | None:
    """Return where the result of a query is kept while a run may be interrupted; None: in a temporary file."""
    if current.checkpoint is None:
        return None
    place = run_files.query_path(current.checkpoint)
    if not current.resumed:
        place.unlink(missing_ok=True)
    elif not place.exists():
        problem = "the result of the query, which was kept beside it, is gone"
        raise UserError(f"{current.checkpoint} cannot go on: {problem}; delete it to start again")
    return place

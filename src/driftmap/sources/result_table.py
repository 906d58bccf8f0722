"""A table in a database to which results are appended, together with the number of its rows, in one transaction.

The number stands in the table ``driftmap_positions``. A run that was killed maps some rows again, with the same
results; those that the number counts are there already and are left out. So no row is lost, and none is there twice.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np

from driftmap.sources.addresses import Address
from driftmap.sources.brokers.connection import persist
from driftmap.sources.database import connected, fetched, quoted, raised, value_of
from driftmap.utils.errors import InputError

POSITIONS = "driftmap_positions"
NUMBER = "row"
"""The column with the number of each row, from 0."""
KINDS: Mapping[str, str] = {"integer": "BIGINT", "number": "DOUBLE PRECISION", "text": "TEXT"}
"""The types of columns in SQL."""


class ResultTable:
    """Appends rows to a table; ``kinds`` says for each of its columns whether it holds integers, numbers or text."""

    def __init__(self, address: Address, table: str, kinds: Mapping[str, str]) -> None:
        self.address, self.table, self.kinds = address, table, {NUMBER: "integer", **kinds}
        self.name = f"table {table!r} of {address.name}"
        self.report: Callable[[str], Any] = lambda message: None
        """Takes one line when the connection is lost or there again."""
        self.waiting: Callable[[], Any] = lambda: None
        """Called again and again while there is no connection; an exception that it raises ends the attempts."""

    def begin(self, n_mapped: int | None) -> None:
        """Create the table for a new run, or go on with that of a run that had mapped ``n_mapped`` rows."""
        persist(self, partial(self._begin, n_mapped))

    def append(self, first: int, columns: Sequence[Any]) -> None:
        """Append rows, given column by column, of which ``first`` is the number of the first one, in a transaction."""
        persist(self, partial(self._append, first, columns))

    def close(self) -> None:
        """Each transaction has a connection of its own, so nothing is open."""

    def _begin(self, n_mapped: int | None) -> None:
        columns = ", ".join(f"{quoted(name)} {KINDS[kind]}" for name, kind in self.kinds.items())
        columns += f", PRIMARY KEY ({quoted(NUMBER)})"
        with connected(self.address, autocommit=False) as connection:
            run = partial(self._run, connection)
            run(f"CREATE TABLE IF NOT EXISTS {POSITIONS} (table_name TEXT PRIMARY KEY, n_rows BIGINT NOT NULL)")
            run(f"CREATE TABLE IF NOT EXISTS {quoted(self.table)} ({columns})")
            there = value_of(connection, self.address, f"SELECT count(*) FROM {quoted(self.table)}")
            stated = self._stated(connection)
            if n_mapped is None or (n_mapped == 0 and stated is None):
                if there:
                    problem = f"has {there:,} rows: go on with its run by --resume, drop it, or name another table"
                    raise InputError(problem, source=self.name)
                run(f"DELETE FROM {POSITIONS} WHERE table_name = $1", self.table)
                run(f"INSERT INTO {POSITIONS} VALUES ($1, 0)", self.table)
            elif stated is None or there != stated or stated < n_mapped:
                problem = (
                    f"has {there:,} rows, but should have {max(stated or 0, n_mapped):,}: it was dropped or changed"
                )
                raise InputError(f"{problem}; start again without the checkpoint", source=self.name)
            with raised(self.address):
                connection.commit()

    def _append(self, first: int, columns: Sequence[Any]) -> None:
        import pyarrow as pa

        n = len(columns[0])
        with connected(self.address, autocommit=False) as connection:
            there = self._stated(connection)
            if there is None or there < first:
                problem = f"has {there or 0:,} rows, but {first:,} were appended: it was dropped or changed"
                raise InputError(problem, source=self.name)
            new = slice(min(n, there - first), n)
            if new.start == n:
                return
            arrays = [
                _array(values[new], kind, name)
                for (name, kind), values in zip(
                    self.kinds.items(), [np.arange(first, first + n), *columns], strict=True
                )
            ]
            with connection.cursor() as cursor, raised(self.address):
                cursor.adbc_ingest(self.table, pa.record_batch(arrays, list(self.kinds)), mode="append")
            self._run(connection, f"UPDATE {POSITIONS} SET n_rows = $1 WHERE table_name = $2", first + n, self.table)
            with raised(self.address):
                connection.commit()

    def _stated(self, connection: Any) -> int | None:
        text = f"SELECT n_rows FROM {POSITIONS} WHERE table_name = $1"
        found: int | None = value_of(connection, self.address, text, (self.table,))
        return found

    def _run(self, connection: Any, text: str, *parameters: Any) -> None:
        fetched(connection, self.address, text, parameters)


def _array(values: Any, kind: str, name: str) -> Any:
    """Return values as an Arrow array of the column's type."""
    import pyarrow as pa

    if kind == "text":
        return pa.array([str(value) for value in values], pa.string())
    try:
        return pa.array(np.asarray(values).astype(np.int64 if kind == "integer" else np.float64))
    except (TypeError, ValueError) as error:
        raise InputError(f"holds other values than {kind}s now", parameter=name) from error

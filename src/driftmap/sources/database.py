"""Databases through ADBC (Arrow Database Connectivity): connections, and the result of a query as Arrow batches."""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Generator, Iterator
from importlib import import_module
from typing import Any, NamedTuple
from urllib.parse import quote, urlencode

from driftmap.sources.addresses import MEMORY, Address, address_in
from driftmap.sources.brokers.connection import LostError
from driftmap.sources.schemes import DATABASES, database_forms
from driftmap.utils.errors import InputError, MissingDependencyError

BATCH_ROWS = 2**14
"""Rows of a batch of SQLite, whose types are those of the first batch."""
LOST = ("database is locked", "could not set lock", "starting up", "shutting down", "too many clients", "terminating")
"""What the message of an error says that may pass."""
REFUSED = ("authentication", "password", "does not exist", "permission", "pg_hba", "not a database")
"""What the message of an error says that a further attempt does not change."""

STATUS = re.compile(r"^[A-Z_]+: (\[\w+\] )?")
"""What a driver says before its message."""


class Query(NamedTuple):
    """A query, and the column by which its rows are numbered as they are added."""

    text: str
    order_by: str | None = None

    def rows(self, condition: str = "") -> str:
        """Return the text as part of a larger query; a comment at its end goes no further than its line."""
        return f"({self.text.strip().rstrip(';')}\n) AS query {condition}"


def sql(address: str, query: str, *, order_by: str | None = None, after: int | str | None = None) -> Generator[Any]:
    """Yield the result of a query as Arrow record batches, which :class:`~driftmap.pipeline.MapOperator` takes.

    Parameters
    ----------
    address : str
        ``sqlite:///FILE``, ``duckdb:///FILE`` or ``postgresql://USER:PASSWORD@HOST/NAME`` (extra ``sql``).
    query : str
        A SELECT.
    order_by : str, optional
        A column of distinct integers or texts: rows come in its order.
    after : int or str, optional
        With ``order_by``: only rows beyond this value.
    """
    found = database_in(address)
    text, parameters = query, tuple[int | str, ...]()
    if order_by is not None:
        ordered = Query(query, order_by)
        condition = "" if after is None else f"WHERE {quoted(order_by)} > $1 "
        text = f"SELECT * FROM {ordered.rows(condition)}ORDER BY {quoted(order_by)}"
        parameters = () if after is None else (after,)
    elif after is not None:
        raise InputError("needs order_by, the column that it is a value of", parameter="after")
    with reachable(found), connected(found) as connection:
        yield from executed(connection, found, text, parameters, BATCH_ROWS)


def database_in(name: str) -> Address:
    """Return the address of a database that a name is, or raise an error."""
    address = address_in(name)
    if address is None or not address.is_database:
        problem = f"is no database: a query goes with {' or '.join(database_forms())}"
        raise InputError(problem, source=name if address is None else address.name)
    return address


@contextlib.contextmanager
def connected(address: Address, *, autocommit: bool = True) -> Iterator[Any]:
    """Connect to a database; a LostError if it cannot be reached now, an InputError if it refuses."""
    name = DATABASES[address.scheme].driver
    try:
        driver = import_module(f"{name}.dbapi")
    except ImportError as error:
        raise MissingDependencyError(f"{address.scheme}:// needs {name}", extra="sql") from error
    if address.file not in (None, MEMORY) and not os.path.isfile(str(address.file)):
        problem = "is a folder" if os.path.isdir(str(address.file)) else "does not exist"
        raise InputError(problem, source=address.name)
    with raised(address):
        connection = driver.connect(_uri(address), autocommit=autocommit)
    try:
        yield connection
    finally:
        with contextlib.suppress(RuntimeError):  # a signal may have left a statement open
            connection.close()


def executed(
    connection: Any, address: Address, text: str, parameters: tuple[Any, ...] = (), batch_rows: int = 0
) -> Generator[Any]:
    """Execute a statement and yield the record batches of its result; the first one may be empty."""
    with connection.cursor() as cursor:  # a cursor that has inserted rows does so again
        with raised(address):
            if batch_rows and address.scheme == "sqlite":
                cursor.adbc_statement.set_options(**{"adbc.sqlite.query.batch_rows": str(batch_rows)})
            cursor.execute(text, parameters or None)
            reader = cursor.fetch_record_batch()
        names = reader.schema.names
        if len(set(names)) < len(names):
            twice = next(name for name in names if names.count(name) > 1)
            raise InputError(f"gives two columns of the name {twice!r}: name one of them by AS", source="the query")
        yield _empty(reader.schema)
        while True:
            with raised(address):
                batch = next(reader, None)
            if batch is None:
                return
            yield batch


def _empty(schema: Any) -> Any:
    """Return a batch without rows, which says what the columns are."""
    import pyarrow as pa

    return pa.record_batch([pa.array([], field.type) for field in schema], schema=schema)


def schema_of(connection: Any, address: Address, text: str) -> Any:
    """Return the Arrow schema of the result of a statement."""
    with contextlib.closing(executed(connection, address, text)) as batches:
        return next(batches).schema


def fetched(connection: Any, address: Address, text: str, parameters: tuple[Any, ...] = (), batch_rows: int = 0) -> Any:
    """Execute a statement and return its whole result as an Arrow table."""
    import pyarrow as pa

    with contextlib.closing(executed(connection, address, text, parameters, batch_rows)) as batches:
        return pa.Table.from_batches(list(batches))


def value_of(connection: Any, address: Address, text: str, parameters: tuple[Any, ...] = ()) -> Any:
    """Return the first value of a result; None if it has no rows."""
    table = fetched(connection, address, text, parameters)
    return table.column(0)[0].as_py() if len(table) and table.num_columns else None


def quoted(name: str) -> str:
    """Return a name as SQL takes it, whatever its letters are.

    >>> print(quoted('a "b" c'))
    "a ""b"" c"
    """
    return '"' + name.replace('"', '""') + '"'


@contextlib.contextmanager
def reachable(address: Address) -> Iterator[None]:
    """Turn a lost connection into an error that ends what is done."""
    try:
        yield
    except LostError as error:
        raise InputError(f"cannot be read: {error}", source=address.name) from error


@contextlib.contextmanager
def raised(address: Address) -> Iterator[None]:
    """Turn the errors of a driver into a LostError or an InputError, which show no credentials."""
    from adbc_driver_manager import Error
    from pyarrow import ArrowException

    try:
        yield
    except (Error, ArrowException, OSError) as error:
        text = STATUS.sub("", _without_credentials(" ".join(str(error).split()), address))
        low = text.lower()
        lost = any(word in low for word in LOST)
        is_network = address.file is None and not any(word in low for word in REFUSED)
        status = getattr(getattr(error, "status_code", None), "name", "")
        if lost or (is_network and (status == "IO" or "connection" in low)):
            raise LostError(text) from None
        if "mismatch" in low:
            text += ": cast the column to one type in the query, as in CAST(a AS REAL)"
        raise InputError(f": {text}", source=address.name) from None


def _without_credentials(text: str, address: Address) -> str:
    for secret in (address.password, address.user):
        for form in {secret, None if secret is None else quote(secret, safe="")} - {None, ""}:
            text = text.replace(str(form), "...")
    return text


def _uri(address: Address) -> str:
    """Return what the driver is given."""
    if address.file is not None:
        return address.file
    user = "" if address.user is None else quote(address.user, safe="")
    password = "" if address.password is None else f":{quote(address.password, safe='')}"
    host = f"[{address.host}]" if ":" in address.host else address.host
    place = host + ("" if address.port is None else f":{address.port}")
    options = f"?{urlencode(address.options)}" if address.options else ""
    credentials = f"{user}{password}@" if user or password else ""
    return f"{address.scheme}://{credentials}{place}/{quote(address.stream, safe='')}{options}"


def kind_of(address: Address, query: str, column: str) -> str:
    """Return what a column of a query holds: "integer", "number" or "text"."""
    import pyarrow as pa

    text = f"SELECT {quoted(column)} FROM {Query(query).rows('LIMIT 1')}"
    with reachable(address), connected(address) as connection:
        kind = schema_of(connection, address, text).field(0).type
    if pa.types.is_integer(kind):
        return "integer"
    return "number" if pa.types.is_floating(kind) or pa.types.is_decimal(kind) else "text"

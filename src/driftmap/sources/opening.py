"""Opening a source of rows by its name."""

from __future__ import annotations

from pathlib import Path

from driftmap.sources.addresses import address_in
from driftmap.sources.brokers import open_broker
from driftmap.sources.database import Query, database_in
from driftmap.sources.files import STANDARD_INPUT, standard_input
from driftmap.sources.follow import FollowedFile, FollowedStream
from driftmap.sources.generated import GENERATED, GeneratedRows
from driftmap.sources.query_rows import QueryRows
from driftmap.sources.row_source import RowSource
from driftmap.utils.errors import InputError


def open(name: str, query: Query | None = None) -> RowSource:
    """Return the rows of a growing file, a named pipe or standard input (``-``), or the messages of a broker.

    A broker is contacted when rows are read: ``rows, position = source.read(0, 100)``. ``demo:`` is generated data.
    With an ordered ``query``, the name is the address of a database.

    >>> open("redis://me:secret@localhost/prices").name
    'redis://localhost/prices'
    """
    if name == GENERATED:
        return GeneratedRows()
    if query is not None:
        if query.order_by is None:
            raise InputError(
                "is needed: the column of distinct values by which new rows are known", parameter="order_by"
            )
        return QueryRows(database_in(name), query)
    if (address := address_in(name)) is not None:
        if address.is_database:
            raise InputError("is a database, of which a query reads rows", source=address.name, advice="query")
        return open_broker(address)
    if name == "-":
        return FollowedStream(STANDARD_INPUT, standard_input(), ends=True)
    path = Path(name)
    if path.is_dir():
        raise InputError("is a folder, not a file", source=name)
    if path.is_fifo():
        return FollowedStream(name, path.open("rb"), ends=False)
    return FollowedFile(name, path)

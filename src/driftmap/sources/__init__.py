"""Sources: the bytes of files, and the rows of streams.

A :class:`~driftmap.sources.files.Source` is a file or a stream of bytes; a :class:`RowSource` is read as its rows
arrive.
"""

from typing import TYPE_CHECKING

from driftmap._lazy import lazily

if TYPE_CHECKING:
    from driftmap.sources.database import Query, sql
    from driftmap.sources.opening import open
    from driftmap.sources.row_source import RowSource

__all__ = ["Query", "RowSource", "open", "sql"]

# Lazy, so that the command line, which first looks for addresses, starts without importing all sources.
__getattr__ = lazily(
    __name__,
    {
        "Query": "driftmap.sources.database",
        "RowSource": "driftmap.sources.row_source",
        "open": "driftmap.sources.opening",
        "sql": "driftmap.sources.database",
    },
)

"""Compare reading and learning a query with fetching and learning it: python -m benchmarks.databases [--quick]

A million rows of eight numbers lie in a file of SQLite and one of DuckDB. The reference fetches all of them by
``fetch_arrow_table`` of the same driver, makes an array and learns it. Both are processor time on one thread.
"""

from __future__ import annotations

import contextlib
import sqlite3
import sys
import tempfile
from pathlib import Path

import numpy as np
from threadpoolctl import threadpool_limits

from benchmarks.timing import in_turn
from driftmap import sources
from driftmap.landmarks import OnlineLandmarks
from driftmap.sources.addresses import Address
from driftmap.sources.database import connected
from driftmap.tables.columns import Wanted
from driftmap.tables.readers import open_query

COLUMNS = [f"x{i}" for i in range(8)]
QUERY = f"SELECT {', '.join(COLUMNS)} FROM t"
GOAL = 1.5


def written(folder: Path, X: np.ndarray) -> list[str]:
    """Write the rows to two databases; return their addresses."""
    import duckdb
    import pyarrow as pa

    columns = ", ".join(f"{name} DOUBLE" for name in COLUMNS)
    with contextlib.closing(sqlite3.connect(folder / "x.sqlite")) as connection, connection:
        connection.execute(f"CREATE TABLE t ({columns})")
        connection.executemany(f"INSERT INTO t VALUES ({', '.join('?' * 8)})", X.tolist())
    with duckdb.connect(str(folder / "x.duckdb")) as connection:
        rows = pa.table(list(X.T), COLUMNS)  # noqa: F841  # which DuckDB finds by its name
        connection.execute("CREATE TABLE t AS SELECT * FROM rows")
    return [f"{kind}:///{folder}/x.{kind}" for kind in ("sqlite", "duckdb")]


def fetched(url: str) -> OnlineLandmarks:
    """Fetch everything, then learn it."""
    with connected(Address(url)) as connection, connection.cursor() as cursor:
        cursor.execute(QUERY)
        table = cursor.fetch_arrow_table()
    return OnlineLandmarks(100).partial_fit(np.column_stack([column.to_numpy() for column in table.columns]))


def streamed(url: str) -> OnlineLandmarks:
    """Learn the batches of ``sources.sql``."""
    landmarks = OnlineLandmarks(100)
    for batch in sources.sql(url, QUERY):
        if batch.num_rows:
            landmarks.partial_fit(np.column_stack(batch.columns))
    return landmarks


def embedded(url: str) -> OnlineLandmarks:
    """Learn the table as ``driftmap embed --query`` reads it: kept in a file, from which every pass reads."""
    landmarks = OnlineLandmarks(100)
    with open_query(url, QUERY, Wanted(), once=True) as table:
        for chunk in table.chunks(2**14):
            landmarks.partial_fit(chunk.features)
    return landmarks


def main(quick: bool) -> None:
    """Print the table."""
    n = 10**5 if quick else 10**6
    X = np.cumsum(np.random.default_rng(0).standard_normal((n, 8)), axis=0)
    print(f"{n:,} rows\n\n| database | fetch and learn (s) | `sources.sql` | ratio | `embed --query` | ratio |")
    print("|---|---|---|---|---|---|")
    with tempfile.TemporaryDirectory() as folder, threadpool_limits(1):
        for url in written(Path(folder), X):
            reference, *ours = in_turn(
                [lambda u=url: fetched(u), lambda u=url: streamed(u), lambda u=url: embedded(u)], 5
            )
            cells = [cell for time in ours for cell in (f"{time:.2f}", f"{time / reference:.2f}")]
            print(f"| {Address(url).scheme} | {reference:.2f} | {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main("--quick" in sys.argv)

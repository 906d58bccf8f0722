"""Queries are followed by commands that are killed while rows are added: every row is written once, to the file in the
same bytes, and to the table of results."""

import itertools
import json
import signal
import time

from databases import Database, PostgreSQL, available
from torture.follows import wait_for
from torture.messages import strike
from torture.processes import options, start, succeed, write_input

NUMBER = "DOUBLE PRECISION"


def run(case):
    rng, folder = case.rng, case.folder
    kind, rows = rng.choice(available()), rng.randint(50, 300)
    source = write_input(case, rows, "jsonl")
    words = [word for word in options(case, online=True) if word not in ("--online", "--novelty")]
    succeed(folder, "embed", *source, *words, "--online", "--novelty", "-o", "whole.csv")
    X = [[record[name] for name in "abc"] for record in map(json.loads, (folder / source[0]).read_text().splitlines())]
    case.count(streams=1, arrivals=rows)
    database = PostgreSQL() if kind == "postgresql" else Database(kind, folder)
    try:
        database.execute(f"CREATE TABLE t (id INTEGER, a {NUMBER}, b {NUMBER}, c {NUMBER}, name TEXT)")
        query = ["--query", "SELECT * FROM t", "--order-by", "id", "--label", "name", "--to-table", "map"]
        live = ["follow", database.url, *query, *words, "-o", "o.csv", "--checkpoint", "c.ckpt", "--resume"]
        live += ["--checkpoint-every", rng.choice(["0s", "0.01s", "0.1s"])]
        ends = [0, *sorted(rng.sample(range(1, rows), rng.randint(2, 8))), rows]
        for i, (first, last) in enumerate(itertools.pairwise(ends)):
            process = start(folder, *live)
            database.insert(X[first:last], first, "r")
            if i < len(ends) - 2:
                time.sleep(rng.random() * 1.5)
                strike(process, rng.choice([signal.SIGKILL, signal.SIGKILL, signal.SIGTERM]))
                case.count(kills=1)
        wait_for(folder / "o.csv", rows + 1, process)
        strike(process, signal.SIGTERM)
        assert (folder / "o.csv").read_bytes() == (folder / "whole.csv").read_bytes()
        lines = [line.split(",") for line in (folder / "o.csv").read_text().splitlines()[1:]]
        found = database.execute('SELECT * FROM map ORDER BY "row"')
        assert [row[0] for row in found] == [*range(rows)]
        for row, (name, *numbers) in zip(found, lines, strict=True):
            assert row[1] == name
            assert without_nan(row[2:]) == without_nan(map(float, numbers)), name
    finally:
        database.close()


def without_nan(values):
    """The same with None for NaN, which SQLite does not have."""
    return [None if value is None or value != value else float(value) for value in values]

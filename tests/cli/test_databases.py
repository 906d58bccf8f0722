"""``--query``, ``--order-by`` and ``--to-table``: databases as sources and sinks, also of runs that are killed."""

import contextlib
import random
import signal
import subprocess
import sys
import time

import numpy as np
import pytest

from databases import KINDS, PASSWORD, Database, PostgreSQL
from driftmap.cli import main
from driftmap.cli.databases import FollowedQuery
from driftmap.cli.reading import ReadingOptions as Reading

pytest.importorskip("adbc_driver_manager", reason="databases need pip install driftmap[sql]")

X = np.cumsum(np.random.default_rng(1).standard_normal((150, 3)), axis=0)
OPTIONS = ["--landmarks", "10", "--checkpoint-every", "0s"]


@pytest.fixture(scope="module")
def server():
    found = PostgreSQL()
    yield found
    found.close()


@pytest.fixture(params=KINDS)
def database(request, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    if request.param != "postgresql":
        return Database(request.param, tmp_path)
    found = request.getfixturevalue("server")
    found.clear()
    return found


def write_csv(X, first=1):
    lines = [",".join([str(i), *map(repr, row)]) for i, row in enumerate(X.tolist(), first)]
    return "\n".join(["id,a,b,c", *lines]) + "\n"


def run(*words):
    code = main(list(map(str, words)))
    assert code == 0, words


def of_table(database, name):
    return [tuple(row) for row in database.execute(f'SELECT * FROM {name} ORDER BY "row"')]


def of_csv(path):
    """Rows of numbers, as a table has them."""
    lines = path.read_text().splitlines()[1:]
    return [tuple(map(float, line.split(","))) for line in lines]


def assert_same(table, csv):
    """Rows of a table after their number, and those of a file; SQLite has no NaN."""
    found = [tuple(np.nan if value is None else float(value) for value in row[1:]) for row in table]
    assert [row[0] for row in table] == [*range(len(csv))]
    np.testing.assert_array_equal(found, csv)


@pytest.mark.parametrize("online", [[], ["--online", "--novelty"]])
def test_a_query_is_mapped_as_the_same_rows_of_a_file(database, online, tmp_path, capsys):
    database.create(X)
    (tmp_path / "rows.csv").write_text(write_csv(X))
    words = ["--label", "id", "--normalize", "zscore", "--landmarks", "10", *online]
    run("embed", "rows.csv", *words, "-o", "one.csv")
    query = "SELECT id, a, b, c, name FROM t ORDER BY id"
    run("embed", database.url, "--query", query, *words, "-o", "two.csv", "--to-table", "map", "--exclude", "name")
    one, two = (tmp_path / name for name in ("one.csv", "two.csv"))
    assert of_csv(one) == of_csv(two) or online
    np.testing.assert_array_equal(of_csv(one), of_csv(two))
    assert_same(of_table(database, "map"), of_csv(one))
    said = capsys.readouterr().err
    assert f"wrote two.csv, table 'map' of {database.shown}" in said
    assert PASSWORD not in said
    assert main(["embed", database.url, "--query", query, "--to-table", "map"]) == 2
    assert "has 150 rows: go on with its run by --resume, drop it, or name another" in capsys.readouterr().err


class Followed:
    """A followed query that is started again and again."""

    def __init__(self, database, folder, *more):
        self.database, self.folder = database, folder
        query = ["--query", "SELECT id, a, b, c FROM t", "--order-by", "id", "--to-table", "map"]
        files = ["-o", "map.csv", "--checkpoint", "map.ckpt", "--resume"]
        self.words = ["follow", database.url, *query, *files, *OPTIONS, *more]
        self.start()

    def start(self):
        words = [sys.executable, "-m", "driftmap", *self.words]
        with (self.folder / "said").open("ab") as said:
            self.process = subprocess.Popen(words, cwd=self.folder, stdout=subprocess.DEVNULL, stderr=said)

    def said(self):
        return (self.folder / "said").read_text()

    def wait(self, rows):
        for _ in range(1200):
            with contextlib.suppress(FileNotFoundError):
                if (self.folder / "map.csv").read_bytes().count(b"\n") > rows:
                    return
            assert self.process.poll() is None, self.said()
            time.sleep(0.05)
        raise AssertionError(self.said())

    def end(self, number=signal.SIGKILL):
        self.process.send_signal(number)
        return self.process.wait()


@pytest.mark.parametrize("database", ["sqlite", "postgresql"], indirect=True)  # of all: `make torture`
def test_a_killed_run_goes_on_with_the_same_bytes_and_rows(database, tmp_path):
    rng, done = random.Random(database.kind), 0
    database.create(X[:0])
    (tmp_path / "rows.csv").write_text(write_csv(X))
    run("embed", "rows.csv", "--label", "id", "--online", "--novelty", "--landmarks", 10, "-o", "one.csv")
    followed = Followed(database, tmp_path)
    for last in (70, 140) if database.kind == "sqlite" else (140,):
        database.insert(X[done:last], done + 1)
        followed.wait(rng.randint(done + 1, last))
        time.sleep(rng.random() * 0.3)
        followed.end()
        followed.start()
        done = last
    database.insert(X[done:], done + 1)  # after the last start, so that it has begun when it is interrupted
    followed.wait(150)
    for _ in range(200):
        if len(of_table(database, "map")) == 150:
            break
        time.sleep(0.05)
    assert followed.end(signal.SIGINT) == 130
    assert (tmp_path / "map.csv").read_bytes() == (tmp_path / "one.csv").read_bytes()
    assert_same(of_table(database, "map"), of_csv(tmp_path / "one.csv"))
    assert database.execute("SELECT n_rows FROM driftmap_positions")[0][0] == 150
    everything = followed.said() + "".join(
        path.read_bytes().decode(errors="replace") for path in tmp_path.glob("map.*")
    )
    assert PASSWORD not in everything
    assert "tester" not in everything


def test_a_table_that_is_dropped_during_a_run_is_one_line(tmp_path):
    database = Database("sqlite", tmp_path)
    database.create(X[:20])
    followed = Followed(database, tmp_path)
    followed.wait(20)
    database.execute("DROP TABLE t")
    assert followed.process.wait(30) == 2
    assert "no such table: t" in followed.said().splitlines()[-1]
    assert "Traceback" not in followed.said()


@pytest.mark.parametrize("online", [[], ["--online"]])
def test_a_killed_embed_reads_the_rows_of_its_first_moment(online, tmp_path, monkeypatch):
    """The result is kept beside the checkpoint, so what others do to the table meanwhile changes nothing."""
    from driftmap.pipeline.saver import Saver

    monkeypatch.chdir(tmp_path)
    database = Database("sqlite", tmp_path)
    database.create(X)
    query = ["--query", "SELECT a, b, c FROM t", "--landmarks", "10", *online]
    words = ["embed", database.url, *query, "--checkpoint", "c.ckpt", "--resume", *OPTIONS[2:]]
    run("embed", database.url, *query, "-o", "one.csv")
    saved = Saver.save

    def interrupted(self, *given):
        saved(self, *given)
        if self.state.position is not None and self.state.position.rows > 70 and self.state.stage == "mapping":
            raise KeyboardInterrupt

    monkeypatch.setattr(Saver, "save", interrupted)
    monkeypatch.setattr("driftmap.cli.mapping.chunk_rows", lambda n: 40)
    monkeypatch.setattr("driftmap.pipeline.saver.SHARE", 1)
    assert main([*words, "-o", "two.csv", "--to-table", "map"]) == 130
    monkeypatch.setattr(Saver, "save", saved)
    database.execute("DELETE FROM t WHERE id < 100")
    assert 70 < len(of_table(database, "map")) < 150
    run(*words, "-o", "two.csv", "--to-table", "map")
    assert (tmp_path / "two.csv").read_bytes() == (tmp_path / "one.csv").read_bytes()
    assert_same(of_table(database, "map"), of_csv(tmp_path / "one.csv"))
    assert [path.name for path in tmp_path.glob(".*")] == []
    (tmp_path / "c.ckpt").unlink()


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["embed", "sqlite:///x.db"], 'sqlite:///x.db is a database: add --query "SELECT ..."'),
        (["embed", "x.db"], 'x.db looks like a database: give it as sqlite:///x.db; add --query "SELECT ..."'),
        (["embed", "sqlite:///x.db", "--query", " ; "], "--query is empty"),
        (["embed", "rows.csv", "--query", "SELECT 1"], "rows.csv is no database: a query goes with sqlite:///FILE"),
        (["embed", "redis://me:secret@h/x", "--query", "SELECT 1"], "redis://h/x is no database"),
        (["embed", "sqlite:///x.db", "--to-table", "map"], "--to-table is a table of the database that --query reads"),
        (["embed", "sqlite:///x.db", "--query", "SELECT * FROM t", "--skip-bad"], "leave out rows by a WHERE"),
        (["embed", "sqlite:///x.db", "--query", "SELECT * FROM t", "--delimiter", "tab"], "--delimiter is for files"),
        (["embed", "sqlite:///none.db", "--query", "SELECT 1"], "sqlite:///none.db does not exist"),
        (["embed", "sqlite:///x.db", "--query", "SELECT name FROM t"], "no column is left for the features"),
        (["embed", "sqlite:///x.db", "--query", "SELECT a FROM t WHERE id < 0"], "has no rows"),
        (["embed", "sqlite:///x.db", "--query", "SELECT * FROM s"], "no such table: s"),
        (
            ["embed", "sqlite:///x.db", "--query", "SELECT * FROM t", "--checkpoint", "x.db"],
            "is the same file as the input",
        ),
        (
            ["embed", "postgresql://me:secret@127.0.0.1:1/x", "--query", "SELECT 1"],
            "postgresql://127.0.0.1:1/x cannot be",
        ),
        (
            ["embed", "duckdb:///:memory:", "--query", "SELECT 1", "--to-table", "m"],
            "--to-table needs a database that stays",
        ),
        (["follow", "sqlite:///x.db"], "is a database: add --query"),
        (["follow", "sqlite:///x.db", "--query", "SELECT * FROM t"], "--query needs --order-by"),
        (["follow", "rows.csv", "--order-by", "id"], "--order-by needs --query"),
        (
            ["follow", "sqlite:///x.db", "--query", "SELECT * FROM t", "--order-by", "id", "--to-table", "m"],
            "--to-table needs --checkpoint",
        ),
        (
            ["follow", "sqlite:///x.db", "--query", "SELECT a FROM t", "--order-by", "id"],
            "the query has no column 'id'",
        ),
        (
            ["follow", "rows.csv", "--sink", "sqlite:///x.db"],
            "is a database, not a stream of messages; --to-table appends",
        ),
        (["watch", "sqlite:///x.db"], "is a database: add --query"),
        (["contacts", "sqlite:///x.db"], "is a database"),
    ],
)
def test_mistakes_are_one_line(words, message, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "rows.csv").write_text("a,b\n1,2\n3,4\n5,7\n")
    Database("sqlite", tmp_path).create(X[:9])
    (tmp_path / "data.sqlite").rename("x.db")
    before = (tmp_path / "x.db").read_bytes()
    assert main([*words, *(["-o", "map.csv"] if words[0] != "watch" else [])]) == 2
    said = capsys.readouterr().err
    assert message in said
    assert said.splitlines()[-1].startswith("driftmap: error: ")
    assert "Traceback" not in said
    assert "secret" not in said
    assert (tmp_path / "x.db").read_bytes() == before
    assert not (tmp_path / "map.csv").exists() or words[0] == "follow"


def test_the_column_of_the_order_is_the_label_and_no_feature():
    query = FollowedQuery(query="SELECT * FROM t", order_by="id")
    assert query.labelled(Reading()) == Reading(label="id")
    assert query.labelled(Reading(columns=["a"])) == Reading(columns=["a"], label="id")
    assert query.labelled(Reading(label="name", exclude=["b"])) == Reading(label="name", exclude=["b", "id"])
    for asked in (Reading(columns=["id", "a"]), Reading(label="id"), Reading(label="name", columns=["a"])):
        assert query.labelled(asked) == asked

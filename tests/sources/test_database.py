"""Queries of real databases: batches, rows as they appear, and what makes them no stream is an error."""

import contextlib
import itertools
import json
import subprocess
import sys

import numpy as np
import pytest

from databases import KINDS, PASSWORD, Database, PostgreSQL
from driftmap import sources
from driftmap.map import StreamMap
from driftmap.pipeline import MapOperator
from driftmap.sources import Query, query_rows
from driftmap.sources.addresses import Address
from driftmap.sources.result_table import ResultTable
from driftmap.utils.errors import InputError, MissingDependencyError

pytest.importorskip("adbc_driver_manager", reason="databases need pip install driftmap[sql]")

X = np.cumsum(np.random.default_rng(1).standard_normal((60, 3)), axis=0)


@pytest.fixture(scope="module")
def server():
    found = PostgreSQL()
    yield found
    found.close()


@pytest.fixture(params=KINDS)
def database(request, tmp_path):
    if request.param != "postgresql":
        return Database(request.param, tmp_path)
    found = request.getfixturevalue("server")
    found.clear()
    return found


class StopError(Exception):
    pass


def stop():
    raise StopError


def read(source, position, limit=7):
    """All rows that are there after a position, and the position after each call."""
    rows, positions = [], []
    source.waiting = stop
    try:
        while True:
            some, position = source.read(position, limit)
            rows += [json.loads(row) for row in some]
            positions.append(json.loads(json.dumps(position)))
    except StopError:
        return rows, positions


def test_the_result_of_a_query_comes_in_batches(database):
    database.create(X)
    batches = list(sources.sql(database.url, "SELECT a, b, c FROM t ORDER BY id"))
    found = np.concatenate([np.column_stack(batch.columns) for batch in batches if batch.num_rows])
    np.testing.assert_array_equal(found, X)
    later = sources.sql(database.url, "SELECT * FROM t -- a comment", order_by="id", after=55)
    assert [name for batch in later for name in batch["name"].to_pylist()] == ["n56", "n57", "n58", "n59", "n60"]
    with pytest.raises(InputError, match="the query gives two columns of the name 'x': name one of them by AS"):
        list(sources.sql(database.url, "SELECT 1 AS x, 2 AS x"))
    with pytest.raises(InputError, match="after needs order_by"):
        list(sources.sql(database.url, "SELECT 1", after=3))


def test_an_operator_takes_the_batches(database):
    database.create(X)
    operator = MapOperator(StreamMap(2, n_landmarks=5), label="name")
    for batch in sources.sql(database.url, "SELECT a, b, c, name FROM t ORDER BY id"):
        operator.on_batch(batch)
    assert operator.n_rows == 60


@pytest.mark.parametrize("vectors", ["DOUBLE PRECISION[]", "REAL[]"])
def test_a_column_of_arrays_is_a_vector_column(database, vectors, tmp_path):
    if database.kind == "sqlite":
        pytest.skip("SQLite has no arrays")
    database.execute(f"CREATE TABLE t (id INTEGER, v {vectors})")
    literal = "ARRAY[{}]" if database.kind == "postgresql" else "[{}]"
    whole = np.round(X)
    database.execute(
        *(
            f"INSERT INTO t VALUES ({i}, {literal.format(', '.join(map(str, row)))})"
            for i, row in enumerate(whole.tolist())
        )
    )
    operator = MapOperator(StreamMap(2, n_landmarks=5))
    for batch in sources.sql(database.url, "SELECT v FROM t ORDER BY id"):
        operator.on_batch(batch)
    assert operator.columns == ("v_1", "v_2", "v_3")
    other = MapOperator(StreamMap(2, n_landmarks=5))
    other.on_batch(whole)
    np.testing.assert_array_equal(operator.mapper.transform(whole), other.mapper.transform(whole))
    assert read(sources.open(database.url, Query("SELECT * FROM t", "id")), 0)[0][7] == {
        "id": 7,
        "v": whole[7].tolist(),
    }


def test_rows_are_read_as_they_appear_from_every_position(database):
    database.create(X[:40])
    query = Query("SELECT id, a FROM t;", "id")
    source = sources.open(database.url, query)
    rows, positions = read(source, 0)
    assert [row["id"] for row in rows] == [*range(1, 41)]
    assert [row["a"] for row in rows] == X[:40, 0].tolist()
    database.insert(X[40:], 41)
    assert [row["id"] for row in read(source, positions[-1])[0]] == [*range(41, 61)]
    source.close()
    for position in positions:
        again = sources.open(database.url, query)
        assert [row["id"] for row in read(again, position, 100)[0]] == [*range(position["last"] + 1, 61)]
        again.close()


def test_a_deleted_row_does_not_shift_those_after_it(database):
    database.create(X)
    query = Query("SELECT id, a FROM t", "id")
    source = sources.open(database.url, query)
    rows, _ = source.read(0, 40)
    assert len(rows) == 40
    position, ahead = source.exact(0, 25)
    source.close()
    assert (position["last"], ahead) == (25, 0)
    database.execute("DELETE FROM t WHERE id IN (3, 25, 30)")
    again, said = sources.open(database.url, query), []
    again.report = said.append
    assert [row["id"] for row in read(again, position, 100)[0]] == [26, 27, 28, 29, *range(31, 61)]
    assert said == [f"{database.shown}: rows that were read have been deleted (2 of them); the map keeps them"]
    again.close()


BAD_ORDERS = {
    "late": (
        ["INSERT INTO t VALUES (1, 0, 0, 0, 'x')"],
        "has rows that appeared late .1 of them.: their id is at most 12",
    ),
    "null": (["INSERT INTO t VALUES (NULL, 0, 0, 0, 'x')"], r"has rows without id \(NULL, 1 of them\)"),
    "tie": (["INSERT INTO t VALUES (12, 0, 0, 0, 'x')"], r"has several rows with id 12|appeared late"),
    "later tie": (
        ["INSERT INTO t VALUES (13, 0, 0, 0, 'x')", "INSERT INTO t VALUES (13, 0, 0, 0, 'y')"],
        "has several rows with id 13",
    ),
    "changed": (["UPDATE t SET a = 7 WHERE id = 12"], "has another row with id 12 than the one that was read"),
    "refilled": (
        ["DELETE FROM t", "INSERT INTO t SELECT 12, 0, 0, 0, 'x'"],
        "has another row with id 12 than the one that was read",
    ),
    "dropped": (["DROP TABLE t"], "t"),
    "text": (
        ["ALTER TABLE t RENAME TO s", "CREATE TABLE t AS SELECT id, name AS a, b, c, name FROM s"],
        r"has another row|is text now",
    ),
}


@pytest.mark.parametrize(
    ("what", "resumed"), [*((what, False) for what in BAD_ORDERS), ("late", True), ("tie", True), ("changed", True)]
)
def test_what_makes_rows_no_stream_is_an_error_that_says_so(database, what, resumed, monkeypatch):
    monkeypatch.setattr(query_rows, "CHECK_SECONDS", 0.0)
    monkeypatch.setattr(query_rows, "SHARE", 1)
    database.execute(
        "CREATE TABLE t (id INTEGER, a DOUBLE PRECISION, b DOUBLE PRECISION, c DOUBLE PRECISION, name TEXT)"
    )
    database.insert(X[:11], 2)
    query = Query("SELECT * FROM t", "id")
    source = sources.open(database.url, query)
    rows, positions = read(source, 0, 100)
    assert len(rows) == 11
    if resumed:
        source.close()
        source = sources.open(database.url, query)
    statements, message = BAD_ORDERS[what]
    database.execute(*statements)
    with pytest.raises(InputError, match=message) as caught:
        read(source, positions[-1])
    assert database.shown in str(caught.value)
    source.close()


@pytest.mark.parametrize(
    ("query", "order_by", "message"),
    [
        ("SELECT a FROM t", "id", "the query has no column 'id', which --order-by names"),
        ("SELECT * FROM nowhere", "id", "nowhere"),
        ("DELETE FROM t", "id", "syntax|DELETE"),
        ("SELECT * FROM t", "a", "column 'a' is a number, and --order-by needs integers or texts"),
    ],
)
def test_queries_that_cannot_be_followed(database, query, order_by, message):
    database.create(X[:5])
    source = sources.open(database.url, Query(query, order_by))
    with pytest.raises(InputError, match=message):
        read(source, 0)
    assert len(database.execute("SELECT * FROM t")) == 5
    source.close()


def test_texts_may_number_rows(database):
    database.create(X[:9])
    with contextlib.closing(sources.open(database.url, Query("SELECT * FROM t", "name"))) as source:
        rows, positions = read(source, 0, 4)
    assert [row["name"] for row in rows] == [f"n{i}" for i in range(1, 10)]
    assert [position["last"] for position in positions] == ["n4", "n8", "n9"]


def test_results_and_their_number_are_appended_in_one_transaction(database):
    database.create(X[:1])
    table = ResultTable(Address(database.url), 'a "table"', {"x1": "number", "name": "text"})
    table.begin(None)
    table.append(0, [np.array([0.5, np.inf]), ["p", "q"]])
    table.append(1, [np.array([1 / 3, 2.0]), ["q", "r"]])  # a run that was killed maps rows again
    table.append(0, [np.array([9.0]), ["p"]])
    expected = [(0, 0.5, "p"), (1, np.inf, "q"), (2, 2.0, "r")]
    text = 'SELECT * FROM "a ""table""" ORDER BY "row"'
    assert list(map(tuple, database.execute(text))) == expected
    with pytest.raises(InputError, match=r"has 3 rows, but 5 were appended"):
        table.append(5, [np.array([1.0]), ["z"]])
    with pytest.raises(InputError, match="x1 holds other values than numbers now"):
        table.append(3, [["one"], ["z"]])
    table.begin(2)
    with pytest.raises(InputError, match="has 3 rows: go on with its run by --resume"):
        table.begin(None)
    with pytest.raises(InputError, match="has 3 rows, but should have 4"):
        table.begin(4)
    assert list(map(tuple, database.execute(text))) == expected
    database.execute('DROP TABLE "a ""table"""')
    with pytest.raises(InputError, match=r"a .*table"):
        table.append(3, [np.array([1.0]), ["z"]])


def test_a_locked_file_and_a_stopped_server_are_waited_for(database, tmp_path):
    database.create(X[:20])
    source, said, looks = sources.open(database.url, Query("SELECT * FROM t", "id")), [], itertools.count()
    source.report = said.append
    _, position = source.read(0, 20)
    if database.kind == "postgresql":
        database.stop()
        free = database.start
    elif database.kind == "sqlite":
        pytest.skip("readers of SQLite wait for no writer")
    else:
        code = f"import duckdb; c = duckdb.connect({str(database.path)!r}); print(flush=True); input()"
        held = subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        held.stdout.readline()
        free = lambda: held.communicate(b"\n")  # noqa: E731

    def waiting():
        if said and next(looks) == 3:
            free()
        if said[1:]:
            raise StopError

    source.waiting = waiting
    with pytest.raises(StopError):
        source.read(position, 20)
    assert "is not connected" in said[0]
    assert "is connected again" in said[1]
    assert PASSWORD not in str(said)
    source.close()


def test_credentials_are_never_shown(server):
    wrong = server.url.replace(PASSWORD.replace("/", "%2F"), "wrong%2FmarK7")
    with pytest.raises(InputError, match="authentication failed") as caught:
        list(sources.sql(wrong, "SELECT 1"))
    assert "marK7" not in str(caught.value)
    assert "tester" not in str(caught.value)
    with pytest.raises(InputError, match=r"has the unknown option 'password'"):
        list(sources.sql(server.shown + "?password=marK7", "SELECT 1"))
    with pytest.raises(InputError, match="cannot be read: "):
        list(sources.sql("postgresql://me:marK7@127.0.0.1:1/x", "SELECT 1"))


def test_names_that_are_no_databases(tmp_path, monkeypatch):
    for url, message in (
        (f"sqlite:///{tmp_path}/none.db", "does not exist"),
        (f"duckdb:///{tmp_path}", "is a folder"),
        ("rows.csv", "rows.csv is no database: a query goes with sqlite:///FILE"),
        ("redis://me:secret@h/x", "redis://h/x is no database"),
        ("duckdb:///md:x?motherduck_token=secret", r"duckdb://\.\.\. has a \?"),
        ("sqlite://me:secret@h/x.db", r"sqlite://\.\.\. is not a whole address"),
    ):
        with pytest.raises(InputError, match=message) as caught:
            list(sources.sql(url, "SELECT 1"))
        assert "secret" not in str(caught.value)
    assert not (tmp_path / "none.db").exists()
    (tmp_path / "text.db").write_text("no database, but a text of some length\n" * 100)
    for kind in ("sqlite", "duckdb"):
        with pytest.raises(InputError, match=r"text\.db"):
            list(sources.sql(f"{kind}:///{tmp_path}/text.db", "SELECT 1 FROM t"))
    with pytest.raises(InputError, match=r"is a database, of which a query reads rows: use driftmap.sources.sql|; use"):
        sources.open(f"sqlite:///{tmp_path}/x.db")
    monkeypatch.setitem(__import__("sys").modules, "adbc_driver_sqlite.dbapi", None)
    with pytest.raises(
        MissingDependencyError, match=r"sqlite:// needs adbc_driver_sqlite: pip install \"driftmap\[sql\]\""
    ):
        list(sources.sql(f"sqlite:///{tmp_path}/text.db", "SELECT 1"))


def test_a_type_that_changes_in_sqlite_is_named(tmp_path):
    database = Database("sqlite", tmp_path)
    database.execute("CREATE TABLE t (id INTEGER, a)")
    database.execute("INSERT INTO t VALUES (?, ?)", rows=[(i, 0.5 * i) for i in range(1, 21)])
    source = sources.open(database.url, Query("SELECT * FROM t", "id"))
    _, positions = read(source, 0, 100)
    database.execute("INSERT INTO t VALUES (21, 'warm')")
    with pytest.raises(InputError, match="row 1 after id 20, column 'a' is text now, and was a number before: cast it"):
        read(source, positions[-1])
    many = [(i, i if i < 20_000 else "warm") for i in range(21, 20_100)]
    database.execute("DELETE FROM t")
    database.execute("INSERT INTO t VALUES (?, ?)", rows=many)
    with pytest.raises(InputError, match="cast the column to one type in the query"):
        list(sources.sql(database.url, "SELECT * FROM t"))

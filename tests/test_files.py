"""Large files: parsed many lines at once or line by line, with or without other libraries, the results are the same."""

import errno
import gzip
import json
import os
import sys
import threading
import time

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from driftmap import frames
from driftmap.cli import blocks, main, numbers, parquet, spool, tables, threads
from driftmap.cli.badlines import BadLines
from driftmap.cli.errors import UserError
from driftmap.cli.tables import Wanted, open_table
from driftmap.cli.text import TextTable

X = np.cumsum(np.random.default_rng(7).standard_normal((90, 3)), axis=0)
HUGE = 10**9


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def read(name, monkeypatch, *, fast, rows=10, size=150, start=None, **wanted):
    """All that a table gives: numbers, labels, how many lines were skipped, the place after every chunk, the error."""
    bad = BadLines(skip=wanted.pop("skip", False))
    careful = []
    with monkeypatch.context() as patch:
        patch.setattr(tables, "SMALL", 0 if fast else HUGE)
        patch.setattr(blocks, "SIZE", size)
        original = TextTable._careful_chunk
        patch.setattr(TextTable, "_careful_chunk", lambda self, rows: careful.append(1) or original(self, rows))
        chunks, places, error = [], [], None
        try:
            with open_table(name, Wanted(bad=bad, **wanted), once=False) as table:
                for chunk in table.chunks(rows, start):
                    chunks.append(chunk)
                    places.append(table.position())
        except UserError as mistake:
            error = str(mistake)
    features = np.concatenate([chunk.features for chunk in chunks]) if chunks else np.empty((0, 0))
    labels = [label for chunk in chunks for label in chunk.labels or ()]
    return features, labels, bad.count, places, error, len(careful)


def assert_same(name, monkeypatch, **options):
    slow, fast = (read(name, monkeypatch, fast=fast, **options) for fast in (False, True))
    assert fast[4] == slow[4]
    n = min(len(fast[0]), len(slow[0]))  # before an error, some rows more or fewer may be given out
    assert slow[4] is not None or len(fast[0]) == len(slow[0])
    assert fast[0][:n].tobytes() == slow[0][:n].tobytes()
    assert fast[1][:n] == slow[1][:n]
    assert fast[2] == slow[2]
    return slow, fast


def lines(rows, label=None):
    return [",".join([*([label(i)] if label else []), *map(repr, row)]) for i, row in enumerate(rows.tolist())]


HEADER = "name,a,b,c"
ROWS = lines(X, lambda i: f"r{i}")
ODD_CSV = {
    "text": "r,1,x,3",
    "short": "r,1,2",
    "long": "r,1,2,3,4",
    "empty cell": "r,1,,3",
    "blank cell": "r,1, ,3",
    "nan": "r,1,nan,3",
    "odd nan": "r,1,nan(1),3",
    "infinite": "r,1,-inf,3",
    "overflow": "r,1,1e400,3",
    "too large": "r,1,1e200,3",
    "missing": "r,1,NA,3",
    "null": "r,1,null,3",
    "underscore": "r,1,1_0,3",
    "hexadecimal": "r,1,0x10,3",
    "decimal comma": 'r,1,"2,5",3',
    "true": "r,1,true,3",
    "other digits": "r,1,٣,3",
    "forms": "r, +1 ,.5,1.E-2\t",
    "tiny": "r,-0,5e-324,1e-400",
    "digits": "r,0.1000000000000000055511151231257827021181583404541015625,9007199254740993,1e22",
    "quoted": '"r ""1"", 2",1,"2",3',
    "two lines": '"r\n1",1,2,3',
    "open quote": 'r,1,"2,3',
    "quote inside": 'r"x",1,2,3',
    "text after a quote": '"r"x,1,2,3',
    "blank line": "",
    "carriage return": "r\rx,1,2,3",
    "windows": "r,1,2,3\r",
    "not ascii": "größe,1,2,3",
    "not UTF-8": b"gr\xf6\xdfe,1,2,3",
    "zero byte": b"r\0,1,2,3",
    "byte order mark": "\ufeffr,1,2,3",
    "spaces": "  r  ,1,2,3",
    "empty label": ",1,2,3",
    "very long": "r" * 140_000 + ",1,2,3",
    "long cell": "r" * 70_000 + ",1,2,3",
}


def encoded(some):
    return b"".join((line if isinstance(line, bytes) else line.encode()) + b"\n" for line in some)


@pytest.mark.parametrize("skip", [False, True])
@pytest.mark.parametrize("name", ODD_CSV)
def test_odd_lines_of_csv_are_read_or_refused_as_line_by_line(folder, monkeypatch, capsys, name, skip):
    for at in (0, 1, 44, len(ROWS)):
        content = encoded([HEADER, *ROWS[:at], ODD_CSV[name], *ROWS[at:]])
        folder.joinpath("t.csv").write_bytes(content)
        size = 2 * len(content) if len(content) > 50_000 and at == 1 else 150
        assert_same("t.csv", monkeypatch, label="name", skip=skip, size=size)
        said = capsys.readouterr().err.splitlines()
        assert len(said) % 2 == 0  # the same lines are told both times
        assert said[: len(said) // 2] == said[len(said) // 2 :]


ODD_JSON = {
    "text": '{"name": "r", "a": 1, "b": "2", "c": 3}',
    "true": '{"name": "r", "a": 1, "b": true, "c": 3}',
    "true label": '{"name": true, "a": 1, "b": 2, "c": 3}',
    "null": '{"name": "r", "a": 1, "b": null, "c": 3}',
    "null label": '{"name": null, "a": 1, "b": 2, "c": 3}',
    "missing": '{"name": "r", "a": 1, "c": 3}',
    "more": '{"name": "r", "a": 1, "b": 2, "c": 3, "d": 4}',
    "renamed": '{"name": "r", "a": 1, "b": 2, "d": 4}',
    "twice": '{"name": "r", "a": 1, "a": 5, "b": 2, "c": 3}',
    "order": '{"c": 3, "b": 2, "name": "r", "a": 1}',
    "integers": '{"name": 18446744073709551616, "a": -0, "b": 9007199254740993, "c": 123456789012345678901234567890}',
    "label of a float": '{"name": 1e20, "a": -0.0, "b": 1E5, "c": 5e-324}',
    "label of a list": '{"name": [1, 18446744073709551616], "a": 1, "b": 2, "c": 3}',
    "nan": '{"name": "r", "a": 1, "b": NaN, "c": 3}',
    "infinite": '{"name": "r", "a": 1, "b": -Infinity, "c": 3}',
    "overflow": '{"name": "r", "a": 1, "b": 1e400, "c": 3}',
    "too large": '{"name": "r", "a": 1, "b": 1e200, "c": 3}',
    "huge integer": '{"name": "r", "a": 1, "b": 1' + "0" * 400 + ', "c": 3}',
    "array": '["r", 1, 2, 3]',
    "number": "7",
    "no JSON": '{"name": "r", "a": 1, "b": 2,',
    "two objects": '{"name": "r", "a": 1, "b": 2, "c": 3}{"name": "r", "a": 1, "b": 2, "c": 3}',
    "two with a comma": '{"name": "r", "a": 1, "b": 2, "c": 3},{"name": "r", "a": 1, "b": 2, "c": 3}',
    "half a character": '{"name": "\\ud800", "a": 1, "b": 2, "c": 3}',
    "escapes": '{"name": "\\u00e4\\n\\"", "a": 1, "b": 2, "c": 3}',
    "blank line": "",
    "blanks": " \t",
    "carriage return": '{"name": "r",\r"a": 1, "b": 2, "c": 3}',
    "windows": '{"name": "r", "a": 1, "b": 2, "c": 3}\r',
    "not UTF-8": b'{"name": "gr\xf6\xdfe", "a": 1, "b": 2, "c": 3}',
}


@pytest.mark.parametrize("skip", [False, True])
@pytest.mark.parametrize("name", ODD_JSON)
def test_odd_lines_of_json_are_read_or_refused_as_line_by_line(folder, monkeypatch, capsys, name, skip):
    objects = [
        json.dumps(dict(zip(["name", "a", "b", "c"], [f"r{i}", *row], strict=True))) for i, row in enumerate(X.tolist())
    ]
    for at in (1, 44, len(objects)):
        folder.joinpath("t.jsonl").write_bytes(encoded([*objects[:at], ODD_JSON[name], *objects[at:]]))
        assert_same("t.jsonl", monkeypatch, label="name", skip=skip, size=400)
        said = capsys.readouterr().err.splitlines()
        assert said[: len(said) // 2] == said[len(said) // 2 :]


@pytest.mark.parametrize("size", [60, 300, 2**20])
@pytest.mark.parametrize("end", ["\n", "\r\n", ""])
@pytest.mark.parametrize("name", ["t.csv", "bare.csv", "bom.csv", "mixed.csv", "t.csv.gz", "t.jsonl", "arrays.jsonl"])
def test_ordinary_files_are_parsed_at_once(folder, monkeypatch, name, end, size):
    texts = {
        "csv": [HEADER, *ROWS],
        "mixed": ["name,1,b,c", *ROWS],
        "bare": lines(X),
        "jsonl": [json.dumps({"a": a, "b": b, "c": c}) for a, b, c in X.tolist()],
        "arrays": [json.dumps(row) for row in X.tolist()],
    }
    kind = next(kind for kind in ("arrays", "jsonl", "bare", "mixed", "csv") if kind in name)
    data = (end or "\n").join(texts[kind]).encode() + end.encode()
    data = b"\xef\xbb\xbf" + data if "bom" in name else data
    folder.joinpath(name).write_bytes(gzip.compress(data) if name.endswith("gz") else data)
    label = {} if kind in ("bare", "jsonl", "arrays") else {"label": "name"}
    slow, fast = assert_same(name, monkeypatch, size=size, **label)
    np.testing.assert_array_equal(fast[0], X)
    assert fast[5] == 0 or size == 60  # where hardly a line fits into a block
    for place in fast[3]:  # wherever a reading was, another one goes on, in either way
        for way in (False, True):
            rest = read(name, monkeypatch, fast=way, size=size, start=place, **label)
            assert rest[0].tobytes() == X[place.rows :].tobytes()
            assert rest[3] == [] or rest[3][-1].lines == slow[3][-1].lines


@pytest.mark.parametrize("name", ["t.csv", "t.jsonl", "t.npy", "t.parquet"])
def test_all_numbers_come_in_arrays_of_the_same_kind(folder, monkeypatch, name):
    # Compiled code is compiled once more for arrays that cannot be written to.
    folder.joinpath("t.csv").write_bytes(encoded(lines(X)))
    folder.joinpath("t.jsonl").write_bytes(encoded(map(json.dumps, X.tolist())))
    np.save("t.npy", X)
    pq.write_table(pa.table(dict(zip("abc", X.T, strict=True))), "t.parquet")
    for small in (0, HUGE):
        monkeypatch.setattr(tables, "SMALL", small)
        with open_table(name, Wanted(), once=False) as table:
            for chunk in table.chunks(50):
                assert chunk.features.flags.writeable
                assert chunk.features.flags.c_contiguous


def test_a_gzipped_file_is_unpacked_a_bounded_number_of_times(folder, monkeypatch):
    folder.joinpath("t.csv.gz").write_bytes(gzip.compress(encoded([HEADER, *lines(X, lambda i: f'"r, {i}"')])))
    rewinds = []
    original = gzip._GzipReader._rewind
    monkeypatch.setattr(gzip._GzipReader, "_rewind", lambda self: rewinds.append(1) or original(self))
    fast = read("t.csv.gz", monkeypatch, fast=True, rows=1, label="name")
    np.testing.assert_array_equal(fast[0], X)
    assert fast[5] >= 90
    assert len(rewinds) <= 1


def test_columns_and_a_label_that_is_a_feature_too(folder, monkeypatch):
    folder.joinpath("t.csv").write_bytes(encoded([HEADER, *ROWS]))
    slow, fast = assert_same("t.csv", monkeypatch, columns=["c", "a"], label="a")
    np.testing.assert_array_equal(fast[0], X[:, [2, 0]])
    assert fast[1] == [repr(value) for value in X[:, 0].tolist()]
    assert fast[5] == 0
    assert slow[5] > 0


@pytest.mark.parametrize("missing", ["pyarrow", "orjson"])
@pytest.mark.parametrize("name", ["t.csv", "t.jsonl"])
def test_results_do_not_depend_on_what_is_installed(folder, monkeypatch, name, missing):
    monkeypatch.setattr(tables, "SMALL", 0)
    monkeypatch.setattr(numbers, "FEW", 0)
    near = np.vstack([X, X[:5] * 1e-7, X[:5] * 1e18])
    folder.joinpath("t.csv").write_bytes(encoded([HEADER, *lines(near, lambda i: f'"r, {i}"' if i % 2 else "r")]))
    folder.joinpath("t.jsonl").write_text(
        "".join(json.dumps({"name": "ä\n", "a": a, "b": b, "c": c}) + "\n" for a, b, c in near.tolist())
    )
    written = []
    for absent in (None, missing):
        with monkeypatch.context() as patch:
            if absent:
                for module in [module for module in sys.modules if module.split(".")[0] == absent]:
                    patch.setitem(sys.modules, module, None)
            for output in ("o.csv", "o.jsonl"):
                assert main(["embed", name, "--label", "name", "--landmarks", "9", "--novelty", "-o", output]) == 0
                written.append(folder.joinpath(output).read_bytes())
    assert written[:2] == written[2:]
    assert written[0].count(b"e+") > 0


FLOATS = st.floats(width=64) | st.integers(-(10**17), 10**17).map(lambda i: i / 10**12)


@given(st.lists(FLOATS, min_size=1))
@example([0.0, -0.0, 1e-4, 9.999999999999999e-5, 1e16, 9999999999999998.0, 5e-324, 1.7976931348623157e308, 123456.0])
@example([float("nan"), float("inf"), float("-inf")])
def test_numbers_are_written_as_python_writes_them(values):
    before, numbers.FEW = numbers.FEW, 0
    try:
        assert numbers.as_text(np.array(values)) == [repr(value).encode() for value in values]
    finally:
        numbers.FEW = before


DIGITS = st.text("0123456789", min_size=1, max_size=40)
DECIMALS = st.builds(lambda a, b, e: f"{a}.{b}e{e}", DIGITS, DIGITS, st.integers(-330, 100))


@given(st.lists(DECIMALS | st.floats(-1e150, 1e150).map(repr), min_size=1))
@example(
    [
        "2.2250738585072011e-308",
        "9007199254740992.5",
        "9007199254740993.0",
        "6631236846766476e-316",
        "0.500000000000000166533453693773481063544750213623046875",
    ]
)
def test_numbers_are_read_to_the_bit(texts):
    expected = np.array([[float(text)] for text in texts])
    read_csv = blocks.CSVBlocks(1, [0], None, ",")("\n".join(texts).encode())
    assert read_csv is None if np.abs(expected).max() > 1e150 else read_csv[0].tobytes() == expected.tobytes()
    plain = [text if text[0] != "0" or text.startswith("0.") else "1" + text for text in texts]
    expected = np.array([[float(text)] for text in plain])
    read_json = blocks.JSONBlocks(["1"], [0], None, arrays=True)("\n".join(f"[{text}]" for text in plain).encode())
    assert read_json is None if np.abs(expected).max() > 1e150 else read_json[0].tobytes() == expected.tobytes()


# --- the temporary file ---


@pytest.mark.parametrize("held", [0, 1000, spool.HELD])
def test_a_large_text_is_parsed_once(folder, monkeypatch, held):
    monkeypatch.setattr(spool, "HELD", held)
    monkeypatch.setattr(tables, "CHUNK_ROWS", 10)
    folder.joinpath("t.csv").write_bytes(encoded([HEADER, *ROWS]))
    table = pa.table({"n": np.arange(90), **dict(zip("abc", X.T, strict=True))})
    pq.write_table(table, "t.parquet", row_group_size=25)
    for command in (["t.csv", "--label", "name"], ["t.csv", "--columns", "a,b,c"], ["t.parquet", "--label", "n"]):
        command = ["embed", *command, "--landmarks", "9", "--normalize", "zscore", "-o"]
        assert main([*command, "plain.csv"]) == 0
        with monkeypatch.context() as patch:
            patch.setattr(tables, "SMALL", 0)
            readings = []
            original = spool.Spool._read

            def read(table, rows, start, original=original, readings=readings):
                readings.append(0 if start is None else start.rows)
                return original(table, rows, start)

            patch.setattr(spool.Spool, "_read", read)
            assert main([*command, "o.csv"]) == 0
        # Parquet is read again in each of three passes, but for the rows that are held in memory.
        again = {0: [0, 0, 0], 1000: [0, 30, 30]}.get(held, [0])
        assert readings == (again if "t.parquet" in command else [0])
        assert folder.joinpath("o.csv").read_bytes() == folder.joinpath("plain.csv").read_bytes()
    assert sorted(os.listdir()) == ["o.csv", "plain.csv", "t.csv", "t.parquet"]


@pytest.mark.parametrize("held", [0, 3000])
@pytest.mark.parametrize("fails", ["open", "write", "flush"])
def test_where_the_temporary_file_cannot_be_written_the_input_is_read_again(folder, monkeypatch, fails, held):
    folder.joinpath("t.csv").write_bytes(encoded([HEADER, *ROWS]))
    command = ["embed", "t.csv", "--label", "name", "--landmarks", "9", "-o"]
    assert main([*command, "plain.csv"]) == 0

    class Full:
        def __init__(self, **options):
            if fails == "open":
                self.write()

        def seek(self, place):
            pass

        def write(self, *args):
            if fails != "flush":
                raise OSError(errno.ENOSPC, "full")

        def flush(self):
            raise OSError(errno.ENOSPC, "full")

        def close(self):
            raise OSError(errno.ENOSPC, "full")

    monkeypatch.setattr(tables, "SMALL", 0)
    monkeypatch.setattr(spool, "HELD", held)
    monkeypatch.setattr(tables, "CHUNK_ROWS", 10)
    monkeypatch.setattr(spool.tempfile, "TemporaryFile", Full)
    assert main([*command, "o.csv"]) == 0
    assert folder.joinpath("o.csv").read_bytes() == folder.joinpath("plain.csv").read_bytes()


def test_a_reading_that_is_broken_off_ends_its_thread_and_leaves_nothing(folder, monkeypatch):
    folder.joinpath("t.csv").write_bytes(encoded(lines(np.tile(X, (50, 1)))))
    monkeypatch.setattr(tables, "SMALL", 0)
    monkeypatch.setattr(tables, "CHUNK_ROWS", 10)
    monkeypatch.setattr(spool, "HELD", 0)
    for full in (False, True):
        if full:
            monkeypatch.setattr(spool.Shelf, "keep", lambda *args: False)
        with open_table("t.csv", Wanted(), once=False, spool=folder) as table:
            assert len(next(table.chunks(10)).features) == 10
        assert not any(thread.name == "reading" for thread in threading.enumerate())
        assert os.listdir() == ["t.csv"]


def test_rows_that_are_read_ahead_come_before_the_mistake_behind_them(folder, monkeypatch):
    folder.joinpath("t.csv").write_bytes(encoded([*lines(X), "1,2,x"]))
    monkeypatch.setattr(tables, "SMALL", 0)
    monkeypatch.setattr(tables, "CHUNK_ROWS", 10)
    with open_table("t.csv", Wanted(), once=False, spool=folder) as table:
        chunks = table.chunks(10)
        np.testing.assert_array_equal(np.concatenate([next(chunks).features for _ in range(9)]), X)
        with pytest.raises(UserError, match="'x', not a number"):
            next(chunks)


# --- threads, row groups, start-up ---


def test_work_in_parallel_keeps_the_order_and_tells_the_first_error():
    assert list(threads.in_parallel(lambda i: i * i, range(50))) == [(i, i * i) for i in range(50)]
    results = threads.in_parallel(lambda i: 1 / (i - 20), range(50))
    assert [next(results)[0] for _ in range(20)] == list(range(20))
    with pytest.raises(ZeroDivisionError):
        next(results)


@pytest.mark.skipif(
    not hasattr(os, "sched_getaffinity"), reason="this system does not tell which processors may be used"
)
def test_only_processors_that_may_be_used_count(monkeypatch):
    monkeypatch.setattr(os, "sched_getaffinity", lambda pid: {3})
    seen = {ident for _, ident in threads.in_parallel(lambda i: (time.sleep(0.01), threading.get_ident())[1], range(9))}
    assert len(seen) == 1


def test_the_frame_is_made_before_threads_map(folder, monkeypatch):
    makers, make = [], frames.Frames._refresh

    def noted(*what):
        makers.append(threading.current_thread())
        return make(*what)

    monkeypatch.setattr(frames.Frames, "_refresh", noted)
    monkeypatch.setattr(tables, "CHUNK_ROWS", 10)
    np.save("t.npy", X)
    assert main(["embed", "t.npy", "-o", "o.csv", "--landmarks", "10"]) == 0
    assert makers == [threading.main_thread()]


def test_parquet_files_do_not_depend_on_how_rows_come(folder, monkeypatch):
    monkeypatch.setattr(parquet, "GROUP", 32)
    for name, pieces in (("a.parquet", [90]), ("b.parquet", [1, 31, 33, 25]), ("c.parquet", [7] * 12 + [6])):
        with open(name, "wb") as file:
            writer, first = parquet.ParquetWriter(file, ["n", "x"]), 0
            for n in pieces:
                writer.write([[f"r{i}" for i in range(first, first + n)], X[first : first + n, 0]])
                first += n
            writer.close()
    contents = [folder.joinpath(name).read_bytes() for name in ("a.parquet", "b.parquet", "c.parquet")]
    assert contents[0] == contents[1] == contents[2]
    assert pq.ParquetFile("a.parquet").metadata.num_row_groups == 3
    assert pq.read_table("a.parquet")["x"].to_pylist() == X[:, 0].tolist()


def test_memory_does_not_grow_with_a_parquet_file(folder):
    rows = np.random.default_rng(0).random((100_000, 8))
    pq.write_table(pa.table(dict(zip("abcdefgh", rows.T, strict=True))), "t.parquet", row_group_size=1000)
    before, most = pa.total_allocated_bytes(), 0
    with open_table("t.parquet", Wanted(), once=False) as table:
        for _ in table.chunks(1000):
            most = max(most, pa.total_allocated_bytes() - before)
    assert 0 < most < os.path.getsize("t.parquet") / 10


def test_options_name_what_the_library_has():
    from driftmap import DriftMap
    from driftmap.checks import EMBEDDINGS
    from driftmap.cli import options
    from driftmap.map import Novelty

    assert EMBEDDINGS[0] == DriftMap().embedding
    assert Novelty._fields == options.NOVELTY

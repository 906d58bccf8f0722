"""Files of all formats: blocks of any size give the same rows, the same places and the same complaints."""

import decimal
import errno
import gzip
import json
import os
import re
import sys
import tempfile
import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet as pq
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from driftmap.cli import main
from driftmap.cli.errors import one_line
from driftmap.map import frames
from driftmap.sources import files as source_files
from driftmap.tables import cache, readers, writers
from driftmap.tables import table as tables
from driftmap.tables.columns import Wanted
from driftmap.tables.csv import arrow_memory
from driftmap.tables.readers import open_table
from driftmap.tables.rejected import RejectedLines
from driftmap.tables.table import Position, Table
from driftmap.utils.errors import InputError

X = np.cumsum(np.random.default_rng(7).standard_normal((90, 3)), axis=0)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def read(name, monkeypatch, *, rows=10, size=150, start=None, **wanted):
    """All that a table gives: numbers, labels, the lines that were skipped, the place after every chunk, the error."""
    said = []
    rejected = RejectedLines(skip=wanted.pop("skip", False), report=said.append)
    with monkeypatch.context() as patch:
        patch.setattr(source_files, "READ_BYTES", size)
        chunks, places, error = [], [], None
        try:
            with open_table(name, Wanted(rejected=rejected, **wanted), once=False) as table:
                for chunk in table.chunks(rows, start):
                    chunks.append(chunk)
                    places.append(table.position())
        except InputError as mistake:
            error = one_line(mistake)
    features = np.concatenate([chunk.features for chunk in chunks]) if chunks else np.empty((0, 0))
    labels = [label for chunk in chunks for label in (() if chunk.labels is None else chunk.labels)]
    assert len(said) == rejected.count
    return features, labels, said, places, error


def assert_same(name, monkeypatch, size=150, **options):
    """Small blocks give what one large block gives."""
    small, large = (read(name, monkeypatch, size=some, **options) for some in (size, 2**22))
    for one, other in zip((*small[1:3], small[4]), (*large[1:3], large[4]), strict=True):
        assert one == other
    assert small[0].tobytes() == large[0].tobytes()
    return large


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


NO_NUMBER = "is {}, not a number; leave out the column with --exclude, or such lines with --skip-bad"
REFUSED_CSV = {
    "text": ", column 'b' " + NO_NUMBER.format("'x'"),
    "short": " has 3 cells, but the first line has 4",
    "long": " has 5 cells, but the first line has 4",
    "empty cell": ", column 'b' is empty; choose --missing drop, mean or last, or leave out the column with --exclude",
    "blank cell": ", column 'b' is empty; choose --missing drop, mean or last, or leave out the column with --exclude",
    "nan": ", column 'b' is NaN; choose --missing drop, mean or last, or leave out the column with --exclude",
    "odd nan": ", column 'b' is NaN; choose --missing drop, mean or last, or leave out the column with --exclude",
    "infinite": ", column 'b' is -inf; leave out such lines with --skip-bad",
    "overflow": ", column 'b' is inf; leave out such lines with --skip-bad",
    "too large": ", column 'b' is 1e+200, beyond 1e+140: squares overflow; rescale the data",
    "missing": ", column 'b' is 'NA'; choose --missing drop, mean or last, or leave out the column with --exclude",
    "null": ", column 'b' is 'null'; choose --missing drop, mean or last, or leave out the column with --exclude",
    "underscore": ", column 'b' " + NO_NUMBER.format("'1_0'"),
    "hexadecimal": ", column 'b' " + NO_NUMBER.format("'0x10'"),
    "decimal comma": ", column 'b' is '2,5', not a number; read it with --decimal , or leave out such lines with "
    "--skip-bad",
    "true": ", column 'b' " + NO_NUMBER.format("'true'"),
    "other digits": ", column 'b' " + NO_NUMBER.format("'٣'"),
    "open quote": ": a quote is opened and not closed",
    "carriage return": " holds a carriage return within a row",
    "not UTF-8": " is not UTF-8 text (byte 0xf6); convert it to UTF-8, or leave out such lines with --skip-bad",
    "byte order mark": " begins with a byte order mark, which is for the first line only",
    "blank line": " is empty; leave out such lines with --skip-bad",
}
"""What is said of the lines that are no rows; all others are rows."""


@pytest.mark.parametrize("skip", [False, True])
@pytest.mark.parametrize("name", ODD_CSV)
def test_odd_lines_of_csv(folder, monkeypatch, name, skip):
    for at in (0, 44, len(ROWS)):
        folder.joinpath("t.csv").write_bytes(encoded([HEADER, *ROWS[:at], ODD_CSV[name], *ROWS[at:]]))
        features, _, said, _, error = assert_same("t.csv", monkeypatch, label="name", skip=skip)
        if name == "blank line" and at == len(ROWS):  # at the end there may be empty lines
            assert (len(features), error) == (90, None)
        elif name == "two lines" and skip:
            assert (len(said), len(features)) == (1, 91)
        elif name in REFUSED_CSV:
            expected = f"t.csv, line {at + 2}{REFUSED_CSV[name]}"
            skipped = re.split("; (?:leave|choose|read|convert)", f"skipped: {expected}")[0]
            assert (said, error) == (([skipped], None) if skip else ([], expected))
            assert len(features) == (90 if skip else at)
        else:
            assert (len(features), said, error) == (91, [], None)


def test_numbers_and_labels_of_odd_lines(folder, monkeypatch):
    names = ("forms", "tiny", "digits", "quoted", "two lines", "text after a quote", "spaces", "empty label", "windows")
    folder.joinpath("t.csv").write_bytes(encoded([HEADER, *ROWS, *(ODD_CSV[name] for name in names)]))
    features, labels, _, _, _ = assert_same("t.csv", monkeypatch, label="name")
    expected = [[1.0, 0.5, 0.01], [-0.0, 5e-324, 0.0], [0.1, 9007199254740992.0, 1e22], *[[1.0, 2.0, 3.0]] * 6]
    assert features[90:].tobytes() == np.array(expected).tobytes()
    assert labels[90:] == ["r", "r", "r", 'r "1", 2', "r\n1", "rx", "  r  ", "", "r"]


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


REFUSED_JSON = {
    "text": ", column 'b' " + NO_NUMBER.format("'2'"),
    "true": ", column 'b' " + NO_NUMBER.format("'true'"),
    "null": ", column 'b' is empty; choose --missing drop, mean or last, or leave out the column with --exclude",
    "missing": " has no 'b', which the first line has",
    "more": " has 'd', which the first line does not have",
    "renamed": " has no 'c', which the first line has",
    "nan": " is not JSON",
    "infinite": " is not JSON",
    "overflow": " is not JSON: number is infinity",
    "too large": ", column 'b' is 1e+200, beyond 1e+140: squares overflow; rescale the data",
    "huge integer": " is not JSON: number is infinity",
    "array": ": objects and arrays are mixed",
    "number": " is neither an object nor an array",
    "no JSON": " is not JSON",
    "two objects": " is not JSON",
    "two with a comma": " is not JSON",
    "half a character": " is not JSON",
    "not UTF-8": " is not UTF-8 text (byte 0xf6); convert it to UTF-8, or leave out such lines with --skip-bad",
}


@pytest.mark.parametrize("skip", [False, True])
@pytest.mark.parametrize("name", ODD_JSON)
def test_odd_lines_of_json(folder, monkeypatch, name, skip):
    objects = [
        json.dumps(dict(zip(["name", "a", "b", "c"], [f"r{i}", *row], strict=True))) for i, row in enumerate(X.tolist())
    ]
    for at in (1, 44, len(objects)):
        folder.joinpath("t.jsonl").write_bytes(encoded([*objects[:at], ODD_JSON[name], *objects[at:]]))
        features, labels, said, _, error = assert_same("t.jsonl", monkeypatch, label="name", skip=skip, size=400)
        if name in REFUSED_JSON:
            complaint = said[0].removeprefix("skipped: ") if skip else error
            expected = re.split("; (?:leave|choose|convert)", REFUSED_JSON[name])[0] if skip else REFUSED_JSON[name]
            assert complaint.startswith(f"t.jsonl, line {at + 1}{expected}")
            assert len(features) == (90 if skip else at)
        else:
            assert (len(features), said, error) == (90 + (name not in ("blank line", "blanks")), [], None)
        if name == "integers":
            assert labels[at] == "18446744073709551616"
            assert features[at].tolist() == [0.0, 9007199254740992.0, 1.2345678901234568e29]


def compressed(name, data):
    if name.endswith(".zst"):
        return pa.compress(data, codec="zstd", asbytes=True)
    return gzip.compress(data) if name.endswith(".gz") else data


NAMES = ["t.csv", "bare.csv", "bom.csv", "mixed.csv", "t.csv.gz", "t.csv.zst", "t.jsonl", "t.jsonl.zst", "arrays.jsonl"]


@pytest.mark.parametrize("size", [60, 300, 2**20])
@pytest.mark.parametrize("end", ["\n", "\r\n", ""])
@pytest.mark.parametrize("name", NAMES)
def test_a_pass_goes_on_from_any_position(folder, monkeypatch, name, end, size):
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
    folder.joinpath(name).write_bytes(compressed(name, data))
    label = {} if kind in ("bare", "jsonl", "arrays") else {"label": "name"}
    features, _, _, places, error = read(name, monkeypatch, size=size, **label)
    assert error is None
    np.testing.assert_array_equal(features, X)
    for place in places[::4]:
        rest = read(name, monkeypatch, size=size, start=place, **label)
        assert rest[0].tobytes() == X[place.rows :].tobytes()
        assert rest[3] == [] or rest[3][-1].lines == places[-1].lines


def test_rows_of_several_lines_keep_their_numbers_and_a_lost_quote_takes_no_more(folder, monkeypatch):
    rows = [f'"r\n{i}",{",".join(map(repr, row))}' for i, row in enumerate(X.tolist())]
    folder.joinpath("t.csv").write_bytes(encoded([HEADER, *rows, "r,1,x,3"]))
    features, labels, _, places, error = assert_same("t.csv", monkeypatch, label="name")
    np.testing.assert_array_equal(features, X)
    assert labels == [f"r\n{i}" for i in range(90)]
    assert error.startswith("t.csv, line 182, column 'b'")
    assert places[0] == Position(10, 21, len(encoded([HEADER, *rows[:10]])))
    monkeypatch.setattr("driftmap.tables.csv.LONGEST_QUOTED", 500)
    folder.joinpath("t.csv").write_bytes(encoded([HEADER, *ROWS[:5], '"r,1,2,3', *ROWS[5:]]))
    assert assert_same("t.csv", monkeypatch, label="name")[4] == "t.csv, line 7: a quote is opened and not closed"


def test_a_line_without_end_is_refused(folder, monkeypatch):
    monkeypatch.setattr("driftmap.tables.blocks.LONGEST_ROW", 1000)
    folder.joinpath("t.csv").write_bytes(encoded([HEADER, *ROWS[:5]]) + b"r" * 5000)
    assert read("t.csv", monkeypatch, label="name")[4] == "t.csv, line 7 is longer than 1,000 bytes"


@pytest.mark.parametrize("name", ["t.arrow", "t.arrows", "t.feather", "packed.feather"])
def test_arrow_files_in_batches(folder, monkeypatch, name):
    table = pa.table({"n": np.arange(90), **dict(zip("abc", X.T, strict=True))})
    if "feather" in name:
        pyarrow.feather.write_feather(table, name, "zstd" if "packed" in name else "uncompressed", chunksize=25)
    else:
        new = pa.ipc.new_stream if name.endswith("s") else pa.ipc.new_file
        with new(name, table.schema) as writer:
            writer.write_table(table, max_chunksize=25)
    features, labels, _, places, _ = read(name, monkeypatch, label="n")
    np.testing.assert_array_equal(features, X)
    assert labels == list(range(90))
    for place in places:
        assert read(name, monkeypatch, start=place, label="n")[0].tobytes() == X[place.rows :].tobytes()
    folder.joinpath(name).write_bytes(folder.joinpath(name).read_bytes()[:500])
    error = read(name, monkeypatch)[4]
    assert f"{name} cannot be read as Arrow: " in error or f"{name} is damaged: " in error


@pytest.mark.parametrize("name", ["t.csv", "t.jsonl", "t.npy", "t.parquet"])
def test_all_numbers_come_in_arrays_of_the_same_kind(folder, monkeypatch, name):
    # Compiled code is compiled once more for arrays that cannot be written to.
    folder.joinpath("t.csv").write_bytes(encoded(lines(X)))
    folder.joinpath("t.jsonl").write_bytes(encoded(map(json.dumps, X.tolist())))
    np.save("t.npy", X)
    pq.write_table(pa.table(dict(zip("abc", X.T, strict=True))), "t.parquet")
    with open_table(name, Wanted(), once=False) as table:
        for chunk in table.chunks(50):
            assert chunk.features.flags.writeable
            assert chunk.features.flags.c_contiguous


def test_columns_and_a_label_that_is_a_feature_too(folder, monkeypatch):
    folder.joinpath("t.csv").write_bytes(encoded([HEADER, *ROWS]))
    features, labels, *_ = assert_same("t.csv", monkeypatch, columns=["c", "a"], label="a")
    np.testing.assert_array_equal(features, X[:, [2, 0]])
    assert labels == [repr(value) for value in X[:, 0].tolist()]


FLOATS = st.floats(width=64) | st.integers(-(10**17), 10**17).map(lambda i: i / 10**12)


@settings(deadline=None)
@given(st.lists(FLOATS, min_size=1))
@example([0.0, -0.0, 1e-4, 9.999999999999999e-5, 1e16, 9999999999999998.0, 5e-324, 1.7976931348623157e308, 123456.0])
@example([float("nan"), float("inf"), float("-inf")])
def test_numbers_are_written_as_python_writes_them(values):
    before, writers.FEW_NUMBERS = writers.FEW_NUMBERS, 0
    try:
        assert writers.as_text(np.array(values)) == [repr(value).encode() for value in values]
    finally:
        writers.FEW_NUMBERS = before


DIGITS = st.text("0123456789", min_size=1, max_size=40)
DECIMALS = st.builds(lambda a, b, e: f"{a}.{b}e{e}", DIGITS, DIGITS, st.integers(-330, 90))


@settings(deadline=None)
@given(st.lists(DECIMALS | st.floats(-1e140, 1e140).map(repr), min_size=1))
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
    assert parsed("\n".join(texts), ".csv", header="no").tobytes() == expected.tobytes()
    plain = [text if text[0] != "0" or text.startswith("0.") else "1" + text for text in texts]
    expected = np.array([[float(text)] for text in plain])
    assert parsed("\n".join(f"[{text}]" for text in plain), ".jsonl").tobytes() == expected.tobytes()


def parsed(text, suffix, **wanted):
    with tempfile.NamedTemporaryFile(suffix=suffix) as file:
        file.write(text.encode())
        file.flush()
        with open_table(file.name, Wanted(**wanted), once=True) as table:
            return np.concatenate([chunk.features for chunk in table.chunks(1000)])


# --- the temporary file ---


class Counted(Table):
    """Another table, and from which row on each pass has read it."""

    def __init__(self, table):
        self.table, self.passes = table, []
        self.name, self.columns, self.label, self.left_out = table.name, table.columns, table.label, table.left_out

    def chunks(self, rows, start=None):
        self.passes.append(0 if start is None else start.rows)
        yield from self.table.chunks(rows, start)

    def position(self):
        return self.table.position()

    def close(self):
        self.table.close()


def passed(table, rows=10):
    """What one pass over a table gives: numbers, labels, and the rows before its end."""
    features, labels, end = [], [], 0
    for chunk in table.chunks(rows):
        features.append(chunk.features)
        labels += [] if chunk.labels is None else list(chunk.labels)
        end += len(chunk.features)
        assert table.position().rows == end
    return np.concatenate(features).tobytes(), labels, end


@pytest.mark.parametrize(("name", "label"), [("t.csv", "name"), ("t.csv", None), ("t.parquet", "n")])
@pytest.mark.parametrize("in_memory", [0, 1000, cache.IN_MEMORY])
@pytest.mark.parametrize("on_disk", [True, False])
def test_a_table_is_parsed_once_if_there_is_room(folder, in_memory, on_disk, name, label):
    folder.joinpath("t.csv").write_bytes(encoded([HEADER, *ROWS]))
    pq.write_table(pa.table({"n": np.arange(90), **dict(zip("abc", X.T, strict=True))}), "t.parquet", row_group_size=25)
    with open_table(name, Wanted(columns=list("abc"), label=label), once=False) as table:
        plain, counted = passed(table), Counted(table)
        cached = cache.CachedTable(counted, folder if on_disk else None, in_memory)
        assert [passed(cached) for _ in range(3)] == [plain] * 3
        if on_disk or in_memory > 1000:
            assert counted.passes == [0]
        else:  # only what is held in memory is not read again
            kept = 0 if in_memory == 0 else {"t.csv": 40 if label is None else 10, "t.parquet": 30}[name]
            assert counted.passes == [0, kept, kept]
        cached.close()
    assert sorted(os.listdir()) == ["t.csv", "t.parquet"]


def test_a_cached_table_goes_on_from_a_position(folder):
    folder.joinpath("t.csv").write_bytes(encoded([HEADER, *ROWS]))
    with open_table("t.csv", Wanted(), once=False) as table:
        cached = cache.CachedTable(table, folder)
        chunks = cached.chunks(10)
        first = [next(chunks) for _ in range(3)]
        place = cached.position()
        assert (place.rows, sum(len(chunk.features) for chunk in first)) == (30, 30)
        rest = np.concatenate([chunk.features for chunk in cached.chunks(10, place)])
        np.testing.assert_array_equal(rest, X[30:])
        assert passed(cached) == passed(table)
        cached.close()


def test_the_commands_give_the_same_with_and_without_a_cache(folder, monkeypatch):
    monkeypatch.setattr(tables, "CHUNK_ROWS", 10)
    folder.joinpath("t.csv").write_bytes(encoded([HEADER, *ROWS]))
    command = ["embed", "t.csv", "--label", "name", "--landmarks", "9", "--normalize", "zscore", "--novelty", "-o"]
    assert main([*command, "plain.csv"]) == 0
    monkeypatch.setattr(readers, "LARGE", 0)
    assert main([*command, "o.csv"]) == 0
    assert folder.joinpath("o.csv").read_bytes() == folder.joinpath("plain.csv").read_bytes()
    assert sorted(os.listdir()) == ["o.csv", "plain.csv", "t.csv"]


@pytest.mark.parametrize("in_memory", [0, 1000])
@pytest.mark.parametrize("fails", ["open", "write", "flush"])
def test_where_the_temporary_file_cannot_be_written_the_input_is_read_again(folder, monkeypatch, fails, in_memory):
    folder.joinpath("t.csv").write_bytes(encoded([HEADER, *ROWS]))

    class Full:
        def __init__(self, **options):
            if fails == "open":
                self.write()

        def seek(self, place, whence=0):
            return 0

        def write(self, *args):
            if fails != "flush":
                raise OSError(errno.ENOSPC, "full")

        def flush(self):
            raise OSError(errno.ENOSPC, "full")

        def close(self):
            raise OSError(errno.ENOSPC, "full")

    monkeypatch.setattr(cache.tempfile, "TemporaryFile", Full)
    with open_table("t.csv", Wanted(label="name"), once=False) as table:
        plain, counted = passed(table), Counted(table)
        cached = cache.CachedTable(counted, folder, in_memory)
        assert [passed(cached), passed(cached)] == [plain, plain]
        assert counted.passes == [0, 10 if in_memory else 0]
        cached.close()


@pytest.mark.parametrize("place", ["folder", None])
def test_a_reading_that_is_broken_off_ends_its_thread_and_leaves_nothing(folder, place):
    folder.joinpath("t.csv").write_bytes(encoded(lines(np.tile(X, (50, 1)))))
    with open_table("t.csv", Wanted(), once=False) as table:
        cached = cache.CachedTable(table, place and folder, 0)
        chunks = cached.chunks(10)
        assert len(next(chunks).features) == 10
        assert any(thread.name.startswith("read-ahead") for thread in threading.enumerate())
        cached.close()
        assert not any(thread.name.startswith("read-ahead") for thread in threading.enumerate())
    assert os.listdir() == ["t.csv"]


def test_rows_that_are_read_ahead_come_before_the_mistake_behind_them(folder, monkeypatch):
    folder.joinpath("t.csv").write_bytes(encoded([*lines(X), "1,2,x"]))
    monkeypatch.setattr(readers, "LARGE", 0)
    with open_table("t.csv", Wanted(), once=False, cache=folder) as table:
        for _ in range(2):
            rows = []
            with pytest.raises(InputError, match="'x', not a number"):
                rows.extend(chunk.features for chunk in table.chunks(10))
            np.testing.assert_array_equal(np.concatenate(rows), X)


def test_threads_that_read_cached_rows_get_their_own(folder):
    values = np.arange(200_000.0).reshape(-1, 2)
    with tempfile.TemporaryFile() as file:
        rows = cache.CachedRows(file, 2)
        for first in range(0, len(values), 1000):
            rows.append(values[first : first + 1000])
        with ThreadPoolExecutor(4) as pool:
            places = list(range(0, len(values), 50)) * 2
            for first, found in zip(places, pool.map(lambda i: rows.read(i, 50), places), strict=True):
                np.testing.assert_array_equal(found, values[first : first + 50])
        with pytest.raises(OSError, match="was cut"):
            rows.read(len(values) - 1, 2)


# --- threads, row groups, start-up ---


def test_the_frame_is_made_before_threads_map(folder, monkeypatch):
    makers, make = [], frames.Frames._embedded

    def noted(*what):
        makers.append(threading.current_thread())
        return make(*what)

    monkeypatch.setattr(frames.Frames, "_embedded", noted)
    monkeypatch.setattr(tables, "CHUNK_ROWS", 10)
    np.save("t.npy", X)
    assert main(["embed", "t.npy", "-o", "o.csv", "--landmarks", "10"]) == 0
    assert makers == [threading.main_thread()]


def test_parquet_files_do_not_depend_on_how_rows_come(folder, monkeypatch):
    monkeypatch.setattr(writers, "ROW_GROUP", 32)
    for name, pieces in (("a.parquet", [90]), ("b.parquet", [1, 31, 33, 25]), ("c.parquet", [7] * 12 + [6])):
        with open(name, "wb") as file:
            writer, first = writers.ParquetWriter(file, ["n", "x"]), 0
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
    from driftmap.cli import groups, writing
    from driftmap.pipeline.observer import Update

    estimator, options = DriftMap(), groups.MapShape()
    assert (options.embedding, options.metric, options.slack) == (estimator.embedding, "euclidean", estimator.slack)
    assert groups.NOVELTY == writing.NOVELTY
    assert set(writing.NOVELTY) <= set(Update._fields)


def test_threads_of_arrow_hold_nothing_of_python():
    # They may let go of a block during the interpreter's shutdown, where taking its lock aborts the process.
    data = b"1,2\n" * 100
    references = sys.getrefcount(data)
    file = arrow_memory(data)
    assert sys.getrefcount(data) == references
    assert file.read() == data


# --- files that are cut while they are read ---


@pytest.mark.parametrize("order", ["C", "F"])
def test_an_npy_file_that_is_cut_while_it_is_read_is_an_error(folder, order):
    """A memory map of it would end the process by a signal."""
    Z = np.asarray(np.random.default_rng(0).random((20_000, 3)), order=order)
    np.save("t.npy", Z)
    with open_table("t.npy", Wanted(label="2"), once=False) as table:
        chunks = table.chunks(5000)
        first = next(chunks)
        np.testing.assert_array_equal(first.features, Z[:5000, [0, 2]])
        np.testing.assert_array_equal(first.labels, Z[:5000, 1])
        os.truncate("t.npy", 300)
        with pytest.raises(InputError, match=r"t\.npy was cut while it was read"):
            list(chunks)


def test_an_arrow_file_that_is_cut_while_it_is_read_is_an_error(folder):
    with pa.OSFile("t.arrow", "wb") as file, pa.ipc.new_file(file, pa.schema([("a", pa.float64())])) as writer:
        for _ in range(20):
            writer.write_table(pa.table({"a": np.arange(5000.0)}))
    with open_table("t.arrow", Wanted(), once=False) as table:
        chunks = table.chunks(1000)
        next(chunks)
        os.truncate("t.arrow", 300)
        with pytest.raises(InputError, match=r"t\.arrow is damaged"):
            list(chunks)


def test_a_damaged_header_of_npy_is_an_error(folder, capfd):
    """numpy takes it for Python, and a bracket that is not closed for an unfinished statement."""
    np.save("t.npy", X)
    data = bytearray(folder.joinpath("t.npy").read_bytes())
    data[data.index(b"}")] = 0x88
    folder.joinpath("t.npy").write_bytes(data)
    assert main(["embed", "t.npy", "-o", "o.csv"]) == 2
    assert "t.npy cannot be read as NPY" in capfd.readouterr().err


def test_offsets_of_a_damaged_arrow_file_lead_nowhere(folder, capfd):
    table = pa.table({"name": ["a", "b", "c"], "x": [1.0, 2.0, 3.0]})
    with pa.OSFile("t.arrow", "wb") as file, pa.ipc.new_file(file, table.schema) as writer:
        writer.write_table(table)
    data, offsets = folder.joinpath("t.arrow").read_bytes(), np.arange(4, dtype=np.int32).tobytes()
    assert data.count(offsets) == 1
    folder.joinpath("t.arrow").write_bytes(data.replace(offsets, np.array([0, 2**30, 5, -7], np.int32).tobytes()))
    assert main(["embed", "t.arrow", "--label", "name", "--components", "1", "-o", "o.csv"]) == 2
    assert "t.arrow is damaged" in capfd.readouterr().err


# --- numbers in other forms ---

GAPS = np.where(np.random.default_rng(8).random(X.shape) < 0.2, np.nan, X)
GAPS[0] = X[0]


def gap_files(folder):
    """The same numbers, some of them missing, in every format."""
    words = ["", "NA", "nan", "null", "?", " ", "N/A ", "None"]
    rows = [
        [words[(3 * i + j) % 8] if v != v else repr(v) for j, v in enumerate(row)]
        for i, row in enumerate(GAPS.tolist())
    ]
    folder.joinpath("t.csv").write_bytes(encoded(["a,b,c", *map(",".join, rows)]))
    names = [dict(zip("abc", row, strict=True)) for row in GAPS.tolist()]
    absent = [{k: v if v == v else None for k, v in row.items() if v == v or i % 2} for i, row in enumerate(names)]
    folder.joinpath("t.jsonl").write_bytes(encoded(map(json.dumps, absent)))
    folder.joinpath("arrays.jsonl").write_bytes(
        encoded(json.dumps([v if v == v else None for v in row]) for row in GAPS.tolist())
    )
    np.save("t.npy", GAPS)
    nulls = pa.table({k: pa.array(column, mask=np.isnan(column)) for k, column in zip("abc", GAPS.T, strict=True)})
    pq.write_table(nulls, "t.parquet")
    pyarrow.feather.write_feather(nulls, "t.feather")


@pytest.mark.parametrize("name", ["t.csv", "t.jsonl", "arrays.jsonl", "t.npy", "t.parquet", "t.feather"])
def test_missing_numbers_are_nan_in_every_format_where_they_may_be(folder, monkeypatch, name):
    gap_files(folder)
    features, *_, error = assert_same(name, monkeypatch, missing=True)
    assert error is None
    np.testing.assert_array_equal(features, GAPS)
    assert "; choose --missing drop, mean or last" in read(name, monkeypatch)[4] or name == "t.jsonl"
    for method in ("drop", "mean", "last"):
        assert main(["embed", name, "--missing", method, "--landmarks", "8", "-o", f"{method}.npy"]) == 0
    assert len(np.load("drop.npy")) == np.isfinite(GAPS).all(axis=1).sum()
    assert len(np.load("mean.npy")) == len(np.load("last.npy")) == 90


def test_text_and_infinity_are_not_missing(folder, monkeypatch):
    for cell, problem in (
        ("x", "is 'x', not a number"),
        ("inf", "is inf; leave out such lines"),
        ("1e200", "squares overflow"),
    ):
        folder.joinpath("t.csv").write_bytes(encoded(["a,b", "1,2", f"3,{cell}", "4,"]))
        assert problem in assert_same("t.csv", monkeypatch, missing=True)[4]
    folder.joinpath("t.jsonl").write_bytes(encoded(['{"a": 1, "b": 2}', '{"a": null, "b": "x"}']))
    assert "column 'b' is 'x', not a number" in assert_same("t.jsonl", monkeypatch, missing=True)[4]


@pytest.mark.parametrize("options", [[], ["--online"]])
def test_lists_of_numbers_are_columns(folder, capfd, options):
    rows = X.astype(np.float32).tolist()
    kinds = {
        "list": pa.list_(pa.float32()), "large": pa.large_list(pa.float64()), "fixed": pa.list_(pa.float32(), 3),
        "half": pa.list_(pa.float64()),
    }  # fmt: skip
    np.save("plain.npy", X.astype(np.float32))
    command = ["embed", "--landmarks", "8", *options, "-o"]
    assert main([*command, "plain.csv", "plain.npy"]) == 0
    for name, kind in kinds.items():
        table = pa.table({"id": [f"r{i}" for i in range(90)], "vector": pa.array(rows, kind)})
        pq.write_table(table, "t.parquet", row_group_size=40)
        with pa.ipc.new_file("t.arrow", table.schema) as writer:
            writer.write_table(table.slice(0), max_chunksize=25)
        for file in ("t.parquet", "t.arrow"):
            with open_table(file, Wanted(), once=False) as opened:
                assert opened.columns == ("vector_1", "vector_2", "vector_3")
            for columns in ([], ["--columns", "vector"]):
                assert main([*command, "o.csv", file, *columns]) == 0
                assert folder.joinpath("o.csv").read_bytes() == folder.joinpath("plain.csv").read_bytes(), name
    objects = [{"id": "x", "vector": row} for row in rows]
    folder.joinpath("t.jsonl").write_bytes(encoded(map(json.dumps, objects)))
    assert main([*command, "o.csv", "t.jsonl"]) == 0
    assert folder.joinpath("o.csv").read_bytes() == folder.joinpath("plain.csv").read_bytes()


@pytest.mark.parametrize(
    ("vectors", "problem"),
    [
        ([[1.0, 2.0], [3.0]], "row 2, column 'v' is a list of 1 numbers, where the first has 2"),
        ([[1.0, 2.0], None], "row 2, column 'v' is empty; choose --missing"),
        ([[1.0, 2.0], [3.0, None]], "row 2, column 'v' has an empty entry; choose --missing"),
        ([[1.0, 2.0], [3.0, np.inf]], "row 2, column 'v_2' is inf"),
    ],
)
def test_bad_lists_are_named(folder, monkeypatch, vectors, problem):
    pq.write_table(pa.table({"v": pa.array(vectors, pa.list_(pa.float64()))}), "t.parquet")
    assert problem in read("t.parquet", monkeypatch)[4]
    if None in vectors or None in vectors[1]:
        known = [[np.nan] * 2 if v is None else [np.nan if x is None else x for x in v] for v in vectors]
        np.testing.assert_array_equal(read("t.parquet", monkeypatch, missing=True)[0], known)
    if np.inf not in (vectors[1] or ()):
        folder.joinpath("t.jsonl").write_bytes(encoded(json.dumps({"v": v}) for v in vectors))
        assert "t.jsonl, line 2, column 'v' is not a list of 2 numbers" in read("t.jsonl", monkeypatch)[4]


def test_numbers_of_other_types(folder, monkeypatch):
    seconds = pa.array([1500, 2000, None], pa.duration("ms"))
    table = pa.table({
        "money": pa.array([decimal.Decimal("1.50"), decimal.Decimal("2"), None]), "span": seconds,
        "flag": [True, False, None],
        "grade": pa.array([3, 1, None]).dictionary_encode(), "kind": pa.array(["x", "y", None]).dictionary_encode(),
        "half": pa.array(np.array([1, 2, 3], np.float16)), "time": pa.array([1, 2, 3], pa.time32("s")),
    })  # fmt: skip
    pq.write_table(table, "t.parquet")
    with open_table("t.parquet", Wanted(missing=True), once=False) as opened:
        assert opened.columns == ("money", "span", "flag", "grade", "half")
        assert opened.left_out == (("kind", "text"), ("time", "dates"))
        (chunk,) = opened.chunks(10)
    nan = np.nan
    np.testing.assert_array_equal(chunk.features, [[1.5, 1.5, 1, 3, 1], [2, 2, 0, 1, 2], [nan, nan, nan, nan, 3]])


def names_of(text, folder, said=None, **wanted):
    folder.joinpath("t.csv").write_text(text)
    rejected = RejectedLines(report=(said if said is not None else []).append)
    with open_table("t.csv", Wanted(rejected=rejected, **wanted), once=False) as table:
        return table.label, table.columns, sum(len(chunk.features) for chunk in table.chunks(10))


FRACTIONS = "0.5,1.25,-3.5\n2.5,0.25,1e-3\n"


@pytest.mark.parametrize("header", ["0,1,2", "1,2,3", "2020,2021,2022", ' 7, 8,"9"'])
def test_a_line_that_counts_columns_is_a_header(header, folder):
    said = []
    label, columns, rows = names_of(f"{header}\n{FRACTIONS}", folder, said)
    assert (label, rows) == (None, 2)
    assert columns == tuple(cell.strip(' "') for cell in header.split(","))
    note = "t.csv: line 1 counts the columns and is taken as their names"
    assert [*map(one_line, said)] == [f"{note}; --header no: as a row"]
    assert [*map(str, said)] == [f'{note}; header="no": as a row']
    assert names_of(f"{header}\n{FRACTIONS}", folder, said, header="no")[1:] == (("1", "2", "3"), 3)
    assert len(said) == 1
    wide = ",".join(map(str, range(64)))
    assert names_of(f"{wide}\n{','.join(['0', '5'] * 32)}\n", folder, header="auto")[2] == 1


@pytest.mark.parametrize(
    "text",
    [
        "1,2,3\n4,5,6\n",  # both lines count
        "1,2,3\n1,2,4\n",  # few columns of integers may be data
        "1,3,2\n" + FRACTIONS,
        "1,2,4\n" + FRACTIONS,
        "1.0,2.0,3.0\n" + FRACTIONS,
        "1,2,3\n",
        "5\n0.5\n",
        "0,1,2,3,4\n5,6,7,8,9\n",
    ],
)
def test_lines_of_numbers_that_are_data(text, folder):
    said = []
    assert names_of(text, folder, said)[2] == text.count("\n")
    assert said == []


def test_a_cell_that_the_user_names_makes_a_header(folder):
    years = "2019,2025,2030\n" + FRACTIONS
    assert names_of(years, folder)[2] == 3
    assert names_of(years, folder, label="2025") == ("2025", ("2019", "2030"), 2)
    assert names_of(years, folder, columns=["2030"]) == (None, ("2030",), 2)
    assert names_of(years, folder, exclude=["2019"]) == (None, ("2025", "2030"), 2)
    assert names_of(years, folder, label="2") == ("2", ("1", "3"), 3)
    named = "id,2020,2021\nr0,0.5,1\nr1,1.5,2\n"  # text and numbers in the same columns on both lines
    with pytest.raises(InputError, match="may be names or data"):
        names_of(named, folder)
    assert names_of(named, folder, label="id") == ("id", ("2020", "2021"), 2)


def test_numbers_of_another_form_are_named_with_the_form_that_reads_them(folder):
    text = "a;b;c\n1,5;1.234,5;x\n-2,25;7,5;y\n"
    form = "numbers of another form: decimal ','"
    with pytest.raises(InputError) as error:
        names_of(text, folder)
    assert str(error.value).endswith(f"'a' ({form}), 'b' ({form}, thousands '.'), 'c' (text)")
    with pytest.raises(InputError, match=r"number; read it with decimal ',', thousands '\.' or leave"):
        names_of(text.replace("7,5", "7"), folder)
    assert names_of(text, folder, decimal=",", thousands=".")[1:] == (("a", "b"), 2)


@pytest.mark.parametrize("suffix", ["parquet", "arrow"])
def test_names_that_are_no_text_are_damage(folder, suffix):
    written, file = pa.table({"named": [1.0, 2.0]}), folder / f"t.{suffix}"
    if suffix == "parquet":
        pq.write_table(written, file, store_schema=False)
    else:
        with pa.ipc.new_file(file, written.schema) as writer:
            writer.write_table(written)
    file.write_bytes(file.read_bytes().replace(b"named", b"nam\xca\xff"))
    with pytest.raises(InputError, match=rf"t.{suffix} cannot be read as (Parquet|Arrow): .*decode"):
        open_table(str(file), Wanted(), once=False).__enter__()


def test_a_decimal_point_where_a_comma_is_one_is_named(folder):
    said = r"line 3, column 'b' is '0.5', not a number; read it with decimal '\.' or leave out such lines"
    with pytest.raises(InputError, match=said):
        names_of("a;b\n1,5;2\n2;0.5\n", folder, decimal=",")


@pytest.mark.parametrize("mark", [",", ";", "\t", "|", " "])
def test_separators_are_found(mark, folder):
    for head in (["a", "b", "c"], None):
        text = "\n".join(mark.join(row) for row in [*([head] if head else []), ["1.5", "2", "-3e2"], ["4", "5.5", "6"]])
        assert names_of(text + "\n", folder) == (None, tuple(head or "123"), 2)
    assert names_of("a long name\n1\n2\n", folder) == (None, ("a long name",), 2)

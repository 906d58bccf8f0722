"""Files as they come: what is read at the first try, what is said of it, and the last line."""

import bz2
import gzip
import io
import json
import re
import sys
import tomllib
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import formats
from driftmap.cli import COMMANDS, main
from driftmap.map import StreamMap
from driftmap.map.truth import sampled_stress
from driftmap.quality import stress
from driftmap.sources import files as source_files
from driftmap.tables.cells import MISSING, Marks
from driftmap.tables.columns import Wanted
from driftmap.tables.readers import open_table
from driftmap.utils.errors import InputError

ROOT = Path(__file__).parents[2]
RNG = np.random.default_rng(11)
X = np.round(np.cumsum(RNG.standard_normal((40, 3)), axis=0), 6)
WIDE = RNG.standard_normal((6, 300))


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def read(name, **wanted):
    with open_table(name, Wanted(**wanted), once=False) as table:
        chunks = list(table.chunks(7))
        labels = [label for chunk in chunks for label in (chunk.labels if chunk.labels is not None else ())]
        return list(table.columns), np.concatenate([chunk.features for chunk in chunks]), labels


def run(capfd, *argv, code=0):
    assert main([*map(str, argv)]) == code
    return capfd.readouterr()


# --- what separates cells ---


def lines(rows, form, mark=" ", first=(), end="\n"):
    return "".join(f"{line}{end}" for line in [*first, *(mark.join(form % cell for cell in row) for row in rows)])


SEPARATED = {
    "one space": lines(X, "%.6f"),
    "aligned": lines(X, "%12.6f", ""),
    "aligned left": lines(X, "%-12.6f", ""),
    "aligned with Windows line ends": lines(X, "%12.6f", "", end=" \r\n"),
    "aligned by spaces and tabs": lines(X, "%.6f", " \t "),
    "a header of words": lines(X, "%12.6f", "", ["  a      b   c"]),
    "a quoted header": lines(X, "%12.6f", "  ", ['  a "b  c" d']),
    "trailing blank lines": lines(X, "%12.6f", "") + "   \n\n",
    "tabs": lines(X, "%.6f", "\t"),
    "semicolons": lines(X, "%.6f", ";"),
    "pipes": lines(X, "%.6f", "|"),
    "commas and spaces": lines(X, "%.6f", ", "),
}


@pytest.mark.parametrize("suffix", [".csv", ".txt", ".dat", ".data", ".asc"])
@pytest.mark.parametrize("name", SEPARATED)
def test_cells_are_separated_by_what_the_first_lines_say(folder, name, suffix):
    folder.joinpath(f"t{suffix}").write_text(SEPARATED[name], newline="")
    columns, features, _ = read(f"t{suffix}")
    np.testing.assert_array_equal(features, X)
    if "header" in name:
        assert columns == (["a", "b  c", "d"] if "quoted" in name else ["a", "b", "c"])


@pytest.mark.parametrize("size", [100, 4096, 8192])
@pytest.mark.parametrize("compressed", [False, True])
def test_lines_of_kilobytes_are_sniffed_whole(folder, monkeypatch, size, compressed):
    """The first bytes that are read may end within the second line."""
    monkeypatch.setattr(source_files, "READ_BYTES", size)
    text = lines(WIDE, "%.18e").encode()
    assert 4096 < len(text) / len(WIDE) < 8192
    name = "t.txt.gz" if compressed else "t.txt"
    folder.joinpath(name).write_bytes(gzip.compress(text) if compressed else text)
    np.testing.assert_array_equal(read(name)[1], WIDE)


def test_aligned_rows_that_are_wrong_are_named(folder, capfd):
    folder.joinpath("t.dat").write_text(" 1   2\n 3   4\n\n 5   6\n")
    assert "t.dat, line 3 is empty" in run(capfd, "embed", "t.dat", code=2).err
    folder.joinpath("t.dat").write_text(" 1   2\n 3   4   5\n")
    assert "t.dat, line 2 has 3 cells, but the first line has 2" in run(capfd, "embed", "t.dat", code=2).err
    folder.joinpath("t.dat").write_text("a b\n 1   2\n 3   x\n")
    assert "t.dat, line 3, column 'b' is 'x', not a number" in run(capfd, "embed", "t.dat", code=2).err


@pytest.mark.parametrize(
    ("option", "mark"),
    [("tab", "\t"), ("\\t", "\t"), ("space", "  "), (";", ";"), ("semicolon", ";"), (":", ":"), ("^", "^")],
)
def test_the_delimiter_can_be_given(folder, capfd, option, mark):
    folder.joinpath("t.csv").write_text(lines(X, "%.6f", mark, [mark.join(["a,1", "b|2", "c"])]))
    out = run(capfd, "embed", "t.csv", "--delimiter", option, "--json", "--components", 1).out
    assert json.loads(out)["columns"] == ["a,1", "b|2", "c"]


@pytest.mark.parametrize("option", ["", "ab", "a", "1", '"', "é", "."])
def test_what_is_no_delimiter(folder, capfd, option):
    err = run(capfd, "embed", "t.csv", "--delimiter", option, code=2).err
    assert "is not a delimiter: give a character or tab" in err


def test_a_delimiter_is_for_csv(folder, capfd):
    folder.joinpath("t.jsonl").write_text('{"a": 1}\n')
    err = run(capfd, "embed", "t.jsonl", "--delimiter", ";", code=2).err
    assert "--delimiter separates the cells of CSV, and t.jsonl is read as JSON lines" in err


def test_an_unlikely_delimiter_is_suspected(folder, capfd):
    folder.joinpath("t.csv").write_text("a^b\n1^2,5\n3^4,5\n")
    err = run(capfd, "embed", "t.csv", "--columns", "a^b", code=2).err
    assert "line 2 has 2 cells, but the first line has 1; if something else separates cells" in err


LONG = "0.123456789 " * 400
WHOLE_ROWS = {
    "names": (f"{LONG}x,b\n1,y\n2,z\n", []),
    "one column": (f"{LONG}\n{LONG}1 2\n", []),
    "unknown": (f"{LONG}x,b\n1,2\n", ["--columns", "c"]),
    "cell": (f"a,{LONG}x\n1,2\n{LONG},3\n", ["--columns", "a"]),
    "column": (f"a,{LONG}x\n1,y\n2,3\n", ["--columns", f"{LONG}x"]),
    "misspelt": (f"a,{LONG}x\n1,1\n2,3\n", ["--columns", f"{LONG}y"]),
    "constant": (f"a,{LONG}x,c\n1,1,2\n2,1,4\n5,1,7\n", []),
}


@pytest.mark.parametrize("name", WHOLE_ROWS)
def test_no_message_prints_a_whole_row(folder, capfd, name):
    text, options = WHOLE_ROWS[name]
    folder.joinpath("t.csv").write_text(text)
    assert main(["embed", "t.csv", "-o", "o.csv", *options]) in (0, 2)
    err = capfd.readouterr().err
    assert err
    assert max(map(len, err.splitlines())) < 400


# --- formats ---


def test_the_format_can_be_given(folder, capfd, monkeypatch):
    folder.joinpath("rows").write_text(lines(X, "%12.6f", ""))
    assert "rows has no known suffix" in run(capfd, "embed", "rows", code=2).err
    assert "; say --input-format, such as csv" in run(capfd, "embed", "rows", code=2).err
    assert run(capfd, "embed", "rows", "--input-format", "csv", "-o", "o.csv").err.startswith(
        "driftmap: rows: mapped 40"
    )
    pq.write_table(pa.table(dict(zip("abc", X.T, strict=True))), "table.bin")
    assert "3 columns" in run(capfd, "embed", "table.bin", "--input-format", "parquet", "-o", "p.csv").err
    assert folder.joinpath("o.csv").read_bytes() == folder.joinpath("p.csv").read_bytes()
    data = folder.joinpath("table.bin").read_bytes()
    for options, code in (([], 0), (["--online"], 2)):
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BufferedReader(io.BytesIO(data))))
        err = run(capfd, "embed", "-", "--input-format", "parquet", "-o", "o.csv", *options, code=code).err
        assert "mapped 40 rows" in err or "is read once, and Parquet cannot be: give it as a file" in err
    assert "only lines of text can" in run(capfd, "follow", "t.csv", "--input-format", "npy", code=2).err
    assert "--skip-bad is for lines" in run(capfd, "embed", "rows", "--input-format", "npy", "--skip-bad", code=2).err


RECORDS = [{"name": f"r{i}", "a": row[0], "b": {"x": 1}, "c": row[1]} for i, row in enumerate(X.tolist())]
ARRAYS = {
    "compact": json.dumps(RECORDS, separators=(",", ":")),
    "indented": json.dumps(RECORDS, indent=4),
    "a line each": "[\n" + ",\n".join(map(json.dumps, RECORDS)) + "\n]\n",
    "commas first": "[" + "\n, ".join(map(json.dumps, RECORDS)) + "\n]\n",
    "texts with brackets": json.dumps([record | {"name": 'a"]},[{\\'} for record in RECORDS]),
    "lines": "".join(json.dumps(record) + "\n" for record in RECORDS),
}


@pytest.mark.parametrize("size", [10, 150, 2**22])
@pytest.mark.parametrize("name", ARRAYS)
def test_an_array_of_records_is_read_in_blocks(folder, monkeypatch, name, size):
    monkeypatch.setattr(source_files, "READ_BYTES", size)
    folder.joinpath("t.json").write_text(ARRAYS[name])
    columns, features, labels = read("t.json", columns=["a", "c"], label="name")
    assert columns == ["a", "c"]
    np.testing.assert_array_equal(features, X[:, :2])
    assert labels == ['a"]},[{\\' if name == "texts with brackets" else f"r{i}" for i in range(40)]


@pytest.mark.parametrize("size", [3, 2**22])
def test_an_array_of_arrays_is_read_and_standard_input_too(folder, capfd, monkeypatch, size):
    monkeypatch.setattr(source_files, "READ_BYTES", size)
    folder.joinpath("t.json").write_text(json.dumps(X.tolist()))
    np.testing.assert_array_equal(read("t.json")[1], X)
    text = json.dumps([dict(zip("abc", row, strict=True)) for row in X.tolist()], indent=1)
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BufferedReader(io.BytesIO(text.encode()))))
    assert "standard input: mapped 40 rows, 3 columns" in run(capfd, "embed", "-", "-o", "o.csv").err


def test_an_array_that_is_cut_off_anywhere_is_an_error(folder):
    text = json.dumps([{"a": 1.5, "b": "x,]"}, {"a": 2.5, "b": "}"}, {"a": -3.0, "b": "y"}], indent=1)
    for stop in range(len(text)):
        folder.joinpath("t.json").write_text(text[:stop])
        with pytest.raises(
            InputError, match=r"t\.json(, line \d+)? (is empty|is cut|ends within|is not JSON|is neither)"
        ):
            read("t.json", columns=["a"])
    folder.joinpath("t.json").write_text(text)
    assert read("t.json", columns=["a"])[1].tolist() == [[1.5], [2.5], [-3.0]]


BAD_ARRAYS = {
    "a word": ('[{"a": 1},\n {"a": x}]', "t.json, line 2 is not JSON"),
    "a text": ('[{"a": 1},\n {"a": 2},\n\n {"a": "x"}]', "t.json, line 4, column 'a' is 'x', not a number"),
    "no comma": ('[{"a": 1}\n {"a": 2}]', "t.json, line 1 is not JSON"),
    "a bracket": ('[{"a": 1}\n[{"a": 2}]', "t.json, line 1 is not JSON|t.json ends within its array"),
    "two commas": ('[{"a": 1},\n,{"a": 2}]', "t.json, line 2 is not JSON"),
    "what follows": ('[{"a": 1}]\n{"a": 2}', "t.json, line 2 is not JSON: a comma is missing"),
    "a number": ('[{"a": 1},\n 5]', "t.json, line 2 is not JSON"),
    "another key": ('[{"a": 1},\n {"b": 5}]', "t.json, line 2 has no 'a', which the first line has"),
    "nothing": ("[]", "t.json is empty"),
    "one object": ('{\n "a": 1\n}', "t.json, line 1 is not JSON"),
}


@pytest.mark.parametrize("name", BAD_ARRAYS)
def test_what_is_wrong_with_an_array(folder, capfd, name):
    text, expected = BAD_ARRAYS[name]
    folder.joinpath("t.json").write_text(text)
    err = run(capfd, "embed", "t.json", "--components", 1, code=2).err
    assert any(one in err for one in expected.split("|")), err


def test_records_of_an_array_are_skipped_like_lines(folder, capfd):
    records = [*RECORDS[:5], {"a": "x"}, *RECORDS[5:]]
    folder.joinpath("t.json").write_text(json.dumps(records, indent=1))
    err = run(capfd, "embed", "t.json", "--columns", "a,c", "--skip-bad", "-o", "o.csv").err
    assert "skipped: t.json, line 42 has no 'name'" in err
    assert "mapped 40 rows, 2 columns" in err


CSV = lines(X, "%.6f", ",", ["a,b,c"]).encode()
ARCHIVES = {
    "one file": (lambda: formats.zipped(CSV, "folder/t.csv"), None),
    "beside what macOS adds": (lambda: formats.zipped(CSV, "t.csv", "__MACOSX/._t.csv"), None),
    "two files": (lambda: formats.zipped(CSV, "a.csv", "b.csv"), "t.zip holds 2 files; an archive of one file"),
    "none": (lambda: formats.zipped(CSV), "t.zip holds 0 files"),
    "cut off": (lambda: formats.zipped(CSV, "t.csv")[:-40], "t.zip is damaged"),
    "damaged": (
        lambda: formats.zipped(CSV, "t.csv")[:60] + b"xx" + formats.zipped(CSV, "t.csv")[62:],
        "t.zip is damaged",
    ),
    "no name": (lambda: formats.zipped(CSV, "rows"), "t.zip has no known suffix"),
    "text": (lambda: CSV, "t.zip is damaged"),
}


@pytest.mark.parametrize("name", ARCHIVES)
def test_an_archive_of_one_file_is_read(folder, capfd, name):
    data, problem = ARCHIVES[name]
    folder.joinpath("t.zip").write_bytes(data())
    if problem is None:
        np.testing.assert_array_equal(read("t.zip")[1], X)
    else:
        assert problem in run(capfd, "embed", "t.zip", code=2).err


@pytest.mark.parametrize("name", ["t.parquet.gz", "t.zip"])
def test_only_text_is_read_compressed(folder, capfd, name):
    data = formats.zipped(b"PAR1", "t.parquet") if name == "t.zip" else gzip.compress(b"PAR1")
    folder.joinpath(name).write_bytes(data)
    assert f"{name} holds Parquet, and only text is read compressed: unpack it" in run(capfd, "embed", name, code=2).err


def test_files_of_several_compressed_parts_are_read_whole(folder):
    for suffix, compress in (("gz", gzip.compress), ("bz2", bz2.compress)):
        folder.joinpath(f"t.csv.{suffix}").write_bytes(compress(CSV[:100]) + compress(CSV[100:]))
        np.testing.assert_array_equal(read(f"t.csv.{suffix}")[1], X)


def test_text_that_begins_like_a_compression_is_text(folder):
    folder.joinpath("t.csv").write_bytes(b"BZh,PK\n1,2\n3,4\n")
    assert read("t.csv")[0] == ["BZh", "PK"]


@pytest.mark.parametrize("command", ["embed", "follow", "contacts"])
@pytest.mark.parametrize(
    "address", ["https://me:secret@example.org/t.csv", "http://example.org/t.csv", "s3://bucket/t.csv"]
)
def test_files_elsewhere_are_refused_as_such(folder, capfd, command, address):
    err = run(capfd, command, address, code=2).err
    assert f"{address.partition(':')[0]}://... is not read over the network: download the file" in err
    assert "secret" not in err


SHEETS = {
    "names": ([["a", "day", "b"], [1.5, "x", 2], [2.5, "y", 4]], {}, (["a", "b"], [[1.5, 2], [2.5, 4]])),
    "no names": ([[1.5, 2], [2.5, 4]], {}, (["1", "2"], [[1.5, 2], [2.5, 4]])),
    "empty rows above": ([[], [], ["a", "b"], [1, 2], [3, 4]], {}, (["a", "b"], [[1, 2], [3, 4]])),
    "numbers as text": ([["a"], ["1.5"], [2]], {}, (["a"], [[1.5], [2]])),
    "missing": ([["a", "b"], [1, None], ["#N/A", 2]], {"missing": True}, (["a", "b"], [[1, np.nan], [np.nan, 2]])),
}


@pytest.mark.parametrize("name", SHEETS)
def test_the_first_sheet_of_a_workbook_is_a_table(folder, name):
    cells, wanted, expected = SHEETS[name]
    folder.joinpath("t.xlsx").write_bytes(formats.workbook(cells))
    columns, features, _ = read("t.xlsx", **wanted)
    assert columns == expected[0]
    np.testing.assert_array_equal(features, expected[1])


BAD_SHEETS = {
    "text": ([["a"], [1], ["x"]], "t.xlsx, row 3, column 'a' is 'x', not a number"),
    "text below empty rows": ([[], ["a"], [1], ["x"]], "t.xlsx, row 4, column 'a' is 'x', not a number"),
    "missing": ([["a", "b"], [1, 2], [3, None]], "t.xlsx, row 3, column 'b' is "),
    "an empty row": ([["a"], [1], [], [2]], "t.xlsx, row 3 is empty"),
    "nothing": ([], "t.xlsx is empty"),
    "only text": ([["a"], ["x"], ["y"]], "no column is left"),
    "huge": ([["a"], [1], [1e200]], "t.xlsx, row 3, column 'a' is 1e+200"),
}


@pytest.mark.parametrize("name", BAD_SHEETS)
def test_what_is_wrong_with_a_workbook(folder, capfd, name):
    cells, problem = BAD_SHEETS[name]
    folder.joinpath("t.xlsx").write_bytes(formats.workbook(cells))
    assert problem in run(capfd, "embed", "t.xlsx", "--components", 1, code=2).err


def test_workbooks_that_are_none_or_too_large_are_refused(folder, capfd, monkeypatch):
    data = formats.workbook([["a", "b"], *([1.5, i] for i in range(50))])
    for damaged in (b"", b"PK", data[: len(data) // 2], formats.zipped(b"x", "t")):
        folder.joinpath("t.xlsx").write_bytes(damaged)
        assert "t.xlsx cannot be read as Excel: " in run(capfd, "embed", "t.xlsx", code=2).err
    folder.joinpath("t.xlsx").write_bytes(data)
    for limit, problem in (("MOST_CELLS", "more than 60 cells"), ("LARGEST_WORKBOOK", "bytes when it is unpacked")):
        with monkeypatch.context() as patch:
            patch.setattr(f"driftmap.tables.excel.{limit}", 60)
            assert problem in run(capfd, "embed", "t.xlsx", code=2).err


def test_excel_without_its_extra_names_it(folder, capfd, monkeypatch):
    folder.joinpath("t.xlsx").write_bytes(formats.workbook([["a"], [1]]))
    monkeypatch.setitem(sys.modules, "openpyxl", None)
    assert 'Excel files need openpyxl: pip install "driftmap[excel]"' in run(capfd, "embed", "t.xlsx", code=2).err


# --- missing numbers ---


def test_the_marks_of_pandas_are_known():
    from pandas._libs.parsers import STR_NA_VALUES

    assert {mark.lower() for mark in STR_NA_VALUES} <= MISSING
    assert {"-", "--", ".", "?"} <= MISSING


@pytest.mark.parametrize("mark", [*sorted(MISSING), "NaN", "#N/A", " - ", "Null"])
@pytest.mark.parametrize("where", ["the first row", "a later row"])
def test_a_mark_is_a_missing_number(folder, capfd, mark, where):
    rows = ["1.5,2", "2.5,4", "3.5,7", "4.5,1"]
    rows.insert(0 if where == "the first row" else 2, f"9,{mark}")
    folder.joinpath("t.csv").write_text("\n".join(["a,b", *rows, ""]))
    _, features, _ = read("t.csv", missing=True)
    assert np.isnan(features).sum() == 1
    assert "column 'b' is " in run(capfd, "embed", "t.csv", code=2).err


def test_other_marks_are_given(folder, capfd):
    rows = [f"{a:.6f},{b:.6f}" for a, b in X[:, :2]]
    rows[3], rows[7], rows[9], rows[20] = "off,1", "2,-200", "2,-200.0", "-999,5"
    folder.joinpath("t.csv").write_text("\n".join(["a,b", *rows, ""]))
    expected = [f"{a:.6f},{b:.6f}" for i, (a, b) in enumerate(X[:, :2]) if i not in (3, 7, 9, 20)]
    folder.joinpath("kept.csv").write_text("\n".join(["a,b", *expected, ""]))
    run(capfd, "embed", "kept.csv", "-o", "kept-map.csv")
    for given in (["--na", "off,-200", "--na", "-999"], ["--na=-200,-999", "--na", "OFF"], ["--na", "-999,off,-200"]):
        err = run(capfd, "embed", "t.csv", *given, "--missing", "drop", "-o", "o.csv").err
        assert "4 of 40 rows left out: 4 for missing numbers" in err
        assert folder.joinpath("o.csv").read_bytes() == folder.joinpath("kept-map.csv").read_bytes()
    err = run(capfd, "embed", "t.csv", "--na", "off,-200,-999", code=2).err
    assert "t.csv, line 5, column 'a' is 'off'; choose --missing" in err
    err = run(capfd, "embed", "t.csv", "--na", "-200,-999", "--exclude", "a", code=2).err
    assert "t.csv, line 9, column 'b' is '-200'; choose --missing" in err


@pytest.mark.parametrize("suffix", ["jsonl", "json", "parquet", "npy", "xlsx"])
def test_a_number_is_a_mark_in_every_format(folder, capfd, suffix):
    rows = X.copy()
    rows[[4, 9], [0, 2]] = -200
    if suffix == "parquet":
        pq.write_table(pa.table(dict(zip("abc", rows.T, strict=True))), "t.parquet")
    elif suffix == "npy":
        np.save("t.npy", rows)
    elif suffix == "xlsx":
        folder.joinpath("t.xlsx").write_bytes(formats.workbook([list("abc"), *rows.tolist()]))
    else:
        records = [dict(zip("abc", row, strict=True)) for row in rows.tolist()]
        text = json.dumps(records) if suffix == "json" else "".join(json.dumps(record) + "\n" for record in records)
        folder.joinpath(f"t.{suffix}").write_text(text)
    _, features, _ = read(f"t.{suffix}", missing=True, marks=Marks.of(["-200"]))
    np.testing.assert_array_equal(features, np.where(rows == -200, np.nan, rows))
    assert "choose --missing" in run(capfd, "embed", f"t.{suffix}", "--na", "-200", code=2).err


MARKED = {
    "a few of -200": ([-200.0] * 4, "warning: -200 is frequent and far from all other numbers in 'b': if"),
    "many of 9999": ([9999.0] * 20, "warning: 9999 is frequent and far"),
    "one outlier": ([-200.0], None),
    "two classes": ([0.0] * 20 + [1.0] * 20, None),
    "three classes": ([0.0] * 10 + [1.0] * 10 + [2.0] * 20, None),
    "fractions": ([-200.5] * 4, None),
    "no mark": ([], None),
}


@pytest.mark.parametrize("options", [[], ["--normalize", "zscore"], ["--online"]])
@pytest.mark.parametrize("name", MARKED)
def test_one_extreme_number_that_is_frequent_is_warned_of(folder, capfd, name, options):
    values, warning = MARKED[name]
    rows = np.round(X.copy(), 3)
    rows[: len(values), 1] = values
    np.savetxt("t.csv", rows, delimiter=",", header="a,b,c", comments="")
    err = run(capfd, "embed", "t.csv", "-o", "o.csv", *options).err
    assert ("is frequent" in err) == (warning is not None)
    assert warning is None or warning in err


# --- dates, counters and groups ---

DATES = {
    "ISO": ["2010-01-01", "2010-01-02", "2010-02-01", "2010-12-01"],
    "slashes": ["2010/01/01 00:00", "2010/01/01 01:00", "2010/1/2 13:05:07", "2010/01/03"],
    "day first": ["30/12/2010", "31/12/2010", "1/1/2011", "2/1/2011"],
    "month first": ["12/30/2010", "12/31/2010", "1/1/2011", "1/2/2011"],
    "points": ["30.12.2010", "31.12.2010", "01.01.2011", "02.01.2011"],
    "dashes": ["30-12-2010", "31-12-2010", "01-01-2011", "02-01-2011"],
    "two digits": ["30/12/10", "31/12/10", "1/1/11", "2/1/11"],
    "half days": ["1/1/2010 12:30 AM", "1/1/2010 1:30 AM", "1/1/2010 12:30 PM", "1/1/2010 1:30 PM"],
}


@pytest.mark.parametrize("backwards", [False, True])
@pytest.mark.parametrize("label", [False, True])
@pytest.mark.parametrize("name", DATES)
def test_dates_are_known_and_those_that_run_backwards_are_warned_of(folder, capfd, name, label, backwards):
    days = DATES[name][::-1] if backwards else DATES[name]
    folder.joinpath("t.csv").write_text("".join(["day,a,b\n", *(f"{d},{i * i},{i}.5\n" for i, d in enumerate(days))]))
    err = run(capfd, "embed", "t.csv", "-o", "o.csv", *(["--label", "day"] if label else [])).err
    assert ("columns left out: 'day' (dates)" in err) == (not label)
    expected = f"warning: t.csv: the dates in column 'day' run backwards, from {days[0]} to {days[-1]}"
    assert (expected in err) == backwards


def test_what_is_no_date_or_has_no_order(folder, capfd):
    for days in (["30/13/2010", "31/13/2010", "1/1/2011"], ["1/2/3/2010"] * 3, ["2010/01/32"] * 3):
        folder.joinpath("t.csv").write_text("".join(["day,a\n", *(f"{d},{i * i}\n" for i, d in enumerate(days))]))
        assert "'day' (text)" in run(capfd, "embed", "t.csv", "-o", "o.csv").err
    for days in (["2010-01-02", "2010-01-01", "2010-01-03"], ["2010-01-01"] * 3, ["1/2/2010", "1/1/2010", "2/1/2010"]):
        folder.joinpath("t.csv").write_text("".join(["day,a\n", *(f"{d},{i * i}\n" for i, d in enumerate(days))]))
        assert "backwards" not in run(capfd, "embed", "t.csv", "-o", "o.csv").err


N = np.arange(len(X))
CODED = {
    "counts": (N, "column 'n' only counts rows and is a feature: --exclude n leaves it out, --label n colours by it"),
    "counts down": (900 - N, "column 'n' only counts rows"),
    "counts tens": (10 * N, None),
    "groups": (N % 3, "column 'n' holds a few integers, as names of groups do, and is a feature: --exclude n"),
    "many integers": (N * N % 37, None),
    "fractions": (N % 3 / 2, None),
    "constant": (N * 0, None),
}


@pytest.mark.parametrize("options", [[], ["--normalize", "minmax"]])
@pytest.mark.parametrize("name", CODED)
def test_columns_that_count_or_name_groups_are_reported_as_features(folder, capfd, name, options):
    column, expected = CODED[name]
    np.savetxt("t.csv", np.column_stack([X, column]), delimiter=",", header="a,b,c,n", comments="", fmt="%.6g")
    err = run(capfd, "embed", "t.csv", "-o", "o.csv", *options).err
    assert (" and is a feature: " in err) == (expected is not None)
    assert expected is None or expected in err
    for way_out in (["--exclude", "n"], ["--label", "n"]):
        assert "is a feature" not in run(capfd, "embed", "t.csv", "-o", "o.csv", *options, *way_out).err


def test_a_counter_is_not_what_normalization_is_for(folder, capfd):
    np.savetxt(
        "t.csv", np.column_stack([np.arange(2000), RNG.random((2000, 2))]), delimiter=",", header="n,a,b", comments=""
    )
    err = run(capfd, "embed", "t.csv", "-o", "o.csv", "--landmarks", 10).err
    assert "column 'n' only counts rows" in err
    assert "--normalize" not in err


def test_tables_of_small_integers_are_taken_as_they_are(folder, capfd):
    np.savetxt("t.csv", RNG.integers(0, 5, (60, 4)), delimiter=",", header="a,b,c,d", comments="", fmt="%d")
    assert run(capfd, "embed", "t.csv", "-o", "o.csv", "--quiet").err == ""


# --- what is said at the end ---


def test_the_last_line_says_what_was_done(folder, capfd):
    rows = [f"{i},{a:.6f},{b:.6f},x" for i, (a, b, _) in enumerate(X)]
    rows[5] = "5,,1,x"
    folder.joinpath("t.csv").write_text("\n".join(["day,a,b,name", *rows, ""]))
    command = [
        "embed",
        "t.csv",
        "--landmarks",
        8,
        "--label",
        "day",
        "--missing",
        "drop",
        "-o",
        "o.csv",
        "--plot",
        "p.png",
    ]
    out, err = run(capfd, *command)
    assert out == ""
    last = err.splitlines()[-1]
    assert re.fullmatch(
        r"driftmap: t\.csv: mapped 39 rows, 2 columns, 8 landmarks, sigma [\d.e-]+; left out 1 column and 1 row; "
        r"wrote o\.csv, p\.png",
        last,
    )
    used = np.delete(X, 5, axis=0)[:, :2]
    assert float(re.search("sigma (.*?);", last)[1]) == pytest.approx(
        stress(used, np.loadtxt("o.csv", delimiter=",", skiprows=1, usecols=(1, 2))), rel=0.01
    )
    written = folder.joinpath("o.csv").read_bytes()
    quiet = run(capfd, *command, "--quiet").err
    assert "mapped" not in quiet
    assert quiet.splitlines() == err.splitlines()[:-1]
    assert folder.joinpath("o.csv").read_bytes() == written


@pytest.mark.parametrize("options", [["--json"], ["--online"], ["--embedding", "diffusion"], ["--window", "20"]])
def test_the_last_line_of_other_runs(folder, capfd, options):
    np.save("t.npy", X)
    out, err = run(capfd, "embed", "t.npy", "--landmarks", 8, "--quiet", *options)
    assert "mapped" not in err
    again, err = run(capfd, "embed", "t.npy", "--landmarks", 8, *options)
    assert again == out
    assert err.splitlines()[-1].startswith("driftmap: t.npy: mapped 40 rows, 3 columns, 8 landmarks")
    assert ("sigma" in err) == ("diffusion" not in options)
    assert err.count("mapped") == 1


def test_sampled_stress_is_a_look_that_changes_nothing():
    points = np.cumsum(np.random.default_rng(2).standard_normal((900, 4)), axis=0)
    looked, other = StreamMap(n_landmarks=12), StreamMap(n_landmarks=12)
    for part in np.split(points, 9):
        looked.partial_fit(part)
        other.partial_fit(part)
        assert sampled_stress(looked) == sampled_stress(looked)
    np.testing.assert_array_equal(looked.transform(points), other.transform(points))
    sampled, whole = sampled_stress(looked), stress(points, looked.transform(points))
    assert sampled == pytest.approx(whole, rel=0.1)
    few = StreamMap(n_landmarks=12).partial_fit(points[:150])
    assert sampled_stress(few) == pytest.approx(stress(points[:150], few.transform(points[:150])), rel=0.05)


def test_the_bare_command_prints_short_help(capfd):
    out, err = run(capfd)
    assert err == ""
    assert all(command in out for command in COMMANDS)
    assert len(out.splitlines()) < 12


# --- what is built with ---


def test_actions_are_pinned_by_commit():
    for workflow in ROOT.joinpath(".github", "workflows").glob("*.yml"):
        used = re.findall(r"uses: (\S+)(.*)", workflow.read_text())
        assert used
        for action, comment in used:
            assert re.fullmatch(r"[\w/-]+@[0-9a-f]{40}", action), f"{workflow.name}: {action}"
            assert re.fullmatch(r"  # v\d+\.\d+\.\d+", comment), f"{workflow.name}: {action} does not say its version"


def test_the_documentation_names_what_is_read():
    page = ROOT.joinpath("docs", "how-to", "embed.md").read_text()
    extras = tomllib.loads(ROOT.joinpath("pyproject.toml").read_text())["project"]["optional-dependencies"]
    assert "excel" in extras
    for kind in formats.FORMATS:
        for suffix in kind.suffixes:
            assert f"`{suffix}`" in page, suffix
    for way in source_files.COMPRESSIONS:
        assert f"`{way.suffix}`" in page

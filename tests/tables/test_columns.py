"""Which columns are features, and which rows are mapped, where numbers are missing: nothing is left out unsaid."""

import io
import json
import sys
import types
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet as pq
import pytest

from driftmap.cli import main, outputs
from driftmap.live.watching import Watcher
from driftmap.sources import files as source_files
from driftmap.tables.columns import Wanted
from driftmap.tables.formats import OUTPUTS
from driftmap.tables.readers import open_table
from driftmap.utils.errors import InputError

DAYS = 700
SUFFIXES = ("csv", "csv.gz", "jsonl", "parquet", "arrow", "npy")


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def exchange_rates(newest_first=False):
    """Rates as a central bank publishes them: currencies come, currencies go, and one has never been quoted."""
    rng = np.random.default_rng(5)
    rates = pd.DataFrame(1.0 + 0.01 * np.cumsum(rng.standard_normal((DAYS, 6)), axis=0))
    rates.columns = ["USD", "JPY", "ISK", "DEM", "HRK", "XXX"]
    rates.loc[: DAYS - 200, "ISK"] = np.nan  # begins late
    rates.loc[150:, "DEM"] = np.nan  # is given up early
    rates.loc[(rates.index < 250) | (rates.index > 400), "HRK"] = np.nan
    rates["XXX"] = np.nan
    rates.insert(0, "date", [str(day.date()) for day in pd.date_range("2020-01-01", periods=DAYS)])
    return rates[::-1].reset_index(drop=True) if newest_first else rates


def write(table, suffix, name="rates"):
    """The same table in one format; an array has no names and no dates."""
    file = f"{name}.{suffix}"
    if suffix.startswith("csv"):
        table.to_csv(file, index=False, na_rep="N/A")
    elif suffix == "jsonl":
        table.to_json(file, orient="records", lines=True)
    elif suffix == "parquet":
        pq.write_table(pa.Table.from_pandas(table), file, row_group_size=90)
    elif suffix == "arrow":
        with pa.ipc.new_file(file, pa.Schema.from_pandas(table)) as writer:
            writer.write_table(pa.Table.from_pandas(table), max_chunksize=90)
    else:
        np.save(file, table.drop(columns="date").to_numpy())
    return file


def columns_of(file, *, once, **wanted):
    with open_table(file, Wanted(missing=True, **wanted), once=once) as table:
        rows = np.concatenate([chunk.features for chunk in table.chunks(64)])
        return list(table.columns), {column.name: column.reason for column in table.left_out}, rows


@pytest.mark.parametrize("newest_first", [False, True])
@pytest.mark.parametrize("suffix", SUFFIXES)
def test_only_a_column_without_any_number_is_left_out(folder, suffix, newest_first):
    rates = exchange_rates(newest_first)
    file = write(rates, suffix)
    names = list(rates.columns[1:]) if suffix != "npy" else list("123456")
    dates = {} if suffix == "npy" else {"date": "text" if suffix in ("parquet", "arrow") else "dates"}
    columns, left_out, rows = columns_of(file, once=False)
    assert columns == names[:-1]
    assert left_out == dates | {names[-1]: "empty"}
    np.testing.assert_allclose(rows, rates.iloc[:, 1:-1], rtol=1e-9)
    columns, left_out, rows = columns_of(file, once=True)  # the rows to come are not known
    assert columns == names
    assert left_out == dates
    assert np.isnan(rows[:, -1]).all()


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_a_run_of_one_pass_keeps_every_column_and_says_how_to_exclude_it(folder, capfd, suffix):
    file, name = write(exchange_rates(), suffix), "3" if suffix == "npy" else "ISK"
    assert main(["embed", file, "--online", "--exclude", "6" if suffix == "npy" else "XXX"]) == 2
    err = capfd.readouterr().err
    assert f"column '{name}' is" in err
    assert err.endswith("; choose --missing drop, mean or last, or leave out the column with --exclude\n")


def test_columns_of_a_wide_table_are_decided_by_all_rows(folder):
    """Of 20,000 columns, the look at the first rows takes in one row."""
    cells = np.full((4, 20_000), "", dtype=object)
    cells[np.arange(20_000) % 4, np.arange(20_000)] = "1.5"
    cells[:, 7] = ""
    lines = [",".join(f"c{i}" for i in range(20_000)), *map(",".join, cells)]
    folder.joinpath("wide.csv").write_text("\n".join(lines) + "\n")
    columns, left_out, _ = columns_of("wide.csv", once=False)
    assert len(columns) == 19_999
    assert left_out == {"c7": "empty"}


@pytest.mark.parametrize("size", [50, 2**22])
def test_late_columns_hold_what_their_first_cells_hold_whatever_the_blocks(folder, monkeypatch, size):
    """The first cells decide, as the first rows do; lines that are no rows decide nothing."""
    monkeypatch.setattr(source_files, "READ_BYTES", size)
    late = ["x,rem,2020-01-01,"] + ["7,rem,2020-01-02,"] * 150
    lines = ["a,mixed,text,dates,none"] + ["1,,NA, ,null"] * 120 + ["too,short"] + [f"1,{cells}" for cells in late]
    folder.joinpath("t.csv").write_text("\n".join(lines) + "\n")
    with open_table("t.csv", Wanted(missing=True), once=False) as table:
        assert table.columns == ("a", "mixed")
        assert table.left_out == (("text", "text"), ("dates", "dates"), ("none", "empty"))


def test_late_lists_are_columns_and_columns_of_empty_lists_are_named(folder):
    rows = [{"a": float(i), "v": [1.0, 2.0] if i > 150 else None, "none": []} for i in range(300)]
    pq.write_table(pa.Table.from_pylist(rows), "t.parquet")
    folder.joinpath("t.jsonl").write_text("".join(json.dumps(row | {"none": None}) + "\n" for row in rows))
    for file in ("t.parquet", "t.jsonl"):
        columns, left_out, found = columns_of(file, once=False)
        assert columns == ["a", "v_1", "v_2"]
        assert left_out == {"none": "empty"}
        assert np.isfinite(found).all(axis=1).sum() == 149
    with pytest.raises(InputError, match=r"not numbers: 'none' \(empty\)"):
        columns_of("t.parquet", once=True, columns=["a", "none"])


def test_keys_that_the_first_objects_lack_hold_numbers(folder):
    rows = [{"a": 1, "b": None}, *[{"a": i} for i in range(150)], *[{"a": i, "b": i} for i in range(20)]]
    folder.joinpath("t.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    assert columns_of("t.jsonl", once=False)[:2] == (["a", "b"], {})


def test_a_table_without_rows_has_columns(folder, capfd):
    folder.joinpath("t.csv").write_text("a,b\n")
    assert main(["embed", "t.csv"]) == 2
    assert capfd.readouterr().err == "driftmap: error: t.csv has no rows\n"


# --- rows that are left out ---


def without_the_latest(rates):
    return rates.drop(columns=["ISK", "HRK", "XXX"])


def mapped(capfd, *argv, code=0):
    assert main([*argv]) == code
    return capfd.readouterr()


def embedded(capfd, *argv, code=0):
    return mapped(capfd, "embed", *argv, code=code)


@pytest.mark.parametrize("options", [[], ["--online"], ["--normalize", "zscore"]])
def test_dropped_rows_are_counted_and_the_column_is_named(folder, capfd, options):
    file = write(exchange_rates(), "csv")
    out, err = embedded(capfd, file, "--columns", "USD,JPY,DEM", "--missing", "drop", "--json", "-o", "o.csv", *options)
    summary = json.loads(out)
    assert summary["rows"] == 150 == len(folder.joinpath("o.csv").read_text().splitlines()) - 1
    assert summary["rows_left_out"] == {"missing": 550}
    assert summary["missing_in"] == {"DEM": 550}
    assert (
        "driftmap: warning: rates.csv: 550 of 700 rows left out: 550 for missing numbers (550 in column 'DEM'); " in err
    )
    assert "--exclude" in err


def test_few_rows_that_are_left_out_are_no_warning(folder, capfd):
    lines = ["a,b", "1,", *[f"{i},{i * i}" for i in range(20)], "x,1", ",,", "4,5"]
    folder.joinpath("t.csv").write_text("\n".join(lines) + "\n")
    options = ["--missing", "mean", "--delay", "3", "--skip-bad", "--json", "-o", "o.csv", "--quiet"]
    out, err = embedded(capfd, "t.csv", *options)
    assert err.splitlines()[-1] == (
        "driftmap: t.csv: 5 of 24 rows left out: 1 for missing numbers (1 in column 'b'), 2 for the delay, 2 bad lines"
    )
    summary = json.loads(out)
    assert (summary["rows"], summary["bad_lines"]) == (19, 2)
    assert summary["rows_left_out"] == {"missing": 1, "delay": 2}
    assert summary["missing_in"] == {"b": 1}


def test_nothing_is_said_where_every_row_is_used(folder, capfd):
    write(without_the_latest(exchange_rates()).drop(columns="DEM"), "csv")
    out, err = embedded(capfd, "rates.csv", "--missing", "drop", "--label", "date", "--json", "-o", "o.csv", "--quiet")
    assert json.loads(out)["rows_left_out"] == {"missing": 0}
    assert err == ""


@pytest.mark.parametrize("method", ["drop", "mean"])
def test_where_every_row_would_go_the_error_names_the_column(folder, capfd, method):
    file = write(exchange_rates(), "csv")
    _, err = embedded(capfd, file, "--columns", "USD,XXX", "--missing", method, code=2)
    assert err == (
        "driftmap: error: rates.csv: none of its 700 rows can be used: left out 700 for missing numbers (700 in column "
        "'XXX'); --exclude leaves out a column, --missing mean or last fills it from the rows before\n"
    )


def test_a_delay_longer_than_the_table_is_named_as_the_reason(folder, capfd):
    file = write(exchange_rates(), "csv")
    _, err = embedded(capfd, file, "--columns", "USD", "--delay", "800", code=2)
    assert err == "driftmap: error: rates.csv: none of its 700 rows can be used: left out 700 for the delay\n"


def test_following_counts_in_its_final_line(folder, capfd, monkeypatch):
    lines = ["a,b,c", *[f"{i},{i if i % 3 == 0 else ''},{i * i}" for i in range(30)]]
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO("\n".join([*lines, ""]).encode())))
    _, err = mapped(capfd, "follow", "-", "--missing", "drop")
    warning, final = err.splitlines()
    assert warning.startswith(
        "driftmap: warning: standard input: 20 of 30 rows left out: 20 for missing numbers (20 in"
    )
    assert final.startswith(
        "driftmap: stopped after 10 rows, 20 for missing numbers (20 in column 'b') left out, 0 bad"
    )


# --- columns of one name ---

READERS = {
    "csv": lambda file: pd.read_csv(file, dtype=str),
    "jsonl": lambda file: pd.DataFrame(map(parsed, Path(file).read_text().splitlines())).astype(str),
    "parquet": lambda file: pq.read_table(file).to_pandas().astype(str),
}


def parsed(line):
    """An object whose keys are all different; a reader would lose one of two."""
    pairs = json.loads(line, object_pairs_hook=list)
    assert len(dict(pairs)) == len(pairs)
    return dict(pairs)


@pytest.mark.parametrize("suffix", READERS)
@pytest.mark.parametrize("label", ["x1", "frame", "reach", "map_x1"])
def test_a_label_named_like_a_column_of_ours_keeps_its_name_and_its_texts(folder, capfd, label, suffix):
    rng = np.random.default_rng(3)
    table = pd.DataFrame({label: [f"row {i}" for i in range(40)], "a": rng.normal(size=40), "b": rng.normal(size=40)})
    table.to_csv("t.csv", index=False)
    _, err = embedded(capfd, "t.csv", "--label", label, "--online", "--novelty", "-o", f"o.{suffix}")
    found = READERS[suffix](f"o.{suffix}")
    ours = ["frame", "x1", "x2", "reach", "quantile", "residual"]
    assert list(found.columns) == [label, *(f"map_{name}" if name == label else name for name in ours)]
    assert list(found[label]) == list(table[label])
    said = f"driftmap: the input has columns of the same names, so in the output '{label}' is 'map_{label}'"
    assert (said in err) == (label in ours)


@pytest.mark.parametrize("suffix", READERS)
def test_landmarks_with_features_named_like_columns_of_ours(folder, capfd, suffix):
    rng = np.random.default_rng(3)
    names = ["mass", "x1", "x2", "map_x2", "a", "a"]
    rows = rng.normal(size=(40, 6))
    folder.joinpath("t.csv").write_text("\n".join([",".join(names), *(",".join(map(repr, r)) for r in rows.tolist())]))
    options = ["--landmarks", "9", "--landmarks-out", f"l.{suffix}", "-o", "o.csv"]
    _, err = embedded(capfd, "t.csv", *options)
    found = READERS[suffix](f"l.{suffix}")
    ours = ["arrival", "map_mass", "map_x1", "map_map_x2"]
    assert list(found.columns) == [*ours, "mass", "x1", "x2", "map_x2", "a", "a_2"]
    arrivals = found["arrival"].astype(int)
    np.testing.assert_array_equal(found.iloc[:, 4:].astype(float), rows[arrivals])
    assert "so in the landmarks 'a' is 'a_2', 'mass' is 'map_mass', 'x1' is 'map_x1', 'x2' is 'map_map_x2'" in err
    embedded(capfd, "t.csv", "--columns", "x1,x2", "--label", "x1", *options)
    assert list(READERS[suffix](f"l.{suffix}").columns) == ["arrival", "mass", "map_x1", "map_x2", "x1", "x2"]


def test_a_page_keeps_labels_and_features_named_like_novelty(folder, monkeypatch):
    from driftmap.cli import pictures

    given = {}
    monkeypatch.setattr(pictures, "html", lambda *args, **options: given.update(options) or "")
    lines = ["reach,quantile,a", *[f"row {i},{i % 7},{i * i}" for i in range(30)]]
    folder.joinpath("t.csv").write_text("\n".join(lines) + "\n")
    options = ["--label", "reach", "--novelty", "--shade", "reach", "--plot", "p.html", "-o", "o.csv"]
    assert main(["embed", "t.csv", *options]) == 0
    columns = given["columns"]
    assert list(columns) == ["reach", "quantile", "a", "map_reach", "map_quantile", "residual"]
    assert list(columns["reach"]) == [f"row {i}" for i in range(30)]
    np.testing.assert_array_equal(columns["quantile"], np.arange(30) % 7)
    assert given["color"] == "map_reach"


@pytest.mark.parametrize("label", ["id", "alert", "x1"])
def test_records_of_a_sink_keep_the_label(folder, monkeypatch, label):
    records = []
    sink = types.SimpleNamespace(send=lambda some: records.extend(some), close=lambda: None)
    monkeypatch.setattr(outputs, "open_sink", lambda url: sink)
    lines = [f"{label},a,b", *[f"row {i},{i % 7},{i * i}" for i in range(30)]]
    folder.joinpath("t.csv").write_text("\n".join(lines) + "\n")
    assert main(["embed", "t.csv", "--label", label, "--online", "--sink", "redis://h/s", "-o", "o.csv"]) == 0
    found = [parsed(record.data) for record in records]
    assert [one[label] for one in found] == [f"row {i}" for i in range(30)]
    assert [one["map_id" if label == "id" else "id"] for one in found] == list(range(30))
    assert found[0].keys() >= {"frame", "x2", "map_x1" if label == "x1" else "x1"}


@pytest.mark.parametrize("suffix", [".csv", ".jsonl", ".parquet"])
def test_no_writer_takes_two_columns_of_one_name(suffix):
    with pytest.raises(InputError, match="two columns of the output are named 'a'"):
        OUTPUTS[suffix].writer(io.BytesIO(), ["a", "b", "a"])


def test_a_live_view_has_columns_of_different_names():
    watcher = Watcher("t", ["novelty", "a", "a"], "a")
    assert [column.name for column in watcher.scene.columns] == ["a", "map_novelty", "novelty", "a_2", "a_3"]

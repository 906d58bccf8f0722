"""Which columns are features, and which rows are mapped, where numbers are missing: nothing is left out unsaid."""

import json

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet as pq
import pytest

from driftmap.cli import main
from driftmap.io import text
from driftmap.io.readers import open_table
from driftmap.io.tables import Wanted
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
    monkeypatch.setattr(text, "READ_BYTES", size)
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

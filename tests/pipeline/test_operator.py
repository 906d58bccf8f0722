"""The operator in the middle of every run: batches in any form, errors that change nothing, snapshots."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from driftmap.map import StreamMap
from driftmap.map.novelty import NoveltyDetector
from driftmap.pipeline import MapOperator
from driftmap.storage.checkpoint import CheckpointError
from driftmap.tables.delay import DelayEmbedding
from driftmap.tables.missing import FillMissing
from driftmap.tables.scaling import RunningScale
from driftmap.utils.errors import InputError

ROWS = np.random.default_rng(0).random((300, 4))
NAMES = ["a", "b", "c", "d"]
FRAME = pd.DataFrame(ROWS, columns=NAMES).assign(name=[f"row {i}" for i in range(len(ROWS))])


def full() -> MapOperator:
    steps = [FillMissing("mean"), DelayEmbedding(3), RunningScale("zscore", 50)]
    return MapOperator(StreamMap(2, n_landmarks=20), steps, NoveltyDetector(0.99), each_row=True, residuals=True)


def joined(updates, field: str):
    return np.concatenate([getattr(update, field) for update in updates])


@pytest.mark.parametrize("size", [1, 7, 300])
def test_results_of_each_row_do_not_depend_on_batches(size):
    rows = ROWS.copy()
    rows[::17, 1] = np.nan
    one, other = full(), full()
    whole = [one.on_batch(rows)]
    parts = [other.on_batch(rows[i : i + size]) for i in range(0, len(rows), size)]
    for field in ("coordinates", "frames", "reach", "quantile", "residual", "nearest"):
        assert np.array_equal(joined(whole, field), joined(parts, field), equal_nan=True)
    assert [alert for part in parts for alert in part.alerts] == list(whole[0].alerts)
    assert one.snapshot() == other.snapshot()


def test_a_snapshot_goes_on_with_the_same_bits_wherever_it_is_taken():
    straight, resumed = full(), full()
    for i in range(0, len(ROWS), 9):
        expected = straight.on_batch(ROWS[i : i + 9])
        resumed = MapOperator.restore(resumed.snapshot())
        found = resumed.on_batch(ROWS[i : i + 9])
        assert np.array_equal(expected.coordinates, found.coordinates)
        assert resumed.snapshot() == straight.snapshot()


FORMS = {
    "pandas": lambda frame: frame,
    "polars": pl.from_pandas,
    "arrow table": lambda frame: pa.Table.from_pandas(frame, preserve_index=False),
    "arrow batch": lambda frame: pa.RecordBatch.from_pandas(frame, preserve_index=False),
    "dicts": lambda frame: frame.to_dict("records"),
}


@pytest.mark.parametrize("form", FORMS)
def test_batches_may_come_in_any_form(form):
    operator = MapOperator(StreamMap(2, n_landmarks=20), label="name")
    arrays = MapOperator(StreamMap(2, n_landmarks=20))
    for i in (0, 100, 200):
        update = operator.on_batch(FORMS[form](FRAME[i : i + 100]))
        assert np.array_equal(update.coordinates, arrays.on_batch(ROWS[i : i + 100]).coordinates)
        assert update.first == i
        assert list(update.rows.labels) == list(FRAME["name"][i : i + 100])
    assert operator.columns == tuple(NAMES)


def test_forms_may_change_from_batch_to_batch_and_columns_may_change_places():
    operator, arrays = (MapOperator(StreamMap(2, n_landmarks=20), label=label) for label in ("name", None))
    for i, form in enumerate(FORMS):
        rows = FRAME[50 * i : 50 * i + 50]
        expected = arrays.on_batch(ROWS[50 * i : 50 * i + 50])
        found = operator.on_batch(FORMS[form](rows[["name", *NAMES[:: -1 if i else 1]]]))
        assert np.array_equal(found.coordinates, expected.coordinates)
    frame = FRAME[250:300]
    same = MapOperator.restore(operator.snapshot())
    shuffled = same.on_batch(frame[["name", "b", "d", "a", "c"]])
    assert np.array_equal(shuffled.coordinates, operator.on_batch(frame).coordinates)


@pytest.mark.parametrize("empty", [ROWS[:0], FRAME[:0], [], pa.Table.from_pandas(FRAME[:0])], ids=str)
def test_an_empty_batch_changes_nothing(empty):
    operator = MapOperator(StreamMap(2, n_landmarks=20), label="name")
    operator.on_batch(FRAME[:50])
    before = operator.snapshot()
    update = operator.on_batch(empty)
    assert update.coordinates.shape == (0, 2)
    assert operator.snapshot() == before


BAD = {
    "infinite": (ROWS[:5] * np.inf, "row 0"),
    "too wide": (np.ones((3, 5)), "5 features"),
    "text": (np.array([["x"] * 4]), "'x'"),
    "one dict": ({"a": 1.0}, "list of dicts"),
    "column missing": (FRAME[["a", "b", "name"]], "'c'"),
    "label missing": (FRAME[NAMES], "'name'"),
    "text in a frame": (FRAME.assign(a="x"), "'a'"),
    "text in a dict": ([{"a": 1.0, "b": 2.0, "c": 3.0, "d": "x", "name": "n"}], "'d'"),
    "other keys": ([{"a": 1.0, "name": "n"}], "missing"),
    "no rows at all": ("rows", "rows"),
    "late": (np.vstack([ROWS[:20], [[np.nan] * 4]]), "row 20"),
}


@pytest.mark.parametrize("case", BAD)
@pytest.mark.parametrize("each_row", [True, False])
def test_a_bad_batch_changes_nothing(case, each_row):
    batch, said = BAD[case]
    for seen in (0, 60):
        operator = MapOperator(StreamMap(2, n_landmarks=20), label="name", each_row=each_row)
        if seen:
            operator.on_batch(FRAME[:seen])
        elif case in ("too wide", "column missing", "other keys"):
            continue  # the first batch decides these
        before = operator.snapshot()
        with pytest.raises(InputError, match=said):
            operator.on_batch(batch)
        assert operator.snapshot() == before


def test_a_metric_that_fails_in_the_middle_changes_nothing():
    calls = {"left": 10**9}

    def metric(x, y):
        calls["left"] -= 1
        if calls["left"] < 0:
            raise RuntimeError("lost")
        return float(abs(x - y).sum())

    operator = MapOperator(StreamMap(2, n_landmarks=10, metric=metric), [FillMissing("mean")], each_row=True)
    operator.on_batch(ROWS[:40])
    before = operator.snapshot()
    calls["left"] = 150
    with pytest.raises(RuntimeError, match="lost"):
        operator.on_batch(ROWS[40:80])
    calls["left"] = 10**9
    assert operator.snapshot() == before
    again = MapOperator.restore(before, metric=metric)
    assert np.array_equal(operator.on_batch(ROWS[40:80]).coordinates, again.on_batch(ROWS[40:80]).coordinates)


@pytest.mark.parametrize("seen", [0, 60])
def test_restore_refuses_damaged_and_foreign_bytes(seen):
    operator = full()
    operator.on_batch(ROWS[:seen])
    blob = operator.snapshot()
    mapper = StreamMap(2, n_landmarks=20).partial_fit(ROWS)
    from driftmap.storage import checkpoint

    damaged = [b"", b"PK", blob[:-1], blob[: len(blob) // 2], blob[:100] + b"x" + blob[101:], 5, None]
    for other in [*damaged, checkpoint.to_bytes(*mapper.pack())]:
        with pytest.raises(CheckpointError, match="the snapshot"):
            MapOperator.restore(other)


def test_rows_that_wait_for_their_scale_come_at_the_end_of_a_short_stream():
    operator = MapOperator(StreamMap(2, n_landmarks=20), [RunningScale("minmax", 50)])
    assert len(operator.on_batch(ROWS[:30]).coordinates) == 0
    assert len(MapOperator.restore(operator.snapshot()).on_batch(ROWS[30:60]).coordinates) == 60

"""The operator in the middle of every run: batches in any form, errors that change nothing, snapshots."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from scipy.sparse import csr_array

from driftmap.embedding import LandmarkStress
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
    shuffled = same.on_batch(frame[["b", "name", "d", "a", "c"]])
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
    "a text": ("rows", "got str"),
    "no array": (None, "got NoneType"),
    "a number": (5, "got int"),
    "a generator": ((row for row in [{"a": 1.0}]), "got generator"),
    "a sparse matrix": (csr_array(ROWS[:5]), "got csr_array"),
    "an array with a label": (ROWS[:5], "'name'"),
    "a name twice": (FRAME.set_axis(["a", "a", "c", "d", "name"], axis=1), "two columns of the name 'a'"),
    "another column": (FRAME.assign(e=1.0), "'e'"),
    "another key": ([dict.fromkeys([*NAMES, "name", "e"], 1.0)], "new: .'e'"),
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
        elif case in ("too wide", "column missing", "other keys", "another column", "another key"):
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


def test_names_may_be_numbers():
    arrays = MapOperator(StreamMap(2, n_landmarks=20)).on_batch(ROWS)
    for batch in (pd.DataFrame(ROWS), [dict(enumerate(row)) for row in ROWS.tolist()]):
        operator = MapOperator(StreamMap(2, n_landmarks=20))
        assert np.array_equal(operator.on_batch(batch).coordinates, arrays.coordinates)
        assert operator.columns == ("0", "1", "2", "3")


def same_params(one: StreamMap, other: StreamMap) -> bool:
    return {name: str(value) for name, value in one.params().items()} == {
        name: str(value) for name, value in other.params().items()
    }


@pytest.mark.parametrize(
    "mapper",
    [
        StreamMap(2, embedding=LandmarkStress(2, steadiness=0.1)),
        StreamMap(2, n_landmarks=np.int64(33)),
        StreamMap(2, metric="minkowski", metric_params={"p": 3}),
        StreamMap(2, metric="mahalanobis", metric_params={"VI": np.eye(4) / 3}),
    ],
    ids=["embedding", "numpy", "metric", "array"],
)
def test_a_snapshot_before_the_first_row_has_all_parameters(mapper):
    operator = MapOperator(mapper)
    restored = MapOperator.restore(operator.snapshot())
    assert same_params(restored.mapper, mapper)
    assert np.array_equal(operator.on_batch(ROWS).coordinates, restored.on_batch(ROWS).coordinates)
    assert operator.snapshot() == restored.snapshot()


class Twice:
    """A step of a user, which remembers nothing."""

    warm_up = 1

    def __call__(self, rows):
        return rows * 2, np.arange(len(rows))

    def columns(self, names):
        return list(names)

    def left_out(self, names):
        return []

    def state(self):
        return {}

    def restore(self, state, n_columns=None):
        raise AssertionError("there is nothing to restore")


def manhattan(x, y):
    return float(abs(x - y).sum())


@pytest.mark.parametrize("seen", [0, 60])
def test_objects_of_the_user_are_named_if_restore_lacks_them(seen):
    operator = MapOperator(StreamMap(2, n_landmarks=20, metric=manhattan), [FillMissing("mean"), Twice()])
    operator.on_batch(ROWS[:seen])
    blob = operator.snapshot()
    steps = [FillMissing("mean"), Twice()]
    for given, said in [
        ({"metric": manhattan}, "step Twice"),
        ({"steps": steps}, "metric=manhattan"),
        ({"steps": steps[1:], "metric": manhattan}, "2 steps"),
        ({"steps": steps, "metric": np.dot}, "metric=dot"),
        ({"steps": steps, "metric": manhattan, "embedding": LandmarkStress()}, "stores its embedding"),
    ]:
        with pytest.raises(CheckpointError, match=said):
            MapOperator.restore(blob, **given)
    restored = MapOperator.restore(blob, steps=steps, metric=manhattan)
    assert np.array_equal(restored.on_batch(ROWS[60:]).coordinates, operator.on_batch(ROWS[60:]).coordinates)


def far_out(i: int) -> np.ndarray:
    rows = ROWS.copy()
    rows[i] = 50.0
    return rows


def test_callbacks_get_alerts_in_the_names_of_the_batch_when_it_is_learnt():
    got = []
    frame = FRAME.assign(**dict(zip(NAMES, far_out(200).T, strict=True)))
    operator = MapOperator(StreamMap(2, n_landmarks=20), detector=NoveltyDetector(3, callback=got.append), label="name")
    alerts = operator.on_batch(frame[:250]).alerts
    assert [alert.time for alert in alerts] == ["row 200"]
    assert got == list(alerts)
    assert {difference.feature for difference in got[0].features} <= set(NAMES)
    again = MapOperator.restore(operator.snapshot(), callback=got.append)
    again.on_batch(frame[:100])
    again.on_batch(frame[200:201].assign(a=1e4))
    assert len(got) == 2


def test_a_callback_that_fails_finds_the_batch_learnt():
    def fail(alert):
        raise RuntimeError("no mail server")

    operator = MapOperator(StreamMap(2, n_landmarks=20), detector=NoveltyDetector(3, callback=fail), each_row=True)
    silent = MapOperator(StreamMap(2, n_landmarks=20), detector=NoveltyDetector(3), each_row=True)
    with pytest.raises(RuntimeError, match="mail"):
        operator.on_batch(far_out(200))
    silent.on_batch(far_out(200))
    assert operator.n_rows == operator.mapper.n_samples_seen_ == 300
    assert operator.snapshot() == silent.snapshot()


def test_an_error_keeps_the_detector_of_the_user():
    detector = NoveltyDetector(3)
    operator = MapOperator(StreamMap(2, n_landmarks=20), detector=detector)
    with pytest.raises(InputError):
        operator.on_batch(ROWS * np.inf)
    operator.on_batch(far_out(200))
    assert operator.detector is detector
    assert detector.n_alerts == 1


def test_an_operator_that_was_torn_by_an_interrupt_says_so(monkeypatch):
    operator = MapOperator(StreamMap(2, n_landmarks=20))
    operator.on_batch(ROWS[:100])
    blob = operator.snapshot()

    def interrupted(*given, **more):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:  # after learning, where frames are made
        patch.setattr(operator.mapper.frames, "present", interrupted)
        with pytest.raises(KeyboardInterrupt):
            operator.on_batch(ROWS[100:200])
    for call in (operator.snapshot, lambda: operator.on_batch(ROWS[100:200])):
        with pytest.raises(InputError, match="continue from a snapshot"):
            call()
    assert MapOperator.restore(blob).on_batch(ROWS[100:200]).first == 100


def test_a_first_batch_that_fails_is_forgotten_with_its_novelty():
    left = [10**9]

    def metric(x, y):
        left[0] -= 1
        if left[0] < 0:
            raise RuntimeError("lost")
        return manhattan(x, y)

    operators = [MapOperator(StreamMap(2, n_landmarks=10, metric=metric), each_row=True) for _ in range(2)]
    left[0] = 150
    with pytest.raises(RuntimeError, match="lost"):
        operators[0].on_batch(ROWS[:80])
    left[0] = 10**9
    found, expected = (operator.on_batch(ROWS) for operator in operators)
    assert np.array_equal(found.quantile, expected.quantile)
    assert operators[0].snapshot() == operators[1].snapshot()


def test_an_operator_goes_on_with_a_map_that_knows_its_features():
    mapper = StreamMap(2, n_landmarks=20)
    mapper.feature_names = tuple(NAMES)
    mapper.partial_fit(ROWS[:150])
    operator = MapOperator(mapper, detector=NoveltyDetector(3))
    with pytest.raises(InputError, match="no column 'd'"):
        operator.on_batch(FRAME[["a", "b", "c"]])
    (alert,) = operator.on_batch(far_out(280)[150:]).alerts
    assert alert.row == 280
    assert {difference.feature for difference in alert.features} <= set(NAMES)


@pytest.mark.parametrize("first", [ROWS[:0], "numbers"], ids=["empty", "numbers"])
def test_labels_of_rows_that_wait_may_be_of_two_kinds(first):
    operator = MapOperator(StreamMap(2, n_landmarks=20), [RunningScale("zscore", 50)], label="name")
    n = 0 if isinstance(first, np.ndarray) else 10
    operator.on_batch(first if n == 0 else FRAME[:10].assign(name=range(10)))
    operator.on_batch(FRAME[10:30])
    again = MapOperator.restore(operator.snapshot())
    expected = [*[f"{i}.0" for i in range(n)], *FRAME["name"][10:80]]
    assert operator.on_batch(FRAME[30:80]).rows.labels == expected == again.on_batch(FRAME[30:80]).rows.labels


def test_threads_may_share_an_operator():
    operator = MapOperator(StreamMap(2, n_landmarks=20), [DelayEmbedding(3)], each_row=True)
    with ThreadPoolExecutor(4) as pool:
        updates = list(pool.map(lambda i: operator.on_batch(ROWS[5 * i : 5 * i + 5]), range(40)))
    firsts = sorted((update.first, len(update.coordinates)) for update in updates)
    assert sum(n for _, n in firsts) == operator.n_rows == 198
    assert [first for first, _ in firsts] == np.cumsum([0, *[n for _, n in firsts[:-1]]]).tolist()


def test_finish_releases_the_rows_that_wait():
    operator = MapOperator(StreamMap(2, n_landmarks=20), [RunningScale("minmax", 50)])
    operator.on_batch(ROWS[:30])
    restored = MapOperator.restore(operator.snapshot())
    update = operator.finish()
    assert (update.first, update.coordinates.shape, operator.n_rows) == (0, (30, 2), 30)
    assert np.array_equal(update.coordinates, restored.finish().coordinates)
    assert operator.finish().coordinates.shape == (0, 2)

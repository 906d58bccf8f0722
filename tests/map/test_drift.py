"""Drift: the tests against a slow twin, false alarms, what is found and where, batches, saving, bad input."""

import copy
import json

import numpy as np
import pytest
from benchmarks.drift import follow
from benchmarks.shapes import SHAPES, stream
from scipy import sparse, stats

import naive
from driftmap import DriftMap, InputError
from driftmap.cli import main
from driftmap.map import StreamMap
from driftmap.map.changes import joined_moments, moments_of
from driftmap.map.drift import DriftMonitor
from driftmap.map.two_sample import Sample, is_confirmed, most_likely_start
from driftmap.pipeline import MapOperator
from driftmap.storage import checkpoint
from driftmap.storage.checkpoint import CheckpointError

RNG = np.random.default_rng(0)
ROWS = RNG.standard_normal((1400, 3))
ROWS[900:, 1] += 2.0
PLAIN = {"n_landmarks": 20, "embedding": "lmds"}


def found(drifts):
    return [(d.arrival, d.began, d.p_value, d.features, [s[:3] for s in d.landmarks]) for d in drifts]


# --- the tests ---


@pytest.mark.parametrize(("m", "w", "n"), [(3, 20, 60), (12, 40, 100), (30, 50, 70), (1, 20, 20)])
def test_statistics_are_those_of_the_slow_twin(m, w, n):
    rng = np.random.default_rng(m)
    reference, window = rng.random((n, m)), rng.random((w, m)) + 0.1 * np.arange(m) / m
    reference[:, 0] = window[:, 0] = 0.5  # a constant column decides nothing
    sample = Sample.of(reference, window)
    g, z = sample.of_window()
    expected_g, k, expected_z = naive.two_sample(reference.tolist(), window.tolist())
    assert g == pytest.approx(expected_g, abs=1e-9)
    assert sample.freedom == k - 1
    assert z == pytest.approx(expected_z, abs=1e-9)
    n_tests = m - 1 + min(4, (m - 1) // 2) * m
    assert (len(z), sample.n_tests) == (n_tests + 1, n_tests)
    p = sample.p_values()
    assert p.shares == pytest.approx(stats.chi2.sf(expected_g, k - 1) if k > 1 else 1.0)
    assert p.means == pytest.approx(min(1.0, 2 * n_tests * stats.norm.sf(max(np.abs(expected_z)))))


def test_the_permutation_test_has_its_level_where_the_asymptotic_p_values_are_too_small():
    rng = np.random.default_rng(5)
    asymptotic = exact = 0
    for i in range(300):
        heavy = np.exp(2.5 * rng.standard_normal((420, 8)))
        sample = Sample.of(heavy[:400], heavy[400:])
        p = sample.p_values()
        asymptotic += p.combined <= 0.005
        exact += is_confirmed(sample, p, 0.005, i)
    assert stats.binom.sf(asymptotic - 1, 300, 0.005) < 1e-3  # too many
    assert stats.binom.sf(exact - 1, 300, 0.005) > 1e-3


@pytest.mark.parametrize("size", [40, 120])
def test_the_start_is_the_row_from_which_the_sample_differs(size):
    rng = np.random.default_rng(1)
    reference, window = rng.random((400, 6)), rng.random((150, 6))
    window[-size:, 2] += 1.5
    sample = Sample.of(reference, window)
    assert abs(most_likely_start(sample, sample.p_values()) - size) <= 2


def test_moments_of_two_samples_together_are_those_of_all_rows():
    X = RNG.standard_normal((50, 4)) + 7
    X[::3, 1] = np.nan
    X[:, 3] = np.nan
    assert joined_moments(moments_of(X[:20]), moments_of(X[20:])) == pytest.approx(moments_of(X))


# --- false alarms ---


def test_false_alarms_are_rarer_than_alpha():
    """A fixed subset of `python -m benchmarks.drift`; a larger alpha needs fewer checks to be wrong."""
    checks = alarms = 0
    for i, shape in enumerate(SHAPES * 2):
        monitor = follow(DriftMonitor(60 if i % 2 else 200, alpha=0.01), stream(shape, 3000, 1000 + i), 30)
        checks, alarms = checks + monitor.n_checks, alarms + monitor.n_drifts
    assert checks > 1000
    assert stats.binom.sf(alarms - 1, checks, 0.01) > 1e-3


# --- what is found ---


def test_a_change_is_found_with_its_row_place_and_features():
    mapper, monitor = DriftMap(**PLAIN), DriftMonitor()
    (drift,) = mapper.update(ROWS, times=None, monitor=monitor).drifts
    assert 900 <= drift.arrival < 1050
    assert abs(drift.began - 900) <= 5
    assert drift.p_value <= 1e-4
    assert monitor.n_drifts == 1
    assert drift.features[0].feature == 1
    before, now = drift.features[0][2:]
    assert before == pytest.approx(0, abs=0.3)
    assert now == pytest.approx(ROWS[drift.arrival - 199 : drift.arrival + 1, 1].mean())
    assert sum(one.before for one in drift.landmarks) == pytest.approx(1)
    assert sum(one.now for one in drift.landmarks) == pytest.approx(1)
    landmarks = [one.landmark for one in drift.landmarks]
    assert landmarks == list(range(20))  # the landmarks of row 20, though the map has others by now
    placed = mapper.transform(ROWS[landmarks])
    assert [one.position for one in drift.landmarks] == [tuple(row) for row in placed.tolist()]


@pytest.mark.parametrize("size", [1, 7, 300])
def test_drifts_do_not_depend_on_batches(size):
    whole = StreamMap(**PLAIN).update(ROWS, monitor=(one := DriftMonitor(80))).drifts
    mapper, other, drifts = StreamMap(**PLAIN), DriftMonitor(80), []
    for i in range(0, len(ROWS), size):
        drifts += mapper.update(ROWS[i : i + size], monitor=other).drifts
    assert found(whole) == found(drifts)
    assert len(whole) > 0
    assert one.pack()[0] == other.pack()[0]
    for name, array in one.pack()[1].items():
        assert np.array_equal(array, other.pack()[1][name])


def test_landmarks_are_the_same_with_and_without_a_monitor():
    with_one, without = StreamMap(**PLAIN), StreamMap(**PLAIN)
    a, b = with_one.update(ROWS, monitor=DriftMonitor()), without.update(ROWS)
    assert np.array_equal(a.reach, b.reach)
    assert np.array_equal(a.coordinates, b.coordinates)
    assert with_one.radius_ == without.radius_


@pytest.mark.parametrize("reference", ["first", ROWS[:400]], ids=["first", "rows"])
def test_a_reference_that_stays_raises_one_alarm_until_the_stream_comes_back(reference):
    rng = np.random.default_rng(3)
    X = rng.standard_normal((2400, 3))
    X[800:1300, 1] += 2.0
    X[1900:, 1] += 2.0
    drifts = StreamMap(**PLAIN).update(X, monitor=DriftMonitor(100, reference)).drifts
    assert [800 <= d.arrival < 900 or 1900 <= d.arrival < 2000 for d in drifts] == [True, True]


def test_memory_is_bounded():
    monitor = follow(DriftMonitor(40), np.random.default_rng(0).standard_normal((6000, 2)), 10)
    assert sum(array.size for array in monitor.pack()[1].values()) < 13_000


def test_sparse_rows_and_objects_have_no_features():
    (drift,) = StreamMap(**PLAIN).update(sparse.csr_array(ROWS), monitor=DriftMonitor()).drifts
    assert drift.features == []
    lengths = [np.array([row[1]]) for row in ROWS]
    distance = StreamMap(n_components=1, **PLAIN, metric=lambda a, b: abs(float(a[0]) - float(b[0])))
    (drift,) = distance.update(lengths, monitor=DriftMonitor()).drifts
    assert abs(drift.began - 900) <= 5


def test_missing_numbers_are_left_out_of_the_features():
    X = ROWS.copy()
    X[::4, 0] = np.nan
    (drift,) = StreamMap(**PLAIN, metric="nan_euclidean").update(X, monitor=DriftMonitor()).drifts
    assert np.isfinite([one.difference for one in drift.features]).all()


# --- saving ---


def test_an_operator_goes_on_from_a_snapshot_with_the_same_drifts():
    straight = MapOperator(StreamMap(**PLAIN), monitor=DriftMonitor(80), each_row=True)
    resumed = MapOperator(StreamMap(**PLAIN), monitor=DriftMonitor(80), each_row=True)
    n = 0
    for i in range(0, len(ROWS), 130):
        expected = straight.on_batch(ROWS[i : i + 130])
        resumed = MapOperator.restore(resumed.snapshot())
        update = resumed.on_batch(ROWS[i : i + 130])
        assert list(update.drifts) == list(expected.drifts)
        assert resumed.snapshot() == straight.snapshot()
        n += len(update.drifts)
    assert n > 0


def test_an_array_as_reference_is_saved():
    operator = MapOperator(StreamMap(**PLAIN), monitor=DriftMonitor(80, ROWS[:200]))
    for i in range(0, 1200, 150):
        operator = MapOperator.restore(operator.snapshot())
        drifts = operator.on_batch(ROWS[i : i + 150]).drifts
    assert operator.monitor.n_drifts == 1
    assert drifts == [] or drifts[0].arrival > 900


@pytest.mark.parametrize("name", ["recent", "points", "moments"])
def test_a_damaged_state_is_refused(name):
    monitor = DriftMonitor(80)
    StreamMap(**PLAIN).update(ROWS[:500], monitor=monitor)
    record, arrays = monitor.pack()
    with pytest.raises(ValueError, match=r"its monitor.\w+ is of shape"):
        DriftMonitor.unpack(record, arrays | {name: arrays[name][:, :2]})
    with pytest.raises(ValueError, match="contradicts itself"):
        DriftMonitor.unpack(record._replace(followed=record.followed._replace(since_check=20)), arrays)


# --- bad input ---


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"window": 19}, "window must be at least 20"),
        ({"window": 50, "reference": ROWS[:30]}, "window=50 is larger than the reference, which has 30 rows"),
        ({"reference": "last"}, "reference must be"),
        ({"alpha": 0.0}, "alpha must be positive"),
        ({"alpha": 1e-9}, "alpha must be at least 1e-05"),
        ({"alpha": 1.0}, "alpha must be at least 1e-05 and below 1"),
    ],
)
def test_parameters_that_mean_nothing(given, message):
    with pytest.raises(InputError, match=message):
        DriftMonitor(**given)


def test_a_monitor_of_another_map_is_refused():
    monitor = DriftMonitor()
    mapper = DriftMap(**PLAIN)
    mapper.update(ROWS[:500], monitor=monitor)
    before = monitor.pack()[0]
    others = DriftMap(**PLAIN).partial_fit(ROWS[:300]), DriftMap(**PLAIN).partial_fit(ROWS[500:1000]), DriftMap(**PLAIN)
    for other in [*others, mapper.merge(DriftMap(**PLAIN).partial_fit(ROWS[500:600]))]:
        seen = getattr(other, "n_samples_seen_", 0) if other in others[:2] else None
        with pytest.raises(InputError, match="monitor has followed 500 rows of another map"):
            other.update(ROWS[500:600], monitor=monitor)
        assert seen is None or other.n_samples_seen_ == seen
    assert monitor.pack()[0] == before
    mapper.update(ROWS[500:600], monitor=monitor)


def test_distances_and_a_reference_of_another_width_are_refused():
    with pytest.raises(InputError, match="precomputed"):
        StreamMap(metric="precomputed").update(np.zeros((3, 3)), monitor=DriftMonitor())
    mapper = StreamMap(**PLAIN)
    with pytest.raises(InputError, match="reference does not fit the map"):
        mapper.update(ROWS, monitor=DriftMonitor(50, ROWS[:100, :2]))
    assert not mapper.fitted


def test_rows_that_cannot_be_used_change_nothing():
    mapper, monitor = StreamMap(**PLAIN), DriftMonitor(40)
    mapper.update(ROWS[:300], monitor=monitor)
    before = monitor.pack()[0]
    bad = ROWS[300:500].copy()
    bad[150, 2] = np.nan
    with pytest.raises(InputError, match="150"):
        mapper.update(bad, monitor=monitor)
    assert monitor.pack()[0] == before
    assert mapper.n_samples_seen_ == 300


def test_a_metric_that_fails_in_the_middle_changes_nothing():
    calls = []

    def distance(a, b):
        calls.append(None)
        if failing and len(calls) > 2000:
            raise ZeroDivisionError
        return float(np.abs(a - b).sum())

    failing = False
    mapper, monitor = StreamMap(n_landmarks=5, metric=distance), DriftMonitor(20)
    mapper.update(ROWS[:100], monitor=monitor)
    twin, same = copy.deepcopy(mapper), copy.deepcopy(monitor)
    before = monitor.pack()[0]
    calls.clear()
    failing = True
    with pytest.raises(ZeroDivisionError):
        mapper.update(ROWS[100:400], monitor=monitor)
    assert (monitor.pack()[0], mapper.n_samples_seen_) == (before, 100)
    failing = False
    assert found(mapper.update(ROWS[100:], monitor=monitor).drifts) == found(
        twin.update(ROWS[100:], monitor=same).drifts
    )


def test_a_snapshot_with_another_monitor_is_refused():
    operator = MapOperator(StreamMap(**PLAIN), monitor=DriftMonitor(80))
    operator.on_batch(ROWS[:200])
    header, arrays = operator.pack()
    with pytest.raises(ValueError, match=r"its DriftMonitor\(window=80.* is not DriftMonitor\(window=90"):
        MapOperator(StreamMap(**PLAIN), monitor=DriftMonitor(90)).unpack(header, arrays)
    header["operator"]["monitor"][0] = 10
    with pytest.raises(CheckpointError, match="window"):
        MapOperator.restore(checkpoint.to_bytes(header, arrays))


# --- the command line ---


@pytest.fixture
def table(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    lines = [f"d{i},{','.join(map(repr, row))}\n" for i, row in enumerate(ROWS.tolist())]
    tmp_path.joinpath("t.csv").write_text("day,a,b,c\n" + "".join(lines))
    return tmp_path


def test_drifts_are_lines_of_alerts(table, capfd):
    command = ["embed", "t.csv", "--online", "--label", "day", "--landmarks", "20", "-o", "o.csv"]
    assert main([*command, "--drift", "80", "--alert", "0.99", "--alerts", "a.jsonl", "--json"]) == 0
    out, err = capfd.readouterr()
    written = [json.loads(line) for line in table.joinpath("a.jsonl").read_text().splitlines()]
    assert [line["row"] for line in written] == sorted(line["row"] for line in written)
    drifts = [line for line in written if line.get("kind") == "drift"]
    expected = StreamMap(n_landmarks=20).update(ROWS, monitor=DriftMonitor(80)).drifts
    assert [(line["row"], line["began"], line["p_value"]) for line in drifts] == [d[:3] for d in expected]
    assert drifts[0]["time"] == f"d{drifts[0]['row']}"
    assert drifts[0]["features"][0]["name"] == "b"
    assert json.loads(out)["n_drifts"] == len(drifts)
    assert f"{len(drifts)} drift" in err


def test_drift_of_a_pipe_that_is_followed(table, capfd, monkeypatch):
    monkeypatch.setattr("sys.stdin", table.joinpath("t.csv").open())
    assert main(["follow", "-", "--label", "day", "--landmarks", "20", "-o", "o.csv", "--drift"]) == 0
    err = capfd.readouterr().err
    drift = json.loads(next(line for line in err.splitlines() if line.startswith("{")))
    assert (drift["kind"], 900 <= drift["row"] < 1100) == ("drift", True)
    assert err.splitlines()[-1].endswith(", 1 drift")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--drift"], "--drift compares rows as they arrive: add --online"),
        (["--online", "--drift", "5"], "must be at least 20, got 5"),
        (["--alerts", "a.jsonl"], "add --alert, or --drift"),
    ],
)
def test_options_that_mean_nothing(table, capfd, options, message):
    assert main(["embed", "t.csv", *options]) == 2
    assert message in capfd.readouterr().err

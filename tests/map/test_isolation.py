"""Isolation of arrivals, and quantiles above the empirical range: a slow twin, batches, saving, false alarms."""

import json
import pickle

import numpy as np
import pytest
from benchmarks.isolation import auc
from benchmarks.shapes import SHAPES, stream
from scipy import sparse, stats

import naive
from driftmap import DriftMap, InputError
from driftmap.cli import main
from driftmap.map import StreamMap
from driftmap.map.drift import DriftMonitor
from driftmap.map.novelty import NoveltyDetector, RecentReaches, tail_quantile
from driftmap.pipeline import MapOperator

ROWS = np.random.default_rng(0).standard_normal((420, 3))
PLAIN = {"n_landmarks": 10, "embedding": "lmds"}
MEMORIES = [{}, {"memory": 160}, {"window": 60}, {"half_life": 30, "memory": 160}]


def isolation(mapper, X, size):
    parts = [mapper.learn(X[i : i + size], isolation=True).isolation for i in range(0, len(X), size)]
    return np.concatenate(parts)


def euclidean(a, b):
    return float(np.sqrt(((a - b) ** 2).sum()))


@pytest.mark.parametrize("memory", MEMORIES)
def test_a_row_is_scored_by_the_points_that_are_stored_before_it(memory):
    mapper = StreamMap(**PLAIN, **memory)
    for i in (0, 1, 2, 15, 60, 300):
        seen = mapper.n_samples_seen_ if mapper.fitted else 0
        if i > seen:
            mapper.partial_fit(ROWS[seen:i])
        stored = mapper._landmark_engine().stored_points(mapper.stored_indices_) if i else []
        (found,) = mapper.learn(ROWS[i : i + 1], isolation=True).isolation
        assert found == pytest.approx(naive.isolation(list(stored), ROWS[i], euclidean))


@pytest.mark.parametrize("memory", MEMORIES)
def test_batches_saving_and_pauses_change_no_score(memory):
    together = isolation(StreamMap(**PLAIN, **memory), ROWS, len(ROWS))
    assert (isolation(StreamMap(**PLAIN, **memory), ROWS, 37) == together).all()
    mapper = StreamMap(**PLAIN, **memory)
    isolation(mapper, ROWS[:200], 200)
    mapper.partial_fit(ROWS[200:300])  # not scored
    copy = pickle.loads(pickle.dumps(mapper))
    assert (isolation(mapper, ROWS[300:], 120) == together[300:]).all()
    assert (isolation(copy, ROWS[300:], 1) == together[300:]).all()


def test_nothing_else_depends_on_it_and_a_monitor_goes_with_it():
    plain, scored = DriftMap(**PLAIN), DriftMap(**PLAIN)
    expected = plain.update(ROWS, monitor=DriftMonitor(40, alpha=0.01))
    found = scored.update(ROWS, monitor=DriftMonitor(40, alpha=0.01), isolation=True)
    assert expected.isolation is None
    assert (found.reach == expected.reach).all()
    assert (found.coordinates == expected.coordinates).all()
    assert found.checks == expected.checks
    assert [one.arrival for one in found.drifts] == [one.arrival for one in expected.drifts]


def test_other_kinds_of_rows():
    rows = sparse.random_array((80, 20), density=0.3, rng=np.random.default_rng(0)).tocsr()
    assert np.isfinite(DriftMap(**PLAIN).update(rows, isolation=True).isolation[2:]).all()
    words = [*"abcdefgh"] * 4
    found = DriftMap(1, n_landmarks=4, metric=lambda a, b: float(abs(ord(a) - ord(b)))).update(words, isolation=True)
    assert (found.isolation[8:] == 0).all()
    with pytest.raises(InputError, match="isolation does not go with metric"):
        StreamMap(metric="precomputed").update(np.zeros((3, 3)), isolation=True)


def test_a_row_that_fails_changes_nothing():
    mapper = StreamMap(**PLAIN)
    isolation(mapper, ROWS[:100], 100)
    bad = ROWS[100:200].copy()
    bad[50, 1] = np.nan
    with pytest.raises(InputError, match="row 50"):
        mapper.learn(bad, isolation=True)
    assert mapper.n_samples_seen_ == 100
    assert (isolation(mapper, ROWS[100:], 7) == isolation(StreamMap(**PLAIN), ROWS, 420)[100:]).all()


def test_a_dense_region_beside_a_sparse_one_hides_no_outlier():
    """By isolation, a row between two clusters stands out more than by its distance to the nearest earlier row."""
    scores = auc("two densities", 0)
    assert scores["isolation"] >= scores["nearest row"]
    outliers = auc("outliers", 0)
    assert outliers["isolation"] >= outliers["reach"] - 1e-9


# --- operators and the command line ---


def test_an_operator_restores_it():
    operator = MapOperator(StreamMap(**PLAIN), isolation=True)
    first = operator.on_batch(ROWS[:200]).isolation
    rest = MapOperator.restore(operator.snapshot()).on_batch(ROWS[200:]).isolation
    assert (np.concatenate([first, rest]) == isolation(StreamMap(**PLAIN), ROWS, 420)).all()


@pytest.mark.parametrize("command", [["embed"], ["embed", "--online"], ["follow"]])
def test_the_column(tmp_path, monkeypatch, capfd, command):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "t.csv").write_text("a,b,c\n" + "".join(f"{','.join(map(repr, row))}\n" for row in ROWS.tolist()))
    words = [*command, "t.csv", "--landmarks", "10", "--novelty", "isolation", "-o", "o.jsonl"]
    if command == ["follow"]:
        monkeypatch.setattr("sys.stdin", (tmp_path / "t.csv").open())
        words[words.index("t.csv")] = "-"
    assert main(words) == 0
    lines = [json.loads(line) for line in (tmp_path / "o.jsonl").read_text().splitlines()]
    expected = isolation(StreamMap(n_landmarks=10), ROWS, 420)
    assert [line["isolation"] for line in lines[2:]] == expected[2:].tolist()
    assert lines[0]["isolation"] is None or lines[0]["isolation"] == float("inf")
    if command == ["follow"]:
        __import__("sys").stdin.close()


def test_a_file_after_the_option_is_no_value_of_it(tmp_path, monkeypatch, capfd):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "t.csv").write_text("a,b,c\n" + "".join(f"{','.join(map(repr, row))}\n" for row in ROWS[:50].tolist()))
    assert main(["embed", "--novelty", "t.csv", "-o", "o.csv", "--landmarks", "5"]) == 0
    assert (tmp_path / "o.csv").read_text().splitlines()[0] == "x1,x2,reach,quantile,residual"
    assert main(["watch", "t.csv", "--novelty", "isolation"]) == 2
    assert "add -o or --sink" in capfd.readouterr().err


# --- quantiles above the empirical range ---


@pytest.mark.parametrize("scale", [1.0, 1e-9, 1e9])
def test_the_tail_of_known_distributions(scale):
    grid = (np.arange(2000) + 0.5) / 2000
    for distribution in (stats.expon, stats.genpareto(0.3)):
        value = scale * distribution.ppf(0.9999)
        assert tail_quantile(scale * distribution.ppf(grid), value) == pytest.approx(0.9999, abs=6e-5)
    assert tail_quantile(np.ones(200), 2.0) == 1.0


def test_an_outlier_is_an_alert_long_before_the_thousandth_row():
    rows = np.random.default_rng(0).standard_normal((400, 3))
    rows[150] = 40.0
    (alert,) = DriftMap(**PLAIN).update(rows, detector=NoveltyDetector(0.999)).alerts
    assert (alert.row, alert.quantile > 0.999) == (150, True)
    rows[150], rows[60] = 0.0, 40.0
    assert DriftMap(**PLAIN).update(rows, detector=NoveltyDetector(0.999)).alerts == []  # too few rows to tell


def test_estimates_are_those_of_batches_and_leave_the_quantiles_alone():
    reaches = np.random.default_rng(1).exponential(size=600)
    recent, single = RecentReaches(300), RecentReaches(300)
    quantiles, estimates = recent.add_with_tails(reaches)
    assert (quantiles == RecentReaches(300).add(reaches)).all()
    assert [single.add_with_tails([reach])[1][0] for reach in reaches] == estimates.tolist()
    assert (estimates[:100] == quantiles[:100]).all()
    assert (estimates >= quantiles).all()
    assert (estimates > quantiles).any()


def test_false_alarms_between_the_100th_and_the_1000th_row_are_rarer_than_asked():
    """Of the reaches of unchanging streams of all shapes: at most 1 in 1,000 has an estimate of 0.999."""
    n = alarms = 0
    for i, shape in enumerate(SHAPES * 3):
        detector = NoveltyDetector(0.999, quiet=0)
        StreamMap(n_landmarks=30, embedding="lmds").learn(stream(shape, 1000, 300 + i), detector=detector)
        n, alarms = n + 900, alarms + detector.n_novel
    assert stats.binom.sf(alarms - 1, n, 0.001) > 1e-3
    assert alarms > 0

"""What is new in a stream: rows are scored before they are learnt, and alerts come as often as was asked for."""

import pickle
import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from driftmap import DriftMap
from driftmap.landmarks import RatioShift, online
from driftmap.landmarks.nearest_before import MOST_EVENTS
from driftmap.landmarks.online import LandmarkEngine
from driftmap.map import StreamMap
from driftmap.map.novelty import RECENT, NoveltyDetector, RecentReaches
from streams import KINDS, make, some

WALK = np.cumsum(np.random.default_rng(3).standard_normal((500, 3)), axis=0)


def cityblock(a, b):
    return float(np.abs(a - b).sum())


STREAMS = {
    "default": {},
    "no slack": {"slack": 0.0},
    "much slack": {"slack": 0.3},
    "small memory": {"memory": 160},
    "all stored": {"memory": None},
    "paper": {"rule": "paper"},
    "window": {"window": 60},
    "half-life": {"half_life": 30},
    "detector": {"replace_on": RatioShift(warm_up=5)},
    "cosine": {"metric": "cosine"},
    "scipy": {"metric": "seuclidean", "metric_params": {"V": np.array([1.0, 2.0, 3.0])}},
    "callable": {"metric": cityblock},
}


def outlier():
    """600 normal rows, of which row 500 is far from all others."""
    rows = np.random.default_rng(0).standard_normal((600, 3))
    rows[500] = 40.0
    return rows


def updated(X, sizes, detector=None, **params):
    """What update says of the rows of X in batches of these sizes, as columns, and the map."""
    mapper, parts, start = DriftMap(**params), [], 0
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for size in [*sizes, len(X)]:
            if start < len(X):
                parts.append(mapper.update(X[start : start + size], detector=detector))
            start += size
    columns = {
        name: np.concatenate([getattr(part, name) for part in parts]) for name in ("reach", "quantile", "nearest")
    }
    return columns, [alert for part in parts for alert in part.alerts], mapper


# --- update; that batches change nothing is a check of checks.py ---


@pytest.mark.parametrize("name", [name for name in STREAMS if name not in ("window", "half-life")])
def test_the_score_of_a_row_is_what_a_look_at_the_map_before_it_shows(name):
    X, params = WALK[:200], {"n_landmarks": 10, **STREAMS[name]}
    scores, _, _ = updated(X, [50], **params)
    looker = LandmarkEngine(**params)
    for i, row in enumerate(X):
        if i:
            distances, radius = looker.distances([row])[0], looker.radius_
            nearest = int(np.argmin(distances))
            reach = distances[nearest] / radius if radius > 1e-19 else np.inf if distances[nearest] else 0.0
            assert scores["reach"][i] == reach
            assert scores["nearest"][i] == looker.landmark_indices_[nearest]
        looker.partial_fit([row])
    assert (scores["reach"][0], scores["nearest"][0]) == (np.inf, -1)


@pytest.mark.parametrize("name", ["window", "half-life"])
def test_what_is_forgotten_when_a_row_comes_is_no_landmark_of_it(name):
    X, params = WALK[:300], {"n_landmarks": 10, **STREAMS[name]}
    scores, _, _ = updated(X, [40, 200], **params)
    looker = LandmarkEngine(**params)
    older = 0
    for i, row in enumerate(X):
        if i:
            radius = looker.radius_
            distances = dict(zip(looker.landmark_indices_.tolist(), looker.distances([row])[0], strict=True))
            nearest = scores["nearest"][i]
            older += nearest != min(distances, key=distances.get)
            if nearest in distances and radius > 1e-19:
                assert scores["reach"][i] == distances[nearest] / radius
        looker.partial_fit([row])
    assert older < 20  # as a rule nothing is forgotten between two rows


@some
@given(kind=st.sampled_from(KINDS), d=st.sampled_from([1, 3, 17]), seed=st.integers(0, 10_000), data=st.data())
def test_batches_change_no_score(kind, d, seed, data):
    X = make(kind, 60, d, seed)
    params = {"n_landmarks": 5, "slack": data.draw(st.sampled_from([0.0, 0.02, 0.5])), "memory": 80}
    sizes = data.draw(st.lists(st.integers(1, 30), max_size=8))
    one, _, _ = updated(X, [1] * len(X), **params)
    other, _, _ = updated(X, sizes, **params)
    for column in one:
        np.testing.assert_array_equal(one[column], other[column])


def test_a_batch_with_more_rows_than_events_are_remembered(monkeypatch):
    one, _, _ = updated(WALK, [], n_landmarks=10)
    monkeypatch.setattr(online, "MOST_EVENTS", 50)
    other, _, _ = updated(WALK, [3], n_landmarks=10)
    np.testing.assert_array_equal(one["reach"], other["reach"])
    many = LandmarkEngine(MOST_EVENTS + 9).partial_fit(np.arange(MOST_EVENTS + 5.0)[:, None])
    assert len(many.events_) == MOST_EVENTS


def test_coordinates_are_those_of_the_last_frame():
    mapper = DriftMap(n_landmarks=20, frame_tolerance=0)
    arrivals = mapper.update(WALK)
    np.testing.assert_array_equal(arrivals.coordinates, mapper.transform(WALK))
    assert (arrivals.frame, arrivals.landmarks_changed) == (1, True)
    calm = mapper.update(WALK[:5])
    assert (calm.frame, calm.landmarks_changed) == (1, False)
    moved = mapper.update(WALK[:5] + 1000)
    assert (moved.frame, moved.landmarks_changed) == (2, True)


def test_precomputed_distances_and_objects_have_no_features():
    distances = np.abs(WALK[:60, :1] - WALK[:60, :1].T)
    arrivals = DriftMap(1, n_landmarks=5, metric="precomputed").update(distances, detector=NoveltyDetector(0.8))
    points, _, _ = updated(WALK[:60, :1], [], n_components=1, n_landmarks=5, memory=None)
    np.testing.assert_allclose(arrivals.reach, points["reach"])
    assert arrivals.coordinates.shape == (60, 1)
    assert {alert.features for alert in arrivals.alerts} == {()}
    words = [word * n for n in range(1, 9) for word in ("a", "bc", "d")]
    mapper = DriftMap(1, n_landmarks=4, metric=lambda a, b: float(abs(len(a) - len(b))))
    assert mapper.update(words, detector=NoveltyDetector(0.5, quiet=0)).alerts[0].features == ()


@pytest.mark.parametrize("name", ["default", "window", "detector", "callable"])
def test_bad_rows_change_nothing(name):
    params = {"n_landmarks": 10, **STREAMS[name]}
    _, _, mapper = updated(WALK[:200], [], NoveltyDetector(), **params)
    _, _, expected = updated(WALK[:200], [], NoveltyDetector(), **params)
    detector = NoveltyDetector()
    with pytest.raises(ValueError, match="row 3, column 1 is NaN"):
        mapper.update(np.where(np.arange(30).reshape(10, 3) == 10, np.nan, WALK[:10]), detector=detector)
    assert detector.n_novel == 0
    np.testing.assert_array_equal(mapper.update(WALK[200:]).quantile, expected.update(WALK[200:]).quantile)


@pytest.mark.parametrize("params", [{}, {"window": 60}])
def test_a_metric_that_fails_in_the_middle_of_a_batch_undoes_the_batch(params):
    calls = [0, np.inf]

    def metric(a, b):
        calls[0] += 1
        if calls[0] > calls[1]:
            raise RuntimeError("no distance today")
        return cityblock(a, b)

    mapper, expected = (DriftMap(n_landmarks=10, metric=each, **params) for each in (metric, cityblock))
    for each in (mapper, expected):
        each.update(WALK[:200])
    calls[1] = calls[0] + 250
    with pytest.raises(RuntimeError, match="no distance today"):
        mapper.update(WALK[200:300])
    calls[1] = np.inf
    assert mapper.n_samples_seen_ == 200
    one, other = (each.update(WALK[200:]) for each in (mapper, expected))
    np.testing.assert_array_equal(one.quantile, other.quantile)
    np.testing.assert_array_equal(one.coordinates, other.coordinates)


# --- the window of recent reaches ---


def test_quantiles_are_ranks_among_the_last_reaches():
    values = np.random.default_rng(0).integers(0, 30, 500) / 10.0
    recent = RecentReaches(50)
    quantiles = np.concatenate([recent.add(part) for part in np.array_split(values, [1, 60, 61, 200])])
    for i, value in enumerate(values):
        before = values[max(0, i - 50) : i]
        assert quantiles[i] == (before < value).sum() / (len(before) + 1)
    np.testing.assert_array_equal(recent.values, values[-50:])


def test_rows_before_there_is_a_radius_are_infinitely_novel_and_not_remembered():
    arrivals = DriftMap(n_landmarks=20).update(WALK[:30])
    assert np.isinf(arrivals.reach[:21]).all()
    assert np.isfinite(arrivals.reach[21:]).all()
    assert not arrivals.quantile[:22].any()


def test_a_checkpoint_and_a_pickle_hold_the_window(tmp_path):
    mapper = DriftMap(n_landmarks=20)
    mapper.update(WALK[:300])
    mapper.save(tmp_path / "map.ckpt")
    copies = [DriftMap.load(tmp_path / "map.ckpt"), pickle.loads(pickle.dumps(mapper))]
    expected = mapper.update(WALK[300:])
    for other in copies:
        arrivals = other.update(WALK[300:])
        np.testing.assert_array_equal(arrivals.quantile, expected.quantile)
        np.testing.assert_array_equal(arrivals.coordinates, expected.coordinates)


@pytest.mark.parametrize("values", [np.array([0.5, np.nan]), np.array([-0.5]), np.zeros(RECENT + 1), np.zeros((2, 2))])
def test_a_window_that_is_none_is_refused(values):
    with pytest.raises(ValueError, match="its recent reaches are not valid"):
        RecentReaches.of(values)


def test_refitting_forgets_the_window():
    mapper = DriftMap(n_landmarks=20)
    mapper.update(WALK)
    quantile = DriftMap(n_landmarks=20).fit(WALK).update(WALK[:50]).quantile
    np.testing.assert_array_equal(mapper.fit(WALK).update(WALK[:50]).quantile, quantile)


# --- the detector ---


def test_one_far_row_is_one_alert_with_its_features():
    heard = []
    detector = NoveltyDetector(3, callback=heard.append)
    alerts = DriftMap().update(outlier(), detector=detector).alerts
    assert [alert.row for alert in alerts] == [500]
    assert heard == alerts
    (alert,) = alerts
    assert alert.reach > 50
    assert alert.quantile > 0.99
    landmark = outlier()[alert.nearest]
    assert [feature.value for feature in alert.features] == [40.0] * 3
    assert [feature.landmark for feature in alert.features] == sorted(landmark.tolist())
    assert (detector.n_alerts, detector.n_novel) == (1, 1)


def test_alerts_name_features_and_times():
    import pandas as pd

    rows = pd.DataFrame(outlier(), columns=["a", "b", "c"])
    times = pd.date_range("2024-01-01", periods=600, freq="h")
    alerts = DriftMap(window=pd.Timedelta("300h")).update(rows, times, detector=NoveltyDetector(3)).alerts
    assert [alert.time for alert in alerts] == [times[500]]
    assert {feature.feature for feature in alerts[0].features} == {"a", "b", "c"}


@pytest.mark.parametrize(("d", "m"), [(2, 20), (8, 100), (32, 50)])
@pytest.mark.parametrize("odds", [100, 1000])
def test_stationary_noise_raises_as_many_false_alarms_as_asked(d, m, odds):
    n = 50 * odds
    engine, detector, rng = StreamMap(n_landmarks=m), NoveltyDetector(1 - 1 / odds, quiet=0), np.random.default_rng(d)
    engine.learn(rng.standard_normal((5000, d)))
    engine.learn(rng.standard_normal((n, d)), detector=detector)
    assert n / odds / 2 <= detector.n_alerts <= 2 * n / odds


def test_an_alert_is_followed_by_another_only_after_quiet_arrivals():
    novel = np.zeros(40)
    novel[[3, 4, 5, 9, 20, 35]] = 0.9999
    for sizes in ([40], [4, 1, 1, 30, 4]):
        detector, alerts, start = NoveltyDetector(0.999, quiet=10), [], 0
        for size in sizes:
            alerts += [start + i for i in detector.update(np.ones(size), novel[start : start + size])]
            start += size
        assert alerts == [3, 20, 35]  # ten calm arrivals are before each
        assert (detector.n_alerts, detector.n_novel) == (3, 6)


def test_a_detector_goes_on_from_its_state():
    novel = np.random.default_rng(0).random(300) ** 0.2
    one = NoveltyDetector(0.95, quiet=5)
    expected = one.update(novel, novel)
    first = NoveltyDetector(0.95, quiet=5)
    alerts = first.update(novel[:100], novel[:100])
    second = NoveltyDetector.from_state(first.state())
    alerts += [100 + i for i in second.update(novel[100:], novel[100:])]
    assert alerts == expected
    assert second.state() == one.state()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"threshold": 0.0}, "threshold must be positive"),
        ({"threshold": "high"}, "threshold must be a number"),
        ({"threshold": 0.99999}, "threshold=0.99999 cannot be resolved with 2,000 recent arrivals: give"),
        ({"quiet": -1}, "quiet must be at least 0"),
    ],
)
def test_parameters_that_mean_nothing(arguments, message):
    with pytest.raises((ValueError, TypeError), match=message):
        NoveltyDetector(**arguments)

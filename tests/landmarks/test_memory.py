"""Bounded memory, expiry and detectors: what OnlineLandmarks promises about every point ever seen."""

import contextlib
import copy
import datetime
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import naive
from driftmap import DriftMap
from driftmap.datasets import load_hospital, load_stocks, s_curve_stream
from driftmap.datasets.recorded import HOSPITAL_FILE, STOCKS_FILE
from driftmap.landmarks import OnlineLandmarks, RatioShift
from driftmap.quality import stress
from streams import facts, make, needs, some, streams

KINDS = ("stationary", "walk", "line", "grid", "duplicates", "jumps", "collinear", "tails", "regimes", "spiral")
METRICS = ("euclidean", "cityblock")


class Fixed:
    """A detector that signals at given moments."""

    def __init__(self, moments=()):
        self.moments, self.n, self.drift_detected = set(moments), -1, False

    def update(self, x):
        self.n += 1
        self.drift_detected = self.n in self.moments


@pytest.mark.parametrize("metric", METRICS)
@given(stream=streams(kinds=KINDS, longest=60), seed=st.integers(0, 999))
@some
def test_held_points_are_covered_by_the_bound_and_at_the_next_replacement(metric, stream, seed):
    X, m = stream
    D = naive.distances(X, X, metric)
    signals = np.flatnonzero(np.random.default_rng(seed).random(len(X)) < 0.2)
    landmarks = OnlineLandmarks(m, metric=metric, replace_on=Fixed(signals))
    n_replacements = 0
    for n, x in enumerate(X):
        landmarks.partial_fit(x[None])
        gaps = D[: n + 1, landmarks.landmark_indices_].min(axis=1)
        assert gaps.max() == landmarks.covering_radius_ <= landmarks.coverage_bound_
        if landmarks.n_replacements_ > n_replacements:
            n_replacements = landmarks.n_replacements_
            assert landmarks.radius_ == landmarks.covering_radius_
    assert landmarks.landmark_mass_.sum() == len(X)
    given = Fixed(signals)
    assert facts(OnlineLandmarks(m, metric=metric, replace_on=given).fit(X)) == facts(landmarks)
    assert given.n == -1  # what is given is copied


# --- promises ---------------------------------------------------------------------------------------------------------


def comparable(landmarks):
    """What does not depend on whether weights are whole numbers."""
    known = facts(landmarks)
    return known | {"masses": np.round(known["masses"], 3).tolist()}


@pytest.mark.parametrize("how", ["window", "half_life"])
@pytest.mark.parametrize("metric", METRICS)
@given(stream=streams(longest=60))
@some
def test_a_window_as_long_as_the_stream_changes_nothing(metric, how, stream):
    X, m = stream
    length = {"window": len(X), "half_life": 1e9}[how]
    expiring = OnlineLandmarks(m, metric=metric, **{how: length}).fit(X)
    assert comparable(expiring) == comparable(OnlineLandmarks(m, metric=metric).fit(X))


HOW = {
    "bounded": {"memory": 64},
    "window": {"window": 90, "memory": 64},
    "exact window": {"window": 50, "memory": None},
    "half-life": {"half_life": 20, "memory": 64},
    "detector": {"memory": 64, "replace_on": RatioShift(warm_up=5)},
}


def edit_distance(a, b):
    """The least number of letters to insert, delete or change."""
    row = list(range(len(b) + 1))
    for i, s in enumerate(a, start=1):
        row, before = [i], row
        for j, t in enumerate(b, start=1):
            row.append(min(before[j] + 1, row[-1] + 1, before[j - 1] + (s != t)))
    return row[-1]


edit_distance.obeys_triangle = True


@pytest.mark.parametrize(
    ("metric", "params"),
    [
        ("euclidean", {}),
        ("cityblock", {}),
        ("chebyshev", {}),
        ("canberra", {}),
        ("hamming", {}),
        ("jensenshannon", {}),
        ("minkowski", {"p": 1.5}),
        (edit_distance, {}),
    ],
)
@pytest.mark.parametrize("window", [None, 150])
def test_the_bound_holds_for_every_point_and_every_metric(metric, params, window):
    rng = np.random.default_rng(5)
    X = np.abs(make("walk", 500, 3, 4))
    if metric == "hamming":
        X = rng.integers(0, 3, (500, 6)).astype(float)
    if metric is edit_distance:
        X = ["".join(rng.choice(list("abc"), rng.integers(1, 7))) for _ in range(500)]
    landmarks = OnlineLandmarks(5, memory=80, metric=metric, metric_params=params or None, window=window)
    for n in range(0, 500, 20):
        landmarks.partial_fit(X[n : n + 20])
        assert len(landmarks.stored_indices_) <= 80
        seen = X[max(0, n + 20 - (window or 500)) : n + 20]
        worst = landmarks.distances(seen).min(axis=1).max()
        assert worst <= landmarks.coverage_bound_
        if window is None:
            assert landmarks.landmark_mass_.sum() == n + 20
        else:  # a merged point is forgotten at most an eighth of the window late
            assert min(window, n + 20) <= landmarks.landmark_mass_.sum() <= window * 9 / 8 + 1
    assert landmarks.resolution_ > 0


@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize("slack", [0.0, 0.02])
@given(stream=streams(kinds=KINDS, longest=300), m=st.integers(1, 3))
@some
def test_the_resolution_does_not_exceed_the_largest_radius(metric, slack, stream, m):
    assert largest_resolution(OnlineLandmarks(m, memory=16 * m, metric=metric, slack=slack), stream[0]) <= 1 + 1e-9


@pytest.mark.parametrize("d", [32, 128])
@pytest.mark.parametrize("m", [1, 2])
def test_the_resolution_does_not_exceed_the_largest_radius_in_many_dimensions(m, d):
    """Where almost everything that is stored has been a landmark and represents all of its cell."""
    for seed in range(40, 44):
        X = np.random.default_rng(seed).standard_normal((430, d))
        assert largest_resolution(OnlineLandmarks(m, memory=16 * m, slack=0.0), X) <= 1 + 1e-9


def growing(n, d, seed):
    return np.random.default_rng(seed).standard_normal((n, d)) * (1 + np.arange(n) / 200)[:, None]


def corners(n):
    """The corners of a simplex, all about as far from each other, so that no point is worth more than another."""
    X = np.eye(n, n + 1, 1)
    X[:, 0] = (-1.0) ** np.arange(n) * 0.01 * 1.001 ** np.arange(n)
    return X


@pytest.mark.parametrize(
    ("X", "m", "memory"),
    [
        (growing(2000, 64, 2), 1, 16),
        (growing(1500, 256, 1), 1, 16),
        (corners(600), 1, 16),
        (corners(600), 1, 40),
        (corners(600), 3, 48),
    ],
)
@pytest.mark.parametrize("slack", [0.0, 0.02])
def test_the_resolution_does_not_exceed_twice_the_largest_radius_where_all_that_is_stored_was_a_landmark(
    X, m, memory, slack
):
    assert largest_resolution(OnlineLandmarks(m, memory=memory, slack=slack), X) <= 2 + 1e-9


def largest_resolution(landmarks, X):
    """The largest quotient of resolution and largest radius so far, after every arrival."""
    worst = largest = 0.0
    for x in X:
        landmarks.partial_fit(x[None])
        largest = max(largest, landmarks.radius_)
        worst = max(worst, landmarks.resolution_ / largest)
    return worst


def test_the_radius_shrinks_when_the_stream_does():
    rng = np.random.default_rng(1)
    wide, narrow = 10 * rng.standard_normal((500, 2)), 0.1 * rng.standard_normal((500, 2))
    landmarks = OnlineLandmarks(10, window=200).partial_fit(wide)
    radius = landmarks.radius_
    landmarks.partial_fit(narrow)
    assert landmarks.radius_ < 0.05 * radius
    assert len(landmarks.landmark_indices_) == 10
    assert (landmarks.landmark_indices_ >= 500).all()
    assert {event.kind for event in landmarks.events_} == {"added", "replaced", "widened", "forgotten"}
    assert OnlineLandmarks(10).partial_fit(wide).partial_fit(narrow).radius_ > 0.5 * radius


def test_durations_count_time_and_dates_count_seconds():
    X = make("walk", 100, 2, 0)
    times = np.arange(100) * 0.5
    by_time = OnlineLandmarks(5, window=10).fit(X, times=times)
    assert comparable(by_time) == comparable(OnlineLandmarks(5, window=20).fit(X))
    dates = np.datetime64("2026-01-01T00:00:00") + (times * 1000).astype("timedelta64[ms]")
    for window in (10, np.timedelta64(10, "s"), datetime.timedelta(seconds=10)):
        by_date = OnlineLandmarks(5, window=window).fit(X, times=dates)
        assert comparable(by_date) == comparable(by_time)
    pandas = pytest.importorskip("pandas")
    same = (
        dates.tolist(),
        pandas.Series(dates),
        pandas.Series(dates).dt.tz_localize("Europe/Paris"),
        pandas.DatetimeIndex(dates).tz_localize("UTC"),
        [date.replace(tzinfo=datetime.UTC) for date in dates.tolist()],
        dates - np.timedelta64(400 * 366, "D"),
        dates - dates[0],
    )
    for moments in same:
        assert comparable(OnlineLandmarks(5, window=10).fit(X, times=moments)) == comparable(by_time)
    with pytest.raises(ValueError, match=r"times\[3\] is nan: times must be finite"):
        OnlineLandmarks(5, window=10).fit(X, times=[*dates[:3], np.datetime64("NaT", "s"), *dates[4:]])
    after_a_pause = by_time.partial_fit(X[:1], times=[1000.0])
    assert after_a_pause.landmark_indices_.tolist() == [100]
    assert after_a_pause.landmark_mass_.tolist() == [1]


def test_masses_decay():
    X = np.repeat([[0.0], [100.0]], 10, axis=0)
    landmarks = OnlineLandmarks(2, half_life=10).fit(X)
    newest = np.exp2(-np.arange(10) / 10)
    np.testing.assert_allclose(landmarks.landmark_mass_, [(newest / 2).sum(), newest.sum()])


def test_points_of_one_moment_are_remembered_however_short_the_window():
    now = 1.7e18  # nanoseconds since 1970, between which are 256 of them
    landmarks = OnlineLandmarks(2, window=10.0).partial_fit(np.eye(5), times=np.full(5, now))
    assert len(landmarks.stored_indices_) == 5
    assert len(landmarks.partial_fit(np.eye(5), times=np.full(5, now + 256)).stored_indices_) == 5


# --- mistakes ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"memory": 100, "rule": "paper"}, 'memory=100 does not go with rule="paper"'),
        ({"memory": 100}, "memory=100 is too small for n_landmarks=10: .* 160"),
        ({"memory": 0}, "memory must be"),
        ({"memory": "all"}, "memory='all' is not known"),
        ({"memory": 500, "metric": "cosine"}, "triangle inequality"),
        ({"memory": 500, "metric": lambda x, y: 1.0}, "obeys_triangle = True"),
        ({"window": 5, "rule": "paper"}, 'window does not go with rule="paper"'),
        ({"window": -1}, "window must be positive"),
        ({"window": 5e-324}, "window must be at least"),
        ({"half_life": 0.0}, "half_life must be positive"),
        ({"window": 5, "half_life": 5}, "give one of them"),
        ({"window": 5, "metric": "precomputed"}, 'window does not go with metric="precomputed"'),
        ({"replace_on": "drift"}, 'replace_on must be "uncovered" or a detector'),
        ({"replace_on": RatioShift}, 'replace_on must be "uncovered" or a detector'),
        ({"replace_on": RatioShift(), "window": 5}, "replace_on does not go with window"),
        ({"replace_on": RatioShift(), "rule": "paper"}, 'replace_on does not go with rule="paper"'),
    ],
)
def test_parameters_that_do_not_fit_are_named(params, message):
    X = np.ones((1, 1)) if params.get("metric") == "precomputed" else np.ones((3, 2))
    with pytest.raises(ValueError, match=message):
        OnlineLandmarks(10, **params).fit(X)


@pytest.mark.parametrize(
    ("times", "message"),
    [
        ([1.0], r"one time for each of the 2 rows: shape \(2,\), got \(1,\)"),
        ([7.0, 6.0], r"times\[1\] = 6 is before 7"),
        ([2.0, 6.0], r"times\[0\] = 2 is before 5"),
        ([5.0, np.nan], r"times\[1\] is nan"),
        (["a", "b"], "times must be numbers or dates"),
        (None, "times are of kind none, but earlier ones were of kind numbers"),
        (np.array(["2026-01-01", "2026-01-02"], "M8[D]"), "of kind dates, but earlier ones were of kind numbers"),
        ([1j, 2j], "times must be numbers or dates"),
    ],
)
def test_bad_times_change_nothing(times, message):
    landmarks = OnlineLandmarks(3, window=10).fit(np.ones((2, 2)), times=[0.0, 5.0])
    before = facts(landmarks)
    with pytest.raises(ValueError, match=message):
        landmarks.partial_fit(np.zeros((2, 2)), times=times)
    assert facts(landmarks) == before
    landmarks.partial_fit(np.zeros((2, 2)), times=[5.0, 6.0])
    with pytest.raises(ValueError, match="times are used to forget"):
        OnlineLandmarks(3).fit(np.ones((2, 2)), times=[0.0, 1.0])


@pytest.mark.parametrize("how", HOW)
def test_a_metric_that_fails_changes_nothing(how):
    def fragile(x, y):
        if x[0] == 99.0:
            raise ZeroDivisionError("no distance today")
        return abs(float(x[0]) - float(y[0]))

    fragile.obeys_triangle = True
    X = make("stationary", 300, 1, 3)
    landmarks = OnlineLandmarks(4, metric=fragile, **HOW[how]).fit(X)
    twin = OnlineLandmarks(4, metric=fragile, **HOW[how]).fit(X)
    more = make("walk", 200, 1, 4)
    with pytest.raises(ZeroDivisionError):
        landmarks.partial_fit(np.vstack([more, [[99.0]]]))
    assert facts(landmarks) == facts(twin)
    assert facts(landmarks.partial_fit(more)) == facts(twin.partial_fit(more))


@pytest.mark.parametrize("slack", [0.0, 0.3])
def test_one_row_is_undone_wherever_its_metric_fails(slack):
    remaining = np.inf  # calls until the metric fails

    def failing(x, y):
        nonlocal remaining
        remaining -= 1
        if remaining < 0:
            raise ZeroDivisionError("no distance today")
        return abs(float(x[0]) - float(y[0]))

    failing.obeys_triangle = True
    first, *points = make("stationary", 1200, 1, 5) * np.linspace(1, 4, 1200)[:, None]
    landmarks, n_thinned = OnlineLandmarks(3, metric=failing, memory=160, slack=slack).fit([first]), 0
    for i, point in enumerate(points):
        after = copy.deepcopy(landmarks).partial_fit([point])
        is_thinned = len(after.stored_indices_) < len(landmarks.stored_indices_)
        n_thinned += is_thinned
        for remaining in range(0, 600, 7) if is_thinned else range(0, 40, 3) if i % 9 == 0 else ():
            other = copy.deepcopy(landmarks)
            with contextlib.suppress(ZeroDivisionError):
                other.partial_fit([point])
            failed, remaining = remaining < 0, np.inf
            assert facts(other) == facts(landmarks if failed else after)
        landmarks = after
    assert n_thinned >= 3


@pytest.mark.parametrize("params", [{"memory": None}, {"memory": 112}], ids=str)
@pytest.mark.parametrize("kind", ["squared", "noisy"])
def test_a_metric_that_is_none_loses_no_point(kind, params):
    """It claims the triangle inequality, or gives another distance each time: a mistake that is easily made."""
    random = np.random.default_rng(5).random

    def metric(x, y):
        squared = float(((x - y) ** 2).sum())
        return squared if kind == "squared" else math.sqrt(squared) * (1 + 0.3 * random())

    metric.obeys_triangle = True
    for seed in range(20):
        landmarks = OnlineLandmarks(7, metric=metric, slack=0.0, window=100, **params)
        for part in np.split(np.random.default_rng(seed).normal(size=(500, 2)), 25):
            landmarks.partial_fit(part)
        assert landmarks.landmark_mass_.sum() == landmarks.coreset().weights.sum() >= 88  # an eighth less
        assert landmarks.stored_indices_[-1] == 499


# --- fidelity ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "name",
    [
        "s-curve",
        pytest.param("spy", marks=needs(STOCKS_FILE)),
        pytest.param("hospital", marks=needs(HOSPITAL_FILE)),
    ],
)
def test_maps_from_bounded_memory_are_nearly_as_true(name):
    load = {
        "s-curve": lambda: s_curve_stream(5000),  # longer than in the paper: its 1,000 points would all be stored
        "spy": lambda: load_stocks().normalized,
        "hospital": lambda: load_hospital().spectra(),
    }
    m = {"s-curve": 50, "spy": 10, "hospital": 20}[name]
    X = load[name]()
    sample = X[:: max(1, len(X) // 2000)]
    for k in (1, 2, 3):
        sigma = {}
        for memory in (None, 64 * m, 16 * m):
            mapper = DriftMap(k, n_landmarks=m, memory=memory).fit(X)
            sigma[memory] = stress(sample, mapper.transform(sample))
        assert mapper.resolution_ > 0
        assert sigma[64 * m] <= 1.05 * sigma[None] + 1e-9
        assert sigma[16 * m] <= 1.15 * sigma[None] + 1e-9


@pytest.mark.parametrize("name", ["ADWIN", "PageHinkley"])
def test_detectors_of_river_work(name):
    drift = pytest.importorskip("river.drift", reason="river is not installed")
    X = np.vstack([make("stationary", 1000, 3, 0), 8 + make("stationary", 1000, 3, 1)])
    detector = getattr(drift, name)()
    patient = OnlineLandmarks(20, replace_on=detector).fit(X)
    assert 0 < patient.n_replacements_ < OnlineLandmarks(20).fit(X).n_replacements_
    assert patient.distances(X).min(axis=1).max() <= patient.coverage_bound_
    assert (patient.landmark_indices_ >= 1000).any()


# --- what other tests found -----------------------------------------------------------------------------------------


def test_a_new_frame_is_made_when_landmarks_have_only_kept_their_numbers(tmp_path):
    X = make("walk", 1000, 3, 0)
    mapper = DriftMap(n_landmarks=100, window=100)
    for i in range(0, 1000, 100):
        mapper.partial_fit(X[i : i + 100]).transform(X[:1])
        mapper.save(tmp_path / "m")
    assert mapper.frame_ == 10


def test_a_landmark_of_long_ago_leaves():
    rng = np.random.default_rng(0)
    landmarks = OnlineLandmarks(2, half_life=1.0, memory=32)
    landmarks.partial_fit(rng.standard_normal((31, 2)), times=np.arange(31) * 0.001)
    landmarks.partial_fit(rng.standard_normal((3000, 2)) * 0.01 + 100, times=5000 + np.arange(3000) * 0.1)
    assert landmarks.landmark_indices_.min() > 30
    assert landmarks.landmark_mass_.min() > 0


def test_an_error_in_the_first_batch_is_the_one_that_is_raised():
    def broken(x, y):
        raise RuntimeError("my metric failed")

    for params in ({"replace_on": RatioShift()}, {"window": 5}, {}):
        with pytest.raises(RuntimeError, match="my metric failed"):
            OnlineLandmarks(2, metric=broken, memory=None, **params).fit(np.eye(3))


def test_tuples_are_tuples_after_loading(tmp_path):
    def different(a, b):
        return float(a != b)

    landmarks = OnlineLandmarks(3, metric=different).fit([("a", 1), ("b", 2), ["a", 1]])
    landmarks.save(tmp_path / "m")
    loaded = OnlineLandmarks.load(tmp_path / "m", metric=different)
    assert loaded.landmarks_ == landmarks.landmarks_ == [("a", 1), ("b", 2), ["a", 1]]


def test_limits_beyond_all_bounds():
    X = make("walk", 300, 2, 0)
    assert facts(OnlineLandmarks(3, memory=10**20).fit(X)) == facts(OnlineLandmarks(3, memory=None).fit(X))
    tiny = OnlineLandmarks(3, initial_radius=1e-150, replace_on=RatioShift()).fit(X)
    assert tiny.landmark_mass_.sum() == 300

"""Bounded memory: witnesses against the literal oracle, and what is promised about every point ever seen."""

import contextlib
import datetime
import math
import signal
import threading
import time

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import naive
from driftmap import DriftMap
from driftmap.datasets import HOSPITAL_FILE, STOCKS_FILE, load_hospital, load_stocks, s_curve_stream
from driftmap.landmarks import OnlineLandmarks, RatioShift, euclidean, threads
from driftmap.landmarks.small import SmallLearner
from driftmap.quality import stress
from streams import WIDTHS, few, make, many, needs, streams

KINDS = ("stationary", "walk", "line", "grid", "duplicates", "jumps", "collinear")
METRICS = {
    "euclidean": (naive.squared_euclidean, math.sqrt, naive.squared_radius),
    "manhattan": (naive.manhattan, float, float),
}


def state_of(landmarks):
    """Everything a landmark selector knows, in a form that compares to the bit."""
    state = landmarks._state
    return (
        landmarks.landmark_indices_.tolist(),
        landmarks.landmark_mass_.tolist(),
        landmarks.stored_indices_.tolist(),
        state.witnesses[: state.n].tolist(),
        state.radius,
        state.resolution,
        landmarks.covering_radius_,
        landmarks.resolution_,
        landmarks.coverage_bound_,
        landmarks.n_samples_seen_,
        landmarks.n_replacements_,
        landmarks.events_,
    )


@pytest.mark.parametrize("metric", METRICS)
@given(kind=st.sampled_from(KINDS), seed=st.integers(0, 2**32 - 1), d=st.sampled_from(WIDTHS), m=st.integers(1, 3))
@many
def test_witnesses_equal_the_oracle_after_every_arrival(metric, kind, seed, d, m):
    distance, root, scale = METRICS[metric]
    X = make(kind, 90, d, seed)
    landmarks = OnlineLandmarks(m, memory=16 * m, metric=metric)
    boxes = 2**18 if metric == "euclidean" else None
    oracle = naive.Bounded(m, 16 * m, distance, scale(1e-20), root, scale, boxes)
    for x in X:
        landmarks.partial_fit(x[None])
        oracle.add(x)
        assert landmarks.landmark_indices_.tolist() == oracle.landmarks()
        assert landmarks._state.radius == oracle.rho
        assert landmarks.stored_indices_.tolist() == sorted(oracle.weight)
        assert landmarks.landmark_mass_.tolist() == oracle.masses()
        assert landmarks.resolution_ == max(oracle.spread.values())
        assert landmarks._state.covering_radius() == oracle.covering_radius()
    assert state_of(OnlineLandmarks(m, memory=16 * m, metric=metric).partial_fit(X)) == state_of(landmarks)
    assert landmarks.landmark_mass_.sum() == len(X)
    assert oracle.largest_distance() <= landmarks.coverage_bound_ * (1 + 1e-12)


@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize("how", ["window", "half_life"])
@given(
    kind=st.sampled_from(KINDS),
    seed=st.integers(0, 2**32 - 1),
    d=st.integers(1, 3),
    m=st.integers(1, 3),
    length=st.integers(1, 60),
    bounded=st.booleans(),
    timed=st.booleans(),
)
@many
def test_forgetting_equals_the_oracle_after_every_arrival(how, metric, kind, seed, d, m, length, bounded, timed):
    distance, root, scale = METRICS[metric]
    X = make(kind, 140, d, seed)
    times = np.arange(len(X), dtype=float)
    if timed:
        times = np.cumsum(np.random.default_rng(seed).choice([0.0, 0.3, 1.0, 20.0], len(X), p=[0.2, 0.4, 0.38, 0.02]))
    memory = 16 * m if bounded else None
    landmarks = OnlineLandmarks(m, memory=memory, metric=metric, **{how: length})
    oracle = naive.Forgetful(m, memory or 10**9, distance, scale(1e-20), root, scale, **{how: length})
    for x, now in zip(X, times, strict=True):
        landmarks.partial_fit(x[None], times=[now] if timed else None)
        oracle.add_at(x, now)
        assert landmarks.landmark_indices_.tolist() == oracle.landmarks()
        assert landmarks._state.radius == oracle.rho
        assert landmarks.stored_indices_.tolist() == sorted(oracle.weight)
        assert landmarks.landmark_mass_.tolist() == pytest.approx(oracle.masses(), rel=1e-12)
        assert landmarks.resolution_ == max(oracle.spread.values())
        assert landmarks._state.covering_radius() == oracle.covering_radius()


class Fixed:
    """A detector that signals at given moments."""

    def __init__(self, moments=()):
        self.moments, self.n, self.drift_detected = set(moments), -1, False

    def update(self, x):
        self.n += 1
        self.drift_detected = self.n in self.moments


def test_detection_is_the_same_with_and_without_compiled_code(monkeypatch):
    X = np.vstack([make("stationary", 300, 3, 0), 8 + make("stationary", 300, 3, 1)])
    states = []
    for small in (True, False):
        monkeypatch.setattr(euclidean, "worthwhile", lambda compiled, small=small: small)
        monkeypatch.setattr(SmallLearner, "spent", -np.inf)
        states.append(state_of(OnlineLandmarks(20, replace_on=RatioShift()).fit(X)))
    assert states[0] == states[1]


@pytest.mark.parametrize("metric", METRICS)
@given(stream=streams(kinds=KINDS, longest=60), seed=st.integers(0, 999))
@many
def test_held_points_are_covered_by_the_bound_and_at_the_next_replacement(metric, stream, seed):
    X, m = stream
    distance, root, _ = METRICS[metric]
    signals = np.flatnonzero(np.random.default_rng(seed).random(len(X)) < 0.2)
    landmarks = OnlineLandmarks(m, metric=metric, replace_on=Fixed(signals))
    replacements = []
    for n, x in enumerate(X):
        landmarks.partial_fit(x[None])
        gaps = [min(root(distance(y, z)) for z in landmarks.landmarks_) for y in X[: n + 1]]
        assert max(gaps) == landmarks.covering_radius_ <= landmarks.coverage_bound_
        if landmarks.n_replacements_ > len(replacements):
            replacements.append(n)
            assert landmarks.radius_ == landmarks.covering_radius_
    assert landmarks.landmark_mass_.sum() == len(X)
    at_once = OnlineLandmarks(m, metric=metric, replace_on=Fixed(signals)).fit(X)
    assert state_of(at_once) == state_of(landmarks)
    assert all(event.kind == "added" or event.came is not None for event in landmarks.events_)


# --- promises ---------------------------------------------------------------------------------------------------------


def comparable(landmarks):
    """What does not depend on how many points are stored."""
    return (
        landmarks.landmark_indices_.tolist(),
        landmarks.landmark_mass_.tolist(),
        landmarks._state.radius,
        landmarks.covering_radius_,
        landmarks.events_,
    )


@pytest.mark.parametrize("metric", METRICS)
@given(stream=streams(longest=48))
@many
def test_up_to_the_memory_nothing_is_merged(metric, stream):
    X, _ = stream
    bounded = OnlineLandmarks(3, memory=48, metric=metric).fit(X)
    assert comparable(bounded) == comparable(OnlineLandmarks(3, memory=None, metric=metric).fit(X))
    assert bounded.resolution_ == 0.0
    assert bounded.stored_indices_.tolist() == list(range(len(X)))


@pytest.mark.parametrize("how", ["window", "half_life"])
@pytest.mark.parametrize("metric", METRICS)
@given(stream=streams(longest=60))
@many
def test_a_window_as_long_as_the_stream_changes_nothing(metric, how, stream):
    X, m = stream
    whole = OnlineLandmarks(m, metric=metric).fit(X)
    length = {"window": len(X), "half_life": 1e9}[how]
    forgetting = OnlineLandmarks(m, metric=metric, **{how: length}).fit(X)
    assert comparable(forgetting)[::2] == comparable(whole)[::2]
    np.testing.assert_allclose(forgetting.landmark_mass_, whole.landmark_mass_)


HOW = {
    "bounded": {"memory": 64},
    "window": {"window": 90, "memory": 64},
    "exact window": {"window": 50, "memory": None},
    "half-life": {"half_life": 20, "memory": 64},
    "detector": {"memory": 64, "replace_on": RatioShift(warm_up=5)},
}


@pytest.mark.parametrize("how", HOW)
@pytest.mark.parametrize("metric", METRICS)
@given(kind=st.sampled_from(KINDS), seed=st.integers(0, 2**32 - 1), cuts=st.lists(st.integers(1, 399), max_size=6))
@few
def test_batches_and_checkpoints_change_nothing(metric, how, kind, seed, cuts, tmp_path_factory):
    X = make(kind, 400, 3, seed)
    at_once = OnlineLandmarks(4, metric=metric, **HOW[how]).fit(X)
    path = tmp_path_factory.mktemp("saved") / "landmarks.ckpt"
    in_parts = OnlineLandmarks(4, metric=metric, **HOW[how])
    for part in np.split(X, sorted(set(cuts))):
        in_parts.partial_fit(part)
        in_parts.save(path)
        in_parts = OnlineLandmarks.load(path)
    at_once._memory.let_go()
    in_parts._memory.let_go()
    assert state_of(in_parts) == state_of(at_once)


@pytest.mark.parametrize("jobs", [2, 3])
@given(kind=st.sampled_from(KINDS), seed=st.integers(0, 2**32 - 1), d=st.sampled_from(WIDTHS))
@few
def test_threads_change_nothing(jobs, kind, seed, d):
    X = make(kind, 2000, d, seed)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(threads, "LEAST", 16)  # so few rows are not worth a thread otherwise
        patch.setattr(threads, "PART", 16 * X[0].nbytes)
        patch.setattr(threads, "WIDE", 0)
        patch.setattr(threads, "CALM", 0.0)
        many = OnlineLandmarks(4, memory=64, n_jobs=jobs).partial_fit(X)
    assert state_of(many) == state_of(OnlineLandmarks(4, memory=64).partial_fit(X))


SINGLE = HOW | {"all": {"memory": None}, "paper": {"rule": "paper"}}


@pytest.mark.parametrize("how", SINGLE)
@given(
    kind=st.sampled_from(KINDS),
    seed=st.integers(0, 2**32 - 1),
    d=st.sampled_from(WIDTHS),
    scale=st.sampled_from([1.0, 1e-22, 1e17]),  # squares are beyond what single precision can hold
    cuts=st.lists(st.integers(1, 399), max_size=3),
)
@few
def test_single_precision_is_learnt_as_its_values(how, kind, seed, d, scale, cuts, tmp_path_factory):
    X = (make(kind, 400, d, seed) * scale).astype(np.float32)
    double = OnlineLandmarks(4, **SINGLE[how]).partial_fit(X.astype(np.float64))
    single, path = OnlineLandmarks(4, **SINGLE[how]), tmp_path_factory.mktemp("saved") / "landmarks.ckpt"
    parts = np.split(X, sorted(set(cuts)))
    for k, part in enumerate(parts):
        mixed = k > 0 and k == len(parts) - 1
        single.partial_fit(part.astype(np.float64) if mixed else part)
        assert single._space.rows.dtype == (np.float64 if mixed else np.float32)
        single.save(path)
        single = OnlineLandmarks.load(path)
    what = ("landmark_indices_", "landmark_mass_", "radius_", "resolution_", "landmarks_", "covering_radius_")
    for name in what:
        np.testing.assert_array_equal(getattr(single, name), getattr(double, name), strict=True)
    assert single.events_ == double.events_


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
        assert worst <= landmarks.coverage_bound_ * (1 + 1e-12)
        if window is None:
            assert landmarks.landmark_mass_.sum() == n + 20
        else:  # a merged point is forgotten at most an eighth of the window late
            assert min(window, n + 20) <= landmarks.landmark_mass_.sum() <= window * 9 / 8 + 1
    assert landmarks.resolution_ > 0


def test_nothing_grows_with_the_stream():
    X = np.random.default_rng(0).standard_normal((60_000, 3))
    landmarks = OnlineLandmarks(5, memory=100).partial_fit(X[:10_000])

    def size():
        state = landmarks._state
        return landmarks._space.rows.nbytes + sum(a.nbytes for a in (state.records, state.chain, state.witnesses))

    before = size()
    assert size() == before
    for part in np.split(X[10_000:], 50):
        landmarks.partial_fit(part)
    assert size() == before
    windowed = OnlineLandmarks(5, window=100).partial_fit(X)
    assert len(windowed._space.rows) < 1000
    assert windowed.landmark_mass_.sum() == 100


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
    kept = OnlineLandmarks(10).partial_fit(wide).partial_fit(narrow)
    assert kept.radius_ > 0.5 * radius


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
        (None, "earlier arrivals came with times of kind numbers, these of kind none"),
        (np.array(["2026-01-01", "2026-01-02"], "M8[D]"), "of kind numbers, these of kind dates"),
        ([1j, 2j], "times must be numbers or dates"),
    ],
)
def test_bad_times_change_nothing(times, message):
    landmarks = OnlineLandmarks(3, window=10).fit(np.ones((2, 2)), times=[0.0, 5.0])
    before = state_of(landmarks)
    with pytest.raises(ValueError, match=message):
        landmarks.partial_fit(np.zeros((2, 2)), times=times)
    assert state_of(landmarks) == before
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
    assert state_of(landmarks) == state_of(twin)
    assert state_of(landmarks.partial_fit(more)) == state_of(twin.partial_fit(more))


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
    for k in (1, 2, 3):
        sigma = {}
        for memory in (None, 64 * m, 16 * m):
            mapper = DriftMap(k, n_landmarks=m, memory=memory).fit(X)
            sigma[memory] = stress(X, mapper.transform(X))
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
    assert detector.drift_detected is False  # what is given is copied


# --- what hostile tests found -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("how", ["all", "bounded", "window", "half-life", "detector"])
def test_an_interrupt_tears_nothing_apart(how, monkeypatch):
    monkeypatch.setattr(euclidean, "worthwhile", lambda compiled: False)
    params = HOW.get(how, {"memory": None})
    X = make("walk", 60_000, 3, 2)
    OnlineLandmarks(4, **params).fit(X[:2000])

    def stop(*_):
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGINT, stop)
    try:
        for delay in np.random.default_rng(0).uniform(1e-4, 5e-3, 25):
            landmarks = OnlineLandmarks(4, **params).fit(X[:100])
            timer = threading.Timer(delay, signal.raise_signal, [signal.SIGINT])
            with contextlib.suppress(KeyboardInterrupt):
                timer.start()
                landmarks.partial_fit(X[100:])
                timer.join()
                time.sleep(0.01)  # the interrupt comes now at the latest
            n = landmarks.n_samples_seen_
            clean = OnlineLandmarks(4, **params).fit(X[:n])
            assert comparable(landmarks) == comparable(clean)
            more = X[max(n - 500, 0) : n]
            assert comparable(landmarks.partial_fit(more)) == comparable(clean.partial_fit(more))
    finally:
        signal.signal(signal.SIGINT, before)


def test_a_new_frame_is_made_when_landmarks_have_only_kept_their_numbers(tmp_path):
    X = make("walk", 1000, 3, 0)
    mapper = DriftMap(n_landmarks=100, window=100)
    for i in range(0, 1000, 100):
        mapper.partial_fit(X[i : i + 100]).transform(X[:1])
        mapper.save(tmp_path / "m")
    assert mapper.frame_ == 10


def test_distances_that_have_lost_their_digits_end_somewhere():
    X = np.outer(np.arange(1500), [1, 0.5, -0.3, 0.2, 0.7]) * 1.7e-160
    landmarks = OnlineLandmarks(3, memory=48).fit(X)
    assert landmarks.landmark_mass_.sum() == 1500
    assert len(landmarks.stored_indices_) <= 48


def test_a_landmark_of_long_ago_leaves():
    rng = np.random.default_rng(0)
    landmarks = OnlineLandmarks(2, half_life=1.0, memory=32)
    landmarks.partial_fit(rng.standard_normal((31, 2)), times=np.arange(31) * 0.001)
    landmarks.partial_fit(rng.standard_normal((3000, 2)) * 0.01 + 100, times=5000 + np.arange(3000) * 0.1)
    assert landmarks.landmark_indices_.min() > 30
    assert landmarks.landmark_mass_.min() > 0


def test_one_row_that_fails_changes_nothing():
    calls, limit = 0, 0

    def fragile(x, y):
        nonlocal calls
        calls += 1
        if calls == limit:
            raise RuntimeError("not today")
        return float(abs(x - y).sum())

    fragile.obeys_triangle = True
    for fails_at in range(1, 30):
        limit = 0
        landmarks = OnlineLandmarks(1, metric=fragile).fit([[0.0], [1.0]])
        before, calls, limit = state_of(landmarks), 0, fails_at
        try:
            landmarks.partial_fit([[9.0]])
        except RuntimeError:
            assert state_of(landmarks) == before
        else:
            assert fails_at > 2
            return
    pytest.fail("it always failed")


def test_an_error_in_the_first_batch_is_the_one_that_is_told():
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
    assert comparable(OnlineLandmarks(3, memory=10**20).fit(X)) == comparable(OnlineLandmarks(3, memory=None).fit(X))
    tiny = OnlineLandmarks(3, initial_radius=1e-170, replace_on=RatioShift()).fit(X)  # its square is 0
    assert tiny.landmark_mass_.sum() == 300


def test_double_precision_may_follow_single_where_there_is_more_room_than_needed():
    X, how = make("stationary", 200, 3, 0).astype(np.float32), {"window": 500, "memory": None}
    mixed = OnlineLandmarks(4, **how).partial_fit(X).partial_fit(X[:1].astype(np.float64))
    double = OnlineLandmarks(4, **how).partial_fit(np.vstack([X, X[:1]]).astype(np.float64))
    assert state_of(mixed) == state_of(double)

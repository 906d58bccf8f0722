"""The engine behind the estimators: threads, forks, copies, exceptions, and what it promises about the landmarks."""

import copy
import multiprocessing
import pickle
import signal
import threading
from concurrent.futures import ThreadPoolExecutor
from itertools import combinations

import numpy as np
import pytest

from driftmap import DriftMap, OnlineLandmarks
from driftmap.io.checkpoint import CheckpointError
from driftmap.landmarks import RatioShift
from streams import make

X = make("walk", 3000, 4, 0)
HOW = {
    "all": {"memory": None},
    "bounded": {"memory": 160},
    "window": {"window": 200},
    "half-life": {"half_life": 50, "memory": 160},
    "detector": {"replace_on": RatioShift(warm_up=5)},
    "cosine": {"metric": "cosine"},
    "scipy": {"metric": "sqeuclidean"},
    "paper": {"rule": "paper"},
    "slack": {"slack": 0.1},
}


def taxi(x, y):
    return float(np.abs(x - y).sum())


taxi.obeys_triangle = True


def state_of(landmarks):
    """Everything that is known, in a form that compares to the bit."""
    return (
        landmarks.landmark_indices_.tolist(),
        landmarks.landmark_mass_.tolist(),
        landmarks.stored_indices_.tolist(),
        landmarks.radius_,
        landmarks.covering_radius_,
        landmarks.resolution_,
        landmarks.n_samples_seen_,
        landmarks.events_,
    )


# --- several threads --------------------------------------------------------------------------------------------------


def test_threads_that_learn_with_one_estimator_wait_for_each_other():
    landmarks = OnlineLandmarks(20)
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(landmarks.partial_fit, np.split(X, 300)))
    assert landmarks.n_samples_seen_ == landmarks.landmark_mass_.sum() == len(X)


def test_the_first_points_may_come_from_several_threads():
    for _ in range(20):
        landmarks, barrier = OnlineLandmarks(5), threading.Barrier(4)

        def learn(part, landmarks=landmarks, barrier=barrier):
            barrier.wait()
            landmarks.partial_fit(part)

        with ThreadPoolExecutor(4) as pool:
            list(pool.map(learn, np.split(X[:40], 4)))
        assert landmarks.n_samples_seen_ == 40


def test_others_see_a_whole_state_while_one_thread_learns(tmp_path):
    mapper, done = DriftMap(n_landmarks=20, memory=320).partial_fit(X[:100]), threading.Event()

    def look():
        while not done.is_set():
            assert np.isfinite(mapper.transform(X[:5])).all()
            assert mapper.radius_ > 0
            mapper.save(path := tmp_path / f"{threading.get_ident()}")
            found = DriftMap.load(path)
            assert found.landmark_mass_.sum() == found.n_samples_seen_

    with ThreadPoolExecutor(3) as pool:
        watchers = [pool.submit(look) for _ in range(3)]
        for part in np.split(X[100:], 100):
            mapper.partial_fit(part)
        done.set()
        for watcher in watchers:
            watcher.result()
    assert mapper.n_samples_seen_ == len(X)


@pytest.mark.skipif("fork" not in multiprocessing.get_all_start_methods(), reason="this system has no fork")
@pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")
def test_a_forked_process_gets_a_whole_state_and_no_lock_of_another_thread():
    landmarks, done = OnlineLandmarks(20).partial_fit(X[:100]), threading.Event()

    def learn():
        while not done.is_set():
            landmarks.partial_fit(X[:500])

    def child():
        landmarks.partial_fit(X[:10])
        assert landmarks.landmark_mass_.sum() == landmarks.n_samples_seen_

    thread = threading.Thread(target=learn)
    thread.start()
    try:
        context = multiprocessing.get_context("fork")
        for _ in range(5):
            process = context.Process(target=child)
            process.start()
            process.join(20)
            assert process.exitcode == 0
    finally:
        done.set()
        thread.join()


@pytest.mark.parametrize("ask", [lambda e: e.radius_, lambda e: e.partial_fit(X[:1]), lambda e: e.distances(X[:1])])
def test_a_metric_that_uses_its_estimator_is_refused_and_nothing_hangs(ask):
    asks = []

    def curious(x, y):
        for landmarks in asks:
            ask(landmarks)
        return taxi(x, y)

    landmarks = OnlineLandmarks(3, metric=curious).fit(X[:10])
    before = state_of(landmarks)
    asks.append(landmarks)
    with pytest.raises(RuntimeError, match="cannot use the estimator that is learning with it"):
        landmarks.partial_fit(X[:100])
    asks.clear()
    assert state_of(landmarks) == before


# --- copies -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("how", HOW)
@pytest.mark.parametrize("duplicate", [copy.deepcopy, lambda one: pickle.loads(pickle.dumps(one))])
def test_copies_go_on_by_themselves(how, duplicate):
    landmarks = OnlineLandmarks(8, **HOW[how]).fit(X[:500])
    twin = duplicate(landmarks)
    assert state_of(twin) == state_of(landmarks)
    twin.partial_fit(X[500:600])
    assert landmarks.n_samples_seen_ == 500
    assert state_of(landmarks.partial_fit(X[500:600])) == state_of(twin)


@pytest.mark.parametrize("metric", [taxi, "precomputed", lambda a, b: abs(len(a) - len(b))])
def test_points_that_python_stores_are_copied(metric):
    points = {"precomputed": np.abs(X[:60, :1] - X[:60, 0]), taxi: X[:60]}.get(
        metric, ["a" * (i % 7) for i in range(60)]
    )
    first = points[:40, :40] if metric == "precomputed" else points[:40]
    landmarks = OnlineLandmarks(3, metric=metric).fit(first)
    twin = copy.deepcopy(landmarks).partial_fit(points[40:])
    assert landmarks.n_samples_seen_ == 40
    assert state_of(landmarks.partial_fit(points[40:])) == state_of(twin)


# --- exceptions -------------------------------------------------------------------------------------------------------


def test_a_failed_first_batch_leaves_parameters_free_to_change():
    landmarks = OnlineLandmarks(3, metric="cosine")
    with pytest.raises(ValueError, match="row 0 has norm 0: metric='cosine' is not defined"):
        landmarks.partial_fit(np.zeros((2, 3)))
    assert not landmarks.__sklearn_is_fitted__()
    landmarks.set_params(metric="euclidean").partial_fit(np.zeros((2, 3)))
    assert landmarks.n_samples_seen_ == 2


@pytest.mark.parametrize(
    ("metric", "row", "message"),
    [("cosine", [0.0, 0.0, 0.0], "row 2 has norm 0"), ("correlation", [0.1, 0.1, 0.1], "row 2 is constant")],
)
def test_rows_without_a_direction_are_named(metric, row, message):
    landmarks = OnlineLandmarks(3, metric=metric).fit(X[:20, :3])
    for ask in (landmarks.partial_fit, landmarks.distances):
        with pytest.raises(ValueError, match=message):
            ask(np.array([*X[:2, :3], row]))
    assert landmarks.n_samples_seen_ == 20


class Fragile:
    """A detector that signals at every third ratio, and fails at some of them."""

    def __init__(self, fails_at):
        self.n, self.fails_at, self.drift_detected = 0, fails_at, False

    def update(self, x):
        self.n += 1
        self.drift_detected = self.n % 3 == 0
        if self.n == self.fails_at:
            raise self.error


@pytest.mark.parametrize("error", [RuntimeError("not today"), KeyboardInterrupt()])
@pytest.mark.parametrize("metric", ["euclidean", taxi])
def test_a_detector_that_fails_is_as_before_and_so_are_the_landmarks(error, metric):
    Fragile.error = error
    landmarks = OnlineLandmarks(5, metric=metric, replace_on=Fragile(300)).fit(X[:200])
    before, seen = state_of(landmarks), landmarks._engine.detector.n
    with pytest.raises(type(error)):
        landmarks.partial_fit(X[200:600])
    assert state_of(landmarks) == before
    assert landmarks._engine.detector.n == seen
    landmarks._engine.detector.fails_at = -1
    whole = OnlineLandmarks(5, metric=metric, replace_on=Fragile(-1)).fit(X[:600])
    assert state_of(landmarks.partial_fit(X[200:600])) == state_of(whole)


@pytest.mark.parametrize("how", ["all", "bounded", "window", "half-life", "detector", "cosine"])
def test_an_interrupt_leaves_a_whole_state(how):
    def stop(*_):
        raise KeyboardInterrupt

    long, before = make("walk", 200_000, 3, 2), signal.signal(signal.SIGINT, stop)
    try:
        for delay in (0.002, 0.03, 0.05):
            landmarks = OnlineLandmarks(4, **HOW[how]).fit(long[:100])
            timer = threading.Timer(delay, signal.raise_signal, [signal.SIGINT])
            with pytest.raises(KeyboardInterrupt):
                timer.start()
                for _ in range(100):
                    landmarks.partial_fit(long[100:])
            timer.join()
            n = landmarks.n_samples_seen_
            rest = [long[100:]] * ((n - 100) // len(long[100:])) + [long[100:][: (n - 100) % len(long[100:])]]
            clean = OnlineLandmarks(4, **HOW[how]).fit(long[:100])
            for part in rest:
                clean = clean.partial_fit(part) if len(part) else clean
            assert state_of(landmarks) == state_of(clean)
            assert state_of(landmarks.partial_fit(long[:50])) == state_of(clean.partial_fit(long[:50]))
    finally:
        signal.signal(signal.SIGINT, before)


# --- bounds, slack ----------------------------------------------------------------------------------------------------


def test_no_landmarks_cover_the_stored_points_more_closely_than_the_lower_bound():
    points = make("stationary", 12, 2, 1)
    landmarks = OnlineLandmarks(3).fit(points)
    D = np.linalg.norm(points[:, None] - points, axis=2)
    best = min(D[:, list(three)].min(axis=1).max() for three in combinations(range(12), 3))
    assert best / 2 <= landmarks.radius_lower_bound_ <= best <= landmarks.covering_radius_
    assert OnlineLandmarks(5).fit(np.repeat(points[:5], 3, axis=0)).radius_lower_bound_ == 0.0
    assert OnlineLandmarks(50).fit(points).radius_lower_bound_ == 0.0


@pytest.mark.parametrize("metric", ["cosine", "correlation", "braycurtis", lambda x, y: float(abs(x - y).sum())])
def test_bounds_need_the_triangle_inequality(metric):
    landmarks = OnlineLandmarks(5, metric=metric).fit(np.abs(X[:50]))
    for name in ("coverage_bound_", "radius_lower_bound_"):
        with pytest.raises(ValueError, match=f"{name} needs a metric that obeys the triangle .* Euclidean distance"):
            getattr(landmarks, name)


def test_slack_saves_replacements_and_the_radius_stays_within_it():
    noise = np.random.default_rng(0).standard_normal((2000, 16))
    tight, loose = OnlineLandmarks(60).fit(noise), OnlineLandmarks(60, slack=0.1).fit(noise)
    assert loose.n_replacements_ < tight.n_replacements_ / 3
    assert loose.covering_radius_ <= loose.radius_ < 1.2 * tight.radius_
    assert (
        OnlineLandmarks(60, slack=0.1, rule="paper").fit(X).events_ == OnlineLandmarks(60, rule="paper").fit(X).events_
    )
    for slack, error in ((-0.1, ValueError), (np.nan, ValueError), (np.inf, ValueError), ("much", TypeError)):
        with pytest.raises(error, match="slack must be"):
            OnlineLandmarks(3, slack=slack).fit(X)


# --- damaged checkpoints ----------------------------------------------------------------------------------------------


def edited(value, random):
    """The value with one thing in it changed."""
    if isinstance(value, dict) and value:
        key = random.choice(list(value))
        if random.random() < 0.05:
            return {k: v for k, v in value.items() if k != key}
        return value | {key: edited(value[key], random)}
    if isinstance(value, list) and value:
        i = int(random.integers(len(value)))
        return [*value[:i], edited(value[i], random), *value[i + 1 :]]
    others = [None, 0, -1, 1, 2**31, 10**8, 2**63, -1e300, 1e-300, 0.5, "", "text", [], {}, True, {"float": "nan"}]
    return others[int(random.integers(len(others)))]


def edited_array(array, random):
    array = array.copy()
    how = random.random()
    if how < 0.1:
        return array[: int(random.integers(len(array) + 1))]
    if how < 0.15:
        return array.reshape(-1)
    if how < 0.2:
        return array.astype(random.choice(["i8", "f8", "f4", "u1"]))
    if array.size:
        values = [0, 1, -1, 2, 7, 10**6, 2**40] + (
            [np.nan, np.inf, 1e300, 1e-300, 0.5] if array.dtype.kind == "f" else []
        )
        array.flat[int(random.integers(array.size))] = values[int(random.integers(len(values)))]
    return array


@pytest.mark.filterwarnings("ignore:the landmarks so far span:UserWarning")
@pytest.mark.parametrize("how", ["bounded", "window", "half-life", "detector", "all", "cosine", "function"])
def test_random_edits_of_checkpoints_are_refused_or_harmless(how):
    from driftmap.io.checkpoint import Checkpoint
    from driftmap.io.serialization import unpack
    from driftmap.map import StreamMap

    random = np.random.default_rng(0)
    params = {"metric": taxi, "memory": 128} if how == "function" else HOW[how]
    mapper = DriftMap(n_landmarks=8, n_anchors=12, **params).fit(X[:300])
    mapper.transform(X[:3])
    mapper.partial_fit(X[300:400])
    header, arrays = mapper._engine.pack()
    given = {"metric": taxi} if how == "function" else {}
    refused = 0
    for _ in range(300):
        new_header, new_arrays = header, dict(arrays)
        if random.random() < 0.5:
            new_header = edited(header, random)
        else:
            name = random.choice(list(arrays))
            new_arrays[name] = edited_array(arrays[name], random)
        try:
            found = unpack(Checkpoint(new_header, new_arrays), StreamMap, **given)
        except CheckpointError:
            refused += 1
            continue
        found.partial_fit(X[400:450]).partial_fit(X[450:451])
        assert np.isfinite(found.transform(X[:10])).all()
        assert found.covering_radius_ >= 0
        found.pack()
    assert refused > 50

"""OnlineLandmarks against the literal oracle, after every arrival, and its answers to bad input."""

import math
import signal
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.base import clone

import naive
from driftmap.landmarks import OnlineLandmarks
from streams import assert_follows, facts, make, some, streams

RULES = ("tight", "paper")


def crooked(x, y):
    """A dissimilarity that breaks the triangle inequality."""
    gap = abs(float(x[0]) - float(y[0]))
    return gap * gap + 0.5 * math.sin(4 * gap) ** 2


def mismatches(a, b):
    """A distance between strings."""
    return sum(s != t for s, t in zip(a, b, strict=False)) + abs(len(a) - len(b))


# what the package is given, and the same distance for the oracle
METRICS = {
    "euclidean": ("euclidean", naive.squared_euclidean),
    "l2": ("l2", naive.squared_euclidean),
    "manhattan": ("manhattan", naive.cityblock),
    "chebyshev": ("chebyshev", naive.chebyshev),
    "function": (crooked, crooked),
}


def scale(metric):
    """The scale in which the oracle compares distances: that of the squares for Euclid's."""
    return "euclidean" if metric in ("euclidean", "l2") else "other"


def oracle_of(rule, m, distance, metric="other"):
    """The oracle of an estimator with default parameters."""
    options = {"slack": 0.02, "squared": scale(metric) == "euclidean"} if rule == "tight" else {}
    return naive.RULES[rule](m, distance, naive.reduced_radius(1e-20, scale(metric)), **options)


def assert_same(landmarks, oracle, metric="other"):
    assert_follows(landmarks, oracle, scale(metric))
    assert oracle.dominates()


def assert_same_events(landmarks, oracle, metric="other"):
    expected = [
        (*what, naive.true(before, scale(metric)), naive.true(after, scale(metric)))
        for *what, before, after in oracle.events
    ]
    assert [tuple(event) for event in landmarks.events_] == expected
    assert landmarks.n_replacements_ == sum(event[1] == "replaced" for event in oracle.events)


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("metric", METRICS)
@given(stream=streams())
@some
def test_equals_the_oracle_after_every_arrival(rule, metric, stream):
    X, m = stream
    ours, theirs = METRICS[metric]
    landmarks = OnlineLandmarks(m, rule=rule, metric=ours)
    oracle = oracle_of(rule, m, theirs, metric)
    for x in X:
        landmarks.partial_fit(x[None])
        oracle.add(x)
        assert_same(landmarks, oracle, metric)
    assert_same_events(landmarks, oracle, metric)


@pytest.mark.parametrize("rule", RULES)
@given(stream=streams(kinds=("walk", "grid", "jumps"), longest=30))
@some
def test_precomputed_distances_equal_the_oracle(rule, stream):
    X, m = stream
    D = np.array([[crooked(x, y) for y in X] for x in X])
    landmarks = OnlineLandmarks(m, rule=rule, metric="precomputed")
    oracle = naive.RULES[rule](m, lambda r, s: D[r, s], 1e-20)
    for n in range(len(X)):
        landmarks.partial_fit(D[n : n + 1, : n + 1])
        oracle.add(n)
        assert_same(landmarks, oracle)
    at_once = OnlineLandmarks(m, rule=rule, metric="precomputed").fit(D)
    assert facts(at_once) == facts(landmarks)


@pytest.mark.parametrize("rule", RULES)
@given(words=st.lists(st.text("ab", max_size=5), min_size=1, max_size=30), m=st.integers(1, 6))
@some
def test_objects_equal_the_oracle(rule, words, m):
    landmarks = OnlineLandmarks(m, rule=rule, metric=mismatches)
    oracle = naive.RULES[rule](m, mismatches, 1e-20)
    for word in words:
        landmarks.partial_fit([word])
        oracle.add(word)
        assert_same(landmarks, oracle)
    assert landmarks.landmarks_ == [words[i] for i in landmarks.landmark_indices_]


def star(arms, d, rng):
    """Landmarks far out on arms, points half-way, then the centre: a node of high degree among nodes of low degree."""
    ends = np.eye(d)[rng.permutation(d)[:arms]]
    order = rng.permutation(arms)
    extra = rng.standard_normal((3, d)) * rng.choice([0.1, 3.0])
    return np.vstack([1.7 * ends, 0.9 * ends[order], np.zeros((1, d)), extra])


@pytest.mark.parametrize("metric", ["euclidean", "manhattan"])
def test_lines_3_to_5_of_algorithm_2_equal_the_oracle(metric):
    ours, theirs = METRICS[metric]
    rng = np.random.default_rng(0)
    taken_for_another = 0
    for _ in range(60):
        arms = int(rng.integers(6, 16))
        X = star(arms, 16, rng)
        landmarks = OnlineLandmarks(arms, rule="paper", metric=ours, initial_radius=1.0)
        oracle = naive.Paper(arms, theirs, naive.reduced_radius(1.0, scale(metric)))
        for x in X:
            landmarks.partial_fit(x[None])
            oracle.add(x)
            assert_same(landmarks, oracle, metric)
        assert_same_events(landmarks, oracle, metric)
        assert facts(clone(landmarks).fit(X)) == facts(landmarks)
        taken_for_another += sum(event.came != event.arrival for event in landmarks.events_)
    assert taken_for_another >= 20


SCIPY_NAMES = {
    "mahalanobis": {"VI": np.diag([1.0, 2.0, 0.5])},
    "minkowski": {"p": 3},
    "seuclidean": {"V": [1.0, 2.0, 3.0]},
} | dict.fromkeys(
    ["braycurtis", "canberra", "chebyshev", "cityblock", "correlation", "cosine", "dice", "euclidean", "hamming",
     "jaccard", "jensenshannon", "rogerstanimoto", "russellrao", "sqeuclidean", "yule"]
)  # fmt: skip


@pytest.mark.parametrize("name", sorted(SCIPY_NAMES))
@pytest.mark.parametrize("rule", RULES)
def test_every_named_metric_equals_the_oracle(name, rule):
    from scipy.spatial.distance import cdist

    boolean = name in ("dice", "jaccard", "rogerstanimoto", "russellrao", "yule", "hamming")
    rng = np.random.default_rng(2)
    X = (rng.random((40, 12)) < 0.5).astype(float) if boolean else rng.random((40, 3)) + 0.1
    params = SCIPY_NAMES[name] or {}

    def distance(x, y):
        if name in naive.METRICS:
            return float(naive.METRICS[name](x, y, **params))
        return max(0.0, float(cdist(x[None], y[None], name, **params)[0, 0]))

    landmarks = OnlineLandmarks(5, rule=rule, metric=name, metric_params=params or None)
    oracle = oracle_of(rule, 5, distance, name)
    for x in X:
        landmarks.partial_fit(x[None])
        oracle.add(x)
        assert_same(landmarks, oracle, name)
    assert facts(OnlineLandmarks(5, rule=rule, metric=name, metric_params=params or None).fit(X)) == facts(landmarks)


def test_metric_parameters_reach_a_function():
    def scaled(x, y, scale):
        return scale * abs(x[0] - y[0])

    landmarks = OnlineLandmarks(1, metric=scaled, metric_params={"scale": 10.0}).fit([[0.0], [2.0]])
    assert landmarks.radius_ == 20.0


# --- bad input changes nothing ---


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("failure", ["raises", "nan", "negative"])
@pytest.mark.parametrize("calls", [1, 5, 40, 150, 400])
def test_a_metric_that_fails_in_the_middle_of_a_batch_changes_nothing(rule, failure, calls):
    """The batch has replaced landmarks by then: everything goes back to the bit."""
    countdown = [10**9]

    def fragile(x, y):
        countdown[0] -= 1
        if countdown[0] < 0:
            if failure == "raises":
                raise RuntimeError("the metric broke")
            return np.nan if failure == "nan" else -1.0
        return float(naive.cityblock(x, y))

    first, rest = np.split(make("walk", 90, 2, seed=3), [45])
    landmarks = OnlineLandmarks(5, rule=rule, metric=fragile).fit(first)
    before = facts(landmarks)
    countdown[0] = calls
    with pytest.raises((RuntimeError, ValueError), match=r"the metric broke|must be a finite number"):
        landmarks.partial_fit(rest)
    assert facts(landmarks) == before
    countdown[0] = 10**9
    landmarks.partial_fit(rest)
    assert facts(landmarks) == facts(OnlineLandmarks(5, rule=rule, metric=naive.cityblock).fit(first).partial_fit(rest))


@pytest.mark.parametrize(
    ("parameters", "error", "message"),
    [
        ({"n_landmarks": 0}, ValueError, "n_landmarks must be at least 1"),
        ({"n_landmarks": 2.5}, TypeError, "n_landmarks must be an integer"),
        ({"rule": "loose"}, ValueError, "rule must be one of 'tight', 'paper'"),
        ({"metric": "euclidian"}, ValueError, "metric='euclidian' is not known"),
        ({"metric": 3}, TypeError, "metric must be a name or a callable"),
        ({"metric": "mahalanobis"}, ValueError, "needs metric_params={'VI'"),
        ({"initial_radius": 1e200}, ValueError, "initial_radius=1e\\+200 is too large: its square overflows"),
        ({"initial_radius": 1e-155}, ValueError, "initial_radius=1e-155 is too small: distances below 1e-150"),
        (
            {"metric": "minkowski", "metric_params": {"p": 32}},
            ValueError,
            "initial_radius=1e-20 is too small: distances below 4.2e-10 cannot be measured",
        ),
        ({"metric": "mahalanobis", "metric_params": {"VI": np.eye(3)}}, ValueError, "must have shape \\(2, 2\\)"),
        ({"metric": "cosine", "metric_params": {"p": 3}}, ValueError, "metric_params=.*metric='cosine' takes"),
        ({"initial_radius": -1.0}, ValueError, "initial_radius must be positive"),
        ({"initial_radius": "small"}, TypeError, "initial_radius must be a number"),
    ],
)
def test_bad_parameters_are_named(parameters, error, message):
    with pytest.raises(error, match=message):
        OnlineLandmarks(**({"n_landmarks": 3} | parameters)).fit([[0.0, 1.0], [1.0, 3.0]])


def test_the_radius_can_shrink_under_tight_and_never_does_in_the_paper():
    def steps(rule):
        runs = [OnlineLandmarks(5, rule=rule).fit(make("walk", 300, 2, seed)).events_ for seed in range(20)]
        return np.concatenate([np.diff([event.radius_after for event in events]) for events in runs])

    assert (steps("tight") < 0).any()
    assert (steps("paper") >= 0).all()


def test_objects_that_look_like_sequences_stay_objects():
    import networkx as nx
    import pandas as pd

    graphs = [nx.path_graph(4), nx.complete_graph(4), nx.star_graph(9)]
    landmarks = OnlineLandmarks(2, metric=lambda g, h: abs(g.number_of_edges() - h.number_of_edges())).fit(graphs)
    assert all(graph in graphs for graph in landmarks.landmarks_)
    assert OnlineLandmarks(2, metric=mismatches).fit(pd.Series(["ab", "b", "abc"])).n_samples_seen_ == 3


def test_a_pair_at_just_the_initial_radius_is_covered():
    X = [[0.0, 0.0, 0.0], [1.0, 1.0, 1.0]]
    assert OnlineLandmarks(3, initial_radius=float(np.sqrt(3.0))).fit(X).landmark_indices_.tolist() == [0]


def test_rows_that_differ_by_rounding_have_a_distance():
    """scipy's Jensen-Shannon distance is then the root of a tiny negative number."""
    p = np.random.default_rng(0).random((1, 20))
    q = p * (1 + 1e-9 * np.random.default_rng(1).standard_normal((200, 20)))
    assert OnlineLandmarks(300, metric="jensenshannon").fit(np.vstack([p, q])).n_samples_seen_ == 201
    assert OnlineLandmarks(3, metric="braycurtis").fit(np.zeros((4, 2))).landmark_indices_.tolist() == [0]


def test_a_failed_first_batch_leaves_parameters_free_to_change():
    landmarks = OnlineLandmarks(3, metric="cosine")
    with pytest.raises(ValueError, match="row 0 is zero and has no direction"):
        landmarks.partial_fit(np.zeros((2, 3)))
    assert not landmarks.__sklearn_is_fitted__()
    landmarks.set_params(metric="euclidean").partial_fit(np.zeros((2, 3)))
    assert landmarks.n_samples_seen_ == 2


@pytest.mark.parametrize(
    ("metric", "row", "message"),
    [("cosine", [0.0, 0.0, 0.0], "row 2 is zero"), ("correlation", [0.1, 0.1, 0.1], "row 2 is constant")],
)
def test_rows_without_a_direction_are_named(metric, row, message):
    X = make("walk", 20, 3, 0)
    landmarks = OnlineLandmarks(3, metric=metric).fit(X)
    for ask in (landmarks.partial_fit, landmarks.distances):
        with pytest.raises(ValueError, match=message):
            ask(np.array([*X[:2], row]))
    assert landmarks.n_samples_seen_ == 20


class Fragile:
    """A detector that signals at every third ratio, and raises an error at the 300th while there is one."""

    error = None

    def __init__(self):
        self.n, self.drift_detected = 0, False

    def update(self, x):
        self.n += 1
        self.drift_detected = self.n % 3 == 0
        if self.n == 300 and Fragile.error is not None:
            raise Fragile.error


@pytest.mark.parametrize("error", [RuntimeError("not today"), KeyboardInterrupt()])
@pytest.mark.parametrize("metric", ["euclidean", naive.cityblock])
def test_a_detector_that_fails_is_as_before_and_so_are_the_landmarks(error, metric, monkeypatch):
    X = make("walk", 600, 4, 0)
    landmarks = OnlineLandmarks(5, metric=metric, replace_on=Fragile()).fit(X[:200])
    before = facts(landmarks)
    monkeypatch.setattr(Fragile, "error", error)
    with pytest.raises(type(error)):
        landmarks.partial_fit(X[200:])
    assert facts(landmarks) == before
    monkeypatch.setattr(Fragile, "error", None)
    whole = OnlineLandmarks(5, metric=metric, replace_on=Fragile()).fit(X)
    assert facts(landmarks.partial_fit(X[200:])) == facts(whole)


# --- bounds, slack ---


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
    landmarks = OnlineLandmarks(5, metric=metric).fit(np.abs(make("walk", 50, 4, 0)))
    for name in ("coverage_bound_", "radius_lower_bound_"):
        with pytest.raises(ValueError, match=f"metric=.* triangle inequality, which {name} needs.* Euclidean distance"):
            getattr(landmarks, name)


def test_slack_saves_replacements_and_the_radius_stays_within_it():
    X, noise = make("walk", 3000, 4, 0), np.random.default_rng(0).standard_normal((2000, 16))
    tight, loose = OnlineLandmarks(60).fit(noise), OnlineLandmarks(60, slack=0.1).fit(noise)
    assert loose.n_replacements_ < tight.n_replacements_ / 3
    assert loose.covering_radius_ <= loose.radius_ < 1.2 * tight.radius_
    assert (
        OnlineLandmarks(60, slack=0.1, rule="paper").fit(X).events_ == OnlineLandmarks(60, rule="paper").fit(X).events_
    )
    for slack, error in ((-0.1, ValueError), (np.nan, ValueError), (np.inf, ValueError), ("much", TypeError)):
        with pytest.raises(error, match="slack must be"):
            OnlineLandmarks(3, slack=slack).fit(X)


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="this system has no timers")
def test_an_interrupt_is_heard_while_edges_are_counted():
    class InterruptError(Exception):
        pass

    def interrupt(*_):
        raise InterruptError

    rng = np.random.default_rng(0)
    clusters = 0.01 * rng.normal(size=(8000, 8)) + 10 * rng.integers(0, 3, size=(8000, 1))
    X = np.concatenate([clusters, 20 * rng.normal(size=(100, 8))])[:8013]  # the last row has too many neighbours
    landmarks = OnlineLandmarks(5, rule="paper").fit(X[:8000])
    before = signal.signal(signal.SIGALRM, interrupt)
    try:
        with pytest.raises(InterruptError):
            signal.setitimer(signal.ITIMER_REAL, 0.03)
            landmarks.partial_fit(X[8000:])
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    seen = landmarks.n_samples_seen_
    assert seen < 8013
    assert facts(landmarks) == facts(OnlineLandmarks(5, rule="paper").fit(X[:seen]))

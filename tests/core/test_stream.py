"""The compiled core: the literal oracle after every arrival; and what is promised where points merge or expire."""

import copy
import gc
import math
import pickle
import weakref

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import naive
from driftmap import _core
from driftmap._core import Stream
from driftmap.landmarks import OnlineLandmarks
from streams import KINDS, WIDTHS, few, make, some, streams, suited

P = {"minkowski": {"p": 1.5}}
TRIANGLE = [name for name, holds in _core.METRICS.items() if holds]
SEEDS = st.integers(0, 2**32 - 1)


class Source:
    """A DistanceSource: points are numbers of rows of a distance matrix. Its calls can be made to fail."""

    def __init__(self, D, *, triangle=True):
        self.D, self.triangle = np.array(D), triangle
        np.fill_diagonal(self.D, 0.0)  # also where rounding says otherwise
        self.batch, self.points, self.saved = np.empty(0, np.int64), [], None
        self.calls, self.fails_at = 0, math.inf

    def call(self):
        self.calls += 1
        if self.calls == self.fails_at:
            raise ZeroDivisionError("no distance today")

    def cross(self, batch_rows, stored_rows):
        self.call()
        return self.D[np.ix_(self.batch[batch_rows], np.array(self.points)[stored_rows])]

    def pairs(self, rows, columns):
        self.call()
        points = np.array(self.points)
        return self.D[np.ix_(points[rows], points[columns])]

    def keep(self, batch_row):
        self.call()
        self.points.append(int(self.batch[batch_row]))

    def retain(self, rows):
        self.call()
        assert (np.diff(rows) > 0).all()
        self.points = [self.points[row] for row in rows]

    def save(self):
        self.call()
        self.saved = list(self.points)

    def restore(self):
        self.points = list(self.saved)


class Rows:
    """Lets a stream learn rows of a matrix, natively or through a source, so that tests need not care."""

    def __init__(self, X, metric, *, native=True, **params):
        self.X, self.metric = X, metric
        self.params = P.get(metric, {}) | params
        self.source = None
        if not native:
            self.source = Source(naive.distances(X, X, metric, **P.get(metric, {})), triangle=metric in TRIANGLE)
        self.stream = self.empty()

    def empty(self):
        """A stream that has seen nothing."""
        return Stream(self.metric if self.source is None else self.source, self.X.shape[1], **self.params)

    def learn(self, first, last, **how):
        if self.source is None:
            return self.stream.learn(np.ascontiguousarray(self.X[first:last]), **how)
        self.source.batch = np.arange(first, last)
        return self.stream.learn(last - first, **how)

    def restored(self):
        """Another one, brought to the same state."""
        other = copy.copy(self)
        state = self.stream.state()
        if self.source is not None:
            other.source = copy.deepcopy(self.source)
            state = state | {"n_points": len(other.source.points)}
        other.stream = other.empty()
        other.stream.restore(state)
        return other


def observe(stream):
    """Everything that a stream says of what it remembers, in a form that compares to the bit."""
    arrivals, masses, cells = stream.arrivals(), stream.masses(), stream.cells()
    rows, landmarks = np.flatnonzero(masses > 0), stream.landmark_rows()
    return {
        "seen": stream.seen,
        "landmarks": arrivals[landmarks].tolist(),
        "landmark masses": stream.landmark_masses().tolist(),
        "radius": stream.radius,
        "covering radius": stream.covering_radius,
        "resolution": stream.resolution,
        "coverage bound": stream.coverage_bound,
        "arrivals": arrivals[rows].tolist(),
        "masses": masses[rows].tolist(),
        "spreads": stream.spreads()[rows].tolist(),
        "cells": cells[rows].tolist(),
        "replacements": stream.n_replacements,
        "events": stream.events(),
    }


def same(a, b):
    """Whether two values of a state are the same to the bit."""
    if isinstance(a, dict):
        return isinstance(b, dict) and list(a) == list(b) and all(same(a[key], b[key]) for key in a)
    if isinstance(a, list | tuple):
        return type(a) is type(b) and len(a) == len(b) and all(map(same, a, b))
    if isinstance(a, np.ndarray):
        return a.dtype == b.dtype and a.shape == b.shape and a.tobytes() == b.tobytes()
    return type(a) is type(b) and repr(a) == repr(b)


def assert_same(stream, oracle, metric):
    """Nothing has been merged or forgotten: all is as the oracle says."""
    n = len(oracle.points)
    cells = oracle.cells()
    place = {y: k for k, cell in enumerate(cells.values()) for y in cell}
    assert stream.seen == stream.n_stored == n
    assert stream.arrivals().tolist() == list(range(n))
    assert stream.masses().tolist() == [1.0] * n
    assert stream.landmark_rows().tolist() == oracle.landmarks
    assert stream.landmark_masses().tolist() == [len(cell) for cell in cells.values()]
    assert stream.cells().tolist() == [place[y] for y in range(n)]
    assert stream.radius == naive.true(oracle.rho, metric)
    assert stream.covering_radius == naive.true(oracle.covering_radius(), metric)
    assert stream.resolution == 0.0
    assert stream.spreads().tolist() == [0.0] * n
    assert stream.covering_radius <= stream.coverage_bound <= stream.covering_radius * (1 + 1e-9)
    assert len(oracle.landmarks) <= oracle.m
    assert oracle.dominates()


def assert_same_events(stream, oracle, metric):
    expected = [
        (*what, float(naive.true(before, metric)), float(naive.true(after, metric)))
        for *what, before, after in oracle.events
    ]
    assert stream.events() == expected
    assert stream.n_replacements == sum(kind == "replaced" for _, kind, *_ in expected)


def assert_nearest_before(found, expected, metric):
    landmarks, distances = found
    assert landmarks.tolist() == [expected[0]]
    assert distances.tolist() == [naive.true(expected[1], metric)]


# --- distances --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("metric", naive.METRICS)
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_distances_are_summed_in_the_one_order(metric, dtype):
    rng = np.random.default_rng(0)
    for d in [*range(1, 36), 48, 63, 64, 65, 100, 384]:
        X, Y = (
            suited(rng.standard_normal((n, d)) * rng.choice([1.0, 1e6], (n, 1)), metric) for n in rng.integers(1, 9, 2)
        )
        X, Y = X.astype(dtype), Y.astype(dtype)
        found = _core.distances(X, Y, metric, **P.get(metric, {}))
        np.testing.assert_array_equal(found, naive.distances(X, Y, metric, **P.get(metric, {})), strict=True)


@pytest.mark.parametrize(("n", "m"), [(0, 3), (3, 0), (0, 0)])
def test_distances_of_no_rows(n, m):
    assert _core.distances(np.ones((n, 5)), np.ones((m, 5))).shape == (n, m)  # `make sanitize` checks the addresses


@pytest.mark.parametrize("p", [0.5, 1, 2, 2.5, 3, 4, 32, 33])
def test_whole_exponents_of_minkowski_are_products(p):
    X = make("stationary", 30, 19, 0)
    np.testing.assert_array_equal(_core.distances(X, X, "minkowski", p=p), naive.distances(X, X, "minkowski", p=p))
    rows = Stream("minkowski", 19, n_landmarks=4, p=p)
    rows.learn(X)
    oracle = naive.Tight(4, lambda x, y: naive.minkowski(x, y, p), 1e-20)
    for x in X:
        oracle.add(x)
    assert_same(rows, oracle, "minkowski")


@pytest.mark.parametrize("metric", ["canberra", "braycurtis"])
def test_nothing_divided_by_nothing_is_no_distance(metric):
    X = np.array([[0.0] * 20, [0.0] * 19 + [2.0], [1.0] * 20])
    found = _core.distances(X, X, metric)
    assert found.diagonal().tolist() == [0.0] * 3
    np.testing.assert_array_equal(found, naive.distances(X, X, metric))


def test_the_native_metrics_are_those_of_the_oracle():
    assert set(_core.METRICS) == set(naive.METRICS)


@pytest.mark.parametrize("metric", naive.METRICS)
def test_stored_points_are_given_back(metric):
    X = suited(make("walk", 40, 17, 0), metric)
    rows = Rows(X, metric, n_landmarks=5)
    assert rows.stream.seen == 0
    rows.learn(0, 30)
    some_rows, others = np.array([3, 0, 29]), np.array([5, 6])
    np.testing.assert_array_equal(rows.stream.points(some_rows), X[some_rows], strict=True)
    found = _core.distances(X[30:].astype(np.float32), rows.stream.points(others), metric, **P.get(metric, {}))
    np.testing.assert_array_equal(
        found, naive.distances(X[30:].astype(np.float32), X[others], metric, **P.get(metric, {}))
    )
    for wrong in (np.array([30]), np.array([-1])):
        with pytest.raises(ValueError, match="there is no such stored point"):
            rows.stream.points(wrong)


# --- everything stored: the oracle decides ----------------------------------------------------------------------------


@pytest.mark.parametrize("rule", naive.RULES)
@pytest.mark.parametrize("metric", naive.METRICS)
@given(stream=streams())
@some
def test_all_is_as_the_oracle_says_after_every_arrival(rule, metric, stream):
    X, m = suited(stream[0], metric), stream[1]
    D = naive.reduced_distances(X, X, metric, **P.get(metric, {})).tolist()
    oracle = naive.RULES[rule](m, lambda r, s: D[r][s], naive.reduced_radius(1e-20, metric))
    rows = Rows(X, metric, n_landmarks=m, rule=rule)
    version, landmarks = rows.stream.version, []
    for n in range(len(X)):
        nearest = oracle.add(n)
        assert_nearest_before(rows.learn(n, n + 1, nearest_before=True), nearest, metric)
        assert_same(rows.stream, oracle, metric)
        assert rows.stream.version != version or landmarks == oracle.landmarks
        version, landmarks = rows.stream.version, list(oracle.landmarks)
    assert_same_events(rows.stream, oracle, metric)


@pytest.mark.parametrize("metric", ["euclidean", "cityblock", "cosine"])
@given(stream=streams(), slack=st.sampled_from([0.01, 0.05, 0.25, 1.0]), radius=st.sampled_from([1e-20, 0.5]))
@some
def test_slack_is_as_the_oracle_says(metric, stream, slack, radius):
    X, m = suited(stream[0], metric), stream[1]
    D = naive.reduced_distances(X, X, metric).tolist()
    oracle = naive.Tight(
        m, lambda r, s: D[r][s], naive.reduced_radius(radius, metric), slack=slack, squared=metric == "euclidean"
    )
    rows = Rows(X, metric, n_landmarks=m, slack=slack, initial_radius=radius)
    for n in range(len(X)):
        oracle.add(n)
        rows.learn(n, n + 1)
        assert_same(rows.stream, oracle, metric)
    assert_same_events(rows.stream, oracle, metric)


def test_the_rule_of_the_paper_knows_no_slack():
    X = make("walk", 300, 3, 0)
    without, with_slack = (Rows(X, "euclidean", n_landmarks=6, rule="paper", slack=slack) for slack in (0.0, 0.5))
    without.learn(0, 300)
    with_slack.learn(0, 300)
    assert observe(with_slack.stream) == observe(without.stream)


class Signals:
    """A gate that returns True at given calls, and remembers what it is shown. It can be made to fail."""

    def __init__(self, seed, often, fails_at=math.inf):
        self.rng, self.often, self.fails_at = np.random.default_rng(seed), often, fails_at
        self.shown = []

    def __call__(self, ratio):
        self.shown.append(ratio)
        if len(self.shown) == self.fails_at:
            raise ZeroDivisionError("no signal today")
        return bool(self.rng.random() < self.often)


@pytest.mark.parametrize("metric", ["euclidean", "cityblock"])
@given(
    stream=streams(longest=90),
    seed=SEEDS,
    often=st.sampled_from([0.0, 0.02, 0.2, 1.0]),
    slack=st.sampled_from([0.0, 0.1]),
)
@some
def test_gates_are_as_the_oracle_says(metric, stream, seed, often, slack):
    """Never: replacements come when 32 arrivals are held."""
    X, m = stream[0], stream[1] % 3 + 1
    D = naive.reduced_distances(X, X, metric).tolist()
    theirs, ours = Signals(seed, often), Signals(seed, often)
    oracle = naive.Tight(
        m, lambda r, s: D[r][s], naive.reduced_radius(1e-20, metric),
        slack=slack, gate=theirs, squared=metric == "euclidean",
    )  # fmt: skip
    rows = Rows(X, metric, n_landmarks=m, slack=slack)
    for n in range(len(X)):
        nearest = oracle.add(n)
        assert_nearest_before(rows.learn(n, n + 1, gate=ours, nearest_before=True), nearest, metric)
        assert_same(rows.stream, oracle, metric)
        assert ours.shown == theirs.shown
    assert_same_events(rows.stream, oracle, metric)
    at_once, gate = Rows(X, metric, n_landmarks=m, slack=slack), Signals(seed, often)
    at_once.learn(0, len(X), gate=gate)
    assert observe(at_once.stream) == observe(rows.stream)
    assert gate.shown == theirs.shown


@pytest.mark.parametrize("rule", naive.RULES)
@pytest.mark.parametrize("metric", naive.METRICS)
@given(stream=streams(longest=60), cuts=st.lists(st.integers(1, 59), max_size=3), slack=st.sampled_from([0.0, 0.25]))
@few
def test_a_source_of_the_same_distances_gives_the_same(rule, metric, stream, cuts, slack):
    X, m = suited(stream[0], metric), stream[1]
    native = Rows(X, metric, n_landmarks=m, rule=rule, slack=slack)
    source = Rows(X, metric, native=False, n_landmarks=m, rule=rule, slack=slack)
    native.learn(0, len(X))
    ends = sorted({cut for cut in cuts if cut < len(X)}) + [len(X)]
    for first, last in zip([0, *ends], ends, strict=False):
        source.learn(first, last)
    assert observe(source.stream) == observe(native.stream)
    assert source.source.points == list(range(len(X)))


def crooked(x, y):
    """A dissimilarity that breaks the triangle inequality."""
    gap = abs(x - y)
    return gap * gap + 0.5 * math.sin(4 * gap) ** 2


@pytest.mark.parametrize("rule", naive.RULES)
@given(stream=streams(kinds=("walk", "grid", "jumps", "tails")))
@some
def test_nothing_is_assumed_of_a_source_without_the_triangle_inequality(rule, stream):
    X, m = stream
    D = [[crooked(x, y) for y in X[:, 0].tolist()] for x in X[:, 0].tolist()]
    source = Source(D, triangle=False)
    ours, oracle = Stream(source, n_landmarks=m, rule=rule), naive.RULES[rule](m, lambda r, s: D[r][s], 1e-20)
    for n in range(len(X)):
        oracle.add(n)
        source.batch = np.array([n])
        ours.learn(1)
        assert_same(ours, oracle, "crooked")
    assert_same_events(ours, oracle, "crooked")
    assert len(source.points) == len(X)


def long_stream(kind, n, d):
    rng = np.random.default_rng(5)
    if kind == "prices":  # a small spread at a large offset: |x|^2 + |l|^2 - 2 x.l is useless here
        return 1e4 + 0.01 * np.cumsum(rng.standard_normal((n, d)), axis=0) / np.sqrt(n)
    if kind == "outliers":
        return rng.standard_normal((n, d)) * rng.choice([1.0, 1e3, 1e25], p=[0.9, 0.09, 0.01], size=(n, 1))
    if kind == "huge":
        return rng.standard_normal((n, d)) * 1e150
    if kind == "tiny":  # squares underflow
        return rng.standard_normal((n, d)) * 1e-161
    return make(kind, n, d, seed=5)


LONG = (
    "walk",
    "stationary",
    "line",
    "grid",
    "clusters",
    "tails",
    "regimes",
    "spiral",
    "prices",
    "outliers",
    "huge",
    "tiny",
)


@pytest.mark.parametrize("kind", LONG)
@pytest.mark.parametrize(("d", "m", "slack"), [(2, 12, 0.0), (16, 40, 0.0), (33, 60, 0.0), (17, 20, 0.05)])
def test_long_streams_are_as_the_oracle_says(kind, d, m, slack):
    """Long enough for several blocks, with landmarks that change inside them; in batches of any size."""
    n = 450
    X = long_stream(kind, n, d)
    radius = 1e-200 if kind == "tiny" else 1e-20
    D = naive.reduced_distances(X, X)
    landmarks, masses, rho, history = naive.tight_by_matrix(D, m, naive.squared_radius(radius), slack)
    at_once = Rows(X, "euclidean", n_landmarks=m, slack=slack, initial_radius=radius)
    nearest = at_once.learn(0, n, nearest_before=True)
    assert at_once.stream.landmark_rows().tolist() == landmarks
    assert at_once.stream.landmark_masses().tolist() == masses
    assert at_once.stream.radius == math.sqrt(rho)
    exchanges = [
        (arrival, left, after) for arrival, kind, _, left, _, after in at_once.stream.events() if kind != "added"
    ]
    assert exchanges == [(arrival, left, math.sqrt(after)) for arrival, left, after in history]
    in_parts = Rows(X, "euclidean", n_landmarks=m, slack=slack, initial_radius=radius)
    ends = sorted({*np.random.default_rng(m).integers(1, n, 4).tolist(), 1, n})
    parts = [in_parts.learn(first, last, nearest_before=True) for first, last in zip([0, *ends], ends, strict=False)]
    assert observe(in_parts.stream) == observe(at_once.stream)
    for whole, pieces in zip(nearest, zip(*parts, strict=True), strict=True):
        np.testing.assert_array_equal(np.concatenate(pieces), whole, strict=True)


@pytest.mark.parametrize("rule", naive.RULES)
@pytest.mark.parametrize("metric", naive.METRICS)
@pytest.mark.parametrize("kind", ["walk", "stationary", "regimes", "grid"])
def test_a_long_batch_is_its_rows_one_by_one(rule, metric, kind):
    X = suited(make(kind, 400, 19, 3), metric)
    one_by_one, at_once = (Rows(X, metric, n_landmarks=12, rule=rule) for _ in range(2))
    nearest = [one_by_one.learn(n, n + 1, nearest_before=True) for n in range(400)]
    together = at_once.learn(0, 400, nearest_before=True)
    assert observe(at_once.stream) == observe(one_by_one.stream)
    for whole, pieces in zip(together, zip(*nearest, strict=True), strict=True):
        np.testing.assert_array_equal(np.concatenate(pieces), whole, strict=True)


def test_only_the_last_events_are_stored():
    X = np.cumsum(np.arange(1.0, 10_301.0))[:, None]  # every point is farther away than the last
    rows = Rows(X, "euclidean", n_landmarks=10_100)
    rows.learn(0, len(X))
    events = rows.stream.events()
    assert [event[0] for event in events] == list(range(300, 10_300))
    assert [event[1] for event in events[:9_800]] == ["added"] * 9_800
    assert rows.stream.n_replacements == sum(event[1] == "replaced" for event in events) > 0


# --- points that merge or expire: what is promised --------------------------------------------------------------------


class Promises:
    """What must hold after every arrival. Distances between all arrivals are known here, whatever the stream stores.

    A weighted arrival brings a cloud of points: ``clouds`` holds these, ``owner`` says with which arrival each came.
    """

    def __init__(self, rows, *, times=None, clouds=None, owner=None, gated=False):
        X, metric, params = rows.X, rows.metric, rows.params
        self.rows, self.gated, self.m = rows, gated, params["n_landmarks"]
        self.reduced = naive.reduced_distances(X, X, metric, **P.get(metric, {}))
        self.D = naive.true(self.reduced, metric)
        self.to_clouds = self.D if clouds is None else naive.distances(clouds, X, metric, **P.get(metric, {}))
        self.owner = np.arange(len(X)) if clouds is None else owner
        self.weights = np.bincount(self.owner, minlength=len(X)).astype(float)
        self.inner = np.zeros(len(X))
        np.maximum.at(self.inner, self.owner, self.to_clouds[np.arange(len(self.owner)), self.owner])
        self.memory = math.inf if params.get("memory") is None else params["memory"]
        self.window, self.half_life = params.get("window", math.inf), params.get("half_life", math.inf)
        self.initial, self.slack = params.get("initial_radius", 1e-20), params.get("slack", 0.0)
        self.times = np.arange(len(X), dtype=float) if times is None else times
        self.remembered = {}, [], self.initial, math.inf, -1

    def learn(self, n, **how):
        """Learn one arrival with all that belongs to it."""
        one = slice(n, n + 1)
        if min(self.window, self.half_life) < math.inf:
            how["times"] = self.times[one].copy()
        if len(self.owner) > len(self.rows.X):
            how["weights"], how["spreads"] = self.weights[one].copy(), self.inner[one].copy()
        return self.rows.learn(n, n + 1, nearest_before=True, **how)

    def mass_of(self, n):
        """What each arrival weighs now."""
        return self.weights[:n] * np.exp2((self.times[:n] - self.times[n - 1]) / self.half_life)

    def certain(self, n):
        """Whether each of the arrivals must be remembered."""
        if self.half_life < math.inf:
            return self.mass_of(n) >= 1 / 128 * (1 + 1e-9)
        return self.times[:n] + self.window > self.times[n - 1]

    def possible(self, n):
        """Whether each of the arrivals may be remembered."""
        return self.times[n - 1] - self.times[:n] <= 1.125 * self.window * (1 + 1e-12)

    def check(self):
        stream = self.rows.stream
        arrivals, masses, landmarks = stream.arrivals(), stream.masses(), stream.landmark_rows()
        rows = np.flatnonzero(stream.cells() >= 0)  # after a long pause masses may be too small for a number
        assert (masses[rows] >= 0).all()
        assert np.count_nonzero(masses) == np.count_nonzero(masses[rows])
        stored, marks = arrivals[rows], arrivals[landmarks]
        assert stream.n_stored == len(arrivals) == len(masses)
        assert len(rows) <= self.memory
        assert (np.diff(arrivals) > 0).all()
        assert 0 <= arrivals[0] <= arrivals[-1] < stream.seen
        assert 0 < len(landmarks) <= self.m
        assert (np.diff(landmarks) > 0).all()
        if self.rows.source is None:
            np.testing.assert_array_equal(stream.points(np.arange(len(arrivals))), self.rows.X[arrivals])
        else:
            assert self.rows.source.points == arrivals.tolist()
        self.check_cells(rows, stored, marks)
        self.check_masses(masses[rows])
        self.check_bounds(stored, marks, masses[rows], stream.spreads()[rows])
        self.check_events(marks)

    def check_cells(self, rows, stored, marks):
        """Every stored point is in the cell of its nearest landmark, and within the radius unless it is held."""
        stream = self.rows.stream
        cells = np.full(stream.n_stored, -1)
        cells[rows] = self.reduced[np.ix_(stored, marks)].argmin(axis=1)
        np.testing.assert_array_equal(stream.cells(), cells)
        reach = self.D[np.ix_(stored, marks)].min(axis=1)
        assert stream.covering_radius == reach.max()
        assert np.count_nonzero(reach > stream.radius) <= 31 * self.gated
        assert stream.radius >= self.initial
        if len(marks) < self.m and not self.slack:
            assert stream.radius == self.initial
        by_cell = np.bincount(cells[rows], weights=stream.masses()[rows], minlength=len(marks))
        np.testing.assert_allclose(stream.landmark_masses(), by_cell, rtol=1e-12)

    def check_masses(self, masses):
        n = self.rows.stream.seen
        least, most = (self.mass_of(n)[which].sum() for which in (self.certain(n), self.possible(n)))
        rounding = 0.0 if self.half_life == math.inf else 1e-9
        assert least * (1 - rounding) <= masses.sum() <= most * (1 + rounding)

    def check_bounds(self, stored, marks, masses, spreads):
        """No tolerance: distances as they are computed are within the bounds."""
        stream = self.rows.stream
        assert stream.resolution == spreads.max()
        bound = (self.D[np.ix_(stored, marks)].min(axis=1) + spreads).max()
        assert bound <= stream.coverage_bound <= bound * (1 + 1e-9)
        seen = self.owner < stream.seen
        certain, possible = (
            np.flatnonzero(seen)[which(stream.seen)[self.owner[seen]]] for which in (self.certain, self.possible)
        )
        to_stored = self.to_clouds[np.ix_(certain, stored)]
        assert (to_stored.min(axis=1) <= stream.resolution).all()
        assert (to_stored <= spreads).any(axis=1).all()
        assert (self.to_clouds[np.ix_(certain, marks)].min(axis=1) <= stream.coverage_bound).all()
        if self.half_life == math.inf:  # as many points lie within its spread as a stored point represents
            assert ((self.to_clouds[np.ix_(possible, stored)] <= spreads).sum(axis=0) >= masses).all()

    def check_events(self, marks):
        """The landmarks are those that came and have not left."""
        stream, there = self.rows.stream, set()
        for arrival, kind, came, left, before, after in stream.events():
            assert kind in ("added", "replaced", "widened", "forgotten")
            assert (came is None) == (kind == "forgotten")
            assert (left is None) == (kind == "added")
            assert (kind == "widened") == (came == left)
            assert arrival < stream.seen
            assert min(before, after) >= self.initial
            there = (there | {came}) - {left, None}
        assert sorted(there) == marks.tolist()
        assert stream.n_replacements == sum(event[1] == "replaced" for event in stream.events())

    def check_arrival(self, found):
        """What became of the last arrival, where nothing expires: it is stored, or has joined a stored point."""
        stream, before, marks, reach, limit, version = self.rows.stream, *self.remembered
        self.remember()
        n, (now, marks_now, *_) = stream.seen - 1, self.remembered
        distance = self.D[n, marks].min(initial=math.inf)
        nearest = marks[int(self.reduced[n, marks].argmin())] if marks else -1
        assert [array.tolist() for array in found] == [[nearest], [distance]]
        if now.keys() == before.keys():  # it has joined a stored point, and nothing else has merged
            (joined,) = [y for y in now if now[y][0] != before[y][0]]
            widened = [event[0] for event in stream.events()[-1:]] == [n]  # so that points merge, as it has at once
            assert distance <= limit or widened
            assert now[joined][0] == before[joined][0] + self.weights[n]
            assert self.D[n, joined] <= max(reach, stream.radius)
            assert now[joined][1] >= self.D[n, joined] + self.inner[n]
        if marks_now != marks or list(now)[: len(before)] != list(before):
            assert stream.version != version

    def remember(self):
        stream = self.rows.stream
        arrivals = stream.arrivals().tolist()
        stored = dict(zip(arrivals, zip(stream.masses(), stream.spreads(), strict=True), strict=True))
        limit = stream.radius * (1 + self.slack) * (1 + 1e-12 * bool(self.slack)) if not self.gated else math.inf
        marks = [arrivals[row] for row in stream.landmark_rows()]
        self.remembered = stored, marks, stream.radius, limit, stream.version


def measured(*natively):
    """Parameters of a test: natively by some metrics, and by a source."""
    pairs = [(metric, True) for metric in natively] + [("cityblock", False)]
    ids = [*natively, "source"]
    return pytest.mark.parametrize(("metric", "native"), pairs, ids=ids)


DRAWN = st.fixed_dictionaries(
    {"kind": st.sampled_from(KINDS), "seed": SEEDS, "d": st.sampled_from(WIDTHS), "m": st.integers(1, 3)}
)
SLACKS = st.sampled_from([0.0, 0.0, 0.1])
# Few stored points per landmark, some more, and so many that cells get crowded.
MEMORIES = st.sampled_from([lambda m: 16 * m, lambda m: 16 * m + 5, lambda m: 16 * m + 40, lambda m: 56 * m])


def points_of(drawn, metric, n):
    return suited(make(drawn["kind"], n, drawn["d"], drawn["seed"]), metric)


@measured(*TRIANGLE)
@given(drawn=DRAWN, memory=MEMORIES, slack=SLACKS)
@few
def test_bounded_memory_keeps_its_promises_after_every_arrival(metric, native, drawn, memory, slack):
    X, m = points_of(drawn, metric, 160), drawn["m"]
    promises = Promises(Rows(X, metric, native=native, n_landmarks=m, memory=memory(m), slack=slack))
    for n in range(len(X)):
        promises.check_arrival(promises.learn(n))
        promises.check()


@pytest.mark.parametrize("metric", ["euclidean", "cityblock"])
@given(drawn=DRAWN, often=st.sampled_from([0.0, 0.05, 0.5]))
@few
def test_a_gate_keeps_the_promises_of_bounded_memory(metric, drawn, often):
    X, m = points_of(drawn, metric, 150), drawn["m"]
    promises = Promises(Rows(X, metric, n_landmarks=m, memory=16 * m + 20), gated=True)
    gate = Signals(drawn["seed"], often)
    for n in range(len(X)):
        promises.check_arrival(promises.learn(n, gate=gate))
        promises.check()


@pytest.mark.parametrize("rule_of", ["memory", "window", "half_life"])
@pytest.mark.parametrize("metric", ["euclidean", "cityblock"])
@given(drawn=DRAWN, size=st.sampled_from([0.0, 0.01, 1.0]))
@few
def test_weighted_arrivals_keep_their_promises(metric, rule_of, drawn, size):
    X, m, rng = points_of(drawn, metric, 90), drawn["m"], np.random.default_rng(drawn["seed"])
    owner = np.repeat(np.arange(len(X)), rng.integers(1, 6, len(X)))
    clouds = X[owner] + size * rng.standard_normal((len(owner), X.shape[1]))
    params = {"memory": {"memory": 16 * m}, "window": {"window": 50.0}, "half_life": {"half_life": 9.0}}[rule_of]
    promises = Promises(Rows(X, metric, n_landmarks=m, **params), clouds=clouds, owner=owner)
    for n in range(len(X)):
        nearest = promises.learn(n)
        if rule_of == "memory":
            promises.check_arrival(nearest)
        promises.check()


def moments(n, timed, seed):
    """Arrival numbers, or times with pauses, some of them equal."""
    if not timed:
        return np.arange(n, dtype=float)
    pauses, often = [0.0, 0.25, 1.0, 20.0, 1e6], [0.2, 0.4, 0.37, 0.02, 0.01]
    return np.cumsum(np.random.default_rng(seed).choice(pauses, n, p=often))


@measured("euclidean", "hamming")
@pytest.mark.parametrize("how", ["window", "half_life"])
@given(drawn=DRAWN, length=st.integers(1, 120), timed=st.booleans(), memory=MEMORIES)
@few
def test_bounded_memory_keeps_its_promises_where_points_expire(metric, how, native, drawn, length, timed, memory):
    X, m = points_of(drawn, metric, 150), drawn["m"]
    rows = Rows(X, metric, native=native, n_landmarks=m, memory=memory(m), **{how: float(length)})
    promises = Promises(rows, times=moments(len(X), timed, drawn["seed"]))
    for n in range(len(X)):
        promises.learn(n)
        promises.check()


@measured("euclidean", "cityblock")
@pytest.mark.parametrize("how", ["window", "half_life"])
@given(drawn=DRAWN, length=st.integers(1, 60), timed=st.booleans(), memory=st.sampled_from([200, None]), slack=SLACKS)
@few
def test_where_nothing_merges_expiry_is_as_the_oracle_says_after_every_arrival(
    metric, how, native, drawn, length, timed, memory, slack
):
    X, m = points_of(drawn, metric, 130), drawn["m"]
    times, length = moments(len(X), timed, drawn["seed"]), float(length)
    D = naive.reduced_distances(X, X, metric).tolist()
    squared = metric == "euclidean"
    oracle = naive.Forgetful(m, lambda r, s: D[r][s], naive.reduced_radius(1e-20, metric), slack=slack, squared=squared)
    rows = Rows(X, metric, native=native, n_landmarks=m, memory=memory, slack=slack, **{how: length})
    stream = rows.stream
    for n, now in enumerate(times.tolist()):
        nearest = rows.learn(n, n + 1, times=times[n : n + 1], nearest_before=True)
        here = np.flatnonzero(stream.cells() >= 0)
        remembered = stream.arrivals()[here]
        weights = np.exp2(-(now - times[remembered]) / (length if how == "half_life" else math.inf))
        weights = np.maximum(weights, 2.0**-1022)  # a weight that underflows is still remembered
        gone = set(oracle.remembered) - set(remembered.tolist())
        if how == "window":
            assert gone == oracle.expired(now, length)
        else:
            assert all(2.0 ** (-(now - times[y]) / length) < 1 / 128 * (1 + 1e-9) for y in gone)
            if n >= 64:  # by then it has been looked at
                assert (times[remembered] >= times[n - 64] - 7 * length * (1 + 1e-9)).all()
        assert_nearest_before(nearest, oracle.add_at(n, now, gone), metric)
        cells = oracle.cells()
        place = {y: k for k, cell in enumerate(cells.values()) for y in cell}
        assert remembered.tolist() == oracle.remembered
        assert stream.cells()[here].tolist() == [place[y] for y in oracle.remembered]
        assert stream.arrivals()[stream.landmark_rows()].tolist() == oracle.landmarks
        assert stream.radius == naive.true(oracle.rho, metric)
        assert stream.covering_radius == naive.true(oracle.covering_radius(), metric)
        np.testing.assert_allclose(stream.masses()[here], weights, rtol=1e-9)
        mass = dict(zip(remembered.tolist(), weights.tolist(), strict=True))
        expected = [sum(mass[y] for y in cell) for cell in cells.values()]
        np.testing.assert_allclose(stream.landmark_masses(), expected, rtol=1e-9)
        assert stream.resolution == 0.0
    found = [tuple(-1 if x is None else x for x in event[:4]) for event in stream.events()]
    assert sorted(found) == sorted(tuple(-1 if x is None else x for x in event[:4]) for event in oracle.events)


@given(seed=SEEDS, d=st.integers(1, 2), m=st.integers(2, 6), window=st.integers(4, 40))
@some
def test_ties_go_to_the_earlier_landmark_also_where_it_comes_later(seed, d, m, window):
    """Where landmarks leave, points take their places that may have arrived before other landmarks."""
    X = np.random.default_rng(seed).integers(0, 12 if d == 1 else 5, (90, d)).astype(float)
    times, D = np.arange(90.0), naive.reduced_distances(X, X).tolist()
    oracle = naive.Forgetful(m, lambda r, s: D[r][s], naive.squared_radius(0.1), squared=True)
    rows = Rows(X, "euclidean", n_landmarks=m, window=float(window), initial_radius=0.1)
    for n in range(len(X)):
        oracle.add_at(n, times[n], oracle.expired(times[n], window))
        rows.learn(n, n + 1, times=times[n : n + 1])
        cells = {y: k for k, cell in enumerate(oracle.cells().values()) for y in cell}
        found = rows.stream.cells()
        assert rows.stream.arrivals()[rows.stream.landmark_rows()].tolist() == oracle.landmarks
        assert found[found >= 0].tolist() == [cells[y] for y in oracle.remembered]
        assert rows.stream.radius == math.sqrt(oracle.rho)


def test_the_radius_never_falls_below_the_initial_one():
    """A landmark that is forgotten itself leaves, and all that is remembered are landmarks."""
    X, times = make("stationary", 100, 1, 0), moments(100, timed=True, seed=0)
    rows = Rows(X, "euclidean", n_landmarks=2, window=2.0, initial_radius=0.01)
    for n in range(100):
        rows.learn(n, n + 1, times=times[n : n + 1])
        assert rows.stream.radius >= 0.01


@pytest.mark.parametrize("far", [0.0, 1e3])
def test_masses_are_numbers_after_a_pause_of_a_million_half_lives(far):
    """Also where the next point is far away, so that much merges while the weights of all others vanish."""
    X, times = make("stationary", 120, 1, 0), np.arange(120, dtype=float)
    X[100:], times[100:] = X[100:] + far, times[100:] + 1e8
    promises = Promises(Rows(X, "euclidean", n_landmarks=1, half_life=64.0, memory=16), times=times)
    for n in range(120):
        promises.learn(n)
        promises.check()


@pytest.mark.parametrize("metric", TRIANGLE)
@given(stream=streams(longest=64), slack=st.sampled_from([0.0, 0.1]))
@few
def test_up_to_the_memory_nothing_is_merged(metric, stream, slack):
    X = suited(stream[0], metric)
    bounded, unbounded = (Rows(X, metric, n_landmarks=4, memory=memory, slack=slack) for memory in (64, None))
    bounded.learn(0, len(X))
    unbounded.learn(0, len(X))
    assert observe(bounded.stream) == observe(unbounded.stream)


def test_distances_that_have_lost_their_digits_end_somewhere():
    X = np.outer(np.arange(1500), [1, 0.5, -0.3, 0.2, 0.7]) * 1.7e-160
    rows = Rows(X, "euclidean", n_landmarks=3, memory=48)
    rows.learn(0, 1500)
    assert rows.stream.landmark_masses().sum() == 1500
    assert rows.stream.n_stored <= 48


def test_crowded_cells_do_not_get_finer_only_to_get_coarser_again():
    X, resolutions = np.random.default_rng(0).standard_normal((12_000, 3)), []
    rows = Rows(X, "euclidean", n_landmarks=4, memory=2000, window=4000.0)
    rows.learn(0, 6000, times=np.arange(6000.0))
    for n in range(6000, len(X), 10):
        rows.learn(n, n + 10, times=np.arange(n, n + 10.0))
        resolutions.append(rows.stream.state()["resolution"])
    assert (rows.stream.cells() >= 0).sum() > 48 * 4
    assert (np.diff(resolutions) < 0).sum() + (np.diff(resolutions) > 0).sum() < 6


def test_what_is_stored_does_not_grow_with_the_stream():
    X = make("walk", 20_000, 3, 0)
    for params in ({"memory": 100}, {"window": 100.0}, {"half_life": 10.0}):
        rows = Rows(X, "euclidean", n_landmarks=5, **params)
        expires = "memory" not in params
        for n in range(0, len(X), 1000):
            rows.learn(n, n + 1000, **({"times": np.arange(n, n + 1000.0)} if expires else {}))
            assert rows.stream.n_stored < 1000
            assert (rows.stream.masses() > 0).sum() <= (100 if "half_life" not in params else 7 * 10 + 64)


@pytest.mark.parametrize("m", [1, 2, 5])
def test_a_window_with_the_least_memory_merges_where_no_merge_is_cheap(m):
    X = np.random.default_rng(m).standard_t(0.3, (600, 3))  # over many orders of magnitude: hardly a pair is close
    rows = Rows(X, "euclidean", n_landmarks=m, window=48.0 * m, memory=16 * m)
    for n in range(600):
        rows.learn(n, n + 1, times=np.array([2.0 * n]))
        masses = rows.stream.masses()
        assert (masses > 0).sum() <= 16 * m
        assert masses.sum() >= min(n + 1, 24 * m)


def test_the_resolution_is_of_points_that_are_remembered():
    rows = Rows(make("clusters", 400, 3, 0), "euclidean", n_landmarks=4, window=90.0, memory=64)
    rows.learn(0, 400, times=np.arange(400.0))
    state = rows.stream.state()
    forgotten = state["weights"] == 0
    assert forgotten.any(), "a landmark of remembered points is forgotten itself"
    state["spreads"] = np.where(forgotten, 2 * rows.stream.resolution, state["spreads"])
    restored = rows.empty()
    restored.restore(state)
    assert restored.resolution == rows.stream.resolution > 0


# --- batches, saved states and failures change nothing ----------------------------------------------------------------

MODES = {
    "all": {},
    "paper": {"rule": "paper"},
    "slack": {"slack": 0.1},
    "bounded": {"memory": 64},
    "bounded slack": {"memory": 64, "slack": 0.1},
    "window": {"window": 50.0},
    "bounded window": {"window": 90.0, "memory": 64},
    "half-life": {"half_life": 20.0},
    "bounded half-life": {"half_life": 40.0, "memory": 64},
    "gate": {},
    "bounded gate": {"memory": 64},
}


def how_to_learn(mode, first, last, gate=None):
    how = {"gate": gate} if "gate" in mode else {}
    if "window" in mode or "half-life" in mode:
        how["times"] = np.arange(first, last, dtype=float)
    return how


def is_plain(value):
    """Whether a checkpoint can hold it."""
    if isinstance(value, dict):
        return all(isinstance(key, str) and is_plain(part) for key, part in value.items())
    if isinstance(value, list | tuple):
        return all(map(is_plain, value))
    if isinstance(value, np.ndarray):
        return value.dtype.kind in "biuf"
    return value is None or isinstance(value, bool | int | float | str)


@measured("euclidean", "cityblock")
@pytest.mark.parametrize("mode", MODES)
@given(
    kind=st.sampled_from(KINDS),
    seed=SEEDS,
    d=st.sampled_from(WIDTHS),
    cuts=st.lists(st.integers(1, 259), max_size=4),
    restores=st.booleans(),
)
@few
def test_batch_splits_and_saved_states_change_nothing(mode, metric, native, kind, seed, d, cuts, restores):
    X = make(kind, 260, d, seed)
    at_once, in_parts = (Rows(X, metric, native=native, n_landmarks=4, **MODES[mode]) for _ in range(2))
    nearest = at_once.learn(0, 260, nearest_before=True, **how_to_learn(mode, 0, 260, Signals(seed, 0.05)))
    gate, parts, ends = Signals(seed, 0.05), [], [*sorted(set(cuts)), 260]
    for first, last in zip([0, *ends], ends, strict=False):
        parts.append(in_parts.learn(first, last, nearest_before=True, **how_to_learn(mode, first, last, gate)))
        if restores:
            restored = in_parts.restored()
            assert observe(restored.stream) == observe(in_parts.stream)
            assert same(restored.stream.state(), in_parts.stream.state())
            in_parts = restored
    assert observe(in_parts.stream) == observe(at_once.stream)
    for whole, pieces in zip(nearest, zip(*parts, strict=True), strict=True):
        np.testing.assert_array_equal(np.concatenate(pieces), whole, strict=True)


@pytest.mark.parametrize("mode", MODES)
def test_a_state_is_plain_and_a_copy(mode):
    rows = Rows(make("walk", 400, 3, 0), "euclidean", n_landmarks=4, **MODES[mode])
    gate = Signals(0, 0.05)
    rows.learn(0, 300, **how_to_learn(mode, 0, 300, gate))
    state = rows.stream.state()
    before = copy.deepcopy(state)
    assert is_plain(state)
    restored = rows.empty()
    restored.restore(state)
    for stream in (rows.stream, restored):
        stream.learn(rows.X[300:], **how_to_learn(mode, 300, 400, copy.deepcopy(gate)))
        assert same(state, before)
    assert observe(restored) == observe(rows.stream)


@pytest.mark.parametrize("fresh", [True, False], ids=["first batch", "later batch"])
@pytest.mark.parametrize("kind", ["walk", "grid"])
@pytest.mark.parametrize("mode", [mode for mode in MODES if "gate" not in mode])
def test_a_source_that_fails_at_any_call_changes_nothing(mode, kind, fresh):
    X, begin = make(kind, 260, 2, 3), 0 if fresh else 140
    rows, twin = (Rows(X, "cityblock", native=False, n_landmarks=4, **MODES[mode]) for _ in range(2))
    if not fresh:
        rows.learn(0, begin, **how_to_learn(mode, 0, begin))
        twin.learn(0, begin, **how_to_learn(mode, 0, begin))
    how = how_to_learn(mode, begin, 260)
    look = (lambda: rows.stream.seen) if fresh else lambda: (observe(rows.stream), rows.stream.state())
    before, points = look(), list(rows.source.points)
    failures = 0
    for fails_at in range(1, 61):
        rows.source.calls, rows.source.fails_at = 0, fails_at
        try:
            rows.learn(begin, 260, **how)
        except ZeroDivisionError:
            failures += 1
            assert same(look(), before)
            assert rows.source.points == points
        else:
            break
    assert failures >= 3
    rows.source.fails_at = math.inf
    if rows.stream.seen == begin:
        rows.learn(begin, 260, **how)
    twin.learn(begin, 260, **how)
    assert observe(rows.stream) == observe(twin.stream)
    assert same(rows.stream.state(), twin.stream.state())  # which drops what is forgotten
    assert rows.source.points == twin.source.points


@pytest.mark.parametrize("error", [ZeroDivisionError, KeyboardInterrupt])
def test_an_interrupt_within_a_source_undoes_the_batch(error):
    class Interrupted(Source):
        def pairs(self, rows, columns):
            if self.fails_at < math.inf:
                raise error
            return super().pairs(rows, columns)

    X = make("walk", 100, 2, 0)
    source = Interrupted(naive.distances(X, X))
    stream = Stream(source, n_landmarks=4)
    source.batch = np.arange(50)
    stream.learn(50)
    before, source.fails_at, source.batch = stream.state(), 1, np.arange(50, 100)
    with pytest.raises(error):
        stream.learn(50)
    assert same(stream.state(), before)
    assert source.points == list(range(50))


@pytest.mark.parametrize("params", [{}, {"memory": 32}, {"rule": "paper"}], ids=str)
def test_numbers_that_fail_are_undone_by_a_metric_that_may_fail(params):
    X = make("walk", 300, 3, 1)
    rows, twin = (Rows(X, "minkowski", n_landmarks=2, **params) for _ in range(2))
    for one in (rows, twin):
        one.learn(0, 100)
    before = rows.stream.state()
    with pytest.raises(ValueError, match="no finite distance"):
        rows.stream.learn(np.vstack([X[100:250], np.full((1, 3), 1e300)]))
    assert same(rows.stream.state(), before)
    rows.learn(100, 300)
    twin.learn(100, 300)
    assert observe(rows.stream) == observe(twin.stream)


def test_a_stream_that_is_left_half_learnt_says_so():
    """Nothing of Euclid's can fail but memory, so nothing is saved; rows that another thread changes stand for it."""
    landmarks = OnlineLandmarks(4).fit(make("walk", 100, 3, 1))
    stream = landmarks._engine.stream
    with pytest.raises(ValueError, match="no finite distance"):
        stream.learn(np.full((8, 3), np.nan))
    assert stream.broken
    for ask in (lambda: landmarks.radius_, lambda: landmarks.partial_fit(np.eye(3)), lambda: pickle.dumps(landmarks)):
        with pytest.raises(RuntimeError, match=r"interrupted while it was learnt .*: load the last checkpoint"):
            ask()
    assert landmarks.fit(np.eye(3)).n_samples_seen_ == 3


@pytest.mark.parametrize("params", [{}, {"memory": 64}], ids=str)
def test_a_source_that_fails_at_any_call_of_a_row_undoes_it(params):
    X = make("stationary", 200, 2, 1)
    rows, failures = Rows(X, "euclidean", native=False, n_landmarks=3, **params), 0
    for at in range(len(X)):
        before, points = (rows.stream.state() if at else None), list(rows.source.points)
        for fails_at in range(1, 20 if at > 5 else 1):
            rows.source.calls, rows.source.fails_at = 0, fails_at
            try:
                rows.learn(at, at + 1)
            except ZeroDivisionError:
                failures += 1
                assert not rows.stream.broken
                assert same(rows.stream.state(), before)
                assert rows.source.points == points
            else:
                break
        rows.source.fails_at = math.inf
        if rows.stream.seen == at:
            rows.learn(at, at + 1)
    assert failures > 400


def test_a_metric_and_its_stream_that_refer_to_each_other_are_collected():
    class Owner:
        def distance(self, x, y):
            return float(abs(x - y).sum())

    owner = Owner()
    owner.landmarks = OnlineLandmarks(3, metric=owner.distance).fit(make("walk", 20, 2, 1))
    found = weakref.ref(owner)
    del owner
    gc.collect()
    assert found() is None


def test_a_memory_beyond_all_numbers_of_rows_is_no_limit():
    rows = Rows(make("walk", 200, 2, 1), "euclidean", n_landmarks=3, memory=2**40)
    rows.learn(0, 180)
    state = rows.stream.state() | {"resolution": 1e-3}  # of a checkpoint that somebody made up
    rows.stream = rows.empty()
    rows.stream.restore(state)
    rows.learn(180, 200)
    assert rows.stream.seen == 200


@pytest.mark.parametrize("native", [True, False], ids=["native", "source"])
@pytest.mark.parametrize("mode", ["gate", "bounded gate"])
def test_a_gate_that_fails_at_any_call_changes_nothing(mode, native):
    X = make("walk", 260, 2, 3)
    rows, twin = (Rows(X, "cityblock", native=native, n_landmarks=4, **MODES[mode]) for _ in range(2))
    rows.learn(0, 140, gate=Signals(1, 0.1))
    twin.learn(0, 140, gate=Signals(1, 0.1))
    before, seen = rows.stream.state(), observe(rows.stream)
    for fails_at in range(1, 61):
        with pytest.raises(ZeroDivisionError, match="no signal today"):
            rows.learn(140, 260, gate=Signals(2, 0.2, fails_at))
        assert same(rows.stream.state(), before)
        assert observe(rows.stream) == seen
    rows.learn(140, 260, gate=Signals(2, 0.2))
    twin.learn(140, 260, gate=Signals(2, 0.2))
    assert observe(rows.stream) == observe(twin.stream)


@pytest.mark.parametrize("mode", [mode for mode in MODES if "gate" not in mode])
@given(kind=st.sampled_from(KINDS), seed=SEEDS, d=st.sampled_from(WIDTHS), scale=st.sampled_from([1.0, 1e-22, 1e17]))
@few
def test_single_precision_is_learnt_as_its_values(mode, kind, seed, d, scale):
    """Also where squares are beyond what single precision can hold, and where double precision follows."""
    X = (make(kind, 300, d, seed) * scale).astype(np.float32)
    single, double = (Rows(Z, "euclidean", n_landmarks=4, **MODES[mode]) for Z in (X, X.astype(np.float64)))
    for first, last in ((0, 150), (150, 200)):
        single.learn(first, last, **how_to_learn(mode, first, last))
        double.learn(first, last, **how_to_learn(mode, first, last))
        assert observe(single.stream) == observe(double.stream)
    single = single.restored()
    single.X = single.X.astype(np.float64)
    single.learn(200, 300, **how_to_learn(mode, 200, 300))
    double.learn(200, 300, **how_to_learn(mode, 200, 300))
    assert observe(single.stream) == observe(double.stream)
    stored = np.arange(double.stream.n_stored)
    if not {"window", "half-life"} & set(mode.split()):
        np.testing.assert_array_equal(single.stream.points(stored), double.stream.points(stored), strict=True)

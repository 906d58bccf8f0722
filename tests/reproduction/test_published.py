"""The as-published rule: against its literal form after every arrival, and against the numbers in print."""

import gzip
import math
import os
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial.distance import cdist
from sklearn.datasets import make_s_curve
from threadpoolctl import threadpool_limits

from driftmap.embedding.lmds import classical_mds, place
from reproduction.published import _Stream, published_landmarks

# Table 1 of the paper, column Online, k = 1, 2, 3; None is printed as "<0.01".
PRINTED = {
    "s_curve": {"radius": 0.94, "sigma_L": [0.40, 0.15, None], "sigma": [0.33, 0.16, None]},
    "spy": {"radius": 0.94, "sigma_L": [0.15, 0.05, 0.02], "sigma": [0.09, 0.04, 0.02]},
    "hospital": {"radius": 22.79, "sigma_L": [0.16, 0.06, None], "sigma": [0.22, 0.11, 0.07]},
}


def literal(X, m, rho=1e-20):
    """The rule word by word, with every neighbour list and the whole list of pairs.

    Yields (L, rho, newcomer or None, neighbour lists) after every arrival.
    """
    d = [[math.dist(x, y) for y in X] for x in X]
    neighbours = {i: {j for j in range(m) if j == i or d[i][j] < rho} for i in range(m)}
    pairs = sorted((d[i][j], i, j) for j in range(m) for i in range(j) if d[i][j] >= rho)
    L = set(range(m))

    def only_by(z):
        if neighbours[z] <= {z}:
            return {z}
        if neighbours[z] <= L:
            return set()
        return neighbours[z].difference(*(neighbours[other] for other in L - {z}))

    def remove(r, s):
        for z in (r, s):
            if z in L and not only_by(z):
                return z
        return None

    for x in range(m, len(X)):
        neighbours[x] = {j for j in range(x) if d[x][j] < rho}
        for j in neighbours[x]:
            neighbours[j].add(x)
        came = None
        if not neighbours[x] & L:
            pairs = sorted(pairs + [(d[j][x], j, x) for j in range(x) if d[j][x] >= rho])
            degree = {i: len(neighbours[i] - {i}) for i in neighbours}
            n_edges = sum(degree.values()) // 2
            came = x
            if degree[x] > 2 * math.sqrt(n_edges):
                came = min(j for j in neighbours[x] if degree[j] <= math.sqrt(n_edges))
            L.add(came)
            steps = iter(pairs)
            rho, r, s = next(steps)
            while r not in L and s not in L:
                rho, r, s = next(steps)
                neighbours[r].add(s)
                neighbours[s].add(r)
            while (left := remove(r, s)) is None:
                rho, a, b = next(steps)
                neighbours[a].add(b)
                neighbours[b].add(a)
            L.remove(left)
            pairs = [pair for pair in pairs if pair[0] >= rho]
        yield set(L), rho, came, neighbours


def replay(run, n, m, rho=1e-20):
    """What the histories say about L, rho and the newcomer after every arrival."""
    L = set(range(m))
    radii = dict(zip(*map(np.ndarray.tolist, run.radius_history), strict=True))
    changes = {x: (came, left) for x, came, left in zip(*map(np.ndarray.tolist, run.landmark_history), strict=True)}
    for x in range(m, n):
        came, left = changes.get(x, (None, None))
        L = (L | {came}) - {left} if x in changes else L
        rho = radii.get(x, rho)
        yield set(L), rho, came


def assert_same_after_every_arrival(X, m, rho=1e-20):
    run = published_landmarks(X, m, rho)
    states = list(literal(X, m, rho))
    for x, (expected, got) in enumerate(zip(states, replay(run, len(X), m, rho), strict=True), start=m):
        assert (got[0], got[2]) == (expected[0], expected[2]), f"arrival {x}"
        assert got[1] == pytest.approx(expected[1], rel=1e-12), f"arrival {x}"
    assert run.landmark_indices.tolist() == sorted(states[-1][0])
    assert run.radius == pytest.approx(states[-1][1], rel=1e-12)
    return run


def stream(kind, n, rng):
    d = int(rng.integers(1, 5))
    if kind == "stationary":
        return rng.normal(size=(n, d))
    if kind == "walk":
        return np.cumsum(rng.normal(size=(n, d)), axis=0)
    if kind == "drifting line":
        return 0.1 * rng.normal(size=(n, d)) + np.linspace(0, 5, n)[:, None]
    return rng.integers(0, 6, size=(n, d)).astype(float)


@settings(derandomize=True, max_examples=120, deadline=None)
@given(
    kind=st.sampled_from(["stationary", "walk", "drifting line", "lattice with duplicates"]),
    m=st.integers(2, 9),
    seed=st.integers(0, 10**6),
)
def test_equals_the_literal_rule_after_every_arrival(kind, m, seed):
    assert_same_after_every_arrival(stream(kind, 70, np.random.default_rng(seed)), m)


@settings(derandomize=True, max_examples=40, deadline=None)
@given(m=st.integers(2, 6), radius=st.floats(0.2, 2.0), seed=st.integers(0, 10**6))
def test_equals_the_literal_rule_from_a_large_initial_radius(m, radius, seed):
    assert_same_after_every_arrival(stream("walk", 60, np.random.default_rng(seed)), m, radius)


@settings(derandomize=True, max_examples=20, deadline=None)
@given(kind=st.sampled_from(["walk", "lattice with duplicates"]), m=st.integers(2, 9), seed=st.integers(0, 10**6))
def test_lists_that_are_worked_out_equal_the_literal_ones(kind, m, seed):
    # Of no consequence but in lines 1-6, which hardly any stream puts to the test.
    X = stream(kind, 50, np.random.default_rng(seed))
    state = _Stream(X, m, 1e-20)
    for x, (_, _, came, neighbours) in enumerate(literal(X, m), start=m):
        if came is None:
            continue
        assert state.next_uncovered() == x
        state.replace(x)
        for y in range(x + 1):
            assert set(np.flatnonzero(state._neighbour_list(y))) == neighbours[y]
            assert state._degree(y) == len(neighbours[y] - {y})
        assert state._count_edges() == sum(len(neighbours[y] - {y}) for y in neighbours) / 2


def hub_and_spokes(n, nearest):
    """Spokes, each covered by its own landmark, far from each other; then the hub: deg = n and |E| = 2 n."""
    reach = np.full(n, 1.7)
    reach[nearest] = 1.6
    return np.concatenate([np.diag(reach), 0.9 * np.eye(n), np.zeros((1, n))])


@pytest.mark.parametrize("seed", range(10))
@pytest.mark.parametrize(("n", "came"), [(8, 16), (9, 9), (10, 10)], ids=["8 = 2 sqrt(16)", "9", "10"])
def test_an_arrival_of_high_degree_lets_a_neighbour_join(n, came, seed):
    later = 2 * np.random.default_rng(seed).normal(size=(40, n))
    run = assert_same_after_every_arrival(np.concatenate([hub_and_spokes(n, nearest=0), later]), n, 1.0)
    assert (run.landmark_history.arrivals[0], run.landmark_history.came[0]) == (2 * n, came)


def test_running_out_of_pairs_is_an_error_that_names_the_arrival():
    # The landmark nearest to the hub keeps its spoke to itself: that spoke's other pairs were never listed.
    with pytest.raises(RuntimeError, match="arrival 20"):
        published_landmarks(hub_and_spokes(10, nearest=3), 10, 1.0)
    with pytest.raises(RuntimeError, match="StopIteration"):
        list(literal(hub_and_spokes(10, nearest=3), 10, 1.0))


def test_histories_lead_from_the_first_points_to_the_result():
    run = published_landmarks(stream("walk", 200, np.random.default_rng(0)), 7)
    assert np.all(np.diff(run.radius_history.radii) > 0)
    assert run.radius_history.radii[-1] == run.radius
    assert set(run.radius_history.arrivals) <= set(run.landmark_history.arrivals)
    *_, (landmarks, radius, _) = replay(run, 200, 7)
    assert sorted(landmarks) == run.landmark_indices.tolist()
    assert radius == run.radius


def test_blocks_do_not_change_the_result(monkeypatch):
    X = stream("walk", 150, np.random.default_rng(3))
    whole = published_landmarks(X, 6)
    monkeypatch.setattr("reproduction.published.BLOCK_DISTANCES", 16)
    for a, b in zip(whole.landmark_history, published_landmarks(X, 6).landmark_history, strict=True):
        np.testing.assert_array_equal(a, b)


def test_a_stream_no_longer_than_m_is_all_landmarks():
    run = published_landmarks(np.arange(6.0).reshape(3, 2), 5)
    assert run.landmark_indices.tolist() == [0, 1, 2]
    assert run.radius == 1e-20
    assert len(run.radius_history.arrivals) == len(run.landmark_history.arrivals) == 0


@pytest.mark.parametrize(
    ("X", "m", "radius", "message"),
    [
        (np.zeros(3), 2, 1.0, "two dimensions"),
        (np.full((3, 1), np.nan), 2, 1.0, "finite"),
        (np.zeros((3, 1)), 1, 1.0, "at least 2"),
        (np.zeros((3, 1)), 2, 0.0, "positive"),
    ],
)
def test_bad_input_is_named(X, m, radius, message):
    with pytest.raises(ValueError, match=message):
        published_landmarks(X, m, radius)


def data_file(name):
    folder = os.environ.get("DRIFTMAP_DATA")
    path = Path(folder or ".", name)
    if not folder or not path.is_file():
        pytest.skip(f"needs {name} in the folder named by DRIFTMAP_DATA")
    return path


def hospital_spectra():
    """Sorted Laplacian spectra of the tie-decay networks; contacts within a 20 s step count as 0 or 1."""
    with gzip.open(data_file("hospital_lyon_contacts.dat.gz"), "rt") as file:
        contacts = np.loadtxt(file, usecols=(0, 1, 2), dtype=np.int64)
    times, step = np.unique(contacts[:, 0], return_inverse=True)
    people, ends = np.unique(contacts[:, 1:], return_inverse=True)
    i, j = ends.reshape(-1, 2).T
    network = np.zeros((len(people), len(people)))
    spectra = np.empty((len(times), len(people)))
    start = np.searchsorted(step, np.arange(len(times) + 1))
    with threadpool_limits(1):  # threads only slow down eigenvalues of matrices this small
        for r in range(len(times)):
            network *= np.exp(-0.01 * (times[r] - times[max(r - 1, 0)]))
            contact = np.zeros_like(network)
            rows = slice(start[r], start[r + 1])
            contact[i[rows], j[rows]] = contact[j[rows], i[rows]] = 1.0
            network += contact
            spectra[r] = np.linalg.eigvalsh(np.diag(network.sum(axis=1)) - network)
    return spectra


def stress(X, embeddings):
    """sigma of each embedding, blocks of rows at a time: all distances of the Hospital data take 0.7 GB."""
    residual, total = np.zeros(len(embeddings)), 0.0
    for start in range(0, len(X), 500):
        rows, rest = slice(start, start + 500), slice(start, None)
        original = cdist(X[rows], X[rest])
        # Within the block every pair occurs twice, and weighs half.
        weight = np.ones_like(original)
        weight[:, : len(original)] = 0.5
        total += np.sum(weight * original**2)
        residual += [np.sum(weight * (original - cdist(Y[rows], Y[rest])) ** 2) for Y in embeddings]
    return np.sqrt(residual / total)


def assert_prints_as(run, X, printed):
    assert round(run.radius, 2) == printed["radius"]
    landmarks = X[run.landmark_indices]
    frames = [classical_mds(cdist(landmarks, landmarks), k) for k in (1, 2, 3)]
    to_landmarks = cdist(X, landmarks) ** 2
    reached = {
        "sigma_L": stress(landmarks, [mds.coordinates for mds in frames]),
        "sigma": stress(X, [place(to_landmarks, mds) for mds in frames]),
    }
    for name, values in reached.items():
        for k, value, in_print in zip((1, 2, 3), values, printed[name], strict=True):
            assert (value < 0.01) if in_print is None else (round(value, 2) == in_print), (name, k, value)


def test_s_curve_prints_as_in_the_paper():
    X, t = make_s_curve(1000, random_state=1)
    X = X[np.argsort(t)]
    run = published_landmarks(X, 100)
    assert round(run.radius, 3) == 0.942
    assert_prints_as(run, X, PRINTED["s_curve"])


def test_spy_prints_as_in_the_paper():
    table = np.genfromtxt(data_file("spy10_adjclose.csv"), delimiter=",", dtype=str, skip_header=1)
    prices = table[:, 1:].astype(float)
    X = (prices - prices.min(axis=0)) / (prices.max(axis=0) - prices.min(axis=0))
    run = published_landmarks(X, 10)
    years = np.array([date[:4] for date in table[run.landmark_indices, 0]], dtype=int)
    assert round(run.radius, 3) == 0.944
    assert np.sum(years == 2013) == 3
    assert np.sum(years >= 2018) == 7
    assert_prints_as(run, X, PRINTED["spy"])


def test_hospital_prints_as_in_the_paper():
    X = hospital_spectra()
    run = published_landmarks(X, 20)
    assert X.shape == (9453, 75)
    assert round(run.radius, 3) == 22.795
    jumps = np.argsort(np.diff(run.radius_history.radii, prepend=0.0))[-3:]
    assert sorted(run.radius_history.arrivals[jumps]) == [47, 64, 1838]
    assert_prints_as(run, X, PRINTED["hospital"])

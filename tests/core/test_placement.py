"""Placement against formulas written out here: minima of stress, affine maps, sweeps; and what the core refuses."""

import copy
import pickle
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial.distance import cdist

from driftmap import _core
from driftmap.embedding import LandmarkStress
from driftmap.embedding.stress_fit import arrange
from driftmap.embedding.stress_placer import CALL_ROWS, StressPlacer, spread_places

# --- the slow, obvious twins -----------------------------------------------------------------------------------------


def stress(y, points, d, w):
    """Weighted sum of squared residuals of one position."""
    return np.sum(w * (d - np.linalg.norm(y - points, axis=1)) ** 2)


def newton_step(y, points, d, w):
    """Newton's step to the minimum, and the least curvature."""
    gaps, lengths = y - points, np.linalg.norm(y - points, axis=1)
    q = w * d / lengths
    hessian = (w - q).sum() * np.eye(len(y)) + (gaps * (q / lengths**2)[:, None]).T @ gaps
    return np.linalg.solve(hessian, (w - q) @ gaps), np.linalg.eigvalsh(hessian)[0]


def smacof(y, points, d, w, steps=300):
    """SMACOF of a single point, from a start."""
    for _ in range(steps):
        gaps, lengths = y - points, np.linalg.norm(y - points, axis=1)
        ratios = np.divide(d, lengths, out=np.zeros_like(d), where=lengths > 0)
        y = w @ (points + ratios[:, None] * gaps) / w.sum()
    return y


def example(k=2, a=21, n=300, seed=0):
    """Fixed points, two in one place; points in and out of the map, two at fixed points; starts that are far off."""
    rng = np.random.default_rng(seed)
    positions, weights = rng.standard_normal((a, k)), rng.dirichlet(np.ones(a))
    positions[1] = positions[0]
    out = rng.choice([0.1, 1.0, 30.0, 1000.0], n, p=[0.4, 0.4, 0.1, 0.1])
    D = cdist(rng.standard_normal((n, k)) * out[:, None], positions) + rng.random((n, a))
    D[0, 0], D[1] = 0.0, cdist(positions[1:2], positions)
    start = rng.standard_normal((k, a)) / a, rng.standard_normal(k)
    return StressPlacer(positions, weights, *start, 1e-5, 500, k), D, out


def pair_stress(D, Y, w):
    return w @ (D - cdist(Y, Y)) ** 2 @ w


# --- minima ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("k", [2, 3, 5])
def test_points_come_to_rest_at_minima_as_good_as_those_of_smacof(k):
    placement, D, out = example(k)
    positions, weights = placement.positions, placement.weights
    places, ours, theirs = placement.place(D), [], []
    for y, d in zip(places, D, strict=True):
        step, curvature = newton_step(y, positions, d, weights) if d.min() > 1e-6 else (np.zeros(k), 1.0)
        assert curvature > 0
        assert np.linalg.norm(step) <= 1e-7 * max(1.0, np.linalg.norm(y))
    for y, d in zip(places[out <= 1], D[out <= 1], strict=True):
        start = placement.projection @ d**2 + placement.shift
        ours.append(stress(y, positions, d, weights))
        theirs.append(stress(smacof(start, positions, d, weights), positions, d, weights))
    assert np.mean(ours) <= 1.01 * np.mean(theirs)  # from starts that are far off, not always the same minima


def test_a_step_goes_down_outside_the_map_too():
    """Bent round the map a step along the gradient would not: it would pass the centre."""
    positions = np.array([[0.511, 0.666], [-0.359, -0.137], [-1.183, -0.473], [0.175, 0.068]])
    weights = np.array([0.003, 0.081, 0.098, 0.818])
    d, start = np.array([[0.249, 0.096, 135.7, 1.73]]), np.array([-0.454, 0.283])
    for max_iter in (500, 100, 10):
        place = StressPlacer(positions, weights, np.zeros((2, 4)), start, 1e-5, max_iter, 2).place(d)[0]
        assert stress(place, positions, d[0], weights) < 0.9 * stress(start, positions, d[0], weights)


@pytest.mark.parametrize("scale", [1e-145, 1e-30, 1.0, 1e30, 1e125])
@pytest.mark.parametrize("shift", [0.0, 1e3])
def test_maps_of_any_size_anywhere_are_the_same(scale, shift):
    """Single precision has neither so large numbers nor so small ones, and does not resolve places far from 0."""
    rng = np.random.default_rng(1)
    positions = rng.standard_normal((40, 2))
    D = cdist(rng.standard_normal((70, 2)), positions) + 0.1 * rng.random((70, 40))
    D[0] = cdist(positions[:1], positions)  # on a fixed point
    D[1:4] += np.array([[1e3], [1e8], [1e25]])
    weights, start = np.full(40, 1 / 40), (np.zeros((2, 40)), np.zeros(2))
    plain = StressPlacer(positions, weights, *start, 1e-5, 500, 2).place(D)
    start = np.zeros((2, 40)), np.full(2, shift * scale)
    places = StressPlacer((positions + shift) * scale, weights, *start, 1e-5 * scale, 500, 2).place(D * scale)
    near = np.arange(70) != 1
    near[2:4] = False  # these lie in a ring where all directions are nearly as good
    np.testing.assert_allclose(places[near] / scale - shift, plain[near], atol=1e-7)
    np.testing.assert_allclose(np.hypot(*(places[1:4] / scale - shift).T), D[1:4].mean(axis=1), rtol=0.01)


@pytest.mark.parametrize("k", [1, 2, 3, 5])
def test_numbers_that_are_no_distances_hang_nothing_and_move_no_other_row(k):
    placement, D, _ = example(k, n=40)
    expected = placement.place(D)
    for bad in (1e140, 1e154, 1e300, np.inf, np.nan):
        spoilt = D.copy()
        spoilt[3], spoilt[7, 2] = bad, bad
        places = placement.place(spoilt)
        others = np.delete(np.arange(40), [3, 7])
        assert places[others].tobytes() == expected[others].tobytes()
        if bad <= 1e140:
            assert np.isfinite(places).all()
            np.testing.assert_allclose(np.linalg.norm(places[3]), bad, rtol=0.01)


# --- the same bits ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("k", [1, 2, 3, 4])
def test_a_row_goes_where_it_goes_alone_whatever_the_batch(k):
    placement, D, _ = example(k)
    expected = placement.place(D)
    assert expected.tobytes() == np.concatenate([placement.place(d[None]) for d in D]).tobytes()
    order = np.random.default_rng(0).permutation(len(D))
    for size in (2, 7, 9, 33):
        parts = [placement.place(D[order[i : i + size]]) for i in range(0, len(D), size)]
        assert np.concatenate(parts).tobytes() == expected[order].tobytes()
    many = np.tile(D, (CALL_ROWS // len(D) + 2, 1))
    assert placement.place(many).tobytes() == np.tile(expected, (CALL_ROWS // len(D) + 2, 1)).tobytes()
    with ThreadPoolExecutor(4) as pool:
        assert all(places.tobytes() == expected.tobytes() for places in pool.map(placement.place, [D] * 16))


# --- affine maps -----------------------------------------------------------------------------------------------------


@given(
    n=st.integers(0, 40), d=st.integers(1, 40), a=st.integers(1, 20), centred=st.booleans(), seed=st.integers(0, 100)
)
@settings(max_examples=60, derandomize=True, deadline=None)
def test_affine_is_the_formula_in_the_order_of_the_features(n, d, a, centred, seed):
    rng = np.random.default_rng(seed)
    X, matrix, offsets, centre = (rng.standard_normal(shape) for shape in ((n, d), (d, a), a, d))
    expected = np.tile(offsets, (n, 1))
    for c in range(d):
        column = X[:, c] - centre[c] if centred else X[:, c] ** 2
        expected += column[:, None] * matrix[c]
    arguments = (matrix, offsets, centre) if centred else (matrix, offsets)
    assert _core.affine(X, *arguments).tobytes() == expected.tobytes()
    assert _core.affine(np.asfortranarray(X), *arguments).tobytes() == expected.tobytes()
    single = X.astype(np.float32)
    assert _core.affine(single, *arguments).tobytes() == _core.affine(single.astype(float), *arguments).tobytes()


@pytest.mark.parametrize("k", [1, 2, 3])
def test_what_is_given_says_how_squared_distances_follow(k):
    placement, _, _ = example(k)
    rng = np.random.default_rng(2)
    X, C = rng.standard_normal((50, 6)), rng.standard_normal((21, 6))
    centre, extra = C.mean(axis=0), rng.random(21)
    expected = placement.place(np.sqrt(cdist(X, C) ** 2 + extra))
    offsets = ((C - centre) ** 2).sum(axis=1) + extra
    by_rows = replace(placement, matrix=-2 * (C - centre).T, offsets=offsets, centre=centre)
    np.testing.assert_allclose(by_rows.place(X), expected, atol=1e-6)
    matrix = rng.random((9, 21))
    D = rng.random((50, 9))
    by_distances = replace(placement, matrix=matrix, offsets=extra)
    np.testing.assert_allclose(by_distances.place(D), placement.place(np.sqrt(D**2 @ matrix + extra)), atol=1e-6)


# --- sweeps ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("k", [1, 2, 3, 4, 5, 8])
def test_a_sweep_never_raises_the_stress_and_ends_where_smacof_does(k):
    rng = np.random.default_rng(k)
    X, w = rng.standard_normal((37, k + 3)), rng.dirichlet(np.ones(37))
    D, Y = cdist(X, X), X[:, :k].copy()
    for _ in range(60):
        before = Y.copy()
        moved = _core.sweep(D, w, Y)
        assert moved == pytest.approx(np.sqrt(w @ ((Y - before) ** 2).sum(axis=1)))
        assert pair_stress(D, Y, w) <= pair_stress(D, before, w) * (1 + 1e-14)
    positions, stress_there, sweeps = arrange(D, w, X[:, :k], 1e-9, 500)
    assert 0 < sweeps < 500
    np.testing.assert_allclose(w @ positions, 0, atol=1e-12)
    below = pair_stress(D, np.zeros((37, 1)), w)
    assert stress_there == pytest.approx(np.sqrt(pair_stress(D, positions, w) / below))
    for i in range(37):
        others, d = np.delete(positions, i, axis=0), np.delete(D[i], i)
        rest = smacof(positions[i], others, d, np.delete(w, i), steps=1)
        assert np.linalg.norm(rest - positions[i]) < 1e-6


@pytest.mark.parametrize("k", [2, 4, 5, 8])
def test_a_point_takes_newtons_step(k):
    """Near a minimum, where the whole step goes down."""
    rng = np.random.default_rng(k)
    X, w = rng.standard_normal((37, k + 3)), rng.dirichlet(np.ones(37))
    D = cdist(X, X)
    Y = arrange(D, w, X[:, :k], 1e-9, 500)[0] + 0.01 * rng.standard_normal((37, k))
    expected = Y.copy()
    for i in range(37):
        others = np.arange(37) != i
        step, curvature = newton_step(expected[i], expected[others], D[i][others], w[others])
        assert curvature > 0
        expected[i] -= step
    _core.sweep(D, w, Y)
    np.testing.assert_allclose(Y, expected, atol=1e-10)


def test_nothing_to_arrange():
    positions, stress_there, sweeps = arrange(np.zeros((3, 3)), np.full(3, 1 / 3), np.zeros((3, 0)), 0.0, 10)
    assert positions.shape == (3, 0)
    assert (stress_there, sweeps) == (0, 0)
    for k in (1, 2):
        assert arrange(np.zeros((1, 1)), np.ones(1), np.ones((1, k)), 1e-9, 10)[0].tolist() == [[0.0] * k]


# --- what is stored, and what is refused -----------------------------------------------------------------------------


def test_a_placement_can_be_copied_pickled_and_rebuilt():
    placement, D, _ = example()
    for other in (copy.deepcopy(placement), pickle.loads(pickle.dumps(placement)), replace(placement)):
        assert other.place(D).tobytes() == placement.place(D).tobytes()


def test_missing_dimensions_are_zero():
    placement, D, _ = example(k=2)
    wide = replace(placement, n_components=4).place(D)
    np.testing.assert_array_equal(wide, np.pad(placement.place(D), ((0, 0), (0, 2))))
    nowhere = replace(placement, positions=np.zeros((21, 0)), projection=np.zeros((0, 21)), shift=np.zeros(0))
    assert nowhere.place(D).tobytes() == np.zeros((300, 2)).tobytes()


@pytest.mark.parametrize(
    "wrong",
    [
        {"positions": np.zeros((3, 2))},
        {"positions": np.full((21, 2), np.nan)},
        {"positions": np.full((21, 2), 1e200)},
        {"positions": np.zeros((0, 2))},
        {"positions": np.zeros(21)},
        {"positions": None},
        {"positions": "text"},
        {"weights": np.zeros(20)},
        {"weights": np.full(21, np.inf)},
        {"weights": np.full(21, -1.0)},
        {"projection": np.zeros((3, 21))},
        {"shift": np.full(2, np.nan)},
        {"tolerance": -1.0},
        {"tolerance": np.nan},
        {"max_iter": 0},
        {"max_iter": "many"},
        {"n_components": 1},
        {"matrix": np.zeros((4, 21))},
        {"matrix": np.zeros((4, 20)), "offsets": np.zeros(20)},
        {"matrix": np.zeros((4, 21)), "offsets": np.zeros(21), "centre": np.zeros(5)},
        {"centre": np.zeros(3)},
    ],
)
def test_a_placement_of_what_does_not_fit_together_is_refused(wrong):
    placement, _, _ = example()
    with pytest.raises((ValueError, TypeError)):
        replace(placement, **wrong)


def test_rows_of_the_wrong_width_or_kind_are_refused():
    placement, D, _ = example()
    for wrong, message in ((D[:, :20], "20 columns, expected 21"), (np.zeros((3, 22)), "22 columns")):
        with pytest.raises(ValueError, match=message):
            placement.place(wrong)
    for wrong in (D[0], np.zeros((2, 2, 21)), np.array([["a"] * 21]), None):
        with pytest.raises(TypeError):
            placement.place(wrong)
    assert placement.place(D[:0]).shape == (0, 2)
    with pytest.raises(ValueError):
        _core.affine(D, np.zeros((20, 2)), np.zeros(2))
    with pytest.raises(ValueError):
        _core.sweep(D, np.ones(21), np.zeros((21, 2)))
    with pytest.raises(TypeError):
        _core.sweep(np.zeros((21, 21)), np.ones(21), np.zeros((21, 2), dtype=np.float32))


# --- places to start from --------------------------------------------------------------------------------------------


def off_map(k, n=400, clusters=0.0):
    """A map of noise in many dimensions, of which most points lie far off, and their distances.

    Clusters that far apart spread the map, so that points lie less far off.
    """
    rng = np.random.default_rng(k)
    X, weights = rng.standard_normal((60 + n, 10)), rng.dirichlet(np.ones(60))
    X += clusters * rng.standard_normal((8, 10))[rng.integers(0, 8, 60 + n)]
    return LandmarkStress(k).fit(cdist(X[:60], X[:60]), weights)._placer, cdist(X[60:], X[:60])


def test_points_off_the_map_start_from_the_place_of_least_stress():
    placement, D = off_map(2)
    losses = np.array(
        [[stress(y, placement.positions, d, placement.weights) for y in placement.places.positions] for d in D]
    )
    starts = replace(placement, max_iter=1, tolerance=0.0)  # a step or two
    one = replace(placement, places=None)

    def loss(places):
        return np.array([stress(y, placement.positions, d, placement.weights) for y, d in zip(places, D, strict=True)])

    now, before = loss(placement.place(D)), loss(one.place(D))
    assert (loss(starts.place(D)) <= losses.min(axis=1) * (1 + 1e-6)).mean() > 0.6  # those that lie off the map
    least = np.minimum(now, before)
    assert np.mean(now > 1.01 * least) < 0.5 * np.mean(before > 1.01 * least)
    assert now.mean() < before.mean()


@pytest.mark.parametrize("n", [5, 8, 128])
def test_points_of_a_plane_stay_in_it(n):
    for seed in range(10):
        rng = np.random.default_rng(seed)
        X, Q = rng.standard_normal((n, 2)), 3 * rng.standard_normal((200, 2))  # some of them off the map
        D = cdist(Q, X)
        placement = LandmarkStress(2).fit(cdist(X, X), np.ones(n))._placer
        np.testing.assert_allclose(cdist(placement.place(D), placement.positions), D, atol=1e-6)


@pytest.mark.parametrize("k", [2, 3])
def test_hardly_a_point_lies_in_another_minimum_than_the_best_of_many_starts(k):
    both, D = off_map(k, n=2000)
    one = replace(both, places=None)

    def loss(places):
        return np.sum(both.weights * (D - cdist(places, both.positions)) ** 2, axis=1)

    starts = np.random.default_rng(0).standard_normal((24, k)) * both.positions.std(axis=0)
    away = [replace(one, projection=np.zeros_like(one.projection), shift=start) for start in starts]
    before, now = loss(one.place(D)), loss(both.place(D))
    least = np.min([before, now, *(loss(placement.place(D)) for placement in away)], axis=0)
    assert np.mean(before > 1.01 * least) > 0.01
    assert np.mean(now > 1.01 * least) < 0.005


@pytest.mark.parametrize("k", [2, 3])
def test_a_search_on_the_other_side_of_a_fixed_point_moves_none_but_to_a_deeper_minimum(k):
    both, D = off_map(k, n=3000, clusters=3.0)
    one, weights, positions = replace(both, places=None), both.weights, both.positions
    centred = positions - weights @ positions
    start = (D**2) @ both.projection.T + both.shift - weights @ positions
    size, squares = weights @ (centred**2).sum(axis=1), (D**2).min(axis=1) + D**2 @ weights - (start**2).sum(axis=1)
    D = D[squares < 1.99 * size]  # points on the map, which start where they did

    def loss(places):
        return np.sum(weights * (D - cdist(places, positions)) ** 2, axis=1)

    before, now = one.place(D), both.place(D)
    moved = (before != now).any(axis=1)
    assert 0 < moved.sum() < 0.2 * len(D)
    assert (loss(now) < 0.991 * loss(before))[moved].all()  # by 1 %, but for rounding in single precision


@pytest.mark.parametrize("k", [2, 3])
def test_stress_at_the_places_follows_from_principal_directions(monkeypatch, k):
    placement, D = off_map(k)

    def loss_of_starts():
        spread = spread_places(placement.positions, placement.weights)
        places = replace(placement, max_iter=1, tolerance=0.0, places=spread).place(D)
        return np.sum(placement.weights * (D - cdist(places, placement.positions)) ** 2, axis=1)

    by_directions = loss_of_starts()
    monkeypatch.setattr("driftmap.embedding.stress_placer.BASIS", 10**6)  # so that each is measured by itself
    every = loss_of_starts()
    assert (by_directions != every).any()
    assert (by_directions <= 1.02 * every).all()


def test_places_turn_with_the_map():
    placement, D = off_map(2)
    turn, by = np.array([[0.6, 0.8], [0.8, -0.6]]), np.array([3.0, -2.0])
    np.testing.assert_allclose(placement.moved(turn, by).place(D), placement.place(D) @ turn + by, atol=1e-6)


def test_places_fill_the_map_and_more():
    rng = np.random.default_rng(0)
    positions, weights = rng.standard_normal((50, 2)) * [3.0, 1.0], np.full(50, 0.02)
    places = spread_places(positions, weights).positions
    assert len(places) % 8 == 0
    assert cdist(positions[np.abs(positions).max(axis=1) < 1.5], places).min(axis=1).max() < 0.7
    assert len(spread_places(positions[:10], np.full(10, 0.1)).positions) == 4 * 28
    assert len(spread_places(np.tile(positions, (20, 1)), np.full(1000, 0.001)).positions) == 4 * 56

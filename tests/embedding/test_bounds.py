"""The theorems of section 5, checked on random instances."""

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy.spatial.distance import cdist

from driftmap.embedding import (
    dislocation_bound,
    measured_dislocation,
    projection_perturbation_bound,
)
from driftmap.embedding.lmds import classical_mds
from driftmap.utils.errors import InputError

SEEDS = st.integers(0, 10**6)
METRICS = st.sampled_from(["euclidean", "cityblock", "chebyshev"])


def replacement(seed, epsilon, metric="euclidean", m=8, d=4):
    """Distances before and after the last of m landmarks moves a little, and d(x_m, y) in that metric."""
    rng = np.random.default_rng(seed)
    scales = 2.0 ** -np.arange(d)
    before, points, direction = (rng.normal(size=(rows, d)) * scales for rows in (m, 30, 1))
    after = before.copy()
    after[-1] += epsilon * direction[0] / np.linalg.norm(direction)
    distances = (
        cdist(before, before, metric),
        cdist(after, after, metric),
        cdist(points, before, metric),
        cdist(points, after, metric),
    )
    return distances, cdist(before[-1:], after[-1:], metric)[0, 0]


def well_conditioned(distances, k):
    eigenvalues = classical_mds(distances, k).eigenvalues
    return eigenvalues[k - 1] > 0.02 * eigenvalues[0] and np.all(-np.diff(eigenvalues[: k + 1]) > 0.02 * eigenvalues[0])


@settings(derandomize=True, max_examples=100, deadline=None)
@given(seed=SEEDS, k=st.integers(1, 3), metric=METRICS)
def test_small_replacements_obey_the_bound(seed, k, metric):
    distances, epsilon = replacement(seed, 1e-6, metric)
    assume(well_conditioned(distances[0], k))
    bound = dislocation_bound(*distances, epsilon, k)
    assert np.all(measured_dislocation(*distances, k, match="rotation") <= bound.bound)
    if bound.smallest_gap >= bound.eigengap:
        assert np.all(measured_dislocation(*distances, k) <= bound.bound)


@settings(derandomize=True, max_examples=40, deadline=None)
@given(seed=SEEDS, k=st.integers(1, 3), metric=METRICS)
def test_measured_over_bound_settles_below_one_as_epsilon_shrinks(seed, k, metric):
    ratios = []
    for epsilon in (1e-4, 1e-5, 1e-6):
        distances, moved = replacement(seed, epsilon, metric)
        assume(well_conditioned(distances[0], k))
        bound = dislocation_bound(*distances, moved, k).bound
        ratios.append(measured_dislocation(*distances, k, match="rotation") / bound)
    assert np.max(ratios) < 1
    # First order: the ratio has a limit, and the way to it shrinks with epsilon.
    np.testing.assert_allclose(ratios[1], ratios[2], atol=1e-3)
    assert np.max(np.abs(ratios[1] - ratios[2])) <= np.max(np.abs(ratios[0] - ratios[1])) + 1e-6


@settings(derandomize=True, max_examples=100, deadline=None)
@given(seed=SEEDS, k=st.integers(1, 3))
def test_projection_changes_by_no_more_than_its_bound(seed, k):
    # Any Phi, not only that of a replaced landmark; frames matched by the best orthogonal matrix.
    epsilon = 1e-7
    distances = replacement(seed, 0.0)[0][0]
    assume(well_conditioned(distances, k))
    change = np.random.default_rng(seed).normal(size=distances.shape)
    change = np.abs(np.triu(change, 1) + np.triu(change, 1).T)
    before = classical_mds(distances, k).projection
    after = classical_mds(np.sqrt(distances**2 + epsilon * change), k).projection
    left, _, right = np.linalg.svd(before @ after.T)
    moved = np.linalg.norm(left @ right @ after - before) / epsilon
    bound = projection_perturbation_bound(distances, k, float(np.linalg.norm(change)))
    assert moved <= bound * (1 + 1e-3)


def test_projection_bound_is_reached_up_to_a_factor():
    # Phi that mixes eigenvectors k and k + 1 and nothing else: what the second term of K-tilde is about.
    distances = replacement(5, 0.0)[0][0]
    k, m, epsilon = 2, len(distances), 1e-7
    centring = np.eye(m) - 1 / m
    eigenvalues, vectors = np.linalg.eigh(-0.5 * centring @ distances**2 @ centring)
    a, b = vectors[:, -k], vectors[:, -k - 1]
    gram_change = np.outer(a, b) + np.outer(b, a)
    diagonal = np.diag(gram_change)
    change = diagonal[:, None] + diagonal[None, :] - 2 * gram_change
    before = classical_mds(distances, k).projection
    after = classical_mds(np.sqrt(distances**2 + epsilon * change), k).projection
    moved = np.linalg.norm(after - before) / epsilon
    expected = 1 / np.sqrt(eigenvalues[-k]) / (eigenvalues[-k] - eigenvalues[-k - 1])
    assert moved == pytest.approx(expected, rel=1e-3)
    bound = projection_perturbation_bound(distances, k, float(np.linalg.norm(change)))
    assert 0.1 * bound < moved < bound


def test_near_equal_eigenvalues_turn_the_frame_and_not_the_points():
    # A square but for 1e-6: lambda_1 and lambda_2 are as close, and a replacement by 1e-4 mixes them.
    corners = np.array([[1.0, 0.0], [0.0, 1.0], [-1.0, 0.0], [0.0, -1.0 - 1e-6]])
    moved = corners.copy()
    moved[-1] += [1e-4, 0.0]
    points = np.array([[0.5, 0.7], [2.0, -0.3]])
    distances = (cdist(corners, corners), cdist(moved, moved), cdist(points, corners), cdist(points, moved))
    bound = dislocation_bound(*distances, 1e-4, 2)
    assert bound.smallest_gap < 1e-5 < bound.eigengap
    assert np.all(measured_dislocation(*distances, 2, match="rotation") < bound.bound)
    assert np.all(measured_dislocation(*distances, 2, match="signs") > 100 * bound.bound)


def test_ingredients_are_those_of_the_theorem():
    before, y, z = (
        np.array([[0.0, 0.0], [3.0, 0.0], [0.0, 1.0], [2.0, 2.0]]),
        [[2.0, 2.1]],
        [[1.0, 1.5], [-1.0, 4.0]],
    )
    after = np.concatenate([before[:3], y])
    result = dislocation_bound(cdist(before, before), cdist(after, after), cdist(z, before), cdist(z, after), 0.1, 1)
    eigenvalues = np.linalg.eigvalsh(np.cov(before.T) * 3)[::-1]
    new = np.linalg.eigvalsh(np.cov(after.T) * 3)[-1]
    delta_z, delta_mu = cdist(z, before) ** 2, (cdist(before, before) ** 2).mean(axis=0)
    K, m = 8.0, 4
    K_tilde = 1 / (4 * eigenvalues[0] ** 1.5) + 1 / (2 * eigenvalues[0] ** 0.5 * (eigenvalues[0] - eigenvalues[1]))
    expected = [
        0.1
        * (
            new**-0.5 * (d + 2 * np.sqrt(K) * (m - 1) / m)
            + K_tilde * np.sqrt(2 * K * (m - 1)) * (np.linalg.norm(delta) + np.linalg.norm(delta_mu))
        )
        for d, delta in zip(cdist(z, y)[:, 0], delta_z, strict=True)
    ]
    np.testing.assert_allclose(result.bound, expected)
    assert result.largest_squared_distance == pytest.approx(K)
    assert result.sensitivity == pytest.approx(K_tilde)
    assert result.projection_norm == pytest.approx(new**-0.5)
    assert result.perturbation_norm == pytest.approx(2 * np.sqrt(2 * K * (m - 1)))
    assert result.smallest_gap == result.eigengap == pytest.approx(eigenvalues[0] - eigenvalues[1])


def test_the_replaced_landmark_may_stand_anywhere():
    (before, after, z_before, z_after), epsilon = replacement(1, 1e-3)
    order = np.roll(np.arange(8), 3)
    rolled = before[order][:, order], after[order][:, order], z_before[:, order], z_after[:, order]
    last = dislocation_bound(before, after, z_before, z_after, epsilon, 2)
    np.testing.assert_allclose(dislocation_bound(*rolled, epsilon, 2, replaced=2).bound, last.bound)
    np.testing.assert_allclose(
        measured_dislocation(*rolled, 2), measured_dislocation(before, after, z_before, z_after, 2), rtol=1e-6
    )


def test_nothing_moves_without_a_replacement():
    distances, _ = replacement(2, 0.0)
    assert np.all(dislocation_bound(*distances, 0.0, 2).bound == 0)
    for match in ("signs", "rotation"):
        assert np.max(measured_dislocation(*distances, 2, match=match)) < 1e-12


def test_missing_dimension_is_named():
    line = np.arange(5.0)[:, None]
    with pytest.raises(InputError, match=r"lambda_k > 0 fails: k = 2, landmark_distances has 1 positive"):
        projection_perturbation_bound(cdist(line, line), 2, 1.0)


def test_missing_gap_is_named():
    # A regular simplex: all positive eigenvalues are equal.
    with pytest.raises(InputError, match=r"lambda_k > lambda_\(k\+1\) fails for k = 1"):
        projection_perturbation_bound(1 - np.eye(4), 1, 1.0)


def test_bad_input_is_named():
    (before, after, z_before, z_after), epsilon = replacement(3, 1e-3)
    for arguments, message in [
        ((before[:, 1:], after, z_before, z_after, epsilon, 2), "landmarks_before must be a square"),
        ((before[1:, 1:], after, z_before, z_after, epsilon, 2), "landmarks_after has 8 landmarks, landmarks_before 7"),
        ((before, after, z_before[:, 1:], z_after, epsilon, 2), "points_before must have shape"),
        ((before, after, z_before[1:], z_after, epsilon, 2), "points_after has 30 rows, points_before 29"),
        ((before, 2 * after, z_before, z_after, epsilon, 2), "more than landmark 7"),
        ((before, after, z_before, z_after, -1.0, 2), "epsilon"),
        ((before, after, z_before, z_after, epsilon, 8), "between 1 and 7"),
    ]:
        with pytest.raises(InputError, match=message):
            dislocation_bound(*arguments)
    with pytest.raises(InputError, match="replaced"):
        dislocation_bound(before, after, z_before, z_after, epsilon, 2, replaced=8)
    with pytest.raises(InputError, match="match"):
        measured_dislocation(before, after, z_before, z_after, 2, match="none")
    with pytest.raises(InputError, match="perturbation_norm"):
        projection_perturbation_bound(before, 2, -1.0)

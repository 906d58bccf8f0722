"""Streams for the tests: small ones of many kinds, drawn by hypothesis, a switch for how many, and recorded ones."""

import os

import numpy as np
import pytest
from hypothesis import Phase, settings
from hypothesis import strategies as st

import naive

# DRIFTMAP_STREAMS=1000000 tries a million streams in each property test instead of the few hundred of the suite.
EXAMPLES = int(os.environ.get("DRIFTMAP_STREAMS", "120"))


def at_most(examples):
    """Settings of a property test. An example that fails is made smaller; which of its parts matter is left out."""
    phases = (Phase.explicit, Phase.generate, Phase.shrink)
    return settings(max_examples=max(examples, 1), derandomize=True, deadline=None, database=None, phases=phases)


many, some, few = at_most(EXAMPLES), at_most(EXAMPLES // 3), at_most(EXAMPLES // 8)

WIDTHS = (1, 2, 3, 15, 16, 17, 33, 64)
"""From 16 coordinates on sums are taken in another order, in groups of 16."""

KINDS = (
    "stationary", "walk", "line", "grid", "duplicates", "jumps", "constant", "collinear", "clusters", "tails",
    "regimes", "spiral",
)  # fmt: skip

FOLDER = os.environ.get("DRIFTMAP_DATA", "")


def needs(name):
    """Mark of a test that is skipped where a file of recorded data is absent."""
    present = bool(FOLDER) and os.path.exists(os.path.join(FOLDER, name))
    return pytest.mark.skipif(not present, reason=f"DRIFTMAP_DATA names no folder with {name}")


def make(kind, n, d, seed):
    rng = np.random.default_rng(seed)
    noise = rng.standard_normal((n, d))
    if kind == "stationary":
        return noise
    if kind == "walk":
        return np.cumsum(noise, axis=0)
    if kind == "line":  # drifts steadily
        return np.linspace(0, 5, n)[:, None] + 0.05 * noise
    if kind == "grid":  # many equal distances
        return rng.integers(0, 4, (n, d)).astype(float)
    if kind == "duplicates":
        return noise[rng.integers(0, max(1, n // 3), n)]
    if kind == "jumps":  # clusters that come and go
        return 0.1 * noise + 3.0 * np.sort(rng.integers(0, 5, n))[rng.permutation(n) // 4 * 4 % n][:, None]
    if kind == "constant":
        return np.full((n, d), 1.5)
    if kind == "clusters":
        return 4 * rng.standard_normal((8, d))[rng.integers(0, 8, n)] + 0.3 * noise
    if kind == "tails":  # no variance
        return noise / np.abs(rng.standard_normal((n, 1)))
    if kind == "regimes":  # wide and narrow in turn, each at a place of its own
        regime = np.arange(n) * 4 // n
        return noise * 0.01 ** (regime % 2)[:, None] + 5.0 * rng.standard_normal((4, d))[regime]
    if kind == "spiral":  # ever wider circles
        turn = np.arange(n) / 5.0
        plane = np.column_stack([turn * np.cos(turn), turn * np.sin(turn)])
        return plane @ rng.standard_normal((2, d)) + 0.05 * noise
    assert kind == "collinear"
    return rng.standard_normal((n, 1)) * np.arange(1, d + 1)


def suited(X, metric):
    """The points as the metric can measure them."""
    if metric == "braycurtis":  # points of opposite signs are infinitely far apart
        return np.abs(X)
    if metric == "cosine":  # no point is zero
        return X + 10.0
    if metric == "correlation":  # no point is constant
        X = X if X.shape[1] > 1 else np.hstack([X, X * X])
        return X + 10.0 * np.arange(X.shape[1])
    return np.round(X) % 3 if metric == "hamming" else X


@st.composite
def streams(draw, kinds=KINDS, longest=40):
    """(points, number of landmarks): shorter and longer than the number of landmarks."""
    kind = draw(st.sampled_from(kinds))
    n, d = draw(st.integers(1, longest)), draw(st.sampled_from(WIDTHS))
    return make(kind, n, d, draw(st.integers(0, 2**32 - 1))), draw(st.integers(1, 9))


def facts(landmarks):
    """Everything a landmark selector says, in a form that compares to the bit."""
    try:
        bound = landmarks.coverage_bound_
    except ValueError:  # there is none without the triangle inequality
        bound = None
    return {
        "seen": landmarks.n_samples_seen_,
        "landmarks": landmarks.landmark_indices_.tolist(),
        "masses": landmarks.landmark_mass_.tolist(),
        "radius": landmarks.radius_,
        "covering radius": landmarks.covering_radius_,
        "stored": landmarks.stored_indices_.tolist(),
        "resolution": landmarks.resolution_,
        "coverage bound": bound,
        "replacements": landmarks.n_replacements_,
        "events": landmarks.events_,
    }


def assert_follows(landmarks, oracle, metric):
    """A landmark selector in which nothing was merged says what the oracle says, to the bit."""
    assert landmarks.landmark_indices_.tolist() == oracle.landmarks
    assert landmarks.landmark_mass_.tolist() == oracle.masses()
    assert landmarks.radius_ == naive.true(oracle.rho, metric)
    assert landmarks.covering_radius_ == naive.true(oracle.covering_radius(), metric)
    assert landmarks.n_samples_seen_ == len(oracle.points)
    assert landmarks.stored_indices_.tolist() == oracle.remembered

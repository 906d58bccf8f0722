"""Streams for the tests: small ones of many kinds, drawn by hypothesis, a switch for how many, and recorded ones."""

import os

import numpy as np
import pytest
from hypothesis import settings
from hypothesis import strategies as st

# DRIFTMAP_STREAMS=1000000 tries a million streams in each property test instead of the few hundred of the suite.
EXAMPLES = int(os.environ.get("DRIFTMAP_STREAMS", "120"))
many = settings(max_examples=EXAMPLES, derandomize=True, deadline=None, database=None)

few = settings(max_examples=max(EXAMPLES // 8, 1), derandomize=True, deadline=None, database=None)

WIDTHS = (1, 2, 3, 4, 13, 70)
"""Kernels sum few, some and many coordinates in other ways."""

KINDS = ("stationary", "walk", "line", "grid", "duplicates", "jumps", "constant", "collinear")

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
    assert kind == "collinear"
    return rng.standard_normal((n, 1)) * np.arange(1, d + 1)


@st.composite
def streams(draw, kinds=KINDS, longest=40):
    """(points, number of landmarks): shorter and longer than the number of landmarks."""
    kind = draw(st.sampled_from(kinds))
    n, d = draw(st.integers(1, longest)), draw(st.sampled_from(WIDTHS))
    return make(kind, n, d, draw(st.integers(0, 2**32 - 1))), draw(st.integers(1, 9))

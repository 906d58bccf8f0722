"""Streams of different shapes whose rows are exchangeable."""

from __future__ import annotations

import numpy as np

SHAPES = ("normal", "clusters", "heavy tails", "skewed", "curve", "two values", "high dimension", "rare cluster")


def stream(shape: str, n: int, seed: int) -> np.ndarray:
    """Return n rows of a shape."""
    rng = np.random.default_rng([SHAPES.index(shape), seed])
    if shape == "clusters":
        centres = 6 * rng.standard_normal((4, 8))
        which = rng.integers(4, size=n)
        return centres[which] + np.array([0.5, 0.8, 1.0, 1.3])[which, None] * rng.standard_normal((n, 8))
    if shape == "heavy tails":
        return rng.standard_t(1.5, (n, 4))
    if shape == "skewed":
        return np.exp(2 * rng.standard_normal((n, 3)))
    if shape == "curve":
        t = rng.uniform(0, 3 * np.pi, n)
        return np.column_stack([np.cos(t), np.sin(t), t]) + 0.02 * rng.standard_normal((n, 3))
    if shape == "two values":
        return rng.integers(0, 2, (n, 6)).astype(float)
    if shape == "high dimension":
        return rng.standard_normal((n, 64))
    X = rng.standard_normal((n, 2))
    if shape == "rare cluster":
        X[rng.random(n) < 0.02] += 30.0
    return X

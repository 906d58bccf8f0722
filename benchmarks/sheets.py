"""Streams with known true shape, ordered as from a drifting source."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np


class Stream(NamedTuple):
    """Points to learn, in order of arrival, and new points to place."""

    points: np.ndarray
    new: np.ndarray
    truth: np.ndarray
    """Coordinates on the sheet, or labels, of the new points."""
    labels: np.ndarray | None = None
    """Labels of the points to learn."""


def _along(points: np.ndarray, sheet: np.ndarray, n: int) -> Stream:
    """Order the first n points by the first coordinate on the sheet; the others are new."""
    order = np.argsort(sheet[:n, 0], kind="stable")
    return Stream(points[:n][order], points[n:], sheet[n:])


def swiss_roll(seed: int, noise: float = 0.0, n: int = 5000, new: int = 1000) -> Stream:
    """Return a sheet of 90 by 21, rolled up one and a half times; the true coordinate is the arc length."""
    rng = np.random.default_rng(seed)
    angle, height = 1.5 * np.pi * (1 + 2 * rng.random(n + new)), 21 * rng.random(n + new)
    points = np.column_stack([angle * np.cos(angle), height, angle * np.sin(angle)])
    length = (angle * np.sqrt(1 + angle**2) + np.arcsinh(angle)) / 2
    return _along(points + noise * rng.standard_normal(points.shape), np.column_stack([length, height]), n)


def s_curve(seed: int, n: int = 5000, new: int = 1000) -> Stream:
    """Return a sheet bent to an S."""
    rng = np.random.default_rng(seed)
    angle, height = 3 * np.pi * (rng.random(n + new) - 0.5), 2 * rng.random(n + new)
    points = np.column_stack([np.sin(angle), height, np.sign(angle) * (np.cos(angle) - 1)])
    return _along(points, np.column_stack([angle, height]), n)


def helix(seed: int, n: int = 1500, new: int = 500) -> Stream:
    """Return a closed helix around a ring, with noise."""
    rng = np.random.default_rng(seed)
    angle = 2 * np.pi * rng.random(n + new)
    ring = 2 + np.cos(8 * angle)
    points = np.column_stack([ring * np.cos(angle), ring * np.sin(angle), np.sin(8 * angle)])
    return _along(points + 0.1 * rng.standard_normal(points.shape), angle[:, None], n)


def torus(seed: int, n: int = 1500, new: int = 500) -> Stream:
    """Return a thin torus."""
    rng = np.random.default_rng(seed)
    angle, around = 2 * np.pi * rng.random((2, n + new))
    ring = 2 + 0.7 * np.cos(around)
    points = np.column_stack([ring * np.cos(angle), ring * np.sin(angle), 0.7 * np.sin(around)])
    return _along(points, np.column_stack([angle, around]), n)


def _by_class(points: np.ndarray, labels: np.ndarray, n: int) -> Stream:
    """Order the first n points by class; the others are new."""
    order = np.argsort(labels[:n], kind="stable")
    return Stream(points[:n][order], points[n:], labels[n:], labels[:n][order])


def digits(seed: int, new: int = 600) -> Stream:
    """Return scikit-learn's handwritten digits, class by class."""
    from sklearn.datasets import load_digits

    points, labels = load_digits(return_X_y=True)
    order = np.random.default_rng(seed).permutation(len(points))
    return _by_class(points[order], labels[order], len(points) - new)


def sentences(seed: int, n: int = 4000, new: int = 1000, topics: int = 40, d: int = 384) -> Stream:
    """Return unit vectors like sentence embeddings: subjects, topics within them, and sentences about a topic."""
    rng = np.random.default_rng(seed)
    subjects = rng.standard_normal((8, d))
    centres = subjects[np.arange(topics) % 8] + 0.8 * rng.standard_normal((topics, d))
    labels = rng.choice(topics, n + new, p=rng.dirichlet(np.full(topics, 2.0)))
    points = centres[labels] + 0.9 * rng.standard_normal((n + new, d))
    return _by_class(points / np.linalg.norm(points, axis=1)[:, None], labels, n)


def outliers(seed: int, n: int = 4000, new: int = 1000, clusters: int = 12, d: int = 16) -> Stream:
    """Return Gaussian clusters, one after the other, with 5 % uniform outliers, labelled -1."""
    rng = np.random.default_rng(seed)
    centres, label = 4 * rng.standard_normal((clusters, d)), rng.integers(clusters, size=n + new)
    points, is_outlier = centres[label] + rng.standard_normal((n + new, d)), rng.random(n + new) < 0.05
    points[is_outlier] = rng.uniform(-12, 12, (int(is_outlier.sum()), d))
    order = np.argsort(label[:n], kind="stable")
    truth = np.where(is_outlier, -1, label)
    return Stream(points[:n][order], points[n:], truth[n:], truth[:n][order])

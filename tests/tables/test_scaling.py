"""Normalisation by median and interquartile range: exact for short tables, bounded for long ones, free of batches."""

from __future__ import annotations

import numpy as np
import pytest

from driftmap.tables.scaling import GROWTH, MOST_SAMPLED, Quartiles, RunningScale


def heavy(n, d=3, seed=0):
    return np.random.default_rng(seed).standard_cauchy((n, d)) * [1, 100, 1e-3][:d] + [5, 0, -1][:d]


def test_short_tables_are_scaled_exactly_whatever_the_outliers():
    rows = heavy(501)
    quartiles = Quartiles()
    quartiles.update(rows)
    shift, scale = quartiles.scaling("robust")
    low, middle, high = np.percentile(rows, [25, 50, 75], axis=0)
    assert np.array_equal(shift, middle)
    assert np.array_equal(scale, high - low)


def test_long_tables_are_sampled_within_bounds():
    rows = heavy(100_000)
    quartiles = Quartiles()
    for i in range(0, len(rows), 777):
        quartiles.update(rows[i : i + 777])
        assert len(quartiles.state()["rows"]) <= MOST_SAMPLED
    shift, scale = quartiles.scaling("robust")
    low, middle, high = np.percentile(rows, [25, 50, 75], axis=0)
    assert len(quartiles.state()["rows"]) >= MOST_SAMPLED // 2
    assert (abs(shift - middle) < 0.06 * (high - low)).all()
    assert (abs(scale / (high - low) - 1) < 0.1).all()


@pytest.mark.parametrize("size", [1, 13, 5000])
def test_batches_change_nothing(size):
    rows = heavy(20_000)
    whole, parts = Quartiles(), Quartiles()
    whole.update(rows)
    for i in range(0, len(rows), size):
        parts.update(rows[i : i + size])
    assert all(np.array_equal(a, b) for a, b in zip(whole.state().values(), parts.state().values(), strict=True))


@pytest.mark.parametrize("size", [1, 7, 400])
def test_running_scales_do_not_depend_on_batches_or_on_restarts(size):
    rows = heavy(1000)
    rows[::9, 1] = np.nan
    one, other = RunningScale("robust", 50), RunningScale("robust", 50)
    expected = np.concatenate([one(rows[:60])[0], one(rows[60:])[0]])
    parts = [other(rows[:60])[0]]
    for i in range(60, len(rows), size):
        fresh = RunningScale("robust", 50)
        fresh.restore(other.state())
        other = fresh
        parts.append(other(rows[i : i + size])[0])
    assert np.array_equal(expected, np.concatenate(parts), equal_nan=True)


def test_a_running_scale_follows_the_rows_so_far():
    rows = heavy(2000)
    scale = RunningScale("robust", 100)
    found = scale(rows[:100])[0], scale(rows[100:])[0]
    low, middle, high = np.percentile(rows[:1500], [25, 50, 75], axis=0)
    exact = (rows[1499] - middle) / (high - low)
    assert np.allclose(found[1][1399], exact, rtol=5 * (GROWTH - 1), atol=0.05)


def test_columns_that_are_constant_or_empty_are_only_shifted():
    rows = np.column_stack([np.full(9, 4.0), np.full(9, np.nan), [0, 0, 0, 0, 0, 0, 0, 0, 9.0]])
    quartiles = Quartiles()
    quartiles.update(rows)
    shift, scale = quartiles.scaling("robust")
    assert np.array_equal(shift, [4.0, 0.0, 0.0])
    assert np.array_equal(scale, [1.0, 1.0, 1.0])

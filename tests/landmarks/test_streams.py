"""Steps of a stream: the same rows in any batches, and what the literal loops say."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from river.preprocessing import MinMaxScaler, StandardScaler

from driftmap.tables.delay import DelayEmbedding, delay_embedding
from driftmap.tables.missing import FillMissing
from driftmap.tables.scaling import Moments, RunningScale

rng = np.random.default_rng(0)
X = np.cumsum(rng.standard_normal((60, 3)), axis=0) + 1000.0
GAPS = np.where(rng.random(X.shape) < 0.3, np.nan, X)
CUTS = st.lists(st.integers(0, 60), max_size=8).map(sorted)
STEPS = {
    "drop": (lambda: FillMissing("drop"), GAPS),
    "mean": (lambda: FillMissing("mean"), GAPS),
    "last": (lambda: FillMissing("last"), GAPS),
    "delay": (lambda: DelayEmbedding(7, 3), X),
    "no delay": (lambda: DelayEmbedding(2, 5), X),
    "minmax": (lambda: RunningScale("minmax", 1), X),
    "zscore": (lambda: RunningScale("zscore", 1), X),
    "gaps": (lambda: RunningScale("zscore", 1), GAPS),
}


def in_batches(step, rows, cuts, *, saved=False):
    """The rows that come out, and the rows of the input to which they belong."""
    found, kept, first = [], [], 0
    for batch in np.split(rows, cuts):
        if not len(batch):
            continue
        if saved:
            state = {name: array.copy() for name, array in step.state().items()}
            step.reset()
            step.restore(state)
        out, places = step(batch)
        found.append(out)
        kept.append(first + places)
        first += len(batch)
    return np.concatenate(found), np.concatenate(kept)


@pytest.mark.parametrize("saved", [False, True])
@pytest.mark.parametrize("name", STEPS)
@given(cuts=CUTS)
@settings(deadline=None, max_examples=30)
def test_batches_and_saved_states_change_nothing(name, saved, cuts):
    make, rows = STEPS[name]
    whole, places = make()(rows)
    out, kept = in_batches(make(), rows, cuts, saved=saved)
    assert out.tobytes() == whole.tobytes()
    assert kept.tolist() == places.tolist()


@pytest.mark.parametrize("method", ["drop", "mean", "last"])
def test_missing_values_are_filled_from_the_rows_before(method):
    before, expected, kept = [[] for _ in range(3)], [], []
    for i, row in enumerate(GAPS.tolist()):
        new = list(row)
        for j, value in enumerate(row):
            if not np.isnan(value):
                before[j].append(value)
            elif method != "drop" and before[j]:
                new[j] = before[j][-1] if method == "last" else sum(before[j]) / len(before[j])
        if not np.isnan(new).any():
            expected.append(new)
            kept.append(i)
    fill = FillMissing(method)
    rows, places = fill(GAPS)
    np.testing.assert_array_equal(rows, expected)
    assert places.tolist() == kept
    assert fill.n_dropped == len(GAPS) - len(kept)


def test_delay_embedding_is_what_it_says():
    rows = delay_embedding(X, delay=7, every=3)
    assert len(rows) == len(X) - 6
    for i, row in enumerate(rows, start=6):
        assert row.tolist() == [*X[i - 6], *X[i - 3], *X[i]]
    assert DelayEmbedding(7, 3).columns(["a", "b"]) == ["a(t-6)", "b(t-6)", "a(t-3)", "b(t-3)", "a(t)", "b(t)"]
    with pytest.raises(ValueError, match="delay must be at least 1"):
        delay_embedding(X, 0)
    with pytest.raises(ValueError, match=r"got \(1, 1, 1\)"):
        delay_embedding([[[1]]], 2)


@pytest.mark.parametrize(("kind", "scaler"), [("zscore", StandardScaler), ("minmax", MinMaxScaler)])
def test_a_running_scale_is_that_of_river(kind, scaler):
    theirs, expected = scaler(), []
    for row in X.tolist():
        point = dict(enumerate(row))
        theirs.learn_one(point)
        expected.append([*theirs.transform_one(point).values()])
    np.testing.assert_allclose(RunningScale(kind, 1)(X)[0], expected, rtol=1e-6, atol=1e-9)


def test_the_rows_of_the_warm_up_have_one_scale():
    out, _ = RunningScale("zscore", 20)(X)
    np.testing.assert_allclose(out[:20], (X[:20] - X[:20].mean(axis=0)) / X[:20].std(axis=0))
    np.testing.assert_allclose(out[30], (X[30] - X[:31].mean(axis=0)) / X[:31].std(axis=0))


def test_moments_leave_out_what_is_missing_and_only_shift_constants():
    rows = np.column_stack([GAPS, np.full(60, 7.0), np.full(60, np.nan)])
    moments = Moments()
    moments.update(rows[:30])
    moments.update(rows[30:])
    shift, scale = moments.scaling("zscore")
    np.testing.assert_allclose(shift[:3], np.nanmean(GAPS, axis=0))
    np.testing.assert_allclose(scale[:3], np.nanstd(GAPS, axis=0))
    assert (shift[3:].tolist(), scale[3:].tolist()) == ([7.0, 0.0], [1.0, 1.0])
    shift, scale = moments.scaling("minmax")
    np.testing.assert_array_equal(shift[:4], np.nanmin(rows[:, :4], axis=0))
    np.testing.assert_array_equal(scale[:3], np.nanmax(GAPS, axis=0) - np.nanmin(GAPS, axis=0))

"""A sample of rows that follows the stream, from which anchors are drawn once memory is full."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from driftmap import DriftMap
from driftmap.landmarks.row_sample import SIZE, RowSample

RNG = np.random.default_rng(0)
GOLDEN = 0x9E3779B97F4A7C15


def changing(n=3000, d=40):
    """Unit vectors round a topic that changes throughout."""
    topics = np.cumsum(RNG.standard_normal((n, d)), axis=0) / 10
    X = topics + RNG.standard_normal((n, d))
    return X / np.linalg.norm(X, axis=1, keepdims=True)


X = changing()


def fitted(X=X, **params):
    return DriftMap(n_landmarks=20, memory=320, **params).fit(X)


@given(st.lists(st.integers(1, 900), min_size=1, max_size=6), st.integers(0, 5))
def test_a_sample_has_the_rows_with_the_smallest_hashes(sizes, single):
    sample, n = RowSample(), 0
    for size in [*sizes, *[1] * single]:
        sample.learn(n, np.arange(n, n + size, dtype=float)[:, None])
        n += size
    expected = sorted(sorted(range(n), key=lambda i: (i + 1) * GOLDEN % 2**64)[:SIZE])
    assert sample.smallest().tolist() == expected
    assert sample.rows(sample.smallest())[:, 0].tolist() == expected
    assert set(sample.smallest(100).tolist()) <= set(expected)
    assert len(sample._rows) <= SIZE + 256 + 1


def test_anchors_come_from_all_of_a_stream_that_is_not_stored():
    mapper = fitted(n_anchors=128)
    assert len(mapper.stored_indices_) <= 320
    assert np.mean(mapper.anchor_indices_ >= 1500) == pytest.approx(0.5, abs=0.05)
    assert not np.isin(mapper.anchor_indices_, mapper.stored_indices_).all()
    assert mapper.fitted_embedding_.anchors_.masses == pytest.approx(3000 / 128)
    fixed = mapper._engine.frames.current.fixed
    assert np.array_equal(fixed.points, X[fixed.ids])
    assert np.allclose(
        mapper._engine.frames.current.between, np.linalg.norm(X[fixed.ids][:, None] - X[fixed.ids], axis=2)
    )


def test_neither_batches_nor_a_file_change_them(tmp_path):
    whole, parts = fitted(), DriftMap(n_landmarks=20, memory=320)
    for part in np.split(X, [1, 2, 500, 501, 2000]):
        parts.partial_fit(part)
        parts.save(tmp_path / "m")
        parts = DriftMap.load(tmp_path / "m")
    assert np.array_equal(parts.anchor_indices_, whole.anchor_indices_)
    assert np.array_equal(parts.transform(X[:9]), whole.transform(X[:9]))


def test_a_batch_that_fails_is_not_sampled():
    fails = np.r_[X, np.full((1, 40), np.nan)]
    mapper = fitted()
    before = mapper._engine.landmarks.row_sample.smallest()
    with pytest.raises(ValueError, match="row 3000"):
        mapper.partial_fit(fails)
    assert np.array_equal(mapper._engine.landmarks.row_sample.smallest(), before)


@pytest.mark.parametrize(
    "params",
    [{"n_anchors": None}, {"embedding": "lmds"}, {"window": 300}, {"half_life": 300}, {"metric": lambda x, y: 1.0}],
)
def test_who_has_no_sample(params):
    mapper = DriftMap(**{"n_landmarks": 20} | params).partial_fit(X[:50])
    assert mapper._engine.landmarks.row_sample is None


def test_a_merge_has_none_and_draws_anchors_from_stored_points():
    first, later = fitted(X[:1500]), fitted(X[1500:])
    merged = first.merge(later.coreset())
    assert merged._engine.landmarks.row_sample is None
    assert np.isin(merged.anchor_indices_, merged.stored_indices_).all()


@pytest.mark.parametrize("name", ["ids", "rows"])
def test_a_damaged_sample_is_refused(name):
    header, arrays = fitted()._engine.pack()
    arrays[f"landmarks.sample.{name}" if f"landmarks.sample.{name}" in arrays else f"sample.{name}"][3] = (
        -1 if name == "ids" else np.nan
    )
    with pytest.raises(ValueError, match="its sample of rows"):
        DriftMap._engine_type.unpack(header, arrays, {})


def test_a_map_saved_without_a_sample_draws_anchors_from_stored_points():
    header, arrays = fitted()._engine.pack()
    del header["landmarks"]["sample"]
    mapper = DriftMap._engine_type.unpack(header, arrays, {})
    mapper.partial_fit(X[:100])
    assert np.isin(mapper.anchor_indices_, mapper.landmarks.stored_indices_).all()

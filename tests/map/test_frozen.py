"""Frozen maps: the same places and scores as the map, small, immutable, the same after pickle and a file."""

import dataclasses
import pickle

import numpy as np
import pytest

from driftmap import DriftMap, FrozenMap
from driftmap.embedding import EMBEDDINGS
from driftmap.storage.checkpoint import CheckpointError
from streams import make

X = make("walk", 600, 4, seed=0)
PARAMS = [
    {},
    {"embedding": "lmds", "n_components": 3},
    *({"embedding": name} for name in EMBEDDINGS),
    {"n_anchors": None},
    {"n_anchors": "auto"},
    {"metric": "cityblock"},
    {"metric": "jensenshannon"},
    {"metric": "cosine", "n_components": 1},
    {"window": 100},
]


@pytest.mark.parametrize("params", PARAMS, ids=str)
def test_a_frozen_map_places_and_scores_as_the_map_did(params, tmp_path):
    stream = np.abs(X) + 0.1
    mapper = DriftMap(**({"n_components": 2, "n_landmarks": 20} | params)).fit(stream[:400])
    frozen = mapper.freeze()
    expected, scores = mapper.transform(stream), mapper.novelty(stream)
    mapper.partial_fit(100 * stream[400:])  # which a frozen map does not see
    frozen.save(tmp_path / "map.ckpt")
    assert frozen.to_bytes() == (tmp_path / "map.ckpt").read_bytes()
    of_bytes = FrozenMap.from_bytes(frozen.to_bytes())
    for other in (frozen, pickle.loads(pickle.dumps(frozen)), FrozenMap.load(tmp_path / "map.ckpt"), of_bytes):
        assert np.array_equal(other.transform(stream), expected)
        assert np.array_equal(other.transform(stream, n_jobs=2), expected)
        assert np.array_equal(other.novelty(stream), scores)
        assert other.landmark_mass_.sum() == frozen.landmark_mass_.sum()
        assert (other.frame_, other.n_samples_seen_) == (1, 400)


def test_precomputed_distances_and_objects():
    D = np.linalg.norm(X[:100, None] - X[:100], axis=2)
    mapper = DriftMap(n_landmarks=10, metric="precomputed").fit(D)
    frozen = pickle.loads(pickle.dumps(mapper.freeze()))
    assert np.array_equal(frozen.transform(D), mapper.transform(D))
    assert frozen.coverage_bound_ is None
    words = ["".join("abc"[int(i)] for i in abs(row * 7) % 3) for row in X[:50]]
    mapper = DriftMap(n_landmarks=5, metric=lambda a, b: sum(map(str.__ne__, a, b))).fit(words)
    assert np.array_equal(mapper.freeze().transform(words), mapper.transform(words))


def test_it_is_small_and_does_not_change(tmp_path):
    mapper = DriftMap(n_landmarks=100).fit(make("walk", 3000, 16, seed=1))
    frozen = mapper.freeze()
    frozen.save(tmp_path / "map.ckpt")
    assert len(pickle.dumps(frozen)) < 500_000
    assert (tmp_path / "map.ckpt").stat().st_size < 500_000
    with pytest.raises(dataclasses.FrozenInstanceError):
        frozen.radius_ = 1.0
    assert not hasattr(frozen, "partial_fit")


def test_bad_input_and_files(tmp_path):
    import pandas as pd

    frame = pd.DataFrame(X, columns=list("abcd"))
    frozen = DriftMap(n_landmarks=10).fit(frame).freeze()
    with pytest.raises(ValueError, match="has the columns"):
        frozen.transform(frame[["b", "a", "c", "d"]])
    with pytest.raises(ValueError, match="X has 3 features"):
        frozen.transform(X[:, :3])
    with pytest.raises(ValueError, match="row 1, column 2"):
        frozen.transform(np.where(np.arange(8).reshape(2, 4) == 6, np.nan, 1.0))
    DriftMap(n_landmarks=10).fit(X).save(tmp_path / "map.ckpt")
    with pytest.raises(CheckpointError, match="holds a DriftMap, not a FrozenMap"):
        FrozenMap.load(tmp_path / "map.ckpt")


def test_a_file_of_precomputed_distances(tmp_path):
    D = np.linalg.norm(X[:, None] - X, axis=2)
    frozen = DriftMap(n_landmarks=10, metric="precomputed").fit(D).freeze()
    frozen.save(tmp_path / "map")
    np.testing.assert_array_equal(FrozenMap.load(tmp_path / "map").transform(D[:5]), frozen.transform(D[:5]))

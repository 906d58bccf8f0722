"""The benchmark of stability against published scores, on tiny data in its format."""

import numpy as np
import pytest
from benchmarks import dynamic, stability

from driftmap import DriftMap

PUBLISHED = """,stab_pearson,stab_spearman,spat_spearman
pca,0.1,0.999,0.2
vae,0.1,0.3,0.999
both,0.1,1.1,1.1
"""


@pytest.fixture
def data(tmp_path, monkeypatch):
    (tmp_path / "dynamic").mkdir()
    monkeypatch.setenv("DRIFTMAP_DATA", str(tmp_path))
    rng = np.random.default_rng(0)
    X = rng.standard_normal((20, 4)) + np.cumsum(rng.standard_normal((6, 20, 4)), axis=0)
    np.savez(tmp_path / "dynamic" / "sorts.npz", X=X.astype(np.float32))
    (tmp_path / "dynamic" / "sorts-published.csv").write_text(PUBLISHED)
    return X


def test_measures_by_hand():
    X = np.array([[[0.0], [1.0], [5.0]], [[0.0], [2.0], [9.0]], [[0.5], [9.0], [5.0]]])
    assert dynamic.score(X, X) == pytest.approx((1, 1))
    backwards = dynamic.score(X, X * np.array([1.0, 1.0, 0.0])[:, None, None] + X[:1])
    assert backwards.stability < 1  # the last map is the first one, so the points move back
    still = np.stack([X[0], X[0] + 1e-9 * np.arange(3)[:, None], X[0]])
    assert abs(dynamic.score(X, still).stability) < 1


def test_the_tables(data, capsys):
    limits = stability.against_published(quick=True)
    lines = capsys.readouterr().out.splitlines()
    assert sum("at each time" in line for line in lines) == sum("last frame" in line for line in lines) == 3
    assert [line for line in lines if "published" in line] == ["| sorts | both, published | 1.100 | 1.100 | | |"]
    assert (limits[0].measured, limits[0].ok) == ("both", False)
    assert [limit.goal for limit in limits[1:]] == [">= 0.66", ">= 0.85"]
    (limit,) = stability.on_tolerances([("rows", data.reshape(-1, 4), 5)], (0.0, 0.02))
    table = capsys.readouterr().out.splitlines()
    assert len(table) == 4
    assert {line.count("|") for line in table} == {8}
    assert limit.goal == ">= 1.5"
    stability.on_streams([("rows", data.reshape(-1, 4), 5)], (0.0, 0.1))
    table = capsys.readouterr().out.splitlines()
    assert len(table) == 4
    assert {line.count("|") for line in table} == {8}


def test_moves_are_those_of_the_frames(data):
    mapper = stability.row_by_row(data.reshape(-1, 4), 5, 0.0)
    assert stability.moves(mapper).worst.tolist() == [change.displacement.max for change in mapper.frames_]
    assert len(stability.moves(DriftMap(n_landmarks=5).fit(data[0])).median) == 0


def test_without_data(monkeypatch, capsys):
    monkeypatch.delenv("DRIFTMAP_DATA", raising=False)
    assert stability.against_published(quick=True) == []
    assert "sorts is left out: DRIFTMAP_DATA is not set" in capsys.readouterr().out

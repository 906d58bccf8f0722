"""The benchmark of maps against a published survey, on a tiny set in its format."""

import numpy as np
import pytest
from benchmarks import quality, survey
from benchmarks.map_scores import clark_evans, neighborhood_hit, score

PUBLISHED = """dataset,method,continuity,trustworthiness,neighborhood_hit
bank,PCA,0.9,0.8,0.7
bank,UMAP,0.8,0.9,0.75
bank,T-SNE,0.85,0.95,0.6
"""


@pytest.fixture
def data(tmp_path, monkeypatch):
    """A folder with one of the six sets, in which every row is there twice."""
    (tmp_path / "quality").mkdir()
    monkeypatch.setenv("DRIFTMAP_DATA", str(tmp_path))
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((150, 5)), rng.integers(0, 2, 150)
    X[:, 0] += 6 * y
    np.savez(tmp_path / "quality" / "bank.npz", X=np.tile(X, (2, 1)).astype(np.float32), y=np.tile(y, 2))
    return tmp_path / "quality"


def test_evenness_of_random_clumped_and_regular_points():
    rng = np.random.default_rng(1)
    points = rng.uniform(0, 1, (4000, 2))
    assert clark_evans(points) == pytest.approx(1, abs=0.03)
    assert clark_evans(1000 * points) == pytest.approx(clark_evans(points))
    assert clark_evans(points[:40].repeat(100, axis=0) + 0.01 * rng.standard_normal((4000, 2))) < 0.7
    rows, columns = np.meshgrid(np.arange(60.0), np.arange(60.0))
    triangular = np.column_stack([(columns + rows / 2).ravel(), (rows * np.sqrt(0.75)).ravel()])
    assert clark_evans(triangular) == pytest.approx(2.15, abs=0.05)


def test_labels_of_neighbours_by_hand():
    Y, labels = np.array([[0.0], [1.0], [1.9], [10.0]]), np.array([0, 1, 1, 0])
    # the point itself, and the nearest other one: of the four, only the second and the third agree
    assert neighborhood_hit(labels, Y, n_neighbors=2) == (1 + 2 + 2 + 1) / 8


def test_scores_of_a_perfect_map():
    X = np.random.default_rng(2).standard_normal((60, 2))
    found = score(np.vstack([X, X]), np.zeros(120), np.vstack([X, X]), scaled=False)
    assert (found.continuity, found.trustworthiness, found.neighborhood_hit, found.sigma) == (1.0, 1.0, 1.0, 0.0)
    assert found.evenness == pytest.approx(clark_evans(X))  # duplicates do not count
    assert score(X, np.zeros(60), 3 * X, scaled=True).sigma == pytest.approx(0, abs=1e-7)


def test_the_published_scores(data):
    assert survey.published() == {}
    (data / "published.csv").write_text(PUBLISHED)
    scores = survey.published()["bank"]
    assert survey.best(scores, "trustworthiness") == (0.95, "T-SNE")
    rows = quality.published_rows("bank", scores)
    assert rows[0] == "| bank | best published | 0.900 (PCA) | 0.950 (T-SNE) | 0.750 (UMAP) | | | |"
    assert rows[1] == "| bank | UMAP, published | 0.800 | 0.900 | 0.750 | | | |"


def test_the_table(data, capsys):
    (data / "published.csv").write_text(PUBLISHED)
    limits = quality.run(quick=False)
    lines = capsys.readouterr().out.splitlines()
    assert "har is left out: there is no file " + str(data / "har.npz") in lines
    table = [line for line in lines if line.startswith("| bank")]
    assert [line.split(" | ")[1] for line in table][:4] == [method for method in quality.METHODS if method != "UMAP"]
    assert {line.count("|") for line in table} == {9}
    assert all(limit.ok for limit in limits)
    assert len(survey.load("bank").distinct().X) == 150


def test_without_data(monkeypatch, capsys):
    monkeypatch.delenv("DRIFTMAP_DATA", raising=False)
    assert quality.run(quick=True) == []
    assert "bank is left out: DRIFTMAP_DATA is not set" in capsys.readouterr().out

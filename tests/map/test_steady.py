"""A frame is kept while a new one would hardly be better; what moves a map, and what does not."""

import warnings

import numpy as np
import pytest

from driftmap import DriftMap, FrozenMap, InputError, quality
from driftmap.embedding import EMBEDDINGS, LandmarkMDS
from driftmap.map import frame_loss
from driftmap.map.anchor_count import nearest_distance
from driftmap.map.frame_loss import (
    Losses,
    is_better,
    is_due,
    is_worse,
    kept_neighbours,
    reason_to_compare,
    reference_of,
)
from driftmap.plot.animation import Film
from streams import make


def row_by_row(X, **params):
    """A map that is asked for after each row."""
    mapper = DriftMap(n_landmarks=20, **params)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for x in X:
            mapper.partial_fit(x[None]).frame_  # noqa: B018
    return mapper


def test_fewer_frames_at_nearly_the_same_stress():
    X = make("walk", 500, 3, seed=0)
    maps = [row_by_row(X, frame_tolerance=tolerance) for tolerance in (0.0, 0.02, 0.1)]
    frames = [mapper.frame_ for mapper in maps]
    assert 1 < frames[2] < 0.6 * frames[1] < 0.6**2 * frames[0]
    stresses = [quality.stress(X, mapper.transform(X)) for mapper in maps]
    assert stresses[1] < 1.03 * stresses[0]
    assert stresses[2] < 1.11 * stresses[0]
    for change in maps[1].frames_:
        assert change.candidate_stress >= 0 <= change.stress
        assert change.reason in {"stress", "recent points", "a cell", "growth"}
    assert {change.reason for change in maps[0].frames_} == {"landmarks", "growth"}


def test_none_keeps_the_first_map_of_all_landmarks():
    X = make("walk", 400, 3, seed=0)
    mapper = row_by_row(X[:21], frame_tolerance=None)
    before, number = mapper.transform(X), mapper.frame_
    mapper.partial_fit(X[21:] + 30)
    assert np.array_equal(mapper.transform(X), before)
    assert mapper.frame_ == number
    assert mapper.n_replacements_ > 0


@pytest.mark.parametrize("params", [{"window": 40}, {"half_life": 5, "memory": 160}, {"memory": 160}])
def test_a_kept_frame_owns_its_points(params, tmp_path):
    X = make("walk", 600, 3, seed=0)
    mapper = DriftMap(n_landmarks=10, frame_tolerance=None, **params).fit(X[:100])
    before, fixed = mapper.transform(X), mapper._engine.frames.current.fixed.ids
    mapper.partial_fit(X[100:])
    assert not np.isin(fixed, mapper.stored_indices_).all()  # some are forgotten
    landmarks = mapper.landmark_embedding_
    assert np.array_equal(mapper.transform(X), before)
    novelty = mapper.novelty(X)
    present = np.linalg.norm(X[:, None] - mapper.landmarks_, axis=2).min(axis=1)
    np.testing.assert_allclose(novelty.reach, present / mapper.radius_, rtol=1e-6)  # reach is by present landmarks
    mapper.save(tmp_path / "m")
    mapper.freeze().save(tmp_path / "f")
    for other in (DriftMap.load(tmp_path / "m"), FrozenMap.load(tmp_path / "f")):
        assert np.array_equal(other.transform(X), before)
        assert np.array_equal(other.novelty(X).residual, novelty.residual)
        assert np.array_equal(other.landmark_embedding_, landmarks)
        assert other.frame_ == 1


def test_a_kept_frame_of_precomputed_distances(tmp_path):
    """A row has distances to all earlier arrivals, so to the fixed points, which are never forgotten."""
    X = make("walk", 300, 3, seed=0)
    D = np.linalg.norm(X[:, None] - X, axis=2)
    mapper = DriftMap(n_landmarks=10, metric="precomputed", frame_tolerance=None).fit(D[:100, :100])
    before = mapper.transform(D[:100, :100])
    mapper.partial_fit(D[100:])
    assert mapper.n_replacements_ > 0
    mapper.save(tmp_path / "m")
    for each in (mapper, DriftMap.load(tmp_path / "m")):
        assert np.array_equal(each.transform(D[:100]), before)
        new = np.setdiff1d(each.landmark_indices_, np.arange(100))
        placed = each.landmark_embedding_[np.isin(each.landmark_indices_, new)]
        assert np.array_equal(placed, each.transform(D[new]))


@pytest.mark.parametrize("embedding", ["stress", "tsne"])
def test_the_memory_of_a_kept_frame_is_bounded(embedding):
    """It owns copies of its fixed points and of the present landmarks, however long it is kept."""
    X, sizes = make("walk", 900, 3, seed=0), []
    mapper = DriftMap(n_landmarks=10, window=60, embedding=embedding, frame_tolerance=None)
    for part in np.split(X, 9):
        mapper.partial_fit(part).transform(part)
        arrays = mapper._engine.pack()[1]
        sizes.append(sum(array.nbytes for name, array in arrays.items() if name.startswith("frames.")))
    assert mapper.frame_ == 1
    assert max(sizes[1:]) == min(sizes[1:])
    frame = mapper._engine.frames.current
    n_fixed, m, d, k = len(frame.fixed.ids), 10, 3, 2
    assert sizes[-1] < 8 * 2 * (n_fixed**2 + (n_fixed + m) * (m + d + k + 2) + 20)


def test_landmarks_that_stay_keep_their_places():
    X = make("walk", 400, 3, seed=0)
    mapper = DriftMap(n_landmarks=20, frame_tolerance=None).fit(X[:200])
    before = dict(zip(mapper.landmark_indices_.tolist(), mapper.landmark_embedding_.tolist(), strict=True))
    mapper.partial_fit(X[200:])
    after = dict(zip(mapper.landmark_indices_.tolist(), mapper.landmark_embedding_.tolist(), strict=True))
    stayed = before.keys() & after.keys()
    assert 0 < len(stayed) < 20
    assert all(before[arrival] == after[arrival] for arrival in stayed)
    new = sorted(after.keys() - before.keys())
    assert np.array_equal([after[arrival] for arrival in new], mapper.transform(X[new]))


@pytest.mark.parametrize("embedding", ["tsne", "isomap"])
def test_a_new_cluster_of_one_percent_gets_a_place(embedding):
    rng = np.random.default_rng(0)
    centres = 10 * np.eye(6)
    label = rng.integers(0, 5, 2000)
    X = centres[label] + 0.5 * rng.standard_normal((2000, 6))
    new = centres[5] + 0.5 * rng.standard_normal((20, 6))
    mapper = DriftMap(n_landmarks=40, embedding=embedding).fit(X)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="the graph of")
        mapper.transform(X[:1])
        for row in new:
            mapper.update(row[None])
        places, others = mapper.transform(new), mapper.transform(X)
    centre = np.median(places, axis=0)
    spread = np.quantile(np.linalg.norm(places - centre, axis=1), 0.75)
    assert np.linalg.norm(others - centre, axis=1).min() > 2 * spread


@pytest.mark.parametrize("embedding", EMBEDDINGS)
def test_a_map_that_was_one_place_is_not_kept(embedding):
    X = make("walk", 60, 3, seed=0)
    mapper = row_by_row(X, embedding=embedding, frame_tolerance=0.02)
    assert mapper.n_dimensions_ == 2


def test_looking_makes_no_frame():
    X = make("walk", 300, 3, seed=0)
    mapper = DriftMap(n_landmarks=20).partial_fit(X[:100])
    mapper.transform(X)
    mapper.partial_fit(X[100:] * 3)
    engine = mapper._engine
    before = engine.frames.count, engine.frames.current
    film = Film(engine)
    film._record()
    mapper._repr_mimebundle_()
    assert engine.given_frame() == before
    assert (engine.frames.count, engine.frames.current) == before
    assert DriftMap()._engine_type().given_frame() is None


def test_the_same_calls_make_the_same_frames_after_loading(tmp_path):
    X = make("walk", 400, 3, seed=3)
    one = row_by_row(X[:150])
    one.save(tmp_path / "m")
    two = DriftMap.load(tmp_path / "m")
    for x in X[150:]:
        assert np.array_equal(one.update(x[None]).coordinates, two.update(x[None]).coordinates)
    assert one.frame_ == two.frame_ > 5
    changes = [[change._replace(rotation=0) for change in mapper.frames_] for mapper in (one, two)]
    assert changes[0] == changes[1]


@pytest.mark.parametrize("wrong", [-0.1, np.nan, np.inf, "much"])
def test_bad_tolerances(wrong):
    with pytest.raises(InputError, match="frame_tolerance"):
        DriftMap(frame_tolerance=wrong).fit(np.eye(5))


def unit_vectors(rng):
    X = rng.standard_normal((12, 50))[rng.integers(0, 12, 700)] + 1.5 * rng.standard_normal((700, 50))
    return X / np.linalg.norm(X, axis=1)[:, None]


def counts(rng):
    topics = rng.dirichlet(np.full(300, 0.05), 8)
    return np.array([rng.multinomial(rng.integers(5, 60), topics[rng.integers(8)]) for _ in range(700)], dtype=float)


def noise(rng):
    return rng.standard_normal((700, 200))


@pytest.mark.parametrize(("tolerance", "most"), [(0.0, 0.01), (0.02, 0.03)])
@pytest.mark.parametrize("make_hard", [unit_vectors, counts, noise])
def test_looks_hardly_change_the_final_stress(make_hard, tolerance, most):
    X, stresses = make_hard(np.random.default_rng(0)), []
    for looks in (1, 2, 5, 40):
        mapper = DriftMap(frame_tolerance=tolerance)
        for part in np.array_split(X, looks):
            mapper.partial_fit(part).transform(part)
        stresses.append(quality.stress(X, mapper.transform(X)))
    assert np.abs(np.array(stresses) / stresses[0] - 1).max() <= most


def test_an_embedding_may_have_a_loss_of_its_own():
    asked = []

    class OnlyTheFirstAxis(LandmarkMDS):
        def point_losses(self, distances, positions, weights):
            asked.append((distances, positions, weights))
            return np.abs(distances - np.abs(positions[:, :1] - positions[:, 0])) @ weights

    X = make("walk", 300, 3, seed=0)
    mapper = DriftMap(n_landmarks=20, embedding=OnlyTheFirstAxis()).partial_fit(X[:100])
    mapper.transform(X)
    mapper.partial_fit(X[100:] * [1, 5, 1]).transform(X)
    change = mapper.frames_[-1]
    (distances, places, weights), _ = asked
    assert weights.sum() == pytest.approx(1)
    assert distances.shape == (len(places), len(places))
    assert change.candidate_stress < 0.98 * change.stress


@pytest.mark.parametrize("tolerance", [0.0, 0.02])
def test_a_map_that_was_watched_from_the_start_has_no_more_islands(tolerance):
    """Few anchors at first, and landmarks that never change: a look at the end takes as many anchors as are needed."""
    X = unit_vectors(np.random.default_rng(0))
    once = DriftMap(frame_tolerance=tolerance).fit(X)
    watched = DriftMap(frame_tolerance=tolerance).fit(X[:350])
    landmarks = watched.landmark_indices_
    assert watched.n_anchors_ == 350
    for part in np.array_split(X[350:], 5):
        watched.partial_fit(part).transform(part)
    assert np.array_equal(watched.landmark_indices_, landmarks)
    assert watched.frames_[-1].reason == "growth"
    even = [nearest_distance(mapper.transform(X)) for mapper in (once, watched)]
    assert even[1] > 0.95 * even[0]


def losses(total, recent, *cells):
    return Losses(total, recent, np.array(cells))


def test_what_makes_a_frame_worth_comparing():
    reference = reference_of(losses(0.1, 0.2, 0.1, 0.1), 100, 0)
    assert reason_to_compare(losses(0.102, 0.204, 0.1), reference, 0.02, 105, 100.0) is None
    assert reason_to_compare(losses(0.103, 0.2, 0.1), reference, 0.02, 105, 100.0) == "stress"
    assert reason_to_compare(losses(0.1, 0.205, 0.1), reference, 0.02, 105, 100.0) == "recent points"
    assert reason_to_compare(losses(0.1, 0.2, 0.1, 0.2), reference, 0.02, 105, 100.0) == "a cell"
    assert reason_to_compare(losses(0.1, 0.2, 0.1), reference, 0.02, 110, 100.0) == "growth"


def test_a_frame_is_judged_again_after_enough_rows_or_replacements():
    """Judging takes longer than learning: 3 % of the mass, or a tenth of the landmarks, has to be new."""
    judged = reference_of(losses(0.1, 0.2, 0.1, 0.1), 100, 7)
    assert not is_due(judged, 102, 9, 100.0, 30)
    assert is_due(judged, 103, 9, 100.0, 30)
    assert is_due(judged, 102, 10, 100.0, 30)
    assert is_due(judged._replace(judged=50), 53, 7, 100.0, 30)


def test_a_frame_is_judged_seldom_and_alike_after_loading(tmp_path, monkeypatch):
    X, judged = make("walk", 260, 3, seed=0), []

    def counted(*args, original=frame_loss.losses, **params):
        judged.append(1)
        return original(*args, **params)

    monkeypatch.setattr(frame_loss, "losses", counted)
    mapper = row_by_row(X[:220])
    judged.clear()
    for x in X[220:]:
        mapper.save(tmp_path / "m")
        mapper = DriftMap.load(tmp_path / "m")
        mapper.update(x[None])
    n_judged, frame = len(judged), mapper.frame_
    judged.clear()
    assert row_by_row(X).frame_ == frame
    assert 0 < n_judged < 0.8 * 40
    assert len(judged) > n_judged


def test_what_makes_a_new_frame_better():
    present = losses(0.1, 0.2, 0.1, 0.4)
    assert not is_better(losses(0.099, 0.199, 0.1, 0.4), present, 0.02)
    assert is_better(losses(0.1, 0.19, 0.1, 0.4), present, 0.02)
    assert is_better(losses(0.09, 0.2, 0.1, 0.4), present, 0.02)
    assert is_better(losses(0.101, 0.202, 0.1, 0.2), present, 0.02)
    assert not is_better(losses(0.11, 0.22, 0.1, 0.2), present, 0.02)
    assert not is_worse(0.0001, 0.0, 0.02)  # of nearly no loss, all differences are small
    assert is_worse(0.0003, 0.0, 0.02)


def test_neighbours_in_one_place_are_not_kept():
    X = np.random.default_rng(0).standard_normal((60, 2))
    distances = np.linalg.norm(X[:, None] - X, axis=2)
    assert kept_neighbours(distances, distances, 10).tolist() == [1.0] * 60
    np.testing.assert_allclose(kept_neighbours(distances, np.zeros((60, 60)), 10), 10 / 59)

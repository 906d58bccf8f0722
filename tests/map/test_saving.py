"""save and load: an estimator goes on from its file as if nothing had happened, or the file is refused."""

import copy

import numpy as np
import pytest

from driftmap import DriftMap, FrozenMap, OnlineLandmarks
from driftmap.embedding import LandmarkMDS
from driftmap.storage import checkpoint
from driftmap.storage.checkpoint import CheckpointError
from streams import facts, make


def mismatches(a, b):
    return sum(s != t for s, t in zip(a, b, strict=False)) + abs(len(a) - len(b))


def taxi(x, y):
    return float(np.abs(x - y).sum())


class Every:
    """A detector that a checkpoint cannot hold."""

    drift_detected = True

    def update(self, x):
        pass


X = make("walk", 600, 3, 0)


class OwnMap(DriftMap):
    pass


def test_a_class_of_ones_own_loads_what_it_saved(tmp_path):
    OwnMap(n_landmarks=5).fit(X).save(tmp_path / "m")
    assert type(OwnMap.load(tmp_path / "m")) is OwnMap
    with pytest.raises(CheckpointError, match="holds a DriftMap, not a OnlineLandmarks"):
        OnlineLandmarks.load(tmp_path / "m")


@pytest.mark.parametrize("size", [1e140, 1e-147])
@pytest.mark.parametrize("memory", [None, 48])
def test_numbers_as_large_and_as_small_as_may_be_are_saved(size, memory, tmp_path):
    landmarks = OnlineLandmarks(3, memory=memory, initial_radius=1e-150)
    landmarks.partial_fit(np.random.default_rng(0).uniform(-size, size, (500, 4))).save(tmp_path / "l")
    loaded = OnlineLandmarks.load(tmp_path / "l")
    assert (loaded.radius_, loaded.events_) == (landmarks.radius_, landmarks.events_)


def test_names_of_features_are_kept(tmp_path):
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(X, columns=["a", "b", "c"])
    DriftMap(n_landmarks=5).fit(frame).save(tmp_path / "m")
    loaded = DriftMap.load(tmp_path / "m")
    assert loaded.feature_names_in_.tolist() == ["a", "b", "c"]
    with pytest.raises(ValueError, match="feature names"):
        loaded.transform(frame.rename(columns={"a": "z"}))
    river = DriftMap(2, n_landmarks=3)
    for row in X[:20]:
        river.learn_one(dict(zip("xyz", row, strict=True)))
    river.save(tmp_path / "m")
    with pytest.raises(ValueError, match="features seen first"):
        DriftMap.load(tmp_path / "m").learn_one({"x": 1.0, "y": 2.0})


class Mine(LandmarkMDS):
    """An embedding that no checkpoint knows."""


def test_what_a_file_cannot_hold_must_be_given_again(tmp_path):
    path = tmp_path / "m"
    DriftMap(n_landmarks=5, metric=taxi).fit(X[:20]).save(path)
    with pytest.raises(CheckpointError, match=r"made with metric=taxi, .* pass metric=\.\.\."):
        DriftMap.load(path)
    with pytest.raises(CheckpointError, match="made with metric=taxi, but metric=mismatches is given"):
        DriftMap.load(path, metric=mismatches)
    own = DriftMap(n_landmarks=5, embedding=Mine(2), replace_on=Every()).fit(X[:50])
    own.save(path)
    with pytest.raises(CheckpointError, match="embedding=Mine"):
        DriftMap.load(path, replace_on=Every())
    loaded = DriftMap.load(path, embedding=Mine(2), replace_on=Every())
    np.testing.assert_array_equal(loaded.fit(X).landmark_indices_, own.fit(X).landmark_indices_)
    DriftMap(n_landmarks=5).fit(X[:20]).save(path)
    with pytest.raises(CheckpointError, match="it stores its metric"):
        DriftMap.load(path, metric=taxi)
    with pytest.raises(CheckpointError, match="holds a DriftMap, not a OnlineLandmarks"):
        OnlineLandmarks.load(path)
    with pytest.raises(CheckpointError, match=r"points\.0 cannot be saved: it is of type complex"):
        OnlineLandmarks(2, metric=lambda a, b: abs(a - b)).fit([1 + 1j, 2 + 2j]).save(path)
    assert DriftMap.load(path).n_samples_seen_ == 20  # what was there is intact


def stream_of(header):
    return header["landmarks"]["stream"]["dict"]


def embedding_of(header):
    return header["frames"]["frame"]["dict"]["state"]["dict"]


BROKEN = {
    "a landmark that is not there": lambda h, a: a["stream.landmarks"].__setitem__(-1, 10**6),
    "a landmark that is there twice": lambda h, a: a["stream.landmarks"].__setitem__(0, a["stream.landmarks"][1]),
    "no landmarks": lambda h, a: a.__setitem__("stream.landmarks", a["stream.landmarks"][:0]),
    "more landmarks than allowed": lambda h, a: h["params"].__setitem__("n_landmarks", 9),
    "a number of landmarks that would need all memory": lambda h, a: h["params"].__setitem__("n_landmarks", 10**8),
    "points that are not finite": lambda h, a: a["stream.points"].__setitem__((3, 1), np.nan),
    "points whose squares overflow": lambda h, a: a["stream.points"].__setitem__((3, 1), 1e152),
    "fewer points than arrivals": lambda h, a: a.__setitem__("stream.points", a["stream.points"][:5]),
    "points of no width": lambda h, a: a.__setitem__("stream.points", a["stream.points"][:, :0]),
    "arrivals that are not in order": lambda h, a: a["stream.arrivals"].__setitem__(3, 0),
    "a negative weight": lambda h, a: a["stream.weights"].__setitem__(3, -1.0),
    "a spread that is no number": lambda h, a: a["stream.spreads"].__setitem__(3, np.nan),
    "no weights": lambda h, a: stream_of(h).pop("weights"),
    "a negative radius": lambda h, a: stream_of(h).__setitem__("radius", -1.0),
    "a resolution that is no number": lambda h, a: stream_of(h).__setitem__("resolution", {"float": "nan"}),
    "a radius that does not cover": lambda h, a: stream_of(h).update(radius=1e-9, base=1e-9),
    "text for a number": lambda h, a: stream_of(h).__setitem__("seen", "many"),
    "more points than memory": lambda h, a: h["params"].__setitem__("memory", 20),
    "an object of another class": lambda h, a: h["frames"].__setitem__("frame", {"object": "Popen", "parts": {}}),
    "a value of no kind": lambda h, a: h["frames"].__setitem__("frame", {"table": {}}),
    "a frame of other dimensions": lambda h, a: a.__setitem__("frames.frame.rotation", np.eye(3)),
    "a frame of other landmarks": lambda h, a: a["frames.frame.cover.ids"].__setitem__(-1, 10**6),
    "a frame of fewer landmarks": lambda h, a: a.__setitem__("frames.frame.cover.masses", np.ones(4)),
    "no translation": lambda h, a: h["frames"]["frame"]["dict"].__setitem__("translation", None),
    "no masses": lambda h, a: h["frames"]["frame"]["dict"].__setitem__("masses", None),
    "anchors without masses": lambda h, a: embedding_of(h).__setitem__("masses", None),
    "anchors of fewer dimensions": lambda h, a: a.__setitem__("frames.frame.fixed.points", np.ones((128, 2))),
    "anchors that are not all there": lambda h, a: a.__setitem__("frames.frame.fixed.points", np.ones((5, X.shape[1]))),
    "anchors that are not in order": lambda h, a: a["frames.frame.state.ids"].__setitem__(3, 0),
    "anchors without landmarks": lambda h, a: a["frames.frame.state.landmarks"].__setitem__(-1, -1),
    "anchors nowhere": lambda h, a: a["frames.frame.state.positions"].__setitem__((0, 1), np.nan),
    "fewer anchors": lambda h, a: a.__setitem__("frames.frame.anchors", a["frames.frame.anchors"][:5]),
    "a stress that is none": lambda h, a: embedding_of(h).__setitem__("cold_stress", -1.0),
    "a frame of no size": lambda h, a: h["frames"]["frame"]["dict"].__setitem__("farthest", -1.0),
    "features without a name": lambda h, a: h.__setitem__("feature_names", [1, 2, 3]),
    "an unknown parameter": lambda h, a: h["params"].__setitem__("n_lights", 4),
    "a parameter that is none": lambda h, a: h["params"].__setitem__("slack", -1.0),
    "no parameters": lambda h, a: h.pop("params"),
    "arrays that are not there": lambda h, a: a.pop("stream.weights"),
}


def test_a_map_of_version_0_2_begins_a_new_frame(tmp_path):
    mapper = DriftMap(n_landmarks=10, memory=160).fit(X)
    mapper.transform(X[:3])
    for one, name in ((mapper, "m"), (mapper.freeze(), "f")):
        one.save(tmp_path / name)
        header, arrays = checkpoint.read(tmp_path / name)
        frame = header["frames"]["frame"]["dict"]
        old = {"distances": "between", "rotation": "rotation", "translation": "translation"}
        cover = frame["cover"]["dict"]
        header["frames"]["frame"]["dict"] = {
            **{name: frame[new] for name, new in old.items()},
            "landmarks": cover["ids"],
            "points": cover["points"],
            "masses": cover["masses"],
        }
        checkpoint.write(tmp_path / name, header, arrays)
    loaded = DriftMap.load(tmp_path / "m")
    assert facts(loaded) == facts(mapper)
    fresh = DriftMap(n_landmarks=10, memory=160).fit(X)
    np.testing.assert_array_equal(loaded.transform(X), fresh.transform(X))
    with pytest.raises(CheckpointError, match="f does not hold a usable FrozenMap: it holds no frame"):
        FrozenMap.load(tmp_path / "f")


@pytest.mark.parametrize("how", BROKEN)
def test_files_with_valid_checksums_and_nonsense_in_them_are_refused(how, tmp_path):
    mapper = DriftMap(n_landmarks=10, memory=160).fit(X)
    mapper.transform(X[:3])
    mapper.save(tmp_path / "m")
    header, arrays = checkpoint.read(tmp_path / "m")
    BROKEN[how](header, arrays)
    checkpoint.write(tmp_path / "m", header, arrays)
    with pytest.raises(CheckpointError, match=r"m (does not hold a usable DriftMap|cannot be loaded)"):
        DriftMap.load(tmp_path / "m")


@pytest.mark.parametrize("missing", [False, True])
def test_distances_of_a_frame_that_are_wrong_or_missing(missing, tmp_path):
    """Compiled metrics measure them again; of others they are in the file."""
    mapper = DriftMap(n_landmarks=10, metric="sqeuclidean").fit(X)
    mapper.transform(X[:3])
    mapper.save(tmp_path / "m")
    header, arrays = checkpoint.read(tmp_path / "m")
    if missing:
        header["frames"]["frame"]["dict"]["between"] = None
    else:
        arrays["frames.frame.between"][0, 1] = -1.0
    checkpoint.write(tmp_path / "m", header, arrays)
    with pytest.raises(CheckpointError, match="lacks distances" if missing else "negative distances"):
        DriftMap.load(tmp_path / "m")


@pytest.mark.parametrize("metric", [taxi, "euclidean", "sqeuclidean", "precomputed"])
@pytest.mark.parametrize("name", ["stream.distances", "stream.second_distances", "stream.cells", "stream.seconds"])
def test_wrong_distances_under_a_valid_digest_break_nothing(metric, name, tmp_path):
    """They make other landmarks, as another file would; every index stays valid, and learning goes on."""
    given = {} if isinstance(metric, str) else {"metric": metric}
    points = np.abs(X[:200, :1] - X[:200, 0]) if metric == "precomputed" else X[:200]
    landmarks = OnlineLandmarks(6, metric=metric).partial_fit(points)
    landmarks.save(tmp_path / "m")
    header, arrays = checkpoint.read(tmp_path / "m")
    value = arrays[name]
    row = int(np.argmax(np.where(arrays["stream.seconds"] >= 0, arrays["stream.distances"], -1.0)))
    if value.dtype == np.int64:
        first, second = (arrays[f"stream.{cells}"][row] for cells in ("cells", "seconds"))
        value[row] = next(cell for cell in range(6) if cell not in (first, second))
    else:
        value[row] *= 0.99 if name == "stream.distances" else 1.01
    checkpoint.write(tmp_path / "m", header, arrays)
    loaded = OnlineLandmarks.load(tmp_path / "m", **given)
    assert facts(loaded)["landmarks"] == facts(landmarks)["landmarks"]
    if metric != "precomputed":
        loaded.partial_fit(X[200:600])
        assert loaded.landmark_mass_.sum() == loaded.n_samples_seen_ == 600


def test_another_function_of_the_same_name_is_noticed(tmp_path):
    DriftMap(n_landmarks=5, metric=taxi).fit(X[:100]).save(tmp_path / "m")

    def other(x, y):
        return 2 * taxi(x, y)

    other.__qualname__ = "taxi"
    with pytest.raises(CheckpointError, match="its distances are not those that its metric gives"):
        DriftMap.load(tmp_path / "m", metric=other)
    DriftMap(n_landmarks=5, metric=taxi).fit(X[:100]).freeze().save(tmp_path / "f")
    with pytest.raises(CheckpointError, match="its distances are not those that its metric gives"):
        FrozenMap.load(tmp_path / "f", metric=other)
    FrozenMap.load(tmp_path / "f", metric=taxi)


def test_points_that_were_never_measured_may_have_no_distance(tmp_path):
    """The triangle inequality left out pairs whose distance overflows, when they were learnt."""
    rows = np.array([[-3.0], [-1.0], [-1.2], [-3.2], [2.5]]) * 1e102
    landmarks = OnlineLandmarks(2, metric="minkowski", metric_params={"p": 3}).partial_fit(rows)
    assert facts(copy.deepcopy(landmarks)) == facts(landmarks)
    landmarks.save(tmp_path / "l")
    assert facts(OnlineLandmarks.load(tmp_path / "l")) == facts(landmarks)

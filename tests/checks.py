"""The contracts of streams: each check is one promise that every estimator keeps. ``test_contracts.py`` runs them.

``SUBJECTS`` lists the estimators; an embedding is among them as soon as the library knows its name.
"""

import contextlib
import copy
import pickle
import warnings
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

from driftmap import DriftMap, InputError, OnlineLandmarks
from driftmap.embedding import EMBEDDINGS, LandmarkDiffusionMap, LandmarkIsomap
from driftmap.landmarks import (
    FarthestFirstLandmarks,
    InitialLandmarks,
    RandomLandmarks,
    RandomOnlineLandmarks,
    RatioShift,
)
from driftmap.map.novelty import NoveltyDetector
from driftmap.storage import checkpoint
from streams import EXAMPLES, facts, make

N = 240
"""Points of a stream."""


def taxi(x, y):
    """A metric of the user's own."""
    return float(np.abs(x - y).sum())


taxi.obeys_triangle = True


def mismatches(a, b):
    """A distance between strings."""
    return sum(s != t for s, t in zip(a, b, strict=False)) + abs(len(a) - len(b))


def rows(seed=0):
    return make("walk", N, 3, seed)


def words(seed=0):
    rng = np.random.default_rng(seed)
    return ["".join(rng.choice(list("abc"), rng.integers(1, 8))) for _ in range(N)]


def all_distances(seed=0):
    return np.linalg.norm(rows(seed)[:, None] - rows(seed), axis=2)


@dataclass(frozen=True)
class Subject:
    """An estimator, and the streams it learns."""

    make: Callable[[], Any]
    stream: Callable[[int], Any] = rows
    given: dict[str, Any] = field(default_factory=dict)
    """What a checkpoint cannot hold and ``load`` needs."""
    timed: bool = False
    """Whether points come with times."""
    bounded: bool = False
    """Whether memory does not grow with the stream."""
    saves: bool = True

    def learn(self, estimator, first, last, seed=0):
        points = self.stream(seed)
        points = points[first:last, :last] if self.stream is all_distances else points[first:last]
        return estimator.partial_fit(points, **({"times": np.arange(first, last) / 3} if self.timed else {}))

    def fitted(self, last=N, seed=0):
        return self.learn(self.make(), 0, last, seed)

    def queries(self, estimator, seed=0):
        """Points to ask about."""
        points = self.stream(seed)[:40]
        return points[:, : estimator.n_samples_seen_] if self.stream is all_distances else points


def landmarks(stream=rows, given=None, timed=False, bounded=False, **params):
    return Subject(lambda: OnlineLandmarks(5, **params), stream, given or {}, timed, bounded)


def mapped(n_components=2, given=None, timed=False, bounded=False, **params):
    return Subject(lambda: DriftMap(n_components, n_landmarks=9, **params), rows, given or {}, timed, bounded)


def by_distances(name):
    return Subject(lambda: DriftMap(2, n_landmarks=9, metric="precomputed", embedding=name), all_distances)


def baseline(kind, **params):
    return Subject(lambda: kind(5, **params), saves=False)


SUBJECTS = {
    "landmarks": landmarks(memory=None),
    "landmarks, paper": landmarks(rule="paper"),
    "landmarks, slack": landmarks(slack=0.1),
    "landmarks, bounded": landmarks(memory=80, bounded=True),
    "landmarks, window": landmarks(window=90, memory=80, bounded=True),
    "landmarks, exact window": landmarks(window=50, memory=None, bounded=True),
    "landmarks, half-life": landmarks(half_life=20, memory=80, bounded=True),
    "landmarks, detector": landmarks(memory=80, replace_on=RatioShift(warm_up=5), bounded=True),
    "landmarks, cityblock": landmarks(metric="cityblock", memory=80, bounded=True),
    "landmarks, cosine": landmarks(metric="cosine"),
    "landmarks, scipy": landmarks(metric="sqeuclidean"),
    "landmarks, function": landmarks(metric=taxi, memory=80, given={"metric": taxi}, bounded=True),
    "landmarks, objects": landmarks(words, metric=mismatches, given={"metric": mismatches}),
    "landmarks, precomputed": landmarks(all_distances, metric="precomputed"),
    **{f"map, {name}": mapped(embedding=name) for name in EMBEDDINGS},
    **{f"map, {name}, cityblock": mapped(embedding=name, metric="cityblock") for name in EMBEDDINGS},
    **{f"map, {name}, one dimension": mapped(1, embedding=name) for name in EMBEDDINGS},
    **{f"map, {name}, precomputed": by_distances(name) for name in EMBEDDINGS},
    "map, isomap, configured": mapped(embedding=LandmarkIsomap(2, n_neighbors=4)),
    "map, diffusion, configured": mapped(embedding=LandmarkDiffusionMap(2, alpha=0.5, time=1.0)),
    "map, isomap, window": mapped(embedding="isomap", window=60),
    "map, tsne, bounded": mapped(embedding="tsne", memory=144, bounded=True),
    "map, without anchors": mapped(n_anchors=None),
    "map, few anchors": mapped(3, n_anchors=12),
    "map, enough anchors": mapped(n_anchors="auto"),
    "map, not aligned": mapped(align=False),
    "map, a frame for each change": mapped(frame_tolerance=0),
    "map, one frame": mapped(frame_tolerance=None),
    "map, steady window": mapped(window=40, frame_tolerance=0.5),
    "map, bounded": mapped(memory=144, bounded=True),
    "map, timed window": mapped(window=30.0, timed=True),
    "map, half-life": mapped(half_life=40),
    "map, detector": mapped(replace_on=RatioShift(warm_up=5)),
    "map, paper": mapped(rule="paper"),
    "map, mahalanobis": mapped(metric="mahalanobis", metric_params={"VI": np.eye(3)}),
    "map, function": mapped(metric=taxi, given={"metric": taxi}),
    "initial": baseline(InitialLandmarks),
    "random": baseline(RandomLandmarks, random_state=0),
    "random online": baseline(RandomOnlineLandmarks, random_state=0),
    "farthest first": baseline(FarthestFirstLandmarks),
}


# --- what is known ----------------------------------------------------------------------------------------------------


def answers(estimator, queries):
    """What an estimator says of points it is asked about."""
    if isinstance(estimator, DriftMap):
        novelty = estimator.novelty(queries)
        return np.column_stack([estimator.transform(queries), novelty.reach, novelty.residual])
    return estimator.distances(queries)


def known(subject, estimator):
    """Everything an estimator says, in a form that compares to the bit."""
    found = {"answers": answers(estimator, subject.queries(estimator)).tobytes()}
    if not hasattr(type(estimator), "stored_indices_"):
        names = ("landmark_indices_", "landmark_mass_", "covering_radius_", "n_samples_seen_", "events_")
        return found | {name: repr(getattr(estimator, name)) for name in names}
    found |= facts(estimator) | {"landmarks themselves": np.asarray(estimator.landmarks_).tolist()}
    if isinstance(estimator, DriftMap):
        found |= {
            "positions": estimator.landmark_embedding_.tobytes(),
            "dimensions": estimator.n_dimensions_,
            "frame": estimator.frame_,
            "frames": [change._replace(rotation=change.rotation.tolist()) for change in estimator.frames_],
        }
    return found


# --- the promises -----------------------------------------------------------------------------------------------------


def for_subjects(that):
    """A check is one of these subjects only."""

    def restrict(check):
        check.applies = that
        return check

    return restrict


def check_batches_are_their_rows_one_by_one(subject, folder):
    for seed in range(max(1, EXAMPLES // 120)):
        whole = known(subject, subject.fitted(seed=seed))
        cuts = np.random.default_rng(seed).integers(1, N, 4)
        for splits in (range(1, N), [1], sorted({*cuts.tolist()})):
            estimator, first = subject.make(), 0
            for last in (*splits, N):
                subject.learn(estimator, first, last, seed)
                first = last
            assert known(subject, estimator) == whole


@for_subjects(lambda subject: isinstance(subject.make(), DriftMap))
def check_within_a_frame_a_row_stays_where_it_is(subject, folder):
    estimator, places = subject.make(), {}
    for first in range(40, N, 5):
        subject.learn(estimator, 0 if first == 40 else first, first + 5)
        place = estimator.transform(subject.queries(estimator)).tobytes()
        assert places.setdefault(estimator.frame_, place) == place
    assert all(change.arrival < estimator.n_samples_seen_ and change.reason for change in estimator.frames_)


@for_subjects(lambda subject: isinstance(subject.make(), DriftMap))
def check_row_i_is_scored_after_row_i_minus_1_was_learnt(subject, folder):
    X, results = subject.stream(0), []
    for splits in (range(1, N), [], [1, 8, 100]):
        estimator, detector, parts = subject.make(), NoveltyDetector(0.8, quiet=0), []
        for first, last in pairwise([0, *splits, N]):
            times = np.arange(first, last) / 3 if subject.timed else None
            part = X[first:last, :last] if subject.stream is all_distances else X[first:last]
            parts.append(estimator.update(part, times, detector=detector))
        scores = [np.concatenate([getattr(part, name) for part in parts]) for name in ("reach", "quantile", "nearest")]
        results.append((scores, [alert for part in parts for alert in part.alerts], facts(estimator)))
    (scores, alerts, learnt), *others = results
    assert alerts
    assert learnt == facts(subject.fitted())  # what is learnt without scores
    for other in others:
        assert other[1:] == (alerts, learnt)
        for one, another in zip(scores, other[0], strict=True):
            assert one.tobytes() == another.tobytes()


@for_subjects(lambda subject: not subject.timed)
def check_fit_forgets_and_takes_the_same_path(subject, folder):
    estimator = subject.fitted(seed=1)
    assert known(subject, estimator.fit(subject.stream(0))) == known(subject, subject.fitted())


def check_a_row_alone_equals_its_row_in_a_batch(subject, folder):
    estimator = subject.fitted(100)
    answers(estimator, subject.queries(estimator))
    subject.learn(estimator, 100, N)  # so that a map has been turned and shifted
    queries = subject.queries(estimator)
    batch = answers(estimator, queries)
    alone = np.concatenate([answers(estimator, queries[i : i + 1]) for i in range(len(queries))])
    assert batch.tobytes() == alone.tobytes()
    if subject.stream is rows:  # more than are placed at a time
        many = answers(estimator, np.tile(queries, (120, 1)))
        assert many.tobytes() == np.tile(batch, (120, 1)).tobytes()


def check_questions_change_nothing(subject, folder):
    estimator = subject.fitted()
    before = known(subject, estimator)
    queries = subject.queries(estimator, seed=7)
    answers(estimator, queries if subject.stream is words else 100 * queries)
    if isinstance(estimator, DriftMap):
        assert "points seen" in estimator._repr_mimebundle_()["text/html"]
        estimator.landmark_table()
        for ask in (lambda: estimator.explain(axis=0), lambda: estimator.score(queries)):
            with contextlib.suppress(InputError):  # there may be no features, or only distances
                ask()
    assert known(subject, estimator) == before


def check_threads_change_nothing(subject, folder):
    estimator = subject.fitted()
    expected, queries = known(subject, estimator), subject.queries(estimator)
    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(lambda _: known(subject, subject.fitted()), range(4))) == [expected] * 4
        asked = pool.map(lambda _: answers(estimator, queries).tobytes(), range(8))
        assert set(asked) == {expected["answers"]}
    if isinstance(estimator, DriftMap):
        many = np.tile(queries, (120, 1))
        alone = estimator.transform(many).tobytes()
        for n_jobs in (2, -1):
            assert estimator.set_params(n_jobs=n_jobs).transform(many).tobytes() == alone


@for_subjects(lambda subject: subject.saves)
def check_a_saved_estimator_goes_on_as_if_nothing_had_happened(subject, folder):
    estimator, path = subject.make(), folder / "a.ckpt"
    for first, last in ((0, 100), (100, 130), (130, 170)):
        subject.learn(estimator, first, last)
        answers(estimator, subject.queries(estimator))
    subject.learn(estimator, 170, 180).save(path)
    assert estimator.to_bytes() == path.read_bytes()
    loaded = type(estimator).load(path, **subject.given)
    assert type(estimator).from_bytes(estimator.to_bytes(), **subject.given).to_bytes() == loaded.to_bytes()
    assert str(loaded.get_params()) == str(estimator.get_params())
    assert known(subject, loaded) == known(subject, estimator)
    for one in (estimator, loaded):
        subject.learn(one, 180, N)
    assert known(subject, loaded) == known(subject, estimator)
    estimator.save(path)
    loaded.save(folder / "b.ckpt")
    assert path.read_bytes() == (folder / "b.ckpt").read_bytes()


def check_copies_go_on_by_themselves(subject, folder):
    for duplicate in (copy.deepcopy, lambda one: pickle.loads(pickle.dumps(one))):
        estimator = subject.fitted(180)
        before = known(subject, estimator)
        twin = duplicate(estimator)
        assert known(subject, twin) == before
        subject.learn(twin, 180, N)
        assert known(subject, estimator) == before
        assert known(subject, subject.learn(estimator, 180, N)) == known(subject, twin)


@for_subjects(lambda subject: subject.bounded)
def check_memory_does_not_grow_with_the_stream(subject, folder):
    estimator, sizes = subject.make(), []
    points = np.random.default_rng(0).standard_normal((6000, 3))
    for part in np.split(points, 20):
        estimator.partial_fit(part).save(folder / "a.ckpt")
        arrays = checkpoint.read(folder / "a.ckpt").arrays
        sizes.append(sum(array.nbytes for name, array in arrays.items() if "event" not in name))
    assert max(sizes) < 1.5 * np.median(sizes)
    assert len(estimator.events_) <= 10_000
    assert len(estimator.stored_indices_) <= 160


def check_nothing_is_known_before_the_first_point(subject, folder):
    estimator = subject.make()
    message = f"This {type(estimator).__name__} has seen no points"
    attributes = [name for name in dir(type(estimator)) if name.endswith("_") and not name.startswith("_")]
    assert {"landmark_indices_", "radius_", "events_"} <= set(attributes)
    asks = [lambda name=name: getattr(estimator, name) for name in attributes if "_in_" not in name]
    asks += [lambda: answers(estimator, subject.stream(0)[:2])]
    asks += [lambda: estimator.save(folder / "a.ckpt")] if subject.saves else []
    for ask in asks:
        with pytest.raises(NotFittedError, match=message):
            ask()
    assert not list(folder.iterdir())
    assert str(clone(estimator).get_params()) == str(estimator.get_params())


@for_subjects(lambda subject: subject.stream is rows)
def check_points_are_copied(subject, folder):
    points, estimator = rows(), subject.make()
    estimator.partial_fit(points, **({"times": np.arange(N) / 3} if subject.timed else {}))
    expected = known(subject, subject.fitted())
    points[:] = 0.0
    estimator.landmarks_[:] = 0.0
    estimator.landmark_mass_[:] = 0
    assert known(subject, estimator) == expected


# --- the same numbers in another form ---


def with_gaps(X):
    wide = np.full((2 * len(X), 3 * X.shape[1]), 7, dtype=X.dtype)
    wide[::2, 1::3] = X
    return wide[::2, 1::3]


FORMS = {
    "columns first": np.asfortranarray,
    "with gaps": with_gaps,
    "backwards": lambda X: np.ascontiguousarray(X[::-1, ::-1])[::-1, ::-1],
    "foreign byte order": lambda X: X.astype(X.dtype.newbyteorder(">")),
    "read-only": lambda X: np.frombuffer(X.tobytes(), X.dtype).reshape(X.shape),
    "unaligned": lambda X: np.frombuffer(b"?" + X.tobytes(), X.dtype, offset=1).reshape(X.shape),
    "lists": lambda X: X.tolist(),
    "pandas": lambda X: pd.DataFrame(X),
    "polars": lambda X: pl.from_numpy(X, schema=[f"column_{j}" for j in range(X.shape[1])]),
}
DTYPES = ("f8", "f4", "f2", "i8", "i1", "?")


@for_subjects(lambda subject: subject.stream is rows and getattr(subject.make(), "embedding", "stress") == "stress")
def check_dtypes_and_layouts_change_nothing(subject, folder):
    # points are converted before any embedding is asked: one stands for all
    times = {"times": np.arange(60) / 3} if subject.timed else {}
    for width in (3, 17):
        if width != 3 and subject.make().metric_params:
            continue
        for dtype in DTYPES:
            points = np.random.default_rng(0).integers(-60, 60, (60, width))
            points = (points > 0 if dtype == "?" else points).astype(dtype)
            points[:, 2] = points[:, 0] == 0  # no row is zero
            plain = points.astype(np.float64)
            estimator = subject.make().partial_fit(plain, **times)
            expected = answers(estimator, plain[:9]), estimator.landmark_indices_.tolist()
            for form in FORMS.values() if dtype in ("f8", "f4") else [np.asarray]:
                other = subject.make().partial_fit(form(points), **times)
                found = answers(other, form(points[:9])), other.landmark_indices_.tolist()
                np.testing.assert_array_equal(found[0], expected[0])
                assert found[1] == expected[1]


# --- bad input ---

BAD_ROWS = {
    "NaN": (np.array([[0.0, 1.0, 2.0], [0.0, np.nan, 2.0]]), "row 1, column 1 is NaN"),
    "infinity": (np.array([[0.0, 1.0, -np.inf]]), "row 0, column 2 is -inf"),
    "single precision": (np.array([[0.0, 1.0, np.inf]], np.float32), "row 0, column 2 is inf"),
    "overflow": (np.array([[0.0, 1e200, 0.0]]), "row 0, column 1 is 1e\\+200, beyond 1e\\+140: squares overflow"),
    "width": (np.ones((2, 4)), "X has 4 features, but .* 3"),
    "text": ([["1", "2", "x"]], "row 0, column 2 is 'x', not a number"),
    "named column": (pd.DataFrame({"a": [1.0], "b": [1.0], "c": [np.nan]}), r"row 0, column 2 \('c'\) is NaN"),
    "masked": (np.ma.array([[1.0, 2.0, 3.0]], mask=[[False, True, False]]), "masked entries"),
    "dates": (np.array([["2020-01-01"] * 3], dtype="datetime64[D]"), "dates or time spans"),
    "empty": (np.zeros((0, 3)), "0 sample"),
    "ragged": ([[1.0, 2.0, 3.0], [1.0, 2.0]], "inhomogeneous|sequence"),
    "one-dimensional": (np.zeros(3), "Expected 2D array, got 1D array"),
    "complex": (np.full((1, 3), 1j), "Complex data not supported"),
}
BAD_OBJECTS = {"empty": ([], "X is empty"), "a bare string": ("word", "must be a sequence of objects")}
BAD_DISTANCES = {
    "width": (np.ones((2, N + 7)), f"need {N + 2} columns|distances to all {N} arrivals"),
    "NaN": (np.full((1, N), np.nan), f"arrival {N} and arrival 0 is nan|row 0 and arrival .* is nan"),
    "negative": (np.full((1, N), -1.0), "is -1.0: a distance must be"),
    "empty": (np.ones((0, N)), "0 sample"),
    "complex": (np.full((1, N), 1j), "Complex data not supported"),
}


def check_bad_input_is_named_and_changes_nothing(subject, folder):
    estimator = subject.fitted()
    before = known(subject, estimator)
    bad = {rows: BAD_ROWS, words: BAD_OBJECTS, all_distances: BAD_DISTANCES}[subject.stream]
    methods = [
        estimator.partial_fit,
        lambda X: answers(estimator, X),
        *([estimator.update] if isinstance(estimator, DriftMap) else []),
    ]
    for what, (points, message) in bad.items():
        for method in methods:
            with warnings.catch_warnings(), pytest.raises(ValueError, match=message):
                warnings.filterwarnings("ignore", message="X (has|does not have valid) feature names")
                method(points)
            assert known(subject, estimator) == before
        if what != "width" and subject.stream is not all_distances and not callable(estimator.metric):
            with pytest.raises(ValueError, match=message):
                estimator.fit(points)
            assert known(subject, estimator) == before
            fresh = subject.make()
            begun = fresh.__sklearn_is_fitted__()
            with pytest.raises(ValueError, match=message):
                fresh.partial_fit(points)
            assert fresh.__sklearn_is_fitted__() == begun
            assert known(subject, subject.learn(fresh, 0, N)) == before


CHECKS = [check for name, check in list(globals().items()) if name.startswith("check_") and callable(check)]


def contracts(subjects, checks=CHECKS):
    """Each of the checks with each of the subjects that it is about, as parameters of a test."""
    return [
        pytest.param(check, subject, id=f"{name}-{check.__name__.removeprefix('check_')}")
        for name, subject in subjects.items()
        for check in checks
        if not hasattr(check, "applies") or check.applies(subject)
    ]

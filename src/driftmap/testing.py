"""Checks for metrics and embeddings of your own: the promises that a map relies on, as plain functions.

Each check raises an ``AssertionError`` that names the promise which does not hold. No test framework is needed:

>>> from driftmap.testing import check_embedding, check_metric
>>> def taxi(x, y):
...     return float(abs(x - y).sum())
>>> taxi.obeys_triangle = True
>>> check_metric(taxi)
>>> from driftmap.embedding import LandmarkMDS
>>> check_embedding(LandmarkMDS(2))
"""

from __future__ import annotations

import copy
import pickle
import tempfile
import warnings
from collections.abc import Callable, Iterator, Sequence
from itertools import combinations, pairwise
from pathlib import Path
from typing import Any

import numpy as np

from driftmap.embedding import Embedding
from driftmap.estimator import DriftMap
from driftmap.landmarks import OnlineLandmarks
from driftmap.metrics import MetricLike
from driftmap.utils import Array
from driftmap.utils.errors import InputError

__all__ = ["check_embedding", "check_metric"]

N_POINTS = 120
N_LANDMARKS = 12
N_TRIPLES = 400
"""Triples of points for which the triangle inequality is tried."""
SEAMS = (0, 1, 2, 7, 40, 41, 90, N_POINTS)
"""Where batches end."""
ROUNDING = 1e-9
"""Relative error that rounding may cause."""


def check_metric(metric: MetricLike, points: Sequence[Any] | Array | None = None, **metric_params: Any) -> None:
    """Check a metric as ``DriftMap(metric=...)`` and ``OnlineLandmarks(metric=...)`` take it.

    Parameters
    ----------
    metric : str or callable
        The metric. A callable may have the attribute ``obeys_triangle``.
    points : sequence, optional
        At least 40 points that the metric is for, rows or other objects; by default rows of four numbers.
    **metric_params
        Further arguments of the metric.

    Raises
    ------
    AssertionError
        Names the first promise that does not hold.
    """
    known = _rows(0) if points is None else points
    if len(known) < 40:
        raise InputError(f"must have at least 40 entries, got {len(known)}", parameter="points")
    for promise, check in METRIC_CHECKS.items():
        _run(promise, check, metric, known, metric_params)


def check_embedding(embedding: Embedding, *, n_landmarks: int = N_LANDMARKS) -> None:
    """Check an embedding as ``DriftMap(embedding=...)`` takes it: an object with the members of ``Embedding``.

    Raises
    ------
    AssertionError
        Names the first promise that does not hold.
    """
    if not all(callable(getattr(embedding, name, None)) for name in ("fit", "place")):
        raise AssertionError("it lacks the members of driftmap.embedding.Embedding: fit, place")
    for promise, check in EMBEDDING_CHECKS.items():
        _run(promise, check, embedding, n_landmarks)


def _run(promise: str, check: Callable[..., None], *subject: Any) -> None:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # of streams that are too short for all dimensions
            check(*subject)
    except Exception as error:
        said = f": {error}" if str(error) else ""
        raise AssertionError(f"it does not hold that {promise}{said}") from error


def _rows(seed: int, n: int = N_POINTS, d: int = 4) -> Array:
    """A stream that drifts."""
    rng = np.random.default_rng(seed)
    return np.asarray(np.cumsum(rng.standard_normal((n, d)), axis=0) + rng.standard_normal((n, d)))


def _batches(points: Any) -> Iterator[Any]:
    seams = [*(seam for seam in SEAMS if seam < len(points)), len(points)]
    yield from (points[first:last] for first, last in pairwise(seams))


def _same(a: Any, b: Any, what: str) -> None:
    if not np.array_equal(a, b):
        raise AssertionError(what)


# --- metrics ---


def _landmarks(metric: MetricLike, params: dict[str, Any]) -> OnlineLandmarks:
    return OnlineLandmarks(N_LANDMARKS, metric=metric, metric_params=params or None)


def _between(metric: MetricLike, points: Any, params: dict[str, Any]) -> Array:
    """Distances of all points to the landmarks of all of them."""
    return np.asarray(_landmarks(metric, params).partial_fit(points).distances(points))


def _is_a_distance(metric: MetricLike, points: Any, params: dict[str, Any]) -> None:
    distances = _between(metric, points, params)
    assert np.isfinite(distances).all(), "a distance is infinite or NaN"
    assert (distances >= 0).all(), "a distance is negative"


def _is_zero_on_itself(metric: MetricLike, points: Any, params: dict[str, Any]) -> None:
    fitted = _landmarks(metric, params).partial_fit(points)
    own = fitted.distances([points[i] for i in fitted.landmark_indices_.tolist()])
    largest = max(float(fitted.distances(points).max()), np.finfo(float).tiny)
    assert np.diag(own).max() <= ROUNDING * largest, f"a point is {np.diag(own).max():.3g} from itself"


def _is_symmetric(metric: MetricLike, points: Any, params: dict[str, Any]) -> None:
    fitted = _landmarks(metric, params).partial_fit(points)
    own = np.asarray(fitted.distances([points[i] for i in fitted.landmark_indices_.tolist()]))
    apart = float(np.abs(own - own.T).max())
    assert apart <= ROUNDING * own.max(), f"two points have distances that differ by {apart:.3g}"


def _repeats(metric: MetricLike, points: Any, params: dict[str, Any]) -> None:
    fitted = _landmarks(metric, params).partial_fit(points)
    whole = fitted.distances(points)
    _same(whole, fitted.distances(points), "the same points have another distance the second time")
    rows = np.vstack([fitted.distances(points[i : i + 1]) for i in range(len(points))])
    _same(whole, rows, "a point alone has another distance than in a batch")


def _keeps_its_arguments(metric: MetricLike, points: Any, params: dict[str, Any]) -> None:
    before = copy.deepcopy(points)
    _between(metric, points, params)
    assert all(np.array_equal(a, b) for a, b in zip(before, points, strict=True)), "a point has changed"


def _obeys_the_triangle(metric: MetricLike, points: Any, params: dict[str, Any]) -> None:
    fitted = _landmarks(metric, params).partial_fit(points)
    try:
        bound = fitted.coverage_bound_
    except (InputError, ValueError, AttributeError):
        return  # nothing is claimed
    distances = np.asarray(fitted.distances(points))
    own = distances[fitted.landmark_indices_]
    for i, j in combinations(range(len(own)), 2):
        detour = distances[:, i] + distances[:, j]
        worst = float((own[i, j] - detour * (1 + ROUNDING)).max())
        assert worst <= 0, f"two points are {worst:.3g} farther apart than by way of a third"
    assert distances.min(axis=1).max() <= bound, "a point is farther from all landmarks than the bound"


def _batches_are_rows(metric: MetricLike, points: Any, params: dict[str, Any]) -> None:
    whole, parts = _landmarks(metric, params).partial_fit(points), _landmarks(metric, params)
    for batch in _batches(points):
        parts.partial_fit(batch)
    _same(whole.landmark_indices_, parts.landmark_indices_, "other landmarks")
    _same(whole.radius_, parts.radius_, "another radius")


def _a_saved_stream_goes_on(metric: MetricLike, points: Any, params: dict[str, Any]) -> None:
    half = len(points) // 2
    straight = _landmarks(metric, params).partial_fit(points[:half])
    given = {} if isinstance(metric, str) else {"metric": metric}
    with tempfile.TemporaryDirectory() as folder:
        straight.save(Path(folder, "landmarks.ckpt"))
        loaded = OnlineLandmarks.load(Path(folder, "landmarks.ckpt"), **given)
    straight.partial_fit(points[half:])
    loaded.partial_fit(points[half:])
    _same(straight.landmark_indices_, loaded.landmark_indices_, "other landmarks")
    _same(straight.distances(points), loaded.distances(points), "other distances")


METRIC_CHECKS: dict[str, Callable[..., None]] = {
    "distances are finite and not negative": _is_a_distance,
    "a point is at distance 0 from itself": _is_zero_on_itself,
    "distances are the same both ways": _is_symmetric,
    "a pair of points always has the same distance": _repeats,
    "measuring changes no point": _keeps_its_arguments,
    "the triangle inequality holds where it is claimed": _obeys_the_triangle,
    "batches are learnt as their rows one by one": _batches_are_rows,
    "a stream that was saved goes on as if nothing had happened": _a_saved_stream_goes_on,
}
"""The promises of a metric, each with the function that checks it."""


# --- embeddings ---


def _map(embedding: Embedding, n_landmarks: int) -> DriftMap:
    return DriftMap(_components(embedding), n_landmarks=n_landmarks, embedding=embedding)


def _components(embedding: Embedding) -> int:
    """The dimension of the maps that an embedding makes."""
    rows = _rows(1, 30)
    distances = np.linalg.norm(rows[:, None] - rows, axis=2)
    plain = not getattr(embedding, "needs", None)
    if plain:
        return int(copy.deepcopy(embedding).fit(distances, np.ones(len(rows))).coordinates_.shape[1])
    return int(getattr(embedding, "n_components", 2))


def _places_are_finite(embedding: Embedding, n_landmarks: int) -> None:
    rows = _rows(0)
    mapper = _map(embedding, n_landmarks).partial_fit(rows)
    assert np.isfinite(mapper.transform(rows)).all(), "a point has no place"
    far = rows[:3] + 1e6
    assert np.isfinite(mapper.transform(far)).all(), "a point that is far away has no place"
    assert mapper.landmark_embedding_.shape == (len(mapper.landmark_indices_), mapper.n_components), (
        "the shape is wrong"
    )


def _a_row_alone_equals_its_row(embedding: Embedding, n_landmarks: int) -> None:
    rows = _rows(0)
    mapper = _map(embedding, n_landmarks).partial_fit(rows)
    alone = np.vstack([mapper.transform(row[None]) for row in rows[:20]])
    _same(alone, mapper.transform(rows)[:20], "a row alone lies elsewhere")


def _questions_change_nothing(embedding: Embedding, n_landmarks: int) -> None:
    rows = _rows(0)
    mapper = _map(embedding, n_landmarks).partial_fit(rows[:80])
    before = mapper.transform(rows)
    mapper.novelty(rows)
    _same(before, mapper.transform(rows), "a second look gives another place")


def _the_same_calls_give_the_same_map(embedding: Embedding, n_landmarks: int) -> None:
    rows = _rows(0)
    maps = [_map(copy.deepcopy(embedding), n_landmarks) for _ in range(2)]
    for batch in _batches(rows):
        first, second = (mapper.partial_fit(batch).transform(rows) for mapper in maps)
        _same(first, second, "two maps of the same stream differ")


def _the_given_object_stays(embedding: Embedding, n_landmarks: int) -> None:
    before = set(vars(embedding)) if hasattr(embedding, "__dict__") else set()
    _map(embedding, n_landmarks).partial_fit(_rows(0)).transform(_rows(0))
    after = set(vars(embedding)) if hasattr(embedding, "__dict__") else set()
    assert before == after, f"it has {', '.join(sorted(after - before))} now: fit a copy"


def _copies_go_on(embedding: Embedding, n_landmarks: int) -> None:
    rows = _rows(0)
    mapper = _map(embedding, n_landmarks).partial_fit(rows[:80])
    mapper.transform(rows)
    others = [copy.deepcopy(mapper), pickle.loads(pickle.dumps(mapper))]
    expected = mapper.partial_fit(rows[80:]).transform(rows)
    for other in others:
        _same(expected, other.partial_fit(rows[80:]).transform(rows), "a copy goes on elsewhere")


def _a_saved_map_goes_on(embedding: Embedding, n_landmarks: int) -> None:
    rows = _rows(0)
    mapper = _map(embedding, n_landmarks).partial_fit(rows[:80])
    before = mapper.transform(rows)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "map.ckpt")
        mapper.save(path)
        try:
            loaded = DriftMap.load(path)
        except ValueError:  # a class that the library does not know
            loaded = DriftMap.load(path, embedding=copy.deepcopy(embedding))
    if hasattr(embedding, "state"):
        _same(before, loaded.transform(rows), "the frame that was saved is another one")
    assert np.isfinite(loaded.partial_fit(rows[80:]).transform(rows)).all(), "a loaded map gives no places"


def _few_points_have_a_map(embedding: Embedding, n_landmarks: int) -> None:
    rows = _rows(0)
    mapper = _map(embedding, n_landmarks)
    for n in (1, 2, 3):
        assert np.isfinite(mapper.partial_fit(rows[n - 1 : n]).transform(rows[:n])).all(), f"{n} points have no map"
    alike = _map(embedding, n_landmarks).partial_fit(np.zeros((20, 4)))
    assert np.isfinite(alike.transform(np.zeros((1, 4)))).all(), "points in one place have no map"


EMBEDDING_CHECKS: dict[str, Callable[..., None]] = {
    "every point has a place": _places_are_finite,
    "a row is placed by itself": _a_row_alone_equals_its_row,
    "looking at a map changes nothing": _questions_change_nothing,
    "the same calls give the same map": _the_same_calls_give_the_same_map,
    "the object that was given stays as it is": _the_given_object_stays,
    "copies go on by themselves": _copies_go_on,
    "a map that was saved can be loaded and goes on": _a_saved_map_goes_on,
    "a stream has a map from its first point on": _few_points_have_a_map,
}
"""The promises of an embedding, each with the function that checks it."""

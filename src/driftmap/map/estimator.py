"""DriftMap: the map of a stream as a scikit-learn transformer."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import validate_data

from driftmap.embedding import Embedding
from driftmap.landmarks import Detector
from driftmap.landmarks.delegation import Delegated, EngineEstimator, is_lazy
from driftmap.landmarks.merging import CoreSet
from driftmap.landmarks.online import LandmarkEngine
from driftmap.map import Arrivals, Novelty, StreamMap
from driftmap.map.frames import FrameChange
from driftmap.map.frozen import FrozenMap, freeze
from driftmap.metrics import Metric
from driftmap.streams.novelty import NoveltyDetector
from driftmap.utils import Array, validation
from driftmap.utils.errors import InputError
from driftmap.utils.frames import materialized


class DriftMap(ClassNamePrefixFeaturesOutMixin, TransformerMixin, EngineEstimator, BaseEstimator):
    """A low-dimensional map of a stream, from a few landmarks that follow it.

    ``partial_fit`` learns from points as they arrive; ``transform`` places any points by their distances to the present
    landmarks and never learns. A row is placed by itself: row i of a batch goes where row i alone would.

    Parameters
    ----------
    n_components : int
        Dimension of the map.
    n_landmarks : int
        The most landmarks to keep, at least ``n_components + 1``.
    rule : {"tight", "paper"}
        Which landmark leaves when a new one comes; see :class:`~driftmap.landmarks.OnlineLandmarks`.
    embedding : {"stress", "weighted-lmds", "lmds"} or Embedding
        How landmarks and points are placed: by stress, or by landmark MDS with or without the landmarks' masses; an
        object with the members of :class:`~driftmap.embedding.Embedding` is copied and used.
    n_anchors : int or None
        With "stress": fit the map to up to so many weighted stored points, whose distances follow from those to the
        landmarks; None: to the landmarks only.
    align : bool
        Lay each new frame on the one given out before, so that the map does not turn or flip when landmarks change.
    metric, metric_params
        The distance; see :class:`~driftmap.landmarks.OnlineLandmarks`.
    slack, memory, window, half_life, replace_on
        When landmarks are replaced, how many points are remembered, and how long; see
        :class:`~driftmap.landmarks.OnlineLandmarks`.
    n_jobs : int or None
        Threads that place the rows of large batches; None: one, -1: one per core. They change no result.
    random_state : int, RandomState or None
        For embeddings that need random numbers; those above do not.

    Examples
    --------
    >>> import numpy as np
    >>> from driftmap import DriftMap
    >>> rng = np.random.default_rng(0)
    >>> stream = np.cumsum(rng.standard_normal((500, 5)), axis=0)
    >>> mapper = DriftMap(n_landmarks=20)
    >>> for batch in np.split(stream, 5):
    ...     mapper = mapper.partial_fit(batch)
    >>> mapper.transform(stream).shape
    (500, 2)
    """

    _engine: StreamMap
    _engine_type = StreamMap

    landmark_embedding_ = Delegated[Array](StreamMap, "_fitted_engine")
    fitted_embedding_ = Delegated[Any](StreamMap, "_fitted_engine")
    n_dimensions_ = Delegated[int](StreamMap, "_fitted_engine")
    frame_ = Delegated[int](StreamMap, "_fitted_engine")
    frames_ = Delegated[list[FrameChange]](StreamMap, "_fitted_engine")

    def __init__(
        self,
        n_components: int = 2,
        *,
        n_landmarks: int = 100,
        rule: str = "tight",
        embedding: str | Embedding = "stress",
        n_anchors: int | None = 128,
        align: bool = True,
        metric: Metric = "euclidean",
        metric_params: dict[str, Any] | None = None,
        slack: float = 0.02,
        memory: int | str | None = "auto",
        window: Any = None,
        half_life: Any = None,
        replace_on: str | Detector = "uncovered",
        n_jobs: int | None = None,
        random_state: Any = None,
    ) -> None:
        self.n_components = n_components
        self.n_landmarks = n_landmarks
        self.rule = rule
        self.embedding = embedding
        self.n_anchors = n_anchors
        self.align = align
        self.metric = metric
        self.metric_params = metric_params
        self.slack = slack
        self.memory = memory
        self.window = window
        self.half_life = half_life
        self.replace_on = replace_on
        self.n_jobs = n_jobs
        self.random_state = random_state

    def update(self, X: Any, times: Any = None, *, detector: NoveltyDetector | None = None) -> Arrivals:
        """Score, learn and place further points, in one call.

        Row i is scored after row i - 1 was learnt and before it is learnt itself, whatever the batches. All rows are
        placed on the map after the last of them. ``detector`` is given the novelty of each row; its alerts are in the
        result, and its callback is called with them.

        >>> rows = np.random.default_rng(0).standard_normal((600, 3))
        >>> rows[500] = 40.0
        >>> arrivals = DriftMap().update(rows)
        >>> arrivals.coordinates.shape, int(np.argmax(np.where(arrivals.reach < np.inf, arrivals.reach, 0)))
        ((600, 2), 500)
        """
        if is_lazy(X):
            raise TypeError("update takes rows that are in memory: give it the partitions of a dask collection in turn")
        X = materialized(X)
        self._check_features(X)
        with self._learning_engine(X) as engine:
            arrivals: Arrivals = engine.update(X, times, detector)
        return arrivals

    def _prepare(self, engine: StreamMap, X: Any) -> None:
        engine.feature_names, engine.dict_names = _names_of_columns(X), ()

    def transform(self, X: Any) -> Any:
        """Place points in the frame of the present landmarks; a dask collection is placed lazily."""
        engine = self._fitted_engine()
        if is_lazy(X):
            from driftmap import dask

            return dask.transform(self, X)
        X = materialized(X)
        self._check_features(X)
        return engine.transform(X, self.n_jobs)

    def novelty(self, X: Any) -> Novelty:
        """Which points the map does not represent: far from all landmarks, or not placeable by their distances."""
        engine, X = self._fitted_engine(), materialized(X)
        self._check_features(X)
        return engine.novelty(X)

    def coreset(self) -> CoreSet:
        """See :meth:`~driftmap.landmarks.OnlineLandmarks.coreset`."""
        return self._fitted_engine().coreset()

    def _merged(self, engine: StreamMap, later: list[CoreSet]) -> StreamMap:
        return engine.merge(later)

    def freeze(self) -> FrozenMap:
        """The present frame as an immutable map that only places and scores, to be used anywhere."""
        return freeze(self._fitted_engine())

    def learn_one(self, x: Mapping[str, float]) -> Self:
        """Learn from one point given as a dict of features, as river's users write it."""
        names = self._names_of(x)
        row = _as_row(x, names)
        with self._learning_engine(row) as engine:
            engine.partial_fit(row)
        self._engine.dict_names = names
        return self

    def transform_one(self, x: Mapping[str, float]) -> dict[str, float]:
        """Place one point given as a dict of features."""
        engine = self._fitted_engine()
        engine.dict_names = self._names_of(x)
        place = engine.transform(_as_row(x, engine.dict_names))[0]
        return dict(zip(map(str, self.get_feature_names_out()), map(float, place), strict=True))

    # --- features, as scikit-learn has them ---

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = self.metric in ("euclidean", "l2", "cosine")
        return tags

    @property
    def n_features_in_(self) -> int:
        """Number of features of the points; absent if they are objects."""
        n_features = self._landmark_engine().n_features if self.__sklearn_is_fitted__() else None
        if n_features is None:
            raise AttributeError("there are no features")
        return n_features

    @property
    def feature_names_in_(self) -> NDArray[Any]:
        """Names of the features, if the first points came with names."""
        if not (self.__sklearn_is_fitted__() and self._engine.feature_names):
            raise AttributeError("the features have no names")
        return np.array(self._engine.feature_names, dtype=object)

    def _check_features(self, X: Any) -> None:
        """Feature names and their number are those of the first points; objects and distances have none."""
        engine = self.__dict__.get("_engine")
        if engine is None or engine.landmarks is None:
            return
        if validation.is_plain(X) and not engine.feature_names and X.shape[1] == engine.landmarks.space.n_features:
            return  # as nearly always; the way through scikit-learn takes longer than to learn a point
        if engine.metric != "precomputed" and len(getattr(X, "shape", ())) == 2:
            validate_data(self, X, reset=False, skip_check_array=True)

    def _names_of(self, x: Mapping[str, float]) -> tuple[str, ...]:
        """The features in the order in which they were learnt; the first dict names them if nothing else has."""
        if not isinstance(x, Mapping):
            raise InputError(f"must be a dict of features, got {type(x).__name__}", parameter="x")
        if not self.__sklearn_is_fitted__():
            return tuple(x)
        names = self._engine.feature_names or self._engine.dict_names or tuple(x)
        if set(names) != set(x):
            missing, new = sorted(set(names) - set(x)), sorted(set(x) - set(names))
            problem = f"must have the features seen first; missing: {missing}, new: {new}"
            raise InputError(problem, parameter="x")
        return names

    @property
    def _n_features_out(self) -> int:
        return self._engine.n_components if self.__sklearn_is_fitted__() else self.n_components

    def _landmark_engine(self) -> LandmarkEngine:
        return self._fitted_engine()._landmark_engine()

    def _fitted_engine(self) -> StreamMap:
        engine: StreamMap = super()._fitted_engine()
        return engine


def _names_of_columns(X: Any) -> tuple[str, ...]:
    """The names of the columns of a data frame as scikit-learn has them; of anything else, none."""
    if validation.is_plain(X) or len(getattr(X, "shape", ())) != 2:
        return ()
    blank = BaseEstimator()
    validate_data(blank, X, skip_check_array=True)
    return tuple(getattr(blank, "feature_names_in_", ()))


def _as_row(x: Mapping[str, float], names: tuple[str, ...]) -> NDArray[Any]:
    values = [x[name] for name in names]
    try:
        return np.array([values], dtype=np.float64)
    except (TypeError, ValueError):
        return np.array([values], dtype=object)  # an error names the column where the rows are checked

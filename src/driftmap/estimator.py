"""DriftMap: the map of a stream as a scikit-learn transformer."""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import validate_data

from driftmap.embedding import Embedding
from driftmap.landmarks import Detector
from driftmap.landmarks.core_set import CoreSet
from driftmap.landmarks.engine_estimator import Delegated, EngineEstimator, is_lazy
from driftmap.landmarks.online import LandmarkEngine
from driftmap.map import Arrivals, Novelty, StreamMap
from driftmap.map.drift import DriftMonitor
from driftmap.map.explain import Explanation, explain, landmark_table
from driftmap.map.frame import FrameChange
from driftmap.map.frozen import FrozenMap, freeze
from driftmap.map.landmark_count import LandmarkCount, count_landmarks, largest_map
from driftmap.map.novelty import NoveltyDetector
from driftmap.map.truth import in_words, sampled_stress
from driftmap.metrics import MetricLike
from driftmap.metrics.table import known
from driftmap.notebook_interface import NotebookInterface
from driftmap.quality import Displacement
from driftmap.river_interface import RiverInterface
from driftmap.utils import Array, Ids, validation
from driftmap.utils.columns import suggestion
from driftmap.utils.data_frames import materialized
from driftmap.utils.errors import InputError

if TYPE_CHECKING:
    from matplotlib.figure import Figure


class DriftMap(
    RiverInterface,
    NotebookInterface,
    ClassNamePrefixFeaturesOutMixin,
    TransformerMixin,
    EngineEstimator,
    BaseEstimator,
):
    """A low-dimensional map of a stream, based on a few landmarks that follow it.

    ``partial_fit`` learns from points as they arrive; ``transform`` places points by their distances to the current
    landmarks, without learning. Rows are placed independently of the other rows of a batch.

    Parameters
    ----------
    n_components : int
        Dimension of the map.
    n_landmarks : int or "auto"
        Maximum number of landmarks, at least ``n_components + 1``. "auto": ``fit`` learns X twice and takes the fewest
        whose stress is within 2 % of that of four times as many (t-SNE: whose trustworthiness is within 0.005);
        ``landmark_count_`` states the reason. A loaded map has the number that was found.
    rule : {"tight", "paper"}
        Which landmark a new one replaces; see :class:`~driftmap.landmarks.OnlineLandmarks`.
    embedding : {"stress", "weighted-lmds", "lmds"} or Embedding
        How landmarks and points are placed: by stress, or by landmark MDS with or without the landmarks' masses. An
        object with the members of :class:`~driftmap.embedding.Embedding` is copied before use.
    n_anchors : int, "auto" or None
        With "stress": fit the map to up to that many weighted stored points (anchors), and place points by their
        distances to these. They are measured, or, with a Python function as metric, inferred from those to the
        landmarks. "auto": 128, 256, 512 or 1,024, the fewest that place other points as truly (stress within 2 %) and
        as evenly as twice as many; all stored points while these are few. It is chosen with the first frame, and again
        when half of the landmarks have been exchanged or the stored points have doubled; 128 where a Python function
        measures. None: the landmarks only.
    align : bool
        Align each new frame with the previous one, so that the map does not turn or flip when landmarks change.
    frame_tolerance : float or None
        Keep the frame while a new one would be better by at most this share, in the stress of all points and of recent
        ones (of at least 0.01; of embeddings that do not keep distances: in the share of nearest neighbours lost).
        Coordinates with one frame number are exactly comparable. 0: a new frame at every change of the landmarks and
        in 10 % more points.
        None: keep the first map of ``n_landmarks`` landmarks for ever.
    metric, metric_params
        The distance; see :class:`~driftmap.landmarks.OnlineLandmarks`.
    slack, memory, window, half_life, replace_on
        When landmarks are replaced, how many points are remembered, and for how long; see
        :class:`~driftmap.landmarks.OnlineLandmarks`.
    n_jobs : int or None
        Threads that place the rows of large batches; None: one, -1: one per core. Results do not depend on it.
    random_state : int, RandomState or None
        For embeddings that use random numbers; those above do not.

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
    n_anchors_ = Delegated[int](StreamMap, "_fitted_engine")
    anchor_indices_ = Delegated[Ids](StreamMap, "_fitted_engine")
    frame_ = Delegated[int](StreamMap, "_fitted_engine")
    frames_ = Delegated[list[FrameChange]](StreamMap, "_fitted_engine")

    def __init__(
        self,
        n_components: int = 2,
        *,
        n_landmarks: int | str = 100,
        rule: str = "tight",
        embedding: str | Embedding = "stress",
        n_anchors: int | str | None = "auto",
        align: bool = True,
        frame_tolerance: float | None = 0.02,
        metric: MetricLike = "euclidean",
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
        self.frame_tolerance = frame_tolerance
        self.metric = metric
        self.metric_params = metric_params
        self.slack = slack
        self.memory = memory
        self.window = window
        self.half_life = half_life
        self.replace_on = replace_on
        self.n_jobs = n_jobs
        self.random_state = random_state

    def update(
        self,
        X: Any,
        times: Any = None,
        *,
        detector: NoveltyDetector | None = None,
        monitor: DriftMonitor | None = None,
        isolation: bool = False,
    ) -> Arrivals:
        """Score, learn and place further points, in one call.

        Each row is scored just before it is learnt, after all rows before it, independent of batch sizes. All rows are
        placed on the map after the last row; if a row cannot be placed, an error is raised after all rows are learnt.
        ``detector`` receives the novelty of each row; its alerts are in the result, and its callback is called with
        each of them. A ``monitor`` compares recent rows with earlier ones; its alarms are in ``drifts``. ``isolation``
        also measures how far each row is from the nearest stored point, relative to how far these are from each other:
        it takes two distances to each stored point, and the rows are learnt one by one.

        >>> rows = np.random.default_rng(0).standard_normal((600, 3))
        >>> rows[500] = 40.0
        >>> arrivals = DriftMap().update(rows)
        >>> arrivals.coordinates.shape, int(np.argmax(np.where(arrivals.reach < np.inf, arrivals.reach, 0)))
        ((600, 2), 500)
        """
        if is_lazy(X):
            raise TypeError("update takes rows in memory: pass the partitions of a dask collection one after the other")
        X = materialized(X)
        self._check_features(X)
        with self._learning_engine(X) as mapper:
            arrivals: Arrivals = mapper.update(X, times, detector, self.n_jobs, monitor=monitor, isolation=isolation)
        return arrivals

    def _choose(self, mapper: StreamMap, X: Any) -> None:
        if isinstance(self.n_landmarks, str) and self.n_landmarks == "auto":
            mapper.landmark_count = count_landmarks(largest_map(mapper).partial_fit(X))
            mapper.n_landmarks = mapper.landmark_count.n_landmarks

    def _prepare(self, mapper: StreamMap, X: Any) -> None:
        if isinstance(mapper.n_landmarks, str) and mapper.n_landmarks == "auto":
            problem = '="auto" is decided by all points together: call fit first, or give a number'
            raise InputError(problem, parameter="n_landmarks")
        mapper.feature_names, mapper.dict_names = validation.column_names(X), ()

    def transform(self, X: Any) -> Any:
        """Place points in the current frame; a dask collection is placed lazily."""
        mapper = self._fitted_engine()
        if is_lazy(X):
            from driftmap import dask

            return dask.transform(self, X)
        X = materialized(X)
        self._check_features(X)
        return mapper.transform(X, self.n_jobs)

    def novelty(self, X: Any) -> Novelty:
        """Measure how poorly the map represents points: their distance from landmarks, and their placement error."""
        mapper, X = self._fitted_engine(), materialized(X)
        self._check_features(X)
        return mapper.novelty(X)

    def score(self, X: Any, y: Any = None) -> float:
        """Return minus the normalised stress of X on the map, for model selection: greater is better.

        At most 2,000 rows, evenly spread, are compared.

        >>> from sklearn.model_selection import GridSearchCV
        >>> search = GridSearchCV(DriftMap(), {"n_anchors": [10, "auto"]})
        >>> search.fit(np.random.default_rng(0).random((300, 3))).best_params_
        {'n_anchors': 'auto'}
        """
        mapper, X = self._fitted_engine(), materialized(X)
        self._check_features(X)
        return -mapper.stress_of(X)

    @property
    def landmark_count_(self) -> LandmarkCount:
        """The number of landmarks that ``n_landmarks="auto"`` chose, and why; absent if the number was given."""
        count: LandmarkCount | None = self._fitted_engine().landmark_count
        if count is None:
            raise AttributeError("the number of landmarks was given")
        return count

    # --- what the map means ---

    def explain(
        self,
        *,
        axis: int | None = None,
        near: ArrayLike | None = None,
        region: Any = None,
        landmark: int | None = None,
    ) -> Explanation:
        """Find the features that drive an axis, or that distinguish a region or a landmark, from the stored points.

        Parameters
        ----------
        axis : int, optional
            A coordinate of the map, from 0: returns its correlation with each feature, and slopes of a linear
            regression.
        near : position on the map, optional
            With ``axis``: use a local regression on the 100 stored points nearest to this position.
        region : pairs (low, high), one per axis; or a function, optional
            Compares the points in this box, or where the function of positions is true, with all others: differences
            of means, in standard deviations.
        landmark : int, optional
            Arrival number of a landmark: compares its Voronoi cell with all other points.

        Examples
        --------
        >>> rng = np.random.default_rng(0)
        >>> rows = np.column_stack([9 * rng.random(500), rng.random(500), 4 * rng.random(500)])
        >>> mapper = DriftMap(n_landmarks=30).fit(rows)
        >>> mapper.explain(axis=0).features[0].feature, mapper.explain(axis=1).features[0].feature
        (0, 2)
        >>> low, high = mapper.transform(rows).min(axis=0), mapper.transform(rows).max(axis=0)
        >>> mapper.explain(region=[(low[0], low[0] + 1), (low[1], high[1])]).features[0].feature
        0
        """
        return explain(self._fitted_engine(), axis=axis, near=near, region=region, landmark=landmark)

    def landmark_table(self, names: Any = None) -> dict[str, Any]:
        """Return the landmarks as a dict of columns (arrival, mass, position, features), ready for a data frame.

        ``names`` has a name for each point seen, such as a date; the landmarks' names become a column.

        >>> table = DriftMap(1, n_landmarks=2).fit([[0.0], [1.0], [8.0]]).landmark_table(names=["a", "b", "c"])
        >>> {column: values.tolist() for column, values in table.items() if column != "driftmap0"}
        {'arrival': [1, 2], 'name': ['b', 'c'], 'mass': [2, 1], 'x0': [1.0, 8.0]}
        """
        return landmark_table(self._fitted_engine(), names)

    def plot(self, X: Any = None, *, color: Any = None, **options: Any) -> Figure:
        """Draw the landmarks and the rows of X, by default the stored points, as a matplotlib figure.

        Its corner has the stress of the map, if the embedding keeps distances. ``color`` has a value for each row of X
        or, without X, for each point seen. ``options`` are further arguments of
        :func:`driftmap.plot.map_figure`, such as ``title`` and ``color_label``.

        >>> figure = DriftMap(n_landmarks=20).fit(np.random.default_rng(0).random((300, 3))).plot(title="A map")
        >>> figure.axes[0].get_title(loc="left")
        'A map'
        """
        from driftmap.plot import map_figure

        known = [*inspect.signature(map_figure).parameters][2:]  # without the coordinates
        if unknown := options.keys() - set(known):
            name = min(unknown)
            is_color = name in ("c", "colour", "hue", "label", "labels", "y")
            hint = ": give color, a value for each row" if is_color else suggestion(name, known)
            raise TypeError(f"DriftMap.plot() has no option {name!r}{hint}")
        mapper = self._fitted_engine()
        if X is None:
            ids, coordinates = mapper.stored_positions()
            if color is not None:
                if len(color) != mapper.n_samples_seen_:
                    problem = (
                        f"must have a value for each of the {mapper.n_samples_seen_} points seen, got {len(color)}"
                    )
                    raise InputError(problem, parameter="color")
                color = np.asarray(color)[ids]
            arrivals = {"times": ids, "time_label": "arrival", "landmark_times": mapper.landmark_indices_}
            options = arrivals | options
        else:
            coordinates = self.transform(X)
        stress = sampled_stress(mapper)
        note = None if stress is None else in_words(stress, 'embedding="tsne"')
        return map_figure(coordinates, mapper.landmark_embedding_, color=color, **{"note": note} | options)

    def coreset(self) -> CoreSet:
        """See :meth:`~driftmap.landmarks.OnlineLandmarks.coreset`."""
        return self._fitted_engine().coreset()

    def _merged(self, mapper: StreamMap, later: list[CoreSet]) -> StreamMap:
        return mapper.merge(later)

    def register(self, reference: DriftMap | StreamMap | FrozenMap, *, scale: bool = False) -> Displacement:
        """Lay the map on an older one, learnt from other rows of the same features: rotation, reflection and shift.

        Stored points of both maps are placed on both, those near a landmark of both are compared, and the map is laid
        so that they lie as near as possible to their places on the older one (Procrustes, weighted by mass). That makes
        a new frame, and later frames are aligned with it. Merged, saved and frozen maps keep it; a user-defined
        embedding without ``restore`` is fitted again when it is loaded, and then lies elsewhere.

        Parameters
        ----------
        reference : DriftMap, StreamMap or FrozenMap
            With the same metric, features and number of components. It does not change.
        scale : bool
            Also scale the map; of embeddings that do not keep distances, such as "tsne".

        Returns
        -------
        Displacement
            How far these points still lie from their places on the older map: median and max, relative to its diameter.

        Examples
        --------
        >>> rows = np.random.default_rng(0).random((600, 3)) * [3, 2, 1]
        >>> monday, tuesday = DriftMap(n_landmarks=30).fit(rows[:300]), DriftMap(n_landmarks=30).fit(rows[300:])
        >>> tuesday.register(monday).median < 0.05
        True
        >>> tuesday.frames_[-1].reason
        'registered'
        """
        other = reference._fitted_engine() if isinstance(reference, DriftMap) else reference
        if not isinstance(other, StreamMap | FrozenMap):
            raise InputError(f"must be a map, got {type(reference).__name__}", parameter="reference")
        return self._fitted_engine().register(other, scale=scale)

    def freeze(self) -> FrozenMap:
        """Return the current frame as an immutable map, which places and scores points but does not learn."""
        return freeze(self._fitted_engine())

    # --- features, as scikit-learn defines them ---

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        metric = known(self.metric)
        tags.input_tags.sparse = metric is not None and metric.sparse
        return tags

    @property
    def n_features_in_(self) -> int:
        """Number of features of the points; absent if they are objects."""
        n_features = self._landmark_engine().n_features if self.__sklearn_is_fitted__() else None
        if n_features is None:
            raise AttributeError("the points have no features")
        return n_features

    @property
    def feature_names_in_(self) -> NDArray[Any]:
        """Names of the features, if the first points came with names."""
        if not (self.__sklearn_is_fitted__() and self._engine.feature_names):
            raise AttributeError("the features have no names")
        return np.array(self._engine.feature_names, dtype=object)

    def _check_features(self, X: Any) -> None:
        """Raise unless names and number of features are those of the first points; objects have no features."""
        mapper = self.__dict__.get("_engine")
        if mapper is None or mapper.landmarks is None:
            return
        if validation.is_plain(X) and not mapper.feature_names and X.shape[1] == mapper.landmarks.store.n_features:
            return  # the common case; scikit-learn's validation takes longer than learning a point
        if mapper.metric != "precomputed" and len(getattr(X, "shape", ())) == 2:
            validate_data(self, X, reset=False, skip_check_array=True)

    @property
    def _n_features_out(self) -> int:
        return self._engine.n_components if self.__sklearn_is_fitted__() else self.n_components

    def _landmark_engine(self) -> LandmarkEngine:
        return self._fitted_engine()._landmark_engine()

    def _fitted_engine(self) -> StreamMap:
        mapper: StreamMap = super()._fitted_engine()
        return mapper

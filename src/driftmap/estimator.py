"""DriftMap: the map of a stream as a scikit-learn transformer."""

from __future__ import annotations

import copy
import sys
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin, clone
from sklearn.utils.validation import validate_data

from driftmap.embedding import Embedding
from driftmap.landmarks import Detector
from driftmap.landmarks.engine_estimator import Delegated, EngineEstimator, is_lazy
from driftmap.landmarks.merging import CoreSet
from driftmap.landmarks.online import LandmarkEngine
from driftmap.map import Arrivals, Novelty, StreamMap
from driftmap.map.explain import Explanation, explain, landmark_table
from driftmap.map.frames import FrameChange
from driftmap.map.frozen import FrozenMap, freeze
from driftmap.map.landmark_count import LandmarkCount, count_landmarks, largest_map
from driftmap.map.novelty import NoveltyDetector
from driftmap.map.truth import in_words, sampled_stress
from driftmap.metrics import MetricLike
from driftmap.utils import Array, Ids, validation
from driftmap.utils.data_frames import as_row, materialized
from driftmap.utils.errors import InputError

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from driftmap.live.notebook import NotebookView


class DriftMap(ClassNamePrefixFeaturesOutMixin, TransformerMixin, EngineEstimator, BaseEstimator):
    """A low-dimensional map of a stream, from a few landmarks that follow it.

    ``partial_fit`` learns from points as they arrive; ``transform`` places any points by their distances to the present
    landmarks and never learns. A row is placed by itself: row i of a batch goes where row i alone would.

    Parameters
    ----------
    n_components : int
        Dimension of the map.
    n_landmarks : int or "auto"
        The most landmarks to keep, at least ``n_components + 1``. "auto": ``fit`` learns X twice and takes the fewest
        whose stress is within 2 % of that of four times as many; ``landmark_count_`` says why. A map that is loaded
        has the number that was found.
    rule : {"tight", "paper"}
        Which landmark leaves when a new one comes; see :class:`~driftmap.landmarks.OnlineLandmarks`.
    embedding : {"stress", "weighted-lmds", "lmds"} or Embedding
        How landmarks and points are placed: by stress, or by landmark MDS with or without the landmarks' masses; an
        object with the members of :class:`~driftmap.embedding.Embedding` is copied and used.
    n_anchors : int, "auto" or None
        With "stress": fit the map to up to that many weighted stored points (anchors), and place points by their
        distances to these. They are measured, or, with a Python function as metric, inferred from those to the
        landmarks. "auto": 128, 256, 512 or 1,024, the fewest that place other points as truly (stress within 2 %) and
        as evenly as twice as many; all stored points while these are few. It is chosen with the first frame, and again
        when half of the landmarks have been exchanged or the stored points have doubled. None: the landmarks only.
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
        n_anchors: int | str | None = 128,
        align: bool = True,
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
        placed on the map after the last of them; if one cannot be placed, that is an error, and all are learnt.
        ``detector`` is given the novelty of each row; its alerts are in the result, and its callback is called with
        them.

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
        with self._learning_engine(X) as mapper:
            arrivals: Arrivals = mapper.update(X, times, detector, self.n_jobs)
        return arrivals

    def _choose(self, mapper: StreamMap, X: Any) -> None:
        if isinstance(self.n_landmarks, str) and self.n_landmarks == "auto":
            mapper.landmark_count = count_landmarks(largest_map(mapper).partial_fit(X))
            mapper.n_landmarks = mapper.landmark_count.n_landmarks

    def _prepare(self, mapper: StreamMap, X: Any) -> None:
        if isinstance(mapper.n_landmarks, str) and mapper.n_landmarks == "auto":
            problem = '="auto" is decided by all points at once: call fit first, or give a number'
            raise InputError(problem, parameter="n_landmarks")
        mapper.feature_names, mapper.dict_names = validation.column_names(X), ()

    def transform(self, X: Any) -> Any:
        """Place points in the frame of the present landmarks; a dask collection is placed lazily."""
        mapper = self._fitted_engine()
        if is_lazy(X):
            from driftmap import dask

            return dask.transform(self, X)
        X = materialized(X)
        self._check_features(X)
        return mapper.transform(X, self.n_jobs)

    def novelty(self, X: Any) -> Novelty:
        """Which points the map does not represent: far from all landmarks, or not placeable by their distances."""
        mapper, X = self._fitted_engine(), materialized(X)
        self._check_features(X)
        return mapper.novelty(X)

    def score(self, X: Any, y: Any = None) -> float:
        """Minus the normalised stress of X on the map, for model selection: greater is better.

        At most 2,000 rows are compared, evenly spread.

        >>> from sklearn.model_selection import GridSearchCV
        >>> search = GridSearchCV(DriftMap(), {"n_landmarks": [5, 30]})
        >>> search.fit(np.random.default_rng(0).random((300, 3))).best_params_
        {'n_landmarks': 30}
        """
        mapper, X = self._fitted_engine(), materialized(X)
        self._check_features(X)
        return -mapper.stress_of(X)

    @property
    def landmark_count_(self) -> LandmarkCount:
        """Why ``n_landmarks="auto"`` took its number of landmarks; absent if the number was given."""
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
        """Which features drive an axis, or set a region or a landmark apart, by the stored points.

        Parameters
        ----------
        axis : int, optional
            A coordinate of the map, from 0: its correlation with each feature, and the slopes of a linear regression.
        near : place on the map, optional
            With ``axis``: a local regression, on the 100 stored points nearest to this place.
        region : pairs (low, high), one per axis; or a function, optional
            What lies in this box, or where the function of places is true, against all else: differences of means, in
            standard deviations.
        landmark : int, optional
            Arrival number of a landmark: its Voronoi cell against all else.

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
        """The landmarks as a dict of columns: arrival, mass, place and features; a data frame can be made of it.

        ``names``: of all points seen, in order of arrival, such as dates; the landmarks' own are then a column.

        >>> table = DriftMap(1, n_landmarks=2).fit([[0.0], [1.0], [8.0]]).landmark_table(names=["a", "b", "c"])
        >>> {column: values.tolist() for column, values in table.items() if column != "driftmap0"}
        {'arrival': [1, 2], 'name': ['b', 'c'], 'mass': [2, 1], 'x0': [1.0, 8.0]}
        """
        return landmark_table(self._fitted_engine(), names)

    def plot(self, X: Any = None, *, color: Any = None, **options: Any) -> Figure:
        """The map as a figure of matplotlib: the stored points or, if they are given, the rows of X; and the landmarks.

        Its corner has the stress of the map, if the embedding keeps distances. ``color`` has a value for each row of X
        or, without X, for each point seen. ``options`` are further ones of :func:`driftmap.plot.map_figure`, such as
        ``title`` and ``color_label``.

        >>> figure = DriftMap(n_landmarks=20).fit(np.random.default_rng(0).random((300, 3))).plot(title="A map")
        >>> figure.axes[0].get_title(loc="left")
        'A map'
        """
        from driftmap.plot import map_figure

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

    def _repr_mimebundle_(self, **kwargs: Any) -> dict[str, Any]:
        bundle: dict[str, Any] = super()._repr_mimebundle_(**kwargs)
        if "text/html" in bundle:
            bundle["text/html"] += self._html_map()
        return bundle

    def _repr_html_inner(self) -> str:
        return str(super()._repr_html_inner()) + self._html_map()

    def _html_map(self) -> str:
        """A small picture of the map, to go below scikit-learn's diagram; empty if no point has been seen."""
        if not self.__sklearn_is_fitted__():
            return ""
        from driftmap.plot.notebook import html_map

        return html_map(self._engine)

    def watch(self, *, label: str = "label", points: int = 5000) -> NotebookView:
        """A live view of the map for a notebook: its ``update`` learns rows and shows them (extra ``notebook``).

        ``view = mapper.watch()`` as the last line of a cell shows it; then ``view.update(X, labels=...)`` is
        :meth:`update` with a picture. ``label`` names the labels; the last ``points`` rows are shown.
        """
        from driftmap.live.notebook import NotebookView

        return NotebookView(self, label, points)

    def coreset(self) -> CoreSet:
        """See :meth:`~driftmap.landmarks.OnlineLandmarks.coreset`."""
        return self._fitted_engine().coreset()

    def _merged(self, mapper: StreamMap, later: list[CoreSet]) -> StreamMap:
        return mapper.merge(later)

    def freeze(self) -> FrozenMap:
        """The present frame as an immutable map that only places and scores, to be used anywhere."""
        return freeze(self._fitted_engine())

    def learn_one(self, x: Mapping[str, float]) -> Self:
        """Learn from one point given as a dict of features, as river's users write it."""
        names = self._names_of(x)
        row = as_row(x, names)
        with self._learning_engine(row) as mapper:
            mapper.partial_fit(row)
            mapper.dict_names = names
        return self

    def transform_one(self, x: Mapping[str, float]) -> dict[str, float]:
        """Place one point given as a dict of features; before the first point is learnt, at 0, as in river.

        If the points learnt had no names, the first dict that is placed or learnt names the features, in its order.
        """
        if not self.__sklearn_is_fitted__():
            return dict.fromkeys(map(str, self.get_feature_names_out()), 0.0)
        mapper = self._fitted_engine()
        names = self._names_of(x)
        place = mapper.transform(as_row(x, names))[0]
        mapper.dict_names = names
        return dict(zip(map(str, self.get_feature_names_out()), map(float, place), strict=True))

    _supervised = False
    """river's pipelines ask whether ``learn_one`` takes a target."""

    def clone(self, new_params: Mapping[str, Any] | None = None, include_attributes: bool = False) -> Self:
        """A copy as river makes it: with these parameters, and with what was learnt only if asked for."""
        other = copy.deepcopy(self) if include_attributes else clone(self)
        return other.set_params(**(new_params or {}))

    @property
    def _last_step(self) -> Any:
        """river looks here for the last step of a pipeline when it checks what an object is; by then it is imported.

        There is none, but from now on the class is one of river's transformers.
        """
        river = sys.modules.get("river.base")
        if river is not None:
            river.Transformer.register(type(self))
        raise AttributeError("a map is no pipeline")

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
        mapper = self.__dict__.get("_engine")
        if mapper is None or mapper.landmarks is None:
            return
        if validation.is_plain(X) and not mapper.feature_names and X.shape[1] == mapper.landmarks.store.n_features:
            return  # as nearly always; the way through scikit-learn takes longer than to learn a point
        if mapper.metric != "precomputed" and len(getattr(X, "shape", ())) == 2:
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
        mapper: StreamMap = super()._fitted_engine()
        return mapper

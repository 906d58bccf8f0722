"""What a case of learning draws: a stream, a metric, and parameters that go together."""

import math
from typing import Any, NamedTuple

import numpy as np
from scipy.spatial.distance import cdist

import naive
from driftmap.embedding import EMBEDDINGS
from driftmap.landmarks import RatioShift
from driftmap.metrics import METRICS
from streams import KINDS, WIDTHS, make, suited

"""The default initial radius, which is a distance of no pair here."""
TRIANGLE = {"function", *(name for name, metric in METRICS.items() if metric.triangle)}
MEASURED = ("sqeuclidean", "function", "crooked", "words", "precomputed")
"""Metrics that Python measures; all others are the core's."""


class Failure:
    """Makes the function, the objects' distance or the detector fail at one of the next calls."""

    left = math.inf
    error: type[BaseException] = ZeroDivisionError

    @classmethod
    def call(cls):
        cls.left -= 1
        if cls.left == 0:
            raise cls.error("at this call")


def function(x, y):
    """Cityblock, as a user would write it."""
    Failure.call()
    return float(np.abs(x - y).sum())


function.obeys_triangle = True


def crooked(x, y):
    """A dissimilarity that breaks the triangle inequality."""
    Failure.call()
    gap = float(np.abs(x - y).sum())
    return gap * gap + 0.5 * math.sin(4 * gap) ** 2


def words(a, b):
    """Places in which two words differ."""
    Failure.call()
    return float(sum(s != t for s, t in zip(a, b, strict=False)) + abs(len(a) - len(b)))


FUNCTIONS = {"function": function, "crooked": crooked, "words": words}


class Stream(NamedTuple):
    """Points and how they are learnt."""

    points: Any
    """Rows, words, or a matrix of distances."""
    reduced: np.ndarray
    """Reduced distances of all pairs: those that decide."""
    metric: str
    params: dict[str, Any]
    times: np.ndarray | None
    components: int | None
    """Of a map; None: landmarks only."""

    def __len__(self):
        return len(self.points)

    def part(self, first, last):
        """Some arrivals as partial_fit takes them."""
        return self.points[first:last, :last] if self.metric == "precomputed" else self.points[first:last]

    def queries(self, seen):
        """The first arrivals, as transform takes them."""
        return self.points[:4, :seen] if self.metric == "precomputed" else self.points[:4]

    def time(self, first, last):
        return {} if self.times is None else {"times": self.times[first:last]}

    @property
    def distances(self):
        return naive.true(self.reduced, self.metric)

    @property
    def memory(self):
        return self.params.get("memory") or math.inf


def draw(case):
    rng = case.rng
    metric = rng.choice([*naive.METRICS, *MEASURED])
    n, d, m = rng.randint(1, 90), rng.choice(WIDTHS), rng.randint(1, 9)
    if case.chance(0.2):
        n = rng.randint(100, 500)  # more than the oracle has time for
    points, reduced = measured(case, metric, make(rng.choice(KINDS), n, d, rng.getrandbits(32)))
    reduced = np.where(np.eye(n, dtype=bool), 0.0, reduced)  # also where rounding says otherwise (cosine)
    embedding = rng.choice(EMBEDDINGS)
    m = max(m, 4) if "tsne" in embedding else m
    components = rng.randint(1, min(3, m - 1)) if m > 1 and case.chance(0.5) else None
    params, times = modes(case, metric, n, m)
    if metric in FUNCTIONS:
        params["metric"] = FUNCTIONS[metric]
    else:
        params["metric"] = metric
        params["metric_params"] = {"p": 1.5} if metric == "minkowski" else None
    if components is not None:
        params |= {"embedding": embedding, "n_anchors": rng.choice([None, 12, 128])}
    return Stream(points, reduced, metric, {"n_landmarks": m, **params}, times, components)


def measured(case, metric, X):
    """The points, and their reduced distances."""
    if metric == "words":
        alphabet = [*"abcd"]
        points = ["".join(case.rng.choices(alphabet, k=case.rng.randint(0, 6))) for _ in X]
        return points, np.array([[words(a, b) for b in points] for a in points])
    if metric in FUNCTIONS:
        return X, np.array([[FUNCTIONS[metric](x, y) for y in X] for x in X])
    if metric == "sqeuclidean":
        return X, cdist(X, X, metric)
    if metric == "precomputed":
        D = np.array(naive.distances(X, X))
        return D, D
    X = suited(X, metric)
    if case.chance(0.3) and metric != "hamming":
        X = X.astype(np.float32)
    return X, naive.reduced_distances(X, X, metric, **({"p": 1.5} if metric == "minkowski" else {}))


def modes(case, metric, n, m):
    """Rule, memory, forgetting, detector and slack as they go together; and times, where arrivals have them."""
    rng = case.rng
    if case.chance(0.2):
        return {"rule": "paper"}, None
    params = {"slack": rng.choice([0.0, 0.0, 0.05, 0.25])}
    if metric in TRIANGLE:
        params["memory"] = rng.choice([None, "auto", 16 * m + rng.choice([0, 5, 40]), 56 * m])
    forgets = metric != "precomputed" and rng.choice(["", "", "window", "half_life", "detector"])
    if forgets == "detector":
        return params | {"replace_on": RatioShift(warm_up=rng.randint(2, 10))}, None
    if not forgets:
        return params, None
    timed = case.chance(0.5)
    params[forgets] = rng.uniform(1, 60) if timed else rng.randint(1, 60)
    pauses = rng.choices([0.0, 0.25, 1.0, 20.0, 1e6], [0.2, 0.4, 0.37, 0.02, 0.01], k=n)
    return params, np.cumsum(pauses) if timed else None

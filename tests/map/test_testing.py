"""The checks that are shipped: everything in the library's tables passes, and each broken promise is named."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest

from driftmap.embedding import EMBEDDINGS, LandmarkMDS
from driftmap.embedding.factory import make_embedding
from driftmap.metrics.table import METRICS
from driftmap.testing import EMBEDDING_CHECKS, METRIC_CHECKS, check_embedding, check_metric

BINARY = {"dice", "jaccard", "rogerstanimoto", "russellrao", "sokalsneath", "yule"}
PARAMS = {"mahalanobis": {"VI": np.eye(4)}, "seuclidean": {"V": np.ones(4)}}
NOT_ZERO = {"russellrao"}
"""Not zero on a point itself, so no metric in the sense of the checks."""


@pytest.mark.parametrize("name", [name for name in METRICS if name != "precomputed" and name not in NOT_ZERO])
def test_metrics_of_the_table_pass(name):
    points = np.random.default_rng(0).random((90, 4)) + 0.1
    check_metric(name, points > 0.6 if name in BINARY else points, **PARAMS.get(name, {}))


@pytest.mark.parametrize("name", EMBEDDINGS)
def test_embeddings_of_the_table_pass(name):
    check_embedding(make_embedding(name, 2))


def test_objects_have_metrics_too():
    words = ["".join(np.random.default_rng(i).choice(list("abc"), 1 + i % 6)) for i in range(60)]
    check_metric(lambda a, b: abs(len(a) - len(b)) + sum(x != y for x, y in zip(a, b, strict=False)), words)


def taxi(x, y):
    return float(np.abs(x - y).sum())


def squared(x, y):
    return float(((x - y) ** 2).sum())


squared.obeys_triangle = True


def drifting(x, y):
    drifting.calls = getattr(drifting, "calls", 0) + 1
    return taxi(x, y) * (1 + drifting.calls * 1e-9)


BROKEN_METRICS = {
    "finite": lambda x, y: float("nan"),
    "not negative": lambda x, y: -taxi(x, y),
    "from itself": lambda x, y: taxi(x, y) + 1,
    "both ways": lambda x, y: taxi(x, y) if x[0] < y[0] else 2 * taxi(x, y),
    "always has the same": drifting,
    "triangle": squared,
}


@pytest.mark.parametrize("promise", BROKEN_METRICS)
def test_a_broken_promise_of_a_metric_is_named(promise):
    with pytest.raises(AssertionError, match=promise if promise != "always has the same" else "distance"):
        check_metric(BROKEN_METRICS[promise])


class Lost(LandmarkMDS):
    def place(self, distances):
        return super().place(distances) * np.where(distances[:, :1] > 1e5, np.nan, 1.0)


class Together(LandmarkMDS):
    def place(self, distances):
        return super().place(distances) + distances.mean()


class Counting(LandmarkMDS):
    def place(self, distances):
        self.calls = getattr(self, "calls", 0) + 1
        return super().place(distances) + self.calls * 1e-3


@pytest.mark.parametrize(
    ("embedding", "promise"), [(Lost(2), "every point"), (Together(2), "by itself"), (Counting(2), "by itself|changes")]
)
def test_a_broken_promise_of_an_embedding_is_named(embedding, promise):
    with pytest.raises(AssertionError, match=promise):
        check_embedding(embedding)


def test_what_is_no_embedding_is_refused():
    with pytest.raises(AssertionError, match="members"):
        check_embedding(object())


def test_promises_are_sentences():
    assert len({*METRIC_CHECKS, *EMBEDDING_CHECKS}) == len(METRIC_CHECKS) + len(EMBEDDING_CHECKS)


def test_no_test_framework_is_needed():
    code = "import sys; sys.modules['pytest'] = None; import driftmap.testing as t; t.check_metric('cityblock')"
    subprocess.run([sys.executable, "-c", code], check=True)

"""How true and how even maps are on data with hundreds of features: python -m benchmarks.quality [--quick]

Six data sets of a published survey with the scores of its 44 methods (:mod:`benchmarks.survey`), each mapped in one
pass in the order of its file. Continuity, trustworthiness and label agreement (neighbourhood hit) are those of the
survey, by 7 neighbours; the best published value is that of the best method with its best parameters, for each measure
by itself. Clark-Evans: the mean distance to the nearest other point relative to evenly random points, without
duplicates; below 1 the map is clumped. Sigma is relative to SMACOF on all points, that of methods without a scale after
the best one. Processor time, one thread; UMAP is measured if it is installed.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable
from importlib.util import find_spec

import numpy as np
from threadpoolctl import threadpool_limits

from benchmarks.map_scores import Scores, score
from benchmarks.survey import MEASURES, SETS, Labelled, best, load, published
from benchmarks.timing import Limit, at_least, at_most, command
from driftmap import DriftMap
from driftmap.embedding import LandmarkStress
from driftmap.metrics import euclidean
from driftmap.utils import Array

MOST_SIGMA = 1.02
LEAST_EVENNESS = 0.9
COLUMNS = ("continuity", "trustworthiness", "label agreement", "Clark-Evans", "sigma", "seconds")
OURS, REFERENCE = "Driftmap, stress", "SMACOF on all points"


def smacof(X: Array) -> Array:
    """The least stress of all points, where SMACOF comes to rest; by Newton steps, which are there sooner."""
    distances = euclidean(X, X)
    np.fill_diagonal(distances, 0.0)
    return LandmarkStress(2).fit((distances + distances.T) / 2).coordinates_


def pca(X: Array) -> Array:
    """Principal components."""
    from sklearn.decomposition import PCA

    return PCA(2, random_state=0).fit_transform(X)


def umap(X: Array) -> Array:
    """UMAP with its defaults."""
    from umap import UMAP

    return UMAP(random_state=0, n_jobs=1).fit_transform(X)


METHODS: dict[str, tuple[Callable[[Array], Array], bool]] = {
    OURS: (lambda X: DriftMap().fit(X).transform(X), False),
    "Driftmap, t-SNE": (lambda X: DriftMap(embedding="tsne").fit(X).transform(X), True),
    REFERENCE: (smacof, False),
    "PCA": (pca, False),
    "UMAP": (umap, True),
}
"""What maps points, and whether its maps have no scale."""


def measure(data: Labelled, method: str) -> tuple[Scores, float]:
    """Scores of a map and the seconds it took."""
    make, scaled = METHODS[method]
    with threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        start = time.process_time()
        Y = np.asarray(make(data.X), dtype=np.float64)
        seconds = time.process_time() - start
        return score(data.X, data.y, Y, scaled=scaled), seconds


def row(name: str, method: str, scores: Scores, seconds: float, least: float) -> str:
    """A line of the table; ``least`` is the sigma of the reference."""
    cells = [f"{value:.3f}" for value in (*scores[:4], scores.sigma / least)]
    return f"| {name} | {method} | {' | '.join(cells)} | {seconds:.2g} |"


def published_rows(name: str, scores: dict[str, dict[str, float]]) -> list[str]:
    """The best published value of each measure, with its method, and the published values of UMAP."""
    found = [best(scores, measure) for measure in MEASURES]
    rows = [f"| {name} | best published | {' | '.join(f'{one.value:.3f} ({one.method})' for one in found)} | | | |"]
    if "UMAP" in scores:
        values = " | ".join(f"{scores['UMAP'][measure]:.3f}" for measure in MEASURES)
        rows.append(f"| {name} | UMAP, published | {values} | | | |")
    return rows


def run(quick: bool) -> list[Limit]:
    """Print the table; returns the limits."""
    methods = [method for method in METHODS if method != "UMAP" or find_spec("umap")]
    if "UMAP" not in methods:
        print("UMAP is not installed: published scores only\n")
    loaded: dict[str, Labelled] = {}
    for name in SETS[:: 3 if quick else 1]:
        try:
            loaded[name] = load(name)
        except FileNotFoundError as error:
            print(f"{name} is left out: {error}")
    if not loaded:
        return []
    print(f"| data | method | {' | '.join(COLUMNS)} |\n" + "|---" * 8 + "|")
    survey, sigmas, evenness = published(), [], []
    for name, data in loaded.items():
        found = {method: measure(data, method) for method in methods}
        reference, ours = found[REFERENCE][0], found[OURS][0]
        for method, (scores, seconds) in found.items():
            print(row(name, method, scores, seconds, reference.sigma), flush=True)
        if name in survey:
            print("\n".join(published_rows(name, survey[name])), flush=True)
        sigmas.append(ours.sigma / reference.sigma)
        evenness.append(ours.evenness / reference.evenness)
    return [
        at_most("sigma to that of SMACOF", MOST_SIGMA, sigmas),
        at_least("Clark-Evans ratio to that of SMACOF", LEAST_EVENNESS, evenness),
    ]


if __name__ == "__main__":
    command(__doc__, run)

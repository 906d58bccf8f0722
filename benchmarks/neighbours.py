"""Neighbours in one pass against refits, and rows that are placed: python -m benchmarks.neighbours [--quick]

scikit-learn's handwritten digits, in two streams: in class order, and with classes 7 to 9 only from half of the rows
on. Each method maps all rows (Driftmap: in one pass, in stream order), or it is fitted to the first half of the second
stream and places the others. Trustworthiness by 7 neighbours; label agreement: how many of the 10 nearest on the map
have the label of a point; cells: those of a picture of 500 x 500 that have a point; recall: points of classes 7 to 9
most of whose 10 nearest have their label. Six published data sets follow (:mod:`benchmarks.survey`, ``DRIFTMAP_DATA``),
each in the order of its file. Processor time, one thread. UMAP, openTSNE and PaCMAP are measured if they are installed
(``pip install "driftmap[bench]"``); goals that are relative to openTSNE need it.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable
from importlib.util import find_spec
from typing import Any, NamedTuple

import numpy as np
from scipy.spatial import cKDTree
from threadpoolctl import threadpool_limits

from benchmarks.survey import SETS, best, load, published
from benchmarks.timing import Limit, at_least, command, in_turn
from driftmap import DriftMap, quality
from driftmap.utils import Array, Ids

NEIGHBOURS, NEAREST = 7, 10
NEW = (7, 8, 9)
CELLS = 500
RATE = 50_000
"""Rows a second that t-SNE with 500 landmarks places, of 64 numbers, on one thread."""


class Fitted(NamedTuple):
    """A map of the rows that were given, and what places others."""

    coordinates: Array
    place: Callable[[Array], Array]


def driftmap(**params: Any) -> Callable[[Array], Fitted]:
    """One pass by Driftmap."""

    def fit(X: Array) -> Fitted:
        mapper = DriftMap(**params).fit(X)
        return Fitted(mapper.transform(X), mapper.transform)

    return fit


def opentsne(X: Array) -> Fitted:
    """Map by openTSNE with its defaults."""
    from openTSNE import TSNE

    model = TSNE(random_state=0, n_jobs=1).fit(X)
    return Fitted(np.asarray(model), lambda rows: np.asarray(model.transform(rows)))


def umap(X: Array) -> Fitted:
    """Map by UMAP with its defaults."""
    from umap import UMAP

    model = UMAP(random_state=0, n_jobs=1).fit(X)
    return Fitted(model.embedding_, model.transform)


def pacmap(X: Array) -> Fitted:
    """Map by PaCMAP with its defaults."""
    from pacmap import PaCMAP

    model = PaCMAP(random_state=0, save_tree=True)
    return Fitted(model.fit_transform(X), lambda rows: model.transform(rows, basis=X))


METHODS: dict[str, tuple[str | None, Callable[[Array], Fitted]]] = {
    "Driftmap, t-SNE, 100 landmarks": (None, driftmap(embedding="tsne")),
    "Driftmap, t-SNE, 500 landmarks": (None, driftmap(embedding="tsne", n_landmarks=500)),
    "Driftmap, t-SNE, 1,000 landmarks": (None, driftmap(embedding="tsne", n_landmarks=1000)),
    'Driftmap, t-SNE, "auto"': (None, driftmap(embedding="tsne", n_landmarks="auto")),
    "openTSNE": ("openTSNE", opentsne),
    "UMAP": ("umap", umap),
    "PaCMAP": ("pacmap", pacmap),
}
"""The package that is needed, and what maps rows."""
OURS, MORE, REFERENCE = "Driftmap, t-SNE, 500 landmarks", "Driftmap, t-SNE, 1,000 landmarks", "openTSNE"


class Found(NamedTuple):
    """What is measured of a map."""

    trust: float
    agreement: float
    cells: int
    recall: float
    """Of classes 7 to 9."""


def measure(X: Array, labels: Ids, Y: Array) -> Found:
    """Measure a map of rows with labels."""
    nearest = others(Y, NEAREST)
    majority = np.array([np.bincount(row, minlength=10).argmax() for row in labels[nearest]])
    new = np.isin(labels, NEW)
    return Found(
        float(quality.trustworthiness(X, Y, n_neighbors=NEIGHBOURS)),
        float((labels[nearest] == labels[:, None]).mean()),
        n_cells(Y),
        float((majority == labels)[new].mean()),
    )


def others(Y: Array, k: int) -> Ids:
    """Return the k nearest others of each point."""
    nearest = cKDTree(Y).query(Y, k=k + 1)[1]
    nearest[~(nearest == np.arange(len(Y))[:, None]).any(axis=1), k] = -1  # many in one place: itself is not among them
    return np.array([[j for j in row if j not in (i, -1)][:k] for i, row in enumerate(nearest)])


def n_cells(Y: Array) -> int:
    """Count the cells of a square picture that have a point.

    >>> n_cells(np.array([[0.0, 0.0], [0.0, 1e-9], [0.0, 1.0], [0.5, 0.5]]))
    3
    """
    cells = (Y - Y.min(axis=0)) / (np.ptp(Y, axis=0).max() * (1 + 1e-9)) * CELLS
    return len(np.unique(cells.astype(np.int64), axis=0))


def in_class_order() -> tuple[Array, Ids]:
    """Return all digits, class by class, in the order of the file."""
    from sklearn.datasets import load_digits

    X, labels = load_digits(return_X_y=True)
    order = np.argsort(labels, kind="stable")
    return X[order], labels[order]


def with_new_classes(seed: int) -> tuple[Array, Ids, int]:
    """Return all digits, shuffled, but for classes 7 to 9, which come in the second half; and where that begins."""
    X, labels = in_class_order()
    rng, half = np.random.default_rng(seed), len(X) // 2
    first = rng.permutation(np.flatnonzero(~np.isin(labels, NEW)))[:half]
    order = np.concatenate([first, rng.permutation(np.setdiff1d(np.arange(len(X)), first))])
    return X[order], labels[order], half


def installed() -> list[str]:
    """Return the methods that can be measured."""
    return [name for name, (package, _) in METHODS.items() if package is None or find_spec(package)]


def timed(work: Callable[[], Any]) -> tuple[Any, float]:
    """Return a result and its processor time."""
    start = time.process_time()
    return work(), time.process_time() - start


def refits() -> list[Limit]:
    """Compare maps of all digits in class order."""
    print("| digits in class order | trustworthiness | label agreement | cells | seconds |\n|---|---|---|---|---|")
    X, labels = in_class_order()
    found = {}
    for name in installed():
        fitted, seconds = timed(lambda name=name: METHODS[name][1](X))
        found[name] = one = measure(X, labels, fitted.coordinates)
        print(f"| {name} | {one.trust:.4f} | {one.agreement:.3f} | {one.cells:,} | {seconds:.1f} |", flush=True)
    ours, more, limits = found[OURS], found[MORE], []
    if (reference := found.get(REFERENCE)) is not None:
        limits = [
            at_least("t-SNE, 500 landmarks: cells, of those of openTSNE", 0.95, [ours.cells / reference.cells]),
            at_least(
                "t-SNE, 500 landmarks: trustworthiness less that of openTSNE", -0.01, [ours.trust - reference.trust]
            ),
            at_least(
                "t-SNE, 500 landmarks: labels less those of openTSNE", -0.01, [ours.agreement - reference.agreement]
            ),
        ]
    gain = min(more.trust - ours.trust, more.agreement - ours.agreement)
    return [*limits, at_least("t-SNE: 1,000 landmarks against 500, worse of both measures", -0.003, [gain])]


def placed(quick: bool) -> list[Limit]:
    """Compare maps of a stream with new classes, by all rows or by the first half, the others being placed."""
    print("\n| digits, classes 7 to 9 halfway | trustworthiness | label agreement | recall of new classes | us a row |")
    print("|---|---|---|---|---|")
    recalls = []
    for name in installed():
        passes, halves, rate = [], [], 0.0
        for seed in range(1 if quick else 3):
            X, labels, half = with_new_classes(seed)
            passes.append(measure(X, labels, METHODS[name][1](X).coordinates))
            fitted = METHODS[name][1](X[:half])
            rest, seconds = timed(lambda fitted=fitted, rows=X[half:]: fitted.place(rows))
            halves.append(measure(X, labels, np.concatenate([fitted.coordinates, rest])))
            rate = seconds / (len(X) - half) * 1e6
        whole = "one pass" if METHODS[name][0] is None else "refit"
        for how, found, time_of_row in ((whole, passes, ""), ("half, rest placed", halves, f"{rate:.0f}")):
            trust, agreement, _, recall = np.median(found, axis=0)
            print(f"| {name}, {how} | {trust:.3f} | {agreement:.3f} | {recall:.2f} | {time_of_row} |", flush=True)
        if name == OURS:
            recalls = [found.recall for found in passes]
    return [at_least("t-SNE, 500 landmarks: recall of new classes, one pass", 0.9, recalls)]


def published_sets(quick: bool) -> list[Limit]:
    """Compare trustworthiness on six published data sets with the best of 44 published methods."""
    survey, gaps = published(), []
    names = installed()
    print(f"\n| trustworthiness | best published | {' | '.join(names)} |\n|---|---{'|---' * len(names)}|")
    for name in SETS[:: 3 if quick else 1]:
        try:
            X = load(name).X
        except FileNotFoundError as error:
            print(f"{name} is left out: {error}")
            continue
        best_one = best(survey[name], "trustworthiness")
        found = {
            method: float(quality.trustworthiness(X, METHODS[method][1](X).coordinates, n_neighbors=NEIGHBOURS))
            for method in names
        }
        cells = " | ".join(f"{value:.3f}" for value in found.values())
        print(f"| {name} | {best_one.value:.3f} ({best_one.method}) | {cells} |", flush=True)
        gaps.append(found[OURS] - best_one.value)
    if quick or len(gaps) < len(SETS):
        return []
    return [at_least(f"{OURS}: trustworthiness less the best published, fourth of six sets", -0.01, [sorted(gaps)[2]])]


def costs() -> list[Limit]:
    """Measure what t-SNE costs by the number of landmarks: a first frame, and rows that are placed."""
    print("\n| landmarks | points of the map | first frame, s | us a row |\n|---|---|---|---|")
    rng, limits = np.random.default_rng(0), []
    X = rng.standard_normal((10_000, 64)) + 3 * rng.standard_normal((20, 64))[rng.integers(20, size=10_000)]
    for m in (100, 500, 1000):
        mapper = DriftMap(embedding="tsne", n_landmarks=m).fit(X[:6000])
        _, frame = timed(lambda mapper=mapper: mapper.transform(X[:1]))
        (seconds,) = in_turn([lambda mapper=mapper: mapper.transform(X[6000:])], 3)
        print(f"| {m:,} | {mapper.n_anchors_:,} | {frame:.1f} | {seconds / 4000 * 1e6:.0f} |", flush=True)
        if m == 500:
            limits = [at_least(f"{OURS}, 64 features: rows a second", RATE, [4000 / seconds])]
    return limits


def run(quick: bool) -> list[Limit]:
    """Print the tables; return the limits."""
    with threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return [*refits(), *placed(quick), *published_sets(quick), *costs()]


if __name__ == "__main__":
    command(__doc__, run)

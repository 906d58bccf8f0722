"""How stable maps are while a stream is learnt: python -m benchmarks.stability [--quick]

First the published benchmark of :mod:`benchmarks.dynamic`: the same points at many times, learnt and mapped time by
time. "At each time" is what a viewer saw; "last frame" are all times mapped at the end. PCA of all times is computed
here, too: its stability is as published, its fidelity is not (cartolastd 0.837 instead of 0.926, sorts 0.692 instead of
0.764), so published fidelities are to be compared with reserve. Then the paper's streams, a map after every arrival, by
the weight of ``steadiness``: frames, sigma of the last map, how far the median and the worst stored point move in a
frame relative to the diameter of the map, and the sum over frames of the worst point's.

``python -m benchmarks.frames`` adds the time of a frame, ``python -m benchmarks.jumps`` why single points jump. Set
``DRIFTMAP_DATA`` to a folder with the data; what is missing is left out.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable
from typing import NamedTuple

import numpy as np
from sklearn.decomposition import PCA

from benchmarks.dynamic import SETS, Scores, load, published, score
from benchmarks.slack import paper_streams
from benchmarks.timing import Limit, command
from driftmap import DriftMap
from driftmap.embedding import LandmarkStress
from driftmap.utils import Array

EMBEDDINGS = ("stress", "tsne", "lmds")
WEIGHTS = (0.0, 0.01, 0.03, 0.1)
QUICK_ROWS = 1000


class Moves(NamedTuple):
    """How far stored points moved, one entry per frame, relative to the diameter of the map."""

    median: Array
    worst: Array


def moves(mapper: DriftMap) -> Moves:
    """Displacements of the frames of a map."""
    moved = np.array([change.displacement for change in mapper.frames_]).reshape(-1, 2)
    return Moves(*moved.T)


def better_in_both(scores: Scores, others: dict[str, Scores]) -> list[str]:
    """The methods that are more stable and keep distances better.

    >>> better_in_both(Scores(0.9, 0.8), {"a": Scores(0.95, 0.7), "b": Scores(0.91, 0.81)})
    ['b']
    """
    return [name for name, other in others.items() if all(np.greater(other, scores))]


def spread(values: Array) -> str:
    """Median, nine tenths and largest.

    >>> import numpy as np
    >>> spread(np.arange(11.0)), spread(np.empty(0))
    ('5.000, 9.000, 10.000', '')
    """
    return ", ".join(f"{np.quantile(values, q):.3f}" for q in (0.5, 0.9, 1.0)) if len(values) else ""


def at_each_time(X: Array, embedding: str) -> tuple[Array, Array, DriftMap]:
    """Where points are mapped at each time, and all times on the last frame."""
    mapper = DriftMap(embedding=embedding)
    seen = np.array([mapper.partial_fit(rows).transform(rows) for rows in X])
    return seen, np.array([mapper.transform(rows) for rows in X]), mapper


def best_rows(name: str, others: dict[str, Scores]) -> list[str]:
    """The published methods that are best in one measure."""
    found = {max(others, key=lambda method: others[method][i]) for i in range(len(Scores._fields))}
    return [f"| {name} | {method}, published | {others[method].stability:.3f} | {others[method].fidelity:.3f} | | |"
            for method in sorted(found)]  # fmt: skip


def against_published(quick: bool) -> list[Limit]:
    """Print the first table; whether any published method is better in both measures."""
    loaded = {}
    for name in SETS[1:] if quick else SETS:
        try:
            loaded[name] = load(name), published(name)
        except FileNotFoundError as error:
            print(f"{name} is left out: {error}")
    if not loaded:
        return []
    print("| data | maps | stability | fidelity | frames | worst point, sum |\n" + "|---" * 6 + "|")
    limits = []
    for name, (X, others) in loaded.items():
        for embedding in EMBEDDINGS:
            seen, last, mapper = at_each_time(X, embedding)
            found = score(X, seen)
            cost = f"{mapper.frame_} | {moves(mapper).worst.sum():.2f}"
            print(f"| {name} | {embedding}, at each time | {found.stability:.3f} | {found.fidelity:.3f} | {cost} |")
            at_last = score(X, last)
            print(f"| {name} | {embedding}, last frame | {at_last.stability:.3f} | {at_last.fidelity:.3f} | | |")
            if embedding == "stress":
                better = better_in_both(found, others)
                what = f"{name}: published methods that are better in both"
                limits.append(Limit(what, "none", ", ".join(better) or "none", not better))
        plane = PCA(2, random_state=0).fit_transform(X.reshape(-1, X.shape[-1])).reshape(*X.shape[:2], 2)
        by_pca = score(X, plane)
        print(f"| {name} | PCA of all times, here | {by_pca.stability:.3f} | {by_pca.fidelity:.3f} | | |")
        print("\n".join(best_rows(name, others)), flush=True)
    return limits


def row_by_row(X: Array, m: int, steadiness: float) -> DriftMap:
    """A map that is asked for after every arrival."""
    mapper = DriftMap(n_landmarks=m, embedding=LandmarkStress(2, steadiness=steadiness)).fit(X[: 2 * m])
    for x in X[2 * m :]:
        mapper.partial_fit(x[None]).frame_  # noqa: B018
    return mapper


def on_streams(streams: Iterable[tuple[str, Array, int]], weights: Iterable[float]) -> None:
    """Print the second table."""
    from driftmap.quality import stress_estimate

    print("| stream | steadiness | frames | sigma | median point: median, p90, largest | worst point | its sum |")
    print("|---" * 7 + "|")
    weights = tuple(weights)
    for name, X, m in streams:
        for steadiness in weights:
            mapper = row_by_row(X, m, steadiness)
            sample = X[:: max(1, len(X) // 1500)]
            sigma, moved = stress_estimate(sample, mapper.transform(sample)).value, moves(mapper)
            cells = [f"{sigma:.4f}", spread(moved.median), spread(moved.worst), f"{moved.worst.sum():.2f}"]
            print(f"| {name} | {steadiness:g} | {mapper.frame_} | {' | '.join(cells)} |", flush=True)


def run(quick: bool) -> list[Limit]:
    """Print both tables; returns the limits."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        limits = against_published(quick)
        print()
        streams = ((name, X[:QUICK_ROWS] if quick else X, m) for name, X, m in paper_streams())
        on_streams(streams, WEIGHTS[::3] if quick else WEIGHTS)
    return limits


if __name__ == "__main__":
    command(__doc__, run)

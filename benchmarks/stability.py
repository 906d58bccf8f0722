"""How stable maps are while a stream is learnt: python -m benchmarks.stability [--quick]

First the published benchmark of :mod:`benchmarks.dynamic`: the same points at many times, learnt and mapped time by
time, and two generated sets of that kind. "At each time" is what a viewer saw; "last frame" are all times mapped at the
end. PCA of all times is computed here, too: its stability is as published, its fidelity is not (cartolastd 0.837
instead of 0.926, sorts 0.692 instead of 0.764), so published fidelities are to be compared with reserve.

Then drifting streams, a map after every arrival, by ``frame_tolerance``: frames, the stress of the points so far (mean
over the stream, relative to tolerance 0), the sum over frames of how far the worst and the median point move relative
to the diameter of the map, and how many times as fast ``update`` is as with tolerance 0 (CPU time). Last, the paper's
streams by the weight of ``steadiness``.

``python -m benchmarks.frames`` adds the time of a single frame, ``python -m benchmarks.jumps`` why single points jump
in one. Set ``DRIFTMAP_DATA`` to a folder with the data; what is missing is left out.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Iterable
from typing import NamedTuple

import numpy as np
from sklearn.decomposition import PCA

from benchmarks import stream
from benchmarks.dynamic import SETS, Scores, generated, load, published, score
from benchmarks.slack import paper_streams
from benchmarks.timing import Limit, at_least, command
from driftmap import DriftMap
from driftmap.embedding import LandmarkStress
from driftmap.quality import stress, stress_estimate
from driftmap.utils import Array

EMBEDDINGS = ("stress", "tsne", "lmds")
WEIGHTS = (0.0, 0.01, 0.03, 0.1)
TOLERANCES = (0.0, 0.02, 0.05)
GOALS = {"cartolastd": Scores(0.98, 0.95), "sorts": Scores(0.66, 0.85)}
FASTER = 1.5
"""How many times as fast ``update`` is to be with the default tolerance as with 0, on average."""
LOOKS = 25
"""How often the stress of the points so far is measured."""
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
    found = {max(others, key=lambda method: others[method][i]) for i in range(len(Scores._fields)) if others}
    return [f"| {name} | {method}, published | {others[method].stability:.3f} | {others[method].fidelity:.3f} | | |"
            for method in sorted(found)]  # fmt: skip


def against_published(quick: bool) -> list[Limit]:
    """Print the first table; whether any published method is better in both measures."""
    loaded: dict[str, tuple[Array, dict[str, Scores]]] = {}
    for name in SETS[1:] if quick else SETS:
        try:
            loaded[name] = load(name), published(name)
        except FileNotFoundError as error:
            print(f"{name} is left out: {error}")
    if not quick:
        loaded |= {name: (X, {}) for name, X in generated().items()}
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
            if embedding == "stress" and others:
                better = better_in_both(found, others)
                what = f"{name}: published methods that are better in both"
                limits.append(Limit(what, "none", ", ".join(better) or "none", not better))
                for measure, goal in GOALS[name]._asdict().items():
                    limits.append(at_least(f"{name}, at each time: {measure}", goal, [getattr(found, measure)]))
        plane = PCA(2, random_state=0).fit_transform(X.reshape(-1, X.shape[-1])).reshape(*X.shape[:2], 2)
        by_pca = score(X, plane)
        print(f"| {name} | PCA of all times, here | {by_pca.stability:.3f} | {by_pca.fidelity:.3f} | | |")
        print(*best_rows(name, others), sep="\n", flush=True)
    return limits


class ByTolerance(NamedTuple):
    """A map that was updated row by row."""

    frames: int
    stresses: Array
    """Of the points so far, at some times."""
    moves: Moves
    seconds: float
    """CPU time of the updates."""


def updated(X: Array, m: int, tolerance: float) -> ByTolerance:
    """A map of X that is updated row by row."""
    mapper = DriftMap(n_landmarks=m, frame_tolerance=tolerance).fit(X[: 2 * m])
    seconds, stresses, every = 0.0, [], max(1, len(X) // LOOKS)
    for i in range(2 * m, len(X)):
        start = time.process_time()
        mapper.update(X[i : i + 1])
        seconds += time.process_time() - start
        if i % every == 0:
            sample = X[: i + 1 : max(1, i // 300)]
            stresses.append(stress(sample, mapper.transform(sample)))
    return ByTolerance(mapper.frame_, np.array(stresses), moves(mapper), seconds)


def drifting(quick: bool) -> Iterable[tuple[str, Array, int]]:
    """Streams that drift: name, points, landmarks."""
    for name, X, m in paper_streams():
        yield name, X[::3] if name == "Hospital" else X, m
    n = QUICK_ROWS if quick else 2 * QUICK_ROWS
    for make, d, m in (
        (stream.curve, 8, 50),
        (stream.walk, 16, 100),
        (stream.seasonal, 16, 100),
        (stream.changing, 32, 50),
    ):
        yield make.__name__, make(n, d), m


def on_tolerances(streams: Iterable[tuple[str, Array, int]], tolerances: Iterable[float]) -> list[Limit]:
    """Print the second table; the limit on how fast updates are."""
    print(
        "| stream | tolerance | frames | stress | worst point, sum | median point, sum | times as fast |\n"
        + "|---" * 7
        + "|"
    )
    fast = []
    for name, X, m in streams:
        results = {tolerance: updated(X, m, tolerance) for tolerance in tolerances}
        first = results[0.0]
        for tolerance, found in results.items():
            ratio, speed = float((found.stresses / first.stresses).mean()), first.seconds / found.seconds
            sums = f"{found.moves.worst.sum():.2f} | {found.moves.median.sum():.3f}"
            print(f"| {name} | {tolerance:g} | {found.frames} | {ratio:.3f} | {sums} | {speed:.1f} |", flush=True)
            if tolerance == TOLERANCES[1]:
                fast.append(speed)
    return [
        at_least("update with the default tolerance, times as fast as with 0, mean", FASTER, [float(np.mean(fast))])
    ]


def row_by_row(X: Array, m: int, steadiness: float) -> DriftMap:
    """A map that is asked for after every arrival."""
    mapper = DriftMap(n_landmarks=m, embedding=LandmarkStress(2, steadiness=steadiness)).fit(X[: 2 * m])
    for x in X[2 * m :]:
        mapper.partial_fit(x[None]).frame_  # noqa: B018
    return mapper


def on_streams(streams: Iterable[tuple[str, Array, int]], weights: Iterable[float]) -> None:
    """Print the third table."""
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
    """Print all tables; returns the limits."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        limits = against_published(quick)
        print()
        limits += on_tolerances(drifting(quick), TOLERANCES[: 2 if quick else 3])
        print()
        streams = ((name, X[:QUICK_ROWS] if quick else X, m) for name, X, m in paper_streams())
        on_streams(streams, WEIGHTS[::3] if quick else WEIGHTS)
    return limits


if __name__ == "__main__":
    command(__doc__, run)

"""Measure quality and speed of the embeddings: python -m benchmarks.methods [--quick]

Streams arrive in order along the sheet or class by class; new points are placed. Sheets, eigenfunctions and neighbours
are measured over several seeds; the summary shows the worst seed unless it states the median. Rates are those of
``transform`` in CPU time on one thread, against the blocked product of rows and landmarks.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy.sparse.linalg import eigsh
from scipy.spatial.distance import cdist
from threadpoolctl import threadpool_limits

from benchmarks import sheets
from benchmarks.timing import TICK, Limit, at_least, at_most, command, in_turn
from driftmap import DriftMap, quality
from driftmap.embedding import LandmarkIsomap, LandmarkTSNE
from driftmap.landmarks import InitialLandmarks

SHEETS: dict[str, tuple[Callable[[int], sheets.Stream], float]] = {
    "swiss roll": (sheets.swiss_roll, 0.020),
    "S-curve": (sheets.s_curve, 0.015),
    "swiss roll, noise 0.5": (lambda seed: sheets.swiss_roll(seed, noise=0.5), 0.05),
}
LOOPS: dict[str, tuple[Callable[[int], sheets.Stream], tuple[float, float]]] = {
    "helix": (sheets.helix, (0.98, 0.95)),
    "torus": (sheets.torus, (0.99, 0.99)),
}
NEIGHBOURS = {"tsne": (0.955, 0.96, 0.945), "kernel-tsne": (0.945, 0.94, 0.92), "bikernel-tsne": (0.0, 0.0, 0.0)}
NEAR_OPENTSNE = (0.964, 0.975, 0.973)
"""Goals of tsne with 400 landmarks: within 0.01 of openTSNE fitted to all points."""
RATES = {"isomap": 3.0, "diffusion": 3.0, "kernel-tsne": 3.0, "tsne": 30.0}
"""Largest time, in multiples of the blocked product of rows and landmarks."""
BLOCK_ROWS = 1024


def unrolled(quick: bool) -> list[Limit]:
    """Measure the error of Isomap for new points, and how far frames along the stream move stored points."""
    print("| sheet | error: median | worst | initial landmarks | moved: median | max |")
    print("|---|---|---|---|---|---|")
    limits = []
    for name, (stream, goal) in SHEETS.items():
        errors, initial, moved = [], [], []
        for seed in range(2 if quick else 6):
            points, new, truth, _ = stream(seed)
            mapper = DriftMap(n_landmarks=100, memory=1600, embedding="isomap").fit(points)
            errors.append(quality.procrustes_error(truth, mapper.transform(new)))
            first = InitialLandmarks(100).fit(points)
            isomap = LandmarkIsomap().fit(cdist(first.landmarks_, first.landmarks_))
            initial.append(quality.procrustes_error(truth, isomap.place(first.distances(new))))
            growing = DriftMap(n_landmarks=100, memory=1600, embedding="isomap")
            for part in np.split(points, np.arange(1500, 5000, 350)):
                growing.partial_fit(part).transform(new[:1])
            moved += [change.displacement for change in growing.frames_]
        medians, largest = [m.median for m in moved], [m.max for m in moved]
        print(
            f"| {name} | {np.median(errors):.4f} | {max(errors):.4f} | "
            f"{np.median(initial):.3f} | {max(medians):.4f} | {max(largest):.4f} |",
            flush=True,
        )
        limits += [
            at_most(f"isomap, {name}: error", goal, errors),
            at_most(f"isomap, {name}: a frame moves stored points, median", 0.012, medians),
            at_most(f"isomap, {name}: a frame moves stored points, most", 0.05, largest),
        ]
        if "noise" not in name:
            limits.append(at_least(f"isomap, {name}: error with initial landmarks", 0.5, initial))
    return limits


def exact_eigenfunctions(stream: sheets.Stream, sigma: float) -> np.ndarray:
    """Return the first four eigenfunctions of the walk on all points (alpha=1), at the new points."""
    X = np.concatenate([stream.points, stream.new])
    K = np.exp(-cdist(X, X, "sqeuclidean") / (2 * sigma**2))
    K /= np.outer(K.sum(axis=1), K.sum(axis=1))
    roots = np.sqrt(K.sum(axis=1))
    vectors = eigsh(K / np.outer(roots, roots), k=5, v0=roots + 1)[1][:, ::-1]
    return (vectors / roots[:, None])[len(stream.points) :, 1:]


def r_squared(targets: np.ndarray, coordinates: np.ndarray) -> float:
    """Return the mean R^2 of targets regressed on coordinates; eigenfunctions of equal eigenvalues rotate freely."""
    A = np.column_stack([coordinates, np.ones(len(coordinates))])
    left = targets - A @ np.linalg.lstsq(A, targets, rcond=None)[0]
    return float(np.mean(1 - left.var(axis=0) / targets.var(axis=0)))


def eigenfunctions(quick: bool) -> list[Limit]:
    """Measure diffusion maps by R^2 of the exact eigenfunctions regressed on the coordinates of new points."""
    print("\n| curve | R^2 of eigenfunctions 1-2: median | worst | 1-4: median | worst |")
    print("|---|---|---|---|---|")
    limits = []
    for name, (make, goals) in LOOPS.items():
        found = []
        for seed in range(2 if quick else 6):
            stream = make(seed)
            mapper = DriftMap(4, n_landmarks=100, embedding="diffusion").fit(stream.points)
            functions = exact_eigenfunctions(stream, mapper.fitted_embedding_.bandwidth_)
            Y = mapper.transform(stream.new)
            found.append((r_squared(functions[:, :2], Y[:, :2]), r_squared(functions, Y)))
        (two, four), (worst_two, worst_four) = np.median(found, axis=0), np.min(found, axis=0)
        print(f"| {name} | {two:.3f} | {worst_two:.3f} | {four:.3f} | {worst_four:.3f} |", flush=True)
        for which, goal, numbers in zip(("1-2", "1-4"), goals, zip(*found, strict=True), strict=True):
            limits.append(at_least(f"diffusion, {name}: R^2 of {which}", goal, numbers))
    return limits


def kept(mapper: DriftMap, stream: sheets.Stream) -> tuple[float, float, float]:
    """Return trustworthiness, 1-NN accuracy by the labels of landmarks, and leave-one-out 1-NN of new points."""
    Y = mapper.transform(stream.new)
    labels, apart = stream.labels[mapper.landmark_indices_], cdist(Y, Y) + 1e9 * np.eye(len(Y))
    return (
        float(quality.trustworthiness(stream.new, Y, n_neighbors=12)),
        float(np.mean(labels[cdist(Y, mapper.landmark_embedding_).argmin(axis=1)] == stream.truth)),
        float(np.mean(stream.truth[apart.argmin(axis=1)] == stream.truth)),
    )


def neighbours(quick: bool) -> list[Limit]:
    """Measure the t-SNE family on digits class by class: neighbours kept, and how far frames move stored points."""
    names = ("trustworthiness", "1-NN by landmarks", "leave-one-out 1-NN")
    print(f"\n| embedding | m | {' | '.join(names)} | the same after 12 frames | moved, median of frames |")
    print("|---|---|---|---|---|---|---|")
    limits = []
    for m in (200, 400):
        for name, goals in NEIGHBOURS.items():
            found, later, moved = [], [], []
            for seed in range(2 if quick else 6):
                digits = sheets.digits(seed)
                found.append(kept(DriftMap(n_landmarks=m, embedding=name).fit(digits.points), digits))
                if m == 200:
                    growing = DriftMap(n_landmarks=m, embedding=name)
                    for part in np.split(digits.points, np.arange(300, 1197, 75)):
                        growing.partial_fit(part).transform(digits.new[:1])
                    later.append(kept(growing, digits))
                    moved += [change.displacement.median for change in growing.frames_]
            medians = np.median(found, axis=0)
            cells = " | ".join(f"{score:.3f}" for score in medians)
            frames = " / ".join(f"{score:.3f}" for score in np.median(later, axis=0)) if later else ""
            print(f"| {name} | {m} | {cells} | {frames} | {f'{np.median(moved):.3f}' if moved else ''} |", flush=True)
            if m == 400 and name == "tsne":
                for what, goal, score in zip(names, NEAR_OPENTSNE, medians, strict=True):
                    limits.append(at_least(f"tsne, digits, 400 landmarks: {what}, median of seeds", goal, [score]))
            if m == 200 and goals[0]:
                for what, goal, score in zip(names, goals, medians, strict=True):
                    limits.append(at_least(f"{name}, digits: {what}, median of seeds", goal, [score]))
                limits.append(at_most(f"{name}, digits: moved, median of frames", 0.10, [float(np.median(moved))]))
    return limits


def anchors(quick: bool) -> list[Limit]:
    """Compare t-SNE of landmarks with t-SNE of landmarks and stored points."""
    print("\n| stream | m | metric | points | trustworthiness | leave-one-out 1-NN | outliers among landmarks |")
    print("|---|---|---|---|---|---|---|")
    limits = []
    for name, make, m, metric in (
        ("clusters, 5 % outliers", sheets.outliers, 100, "euclidean"),
        ("clusters, 5 % outliers", sheets.outliers, 100, "cityblock"),
        ("sentences", sheets.sentences, 200, "euclidean"),
        ("digits", sheets.digits, 200, "cityblock"),
    ):
        for n_anchors in (0, None):
            found = []
            for seed in range(2 if quick else 6):
                stream = make(seed)
                inside = stream.truth >= 0
                new = stream._replace(new=stream.new[inside], truth=stream.truth[inside])
                embedding = LandmarkTSNE(n_anchors=n_anchors)
                mapper = DriftMap(n_landmarks=m, metric=metric, embedding=embedding).fit(stream.points)
                trust, _, alone = kept(mapper, new)
                found.append((trust, alone, np.mean(stream.labels[mapper.landmark_indices_] < 0)))
            trust, alone, outlying = np.median(found, axis=0)
            print(f"| {name} | {m} | {metric} | {mapper.n_anchors_} | ", end="")
            print(f"{trust:.3f} | {alone:.3f} | {outlying:.2f} |", flush=True)
            if n_anchors is None and metric == "euclidean":
                limits.append(at_least(f"tsne, {name}: leave-one-out 1-NN, median of seeds", 0.97, [alone]))
    return limits


def fitting(quick: bool) -> list[Limit]:
    """Measure exact t-SNE of landmarks with a cold and a warm start."""
    limits = []
    print("\n| landmarks | t-SNE, s | from a start, s |\n|---|---|---|")
    for m in (200,) if quick else (200, 500, 1000):
        L = sheets.digits(0).points[:m]
        distances = cdist(L, L)
        start = LandmarkTSNE().fit(distances).coordinates_
        runs = [
            lambda D=distances: LandmarkTSNE().fit(D),
            lambda D=distances, start=start: LandmarkTSNE().fit(D, start=start),
        ]
        cold, warm = in_turn(runs, 2 if m == 1000 else 3)
        print(f"| {m} | {cold:.2f} | {warm:.3f} |", flush=True)
        if m == 200:
            limits += [at_most("t-SNE of 200 landmarks, s", 1.0, [cold])]
            limits += [at_most("t-SNE of 200 landmarks from a start, s", 0.1, [warm])]
    return limits


def products(X: np.ndarray, L: np.ndarray) -> None:
    """Compute the reference: the product of rows and landmarks, in blocks of rows."""
    out = np.empty((BLOCK_ROWS, len(L)))
    for first in range(0, len(X), BLOCK_ROWS):
        block = X[first : first + BLOCK_ROWS]
        np.matmul(block, L.T, out=out[: len(block)])


def rates(quick: bool) -> list[Limit]:
    """Compare placing in batches with the blocked product or, under cityblock, with landmark MDS."""
    print("\n| embedding | d | m | metric | reference, ns a row | transform, ns a row | ratio |")
    print("|---|---|---|---|---|---|---|")
    limits = []
    n, times = (8_192, 5) if quick else (32_768, 9)
    for d, m, metric in (
        (16, 100, "euclidean"),
        (64, 200, "euclidean"),
        (384, 100, "euclidean"),
        (64, 200, "cityblock"),
    ):
        X = np.random.default_rng(0).standard_normal((n, d))
        maps = {name: DriftMap(n_landmarks=m, metric=metric, embedding=name).fit(X[:2000]) for name in (*RATES, "lmds")}
        for mapper in maps.values():
            mapper.transform(X[:10])
        L = maps["lmds"].landmarks_
        runs = [lambda X=X, L=L: products(X, L)]
        runs += [lambda X=X, mapper=mapper: mapper.transform(X) for mapper in maps.values()]
        product, *ours, lmds = in_turn(runs, times)
        reference = product if metric == "euclidean" else lmds
        for (name, goal), seconds in zip(RATES.items(), ours, strict=True):
            what, goal = (name, goal) if metric == "euclidean" else (f"{name}, cityblock", 2.0)
            tick = ""
            if d == 64 and not (metric == "cityblock" and name == "tsne"):
                limits.append(at_most(f"placing, {what}: times the reference", goal, [seconds / reference]))
                tick = f" {TICK[limits[-1].ok]}"
            cells = f"{reference / n * 1e9:.0f} | {seconds / n * 1e9:.0f} | {seconds / reference:.2f}{tick}"
            print(f"| {name} | {d} | {m} | {metric} | {cells} |", flush=True)
    return limits


def run(quick: bool) -> list[Limit]:
    """Print the tables; return the limits."""
    with threadpool_limits(1):
        parts = (unrolled, eigenfunctions, neighbours, anchors, fitting, rates)
        return [limit for part in parts for limit in part(quick)]


if __name__ == "__main__":
    command(__doc__, run)

"""Streams for benchmarks, and costs of learning besides time: python -m benchmarks.stream [--quick]

Each stream is a deterministic function of its length and width. ``seasonal``, ``slow`` and ``restless`` were used to
tune the engine; the others were not:

- ``curve``: a noisy curve that never returns
- ``noise``: independent normal points
- ``walk``: a random walk
- ``clusters``: forty fixed clusters
- ``topics``: unit vectors around sixty drifting topics in single precision, like text embeddings
- ``changing``: unit vectors around twenty topics that come and go
- ``heavy_tails``: Student's t with two degrees of freedom
- ``regimes``: noise around a centre that jumps twenty times
- ``spectra``: sorted, decaying columns, like spectra of networks
- ``spiral``: a widening spiral

``python -m benchmarks.learning`` compares rates on all of them.
"""

from __future__ import annotations

import argparse
import resource
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
from threadpoolctl import threadpool_limits

from benchmarks.timing import TICK, best, machine


def seasonal(n: int, d: int, day: int = 1440) -> np.ndarray:
    """Return a cloud that moves along a closed path, one point per minute, with a slow cycle of seven days."""
    rng = np.random.default_rng(0)
    t = np.arange(n)[:, None] * (2 * np.pi / day)
    ways = rng.standard_normal((4, d)) / np.sqrt(d)
    path = 6 * np.cos(t) * ways[0] + 6 * np.sin(t) * ways[1] + 3 * np.sin(2 * t) * ways[2] + 2 * np.sin(t / 7) * ways[3]
    return path + 0.3 * rng.uniform(-1, 1, (n, d)) / np.sqrt(d)


def slow(n: int, d: int) -> np.ndarray:
    """Return the seasonal stream with long days: landmarks start concentrated and are replaced until they spread."""
    return seasonal(n, d, day=10_000)


def restless(n: int, d: int) -> np.ndarray:
    """Return d noisy sensors of three hidden random walks."""
    rng = np.random.default_rng(0)
    factors = np.cumsum(rng.standard_normal((n, 3)), axis=0) * (10 / np.sqrt(n))
    return factors @ rng.standard_normal((3, d)) + 0.1 * rng.standard_normal((n, d))


def curve(n: int, d: int) -> np.ndarray:
    """Return a noisy curve that never returns."""
    rng = np.random.default_rng(7)
    t = np.arange(n)[:, None] / 2000
    ways, rates = rng.standard_normal((6, d)), rng.uniform(0.2, 2.0, 6)
    return np.sin(t * rates) @ ways + 0.3 * t * ways[0] + 0.05 * rng.standard_normal((n, d))


def noise(n: int, d: int) -> np.ndarray:
    """Return independent normal points."""
    return np.random.default_rng(7).standard_normal((n, d))


def walk(n: int, d: int) -> np.ndarray:
    """Return a random walk."""
    return np.cumsum(noise(n, d), axis=0)


def clusters(n: int, d: int, seed: int = 0) -> np.ndarray:
    """Return points of forty fixed clusters."""
    centres = 3 * np.random.default_rng(1).standard_normal((40, d))
    rng = np.random.default_rng(seed)
    return centres[rng.integers(0, 40, n)] + 0.3 * rng.standard_normal((n, d))


def topics(n: int, d: int) -> np.ndarray:
    """Return unit vectors around sixty drifting topics, in single precision."""
    rng = np.random.default_rng(7)
    centres, drift = rng.standard_normal((2, 60, d))
    out = np.empty((n, d), np.float32)
    for first in range(0, n, 1000):
        part = out[first : first + 1000]
        x = (centres + drift * (first / n))[rng.integers(0, 60, len(part))] + 0.7 * rng.standard_normal(part.shape)
        part[:] = x / np.linalg.norm(x, axis=1, keepdims=True)
    return out


def changing(n: int, d: int, n_topics: int = 20) -> np.ndarray:
    """Unit vectors round topics that come and go, a few at a time."""
    rng = np.random.default_rng(3)
    centres, progress = rng.standard_normal((n_topics, d)), np.arange(n)[:, None] / n
    shares = np.exp(-0.5 * ((progress - np.linspace(-0.05, 1.05, n_topics)) / 0.08) ** 2)
    topic = (np.cumsum(shares / shares.sum(axis=1, keepdims=True), axis=1) < rng.random((n, 1))).sum(axis=1)
    X = centres[topic] + 0.7 * rng.standard_normal((n, d))
    return X / np.linalg.norm(X, axis=1, keepdims=True)


def heavy_tails(n: int, d: int) -> np.ndarray:
    """Return Student's t with two degrees of freedom."""
    return np.random.default_rng(7).standard_t(2, (n, d))


def regimes(n: int, d: int) -> np.ndarray:
    """Return noise around a centre that jumps twenty times."""
    centres = 10 * np.random.default_rng(8).standard_normal((20, d))
    return noise(n, d) + centres[np.arange(n) * 20 // n]


def spectra(n: int, d: int) -> np.ndarray:
    """Return sorted, decaying columns, like spectra of networks, with a varying load."""
    rng = np.random.default_rng(7)
    load = 2 + np.sin(np.arange(n) / 500) + 0.5 * np.sin(np.arange(n) / 7919)
    decay = np.exp(-np.arange(d) / max(d / 8, 1))
    return -np.sort(-np.abs(load[:, None] * decay + 0.05 * rng.standard_normal((n, d))), axis=1)


def spiral(n: int, d: int) -> np.ndarray:
    """Return a widening spiral."""
    t = np.linspace(0, 60, n)
    X = 0.02 * np.random.default_rng(7).standard_normal((n, d))
    X[:, 0] += t * np.cos(t)
    X[:, 1] += t * np.sin(t)
    return X


def product_and_minimum(X: np.ndarray, L: np.ndarray, block: int = 1024) -> np.ndarray:
    """Compute the reference: a blocked product and row minimum."""
    out = np.empty(len(X))
    for a in range(0, len(X), block):
        out[a : a + block] = (X[a : a + block] @ L.T).min(axis=1)
    return out


def bounded(scale: int) -> None:
    """Compare a long stationary stream with bounded memory to a short one with every point stored."""
    from driftmap.landmarks import OnlineLandmarks

    n = 10**6 // scale
    batches = [clusters(n, 16, seed) for seed in range(10)]
    short = best(lambda: OnlineLandmarks(100, memory=None).partial_fit(batches[0]), 1)
    fitted = OnlineLandmarks(100)
    long = best(lambda: [fitted.partial_fit(batch) for batch in batches], 1)
    print(
        f"Clusters, d=16, m=100: {10 * n / long / 1e6:.2f} M points/s over {10 * n:,} points with bounded memory, "
        f"{n / short / 1e6:.2f} over {n:,} with every point stored {TICK[10 * short / long >= 0.5]}"
    )


def bytes_per_point(d: int, points: int = 10**6, memory: int | None = None) -> float | None:
    """Return the resident memory per stored point, measured in a new process; None on systems without /proc."""
    code = (
        "import resource, numpy as np\n"
        "from driftmap.landmarks import OnlineLandmarks\n"
        "from benchmarks.stream import seasonal\n"
        f"fitted = OnlineLandmarks(100, memory={memory})\n"
        f"parts = [seasonal(50_000, {d}) for _ in range(2)]\n"
        "fitted.partial_fit(parts[0])\n"
        "def resident():\n"
        "    return int(open('/proc/self/statm').read().split()[1]) * resource.getpagesize()\n"
        "before, seen = resident(), fitted.n_samples_seen_\n"
        f"for _ in range({points // 50_000}):\n"
        "    fitted.partial_fit(parts[1])\n"
        "print((resident() - before) / (fitted.n_samples_seen_ - seen))\n"
    )
    if not Path("/proc/self/statm").exists():
        return None
    return float(subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout)


def memory() -> None:
    """Print the resident memory per stored point."""
    used = bytes_per_point(16)
    if used is None:
        print("\nMemory: not measured, this system has no /proc")
        return
    print(f"\nMemory: {used:.0f} bytes per stored point of 16 numbers")


def against_naive(n: int) -> None:
    """Compare a literal implementation of the paper's algorithm with the library, with the same result."""
    sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
    import naive
    from driftmap.datasets import s_curve_stream
    from driftmap.landmarks import OnlineLandmarks

    X = s_curve_stream()[:n]
    ours = best(lambda: OnlineLandmarks(100, rule="paper").fit(X), 5)
    start = time.perf_counter()
    oracle = naive.Paper(100, naive.squared_euclidean, 1e-40)
    for x in X:
        oracle.add(x)
    literal = time.perf_counter() - start
    fitted = OnlineLandmarks(100, rule="paper").fit(X)
    same = sorted(oracle.landmarks) == fitted.landmark_indices_.tolist() and oracle.rho**0.5 == fitted.radius_
    print(
        f"\nS-curve, n={n}, m=100, rule='paper': literal {literal:.1f} s, ours {ours * 1000:.1f} ms, "
        f"{literal / ours:,.0f} times faster {TICK[literal / ours >= 500]}, same landmarks and radius: {same}"
    )


def start_up() -> None:
    """Print the times of the import and of the first call in a process."""

    def seconds(code: str) -> float:
        return best(lambda: subprocess.run([sys.executable, "-c", code], check=True), 3)

    library, ours = seconds("import sklearn.base"), seconds("from driftmap import DriftMap")
    first = seconds(
        "import numpy as np; from driftmap import DriftMap; DriftMap().fit_transform(np.random.rand(2000, 5))"
    )
    print(
        f"\nimport driftmap: {ours:.2f} s, scikit-learn alone {library:.2f} s; with a first fit_transform {first:.2f} s"
    )


def main() -> None:
    """Print all measurements."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="shorter streams, fewer repetitions")
    quick = parser.parse_args().quick
    print(f"{machine()}; one thread\n")
    with threadpool_limits(1):
        bounded(10 if quick else 1)
        memory()
        against_naive(300 if quick else 1000)
        start_up()
    print(f"\nlargest resident memory: {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6:.1f} GB")


if __name__ == "__main__":
    main()

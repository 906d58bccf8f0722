"""Learning speed and memory: python -m benchmarks.stream [--quick]

Rates are compared with "blocked X @ L.T plus row minimum" in numpy on the same data in the same run, one thread: the
least that any method must do which looks at all landmarks. The seasonal stream drifts round a closed path (a point a
minute: a day of 1,440 points, and a slow cycle of seven days). The slow one takes 10,000 points for a round, so its
landmarks begin in one spot and many are replaced until they have spread. The restless one never comes back to where
it was, so landmarks keep being replaced: each replacement costs in proportion to the stored points, at most 10,000
unless all are stored ("all").
"""

from __future__ import annotations

import argparse
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
from threadpoolctl import threadpool_limits

from benchmarks.timing import TICK, best, machine

SHAPES = ((3, 20, 10**6), (16, 100, 10**6), (128, 100, 2 * 10**5))


def seasonal(n: int, d: int, day: int = 1440) -> np.ndarray:
    """A cloud that goes round and round."""
    rng = np.random.default_rng(0)
    t = np.arange(n)[:, None] * (2 * np.pi / day)
    ways = rng.standard_normal((4, d)) / np.sqrt(d)
    path = 6 * np.cos(t) * ways[0] + 6 * np.sin(t) * ways[1] + 3 * np.sin(2 * t) * ways[2] + 2 * np.sin(t / 7) * ways[3]
    return path + 0.3 * rng.uniform(-1, 1, (n, d)) / np.sqrt(d)


def slow(n: int, d: int) -> np.ndarray:
    """The same, in long days."""
    return seasonal(n, d, day=10_000)


def restless(n: int, d: int) -> np.ndarray:
    """Three hidden factors that walk at random, seen through d sensors with noise."""
    rng = np.random.default_rng(0)
    factors = np.cumsum(rng.standard_normal((n, 3)), axis=0) * (10 / np.sqrt(n))
    return factors @ rng.standard_normal((3, d)) + 0.1 * rng.standard_normal((n, d))


def product_and_minimum(X: np.ndarray, L: np.ndarray, block: int = 1024) -> np.ndarray:
    """The reference."""
    out = np.empty(len(X))
    for a in range(0, len(X), block):
        out[a : a + block] = (X[a : a + block] @ L.T).min(axis=1)
    return out


def rates(times: int, scale: int) -> None:
    """partial_fit against the reference, and its growth with the length of the stream."""
    from driftmap.landmarks import OnlineLandmarks

    print(
        "| stream | d | m | n | replacements | reference (M rows/s) | partial_fit (M rows/s) | ratio | n against n/10 "
        "| ratio, all stored |"
    )
    print("|---|---|---|---|---|---|---|---|---|---|")
    for stream in (seasonal, slow, restless):
        for d, m, n in SHAPES:
            n //= scale
            X = stream(n, d)
            L = X[:: n // m][:m].copy()
            fitted = OnlineLandmarks(m).partial_fit(X)  # warm up
            reference = best(lambda X=X, L=L: product_and_minimum(X, L), times)
            ours = best(lambda X=X, m=m: OnlineLandmarks(m).partial_fit(X), times)
            tenth = best(lambda X=X, m=m, n=n: OnlineLandmarks(m).partial_fit(X[: n // 10]), times)
            OnlineLandmarks(m, memory=None).partial_fit(X[:20_000])
            everything = best(lambda X=X, m=m: OnlineLandmarks(m, memory=None).partial_fit(X), times)
            goal = f" {TICK[reference / ours >= 0.5]}" if stream is seasonal else ""
            growth = f"{ours / tenth:.1f} {TICK[ours / tenth <= 12]}"
            print(
                f"| {stream.__name__} | {d} | {m} | {n:,} | {fitted.n_replacements_} | {n / reference / 1e6:.2f} | "
                f"{n / ours / 1e6:.2f} | {reference / ours:.2f}{goal} | {growth} | {reference / everything:.2f} |",
                flush=True,
            )


def stationary(n: int, d: int, seed: int = 0) -> np.ndarray:
    """Forty clusters, always the same."""
    centres = 3 * np.random.default_rng(1).standard_normal((40, d))
    rng = np.random.default_rng(seed)
    return centres[rng.integers(0, 40, n)] + 0.3 * rng.standard_normal((n, d))


def bounded(scale: int) -> None:
    """A long stationary stream with bounded memory against a short one with every point stored."""
    from driftmap.landmarks import OnlineLandmarks

    n = 10**6 // scale
    batches = [stationary(n, 16, seed) for seed in range(10)]
    for all_stored in (True, False):
        OnlineLandmarks(100, memory=None if all_stored else "auto").partial_fit(batches[0][:20_000])
    short = best(lambda: OnlineLandmarks(100, memory=None).partial_fit(batches[0]), 1)
    fitted = OnlineLandmarks(100)
    long = best(lambda: [fitted.partial_fit(batch) for batch in batches], 1)
    print(
        f"\nStationary, d=16, m=100: {10 * n / long / 1e6:.2f} M points/s over {10 * n:,} points with bounded memory, "
        f"{n / short / 1e6:.2f} over {n:,} with every point stored {TICK[10 * short / long >= 0.5]}"
    )


def bytes_per_point(d: int, points: int = 10**6) -> float | None:
    """Resident memory per stored point, measured in a process of its own; None where the system does not tell."""
    code = (
        "import resource, numpy as np\n"
        "from driftmap.landmarks import OnlineLandmarks\n"
        "from benchmarks.stream import seasonal\n"
        f"OnlineLandmarks(100, memory=None).partial_fit(seasonal(20_000, {d}))\n"
        "fitted = OnlineLandmarks(100, memory=None)\n"
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
    """Resident memory per stored point."""
    used = bytes_per_point(16)
    if used is None:
        print("\nMemory: not measured, this system has no /proc")
        return
    print(f"\nMemory: {used:.0f} bytes per stored point of 16 numbers (16 * 8 + 24 = 152)")


def against_naive(n: int) -> None:
    """The paper's algorithm done literally, against ours with the same result."""
    sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
    import naive
    from driftmap.datasets import s_curve_stream
    from driftmap.landmarks import OnlineLandmarks

    X = s_curve_stream()[:n]
    OnlineLandmarks(100, rule="paper").fit(X)
    ours = best(lambda: OnlineLandmarks(100, rule="paper").fit(X), 5)
    start = time.perf_counter()
    oracle = naive.Online(100, "paper", naive.squared_euclidean, 1e-40)
    for x in X:
        oracle.add(x)
    literal = time.perf_counter() - start
    fitted = OnlineLandmarks(100, rule="paper").fit(X)
    same = sorted(oracle.landmarks) == fitted.landmark_indices_.tolist() and oracle.rho == fitted._state.radius
    print(
        f"\nS-curve, n={n}, m=100, rule='paper': literal {literal:.1f} s, ours {ours * 1000:.1f} ms, "
        f"{literal / ours:,.0f} times faster {TICK[literal / ours >= 500]}, same landmarks and radius: {same}"
    )


def start_up() -> None:
    """Import, first call ever, first call with compiled code cached."""

    def seconds(code: str, cache: str) -> float:
        return best(
            lambda: subprocess.run(
                [sys.executable, "-c", code], check=True, env={"NUMBA_CACHE_DIR": cache, "PATH": ""}
            ),
            1,
        )

    with tempfile.TemporaryDirectory() as cache:
        library = min(seconds("import sklearn.base", cache) for _ in range(3))
        ours = min(seconds("from driftmap import DriftMap", cache) for _ in range(3))
    print(
        f"\nimport driftmap: {ours - library:.2f} s beyond scikit-learn's {library:.2f} s {TICK[ours - library < 0.5]}"
    )
    for n, what in ((2000, "fit_transform"), (200_000, "fit")):
        code = f"import numpy as np; from driftmap import DriftMap; DriftMap().{what}(np.random.rand({n}, 5))"
        with tempfile.TemporaryDirectory() as cache:
            cold = seconds(code, cache)
            warm = min(seconds(code, cache) for _ in range(3))
        print(
            f"first {what} ever, {n:,} points, whole process: {cold:.1f} s; with compiled code cached: {warm:.1f} s",
            flush=True,
        )


def main() -> None:
    """Print everything."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="shorter streams, fewer repetitions")
    quick = parser.parse_args().quick
    print(f"{machine()}; one thread\n")
    with threadpool_limits(1):
        rates(2 if quick else 5, 10 if quick else 1)
        bounded(10 if quick else 1)
        memory()
        against_naive(300 if quick else 1000)
        start_up()
    print(f"\nlargest resident memory: {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6:.1f} GB")


if __name__ == "__main__":
    main()

"""The timed process: python -m benchmarks.peers.child job.json

A job names a method, a file of points and the memory limit. Every finished stage writes one line of JSON, so that
results before a limit are kept. Compiled code is first warmed up on a few other points; imports, warm-up and reading
the points are not included in time and memory.
"""

from __future__ import annotations

import contextlib
import functools
import json
import re
import resource
import sys
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.peers.interface import BATCH, Cannot, Method
from benchmarks.peers.manifold_methods import MANIFOLD_METHODS
from benchmarks.peers.methods import METHODS

SINGLES = 200
MOMENTS = 20
RECENT = 2_000
ALL = METHODS | MANIFOLD_METHODS


class Answers:
    """Writes the results of stages: numbers, or the reason of a failure."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def write(self, **answer: Any) -> None:
        """Append one line immediately."""
        with self.path.open("a") as file:
            file.write(json.dumps(answer) + "\n")

    def stage(self, name: str, run: Callable[[], dict[str, Any]]) -> bool:
        """Run a stage and write its result; return True if it succeeded."""
        try:
            self.write(stage=name, **run())
            return True
        except Cannot as answer:
            self.write(stage=name, no=str(answer))
        except MemoryError:
            self.write(stage=name, no="out of memory (> {memory} GB)")
        except Exception as error:  # any exception of a peer is its result
            self.write(stage=name, no=f"{type(error).__name__}: {str(error).splitlines()[0] if str(error) else ''}")
        return False


def timed(run: Callable[[], Any]) -> tuple[float, Any]:
    """Return CPU seconds, which exclude other processes, and the result."""
    start = time.process_time()
    result = run()
    return time.process_time() - start, result


def checked(Y: Any, n: int) -> np.ndarray:
    """Return a map, or raise if it does not have a finite position for every point."""
    Y = np.array(Y, dtype=np.float64)
    if Y.shape != (n, 2) or not np.isfinite(Y).all():
        raise ValueError(f"the map has shape {Y.shape}, {np.count_nonzero(~np.isfinite(Y))} numbers not finite")
    return Y


def in_batches(method: Method, X: np.ndarray) -> np.ndarray:
    """Place points, 1,000 at a time."""
    return np.concatenate([method.place(X[a : a + BATCH]) for a in range(0, len(X), BATCH)])


def warm_up(key: str, n: int, d: int) -> None:
    """Run each operation once before timing, for just-in-time compilers; failures occur again in the timed run."""
    method = ALL[key]()
    for few, options in method.rehearsals(n):
        X = np.random.default_rng(1).standard_normal((few, d))
        old, new = X[: few // 2], X[few // 2 :]
        method.options = options
        for run in (
            functools.partial(method.fit, old),
            functools.partial(method.place, new),
            functools.partial(method.place, X[:1]),
            functools.partial(method.place, 1e9 * X[:1]),  # an outlier may use another code path
            functools.partial(method.add, new, X),
        ):
            with contextlib.suppress(Exception):
                run()


def peak_memory() -> float:
    """Return the peak memory of this process in MB."""
    status = Path("/proc/self/status")
    if status.exists():  # ru_maxrss includes the parent's memory at the start of this process
        return float(re.search(r"VmHWM:\s*(\d+) kB", status.read_text())[1]) / 1e3
    unit = 1e6 if sys.platform == "darwin" else 1e3
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / unit


def forget_peak() -> None:
    """Reset the peak memory, which includes compilers, to the current memory if Linux allows it."""
    try:
        Path("/proc/self/clear_refs").write_text("5")
    except OSError:
        return


def halves(method: Method, X: np.ndarray, half: int, answers: Answers, folder: Path) -> None:
    """Fit the first half, place the second, then add it."""
    old, new = X[:half], X[half:]

    def keep(name: str, Y: Any, n: int) -> None:
        np.save(folder / f"{name}.npy", checked(Y, n))

    def fit() -> dict[str, Any]:
        seconds, Y = timed(lambda: method.fit(old))
        answer = {"seconds": seconds, "megabytes": peak_memory() - base}
        keep("fit", Y, len(old))
        return answer

    def place() -> dict[str, Any]:
        seconds, Y = timed(lambda: in_batches(method, new))
        answer = {"rate": len(new) / seconds, "megabytes": peak_memory() - base}
        keep("place", Y, len(new))
        return answer

    def single() -> dict[str, Any]:
        rows = new[np.linspace(0, len(new) - 1, min(SINGLES, len(new))).astype(int)]
        return {"milliseconds": 1e3 * float(np.median([timed(lambda x=x: method.place(x[None]))[0] for x in rows]))}

    def add() -> dict[str, Any]:
        seconds, Y = timed(lambda: method.add(new, X))
        answer = {"seconds": seconds, "megabytes": peak_memory() - base}
        keep("add", Y, len(X))
        return answer

    base = peak_memory()
    if answers.stage("fit", fit):
        if answers.stage("place", place):
            answers.stage("single", single)
        answers.stage("add", add)


def once(method: Method, X: np.ndarray, n: int, answers: Answers, folder: Path) -> None:
    """Fit the first n points, then place the others; a method that cannot place points is fitted to all."""
    base, known = peak_memory(), len(X) if method.needs_all else n

    def fit() -> dict[str, Any]:
        seconds, Y = timed(lambda: method.fit(X[:known]))
        answer = {"seconds": seconds, "megabytes": peak_memory() - base}
        if method.needs_all:
            np.save(folder / "place.npy", checked(Y, known)[n:])
        return answer

    def place() -> dict[str, Any]:
        seconds, Y = timed(lambda: in_batches(method, X[n:]))
        answer = {"rate": (len(X) - n) / seconds, "megabytes": peak_memory() - base}
        np.save(folder / "place.npy", checked(Y, len(X) - n))
        return answer

    if answers.stage("fit", fit):
        answers.stage("place", place)


def moments(n: int) -> list[int]:
    """Return 20 evenly spaced numbers of arrivals, the last of them n."""
    return [n * (i + 1) // MOMENTS for i in range(MOMENTS)]


def follow(method: Method, X: np.ndarray, answers: Answers, folder: Path) -> None:
    """Fit up to the first moment; at each further moment, learn if the method can, and place the latest points."""
    ends = moments(len(X))

    def step(start: int, end: int) -> dict[str, Any]:
        if start == 0:
            method.fit(X[:end])
        elif method.adds != "refit":
            method.learn(X[start:end])
        recent = X[max(0, end - RECENT) : end]
        np.save(folder / f"{end}.npy", checked(in_batches(method, recent), len(recent)))
        return {"seen": end}

    for start, end in zip([0, *ends[:-1]], ends, strict=True):
        if not answers.stage(f"moment {end}", lambda start=start, end=end: step(start, end)):
            return


def main() -> None:
    """Run one job."""
    warnings.simplefilter("ignore")
    job = json.loads(Path(sys.argv[1]).read_text())
    folder = Path(sys.argv[1]).parent
    answers = Answers(folder / "answers.jsonl")
    try:
        method = ALL[job["method"]]()
    except ImportError as error:
        answers.write(stage="import", no=f"not installed: {error}")
        return
    X = np.load(job["points"])
    if job["kind"] != "follow":
        warm_up(job["method"], *X.shape)
    limit = int(job["memory"] * 2**30)
    resource.setrlimit(resource.RLIMIT_DATA, (limit, limit))
    answers.write(stage="ready", seconds=time.process_time())
    forget_peak()
    if job["kind"] == "halves":
        halves(method, X, job["half"], answers, folder)
    elif job["kind"] == "once":
        once(method, X, job["half"], answers, folder)
    else:
        follow(method, X, answers, folder)


if __name__ == "__main__":
    main()

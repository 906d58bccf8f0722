"""Check kernels for speed regressions: python -m benchmarks.speed [--write]

Each kernel of ``benchmarks/cases.py`` takes turns with its reference, slice by slice, and the median ratio of their CPU
times is compared with ``benchmarks/baseline.json``. The check fails if a kernel is more than 1.5 times slower relative
to its reference in five successive measurements. ``--write`` stores the current ratios as the baseline of this kind of
processor.

Ratios depend on the processor (the width of its vectors, the kernels of BLAS), so baselines are stored per kind: the
name of the processor and the kernels that BLAS selected. On an unknown kind, the limit is four times the worst known
ratio, times 1.5; this detects repeated work, but not a kernel that is half as fast.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from pathlib import Path

import numpy as np
from threadpoolctl import threadpool_limits

from benchmarks.cases import CASES, Case
from benchmarks.timing import TICK, processor

BASELINE = Path(__file__).with_name("baseline.json")
SLOWER = 1.5
UNKNOWN = 4.0
"""Factor on the worst known ratio for an unknown processor."""
ATTEMPTS = 5
SECONDS, PAIRS = 2.0, (20, 200)
"""Time to measure a case, and the least and largest number of pairs of slices."""

Ratios = dict[str, float]


def ratio(case: Case) -> float:
    """Return the time of a kernel relative to its reference: the median over pairs of slices."""
    found: list[float] = []
    begin = time.perf_counter()
    while len(found) < PAIRS[0] or (len(found) < PAIRS[1] and time.perf_counter() - begin < SECONDS):
        moments = [time.process_time()]
        for run in case:
            run()
            moments.append(time.process_time())
        kernel, reference = np.diff(moments)
        found.append(kernel / reference)
    return float(np.median(found))


def measure(name: str) -> float:
    """Set up and warm up a case; return its ratio."""
    with threadpool_limits(1):
        case = CASES[name]()
        for run in case:
            run()
        return ratio(case)


def expected(baseline: dict[str, Ratios], kind: str) -> Ratios:
    """Return the baseline of a kind of processor; for an unknown kind, a multiple of the worst of all."""
    if kind in baseline:
        return baseline[kind]
    worst: Ratios = {}
    for ratios in baseline.values():
        worst |= {name: max(UNKNOWN * known, worst.get(name, 0.0)) for name, known in ratios.items()}
    return worst


def least(name: str, known: float) -> float:
    """Measure a case until it is fast enough, at most ``ATTEMPTS`` times; print the ratios and return the least."""
    found = []
    for _ in range(ATTEMPTS):
        found.append(measure(name))
        ok = found[-1] <= SLOWER * known
        print(f"{name}: {found[-1]:.2f} times its reference, baseline {known:.2f} {TICK[ok]}", flush=True)
        if ok:
            break
    return min(found)


def check() -> list[str]:
    """Return a message for each kernel that has become slower."""
    kind, baseline = processor(), json.loads(BASELINE.read_text())
    print(f"{kind}: {'known' if kind in baseline else f'not known, held to {UNKNOWN:g} times the worst ratio known'}")
    known = expected(baseline, kind)
    if missing := CASES.keys() - known.keys():
        return [f"{name}: it has no baseline yet" for name in sorted(missing)]
    found = {name: least(name, known[name]) for name in CASES}
    return [
        f"{name}: {found[name]:.2f} times its reference at best, the baseline is {known[name]:.2f}"
        for name in CASES
        if found[name] > SLOWER * known[name]
    ]


def write() -> None:
    """Store the current ratios, medians of several measurements, as the baseline of this kind of processor."""
    baseline = json.loads(BASELINE.read_text()) if BASELINE.exists() else {}
    baseline[processor()] = {
        name: round(float(np.median([measure(name) for _ in range(ATTEMPTS)])), 3) for name in CASES
    }
    BASELINE.write_text(json.dumps(baseline, indent=2, sort_keys=True) + "\n")


def main() -> None:
    """Check, or write the baseline."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--write", action="store_true", help="store the current ratios as the baseline")
    if parser.parse_args().write:
        write()
        return
    if slow := check():
        sys.exit(
            "\n".join(["", "Slower than they were, against their references:", *slow])
            + "\nLook at what changed since `make speed` last passed; benchmarks/cases.py has kernels and references."
            "\nIf it is intended, run `make speed-baseline` and commit benchmarks/baseline.json with the reason."
        )


if __name__ == "__main__":
    main()

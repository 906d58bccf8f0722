"""The check that kernels stay fast: python -m benchmarks.speed [--write]

Each kernel of ``benchmarks/cases.py`` takes turns with its reference product, slice by slice, and the median of the
ratios of their processor times is compared with the one in ``benchmarks/baseline.json``. A kernel that has become 1.5
times slower against its reference, five times in a row, fails the check; ``--write`` makes the present ratios the
baseline of this kind of processor.

Ratios depend on the processor (how wide its vectors are, which kernels BLAS has for it), so there is a baseline per
kind: its name and the kernels that BLAS chose. A kind that is not among them is held to four times the worst ratio
known, times 1.5 as well: that does not see a kernel which is half as fast, but one which does its work again and again.
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
"""How much worse than the worst known ratio one may be on a processor that is not known."""
ATTEMPTS = 5
SECONDS, PAIRS = 2.0, (20, 200)
"""How long a case is measured, and how many pairs of slices that must and may be."""

Ratios = dict[str, float]


def ratio(case: Case) -> float:
    """How many times as long as its reference a kernel takes: the median over pairs of slices."""
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
    """The ratio of a case, which is set up and warmed up first."""
    with threadpool_limits(1):
        case = CASES[name]()
        for run in case:
            run()
        return ratio(case)


def expected(baseline: dict[str, Ratios], kind: str) -> Ratios:
    """The baseline of a kind of processor; for an unknown kind, several times the worst of all."""
    if kind in baseline:
        return baseline[kind]
    worst: Ratios = {}
    for ratios in baseline.values():
        worst |= {name: max(UNKNOWN * known, worst.get(name, 0.0)) for name, known in ratios.items()}
    return worst


def least(name: str, known: float) -> float:
    """Measure a case until it is fast enough, a few times at most, and print what was found; returns the least."""
    found = []
    for _ in range(ATTEMPTS):
        found.append(measure(name))
        ok = found[-1] <= SLOWER * known
        print(f"{name}: {found[-1]:.2f} times its reference, baseline {known:.2f} {TICK[ok]}", flush=True)
        if ok:
            break
    return min(found)


def check() -> list[str]:
    """What to say about kernels that have become slower; nothing if there are none."""
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
    """Make the present ratios the baseline of this kind of processor: the median of some measurements each."""
    baseline = json.loads(BASELINE.read_text()) if BASELINE.exists() else {}
    baseline[processor()] = {
        name: round(float(np.median([measure(name) for _ in range(ATTEMPTS)])), 3) for name in CASES
    }
    BASELINE.write_text(json.dumps(baseline, indent=2, sort_keys=True) + "\n")


def main() -> None:
    """Check, or write the baseline."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--write", action="store_true", help="make the present ratios the baseline")
    if parser.parse_args().write:
        write()
        return
    if slow := check():
        sys.exit(
            "\n".join(["", "Slower than they were, against their references:", *slow])
            + "\nLook at what changed since `make speed` last passed; benchmarks/cases.py has kernels and references."
            "\nIf it is meant, run `make speed-baseline` and commit benchmarks/baseline.json with the reason."
        )


if __name__ == "__main__":
    main()

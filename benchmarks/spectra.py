"""Compare spectra of temporal networks with a simple loop: python -m benchmarks.spectra [--quick]

``laplacian_spectra`` builds the 9,453 networks of the hospital contacts and computes their spectra; the loop gets the
Laplacians and calls ``numpy.linalg.eigvalsh`` for each, with one BLAS thread, which is fastest for such small matrices.
Times are wall-clock times, since jobs are threads. The contacts are read from the folder in DRIFTMAP_DATA (see
``driftmap.datasets.load_hospital``); without it, networks of the same size are generated.
"""

from __future__ import annotations

import os
import time

import numpy as np
from threadpoolctl import threadpool_limits

from benchmarks.timing import TICK, Limit, at_least, command, in_turn, plain_work
from driftmap.datasets import load_hospital
from driftmap.networks import Contacts, TieDecayNetwork, laplacian_spectra

DECAY = 0.01
PEOPLE, MOMENTS, CONTACTS_PER_MOMENT = 75, 9453, 3.43
JOBS = (1, 2)


def generated() -> Contacts:
    """Return generated contacts with the size of the hospital's; the people on duty change every four hours."""
    rng = np.random.default_rng(0)
    events = []
    for t in 20 * np.arange(MOMENTS):
        if t % 14_400 == 0:
            on_duty = rng.choice(PEOPLE, PEOPLE // 3, replace=False)
        for _ in range(1 + rng.poisson(CONTACTS_PER_MOMENT - 1)):
            i, j = rng.choice(on_duty, 2, replace=False)
            events.append((int(i), int(j), float(t)))
    return Contacts.from_events(events)


def contacts() -> tuple[str, Contacts]:
    """Return the hospital's contacts, or generated ones, with their name."""
    if os.environ.get("DRIFTMAP_DATA"):
        try:
            return "hospital", load_hospital().contacts
        except FileNotFoundError as error:
            print(f"{error}: generated contacts instead\n")
    else:
        print("DRIFTMAP_DATA is not set: generated contacts instead of the hospital's\n")
    return "generated", generated()


def laplacians(record: Contacts) -> np.ndarray:
    """Return the Laplacians for the loop."""
    network = TieDecayNetwork(DECAY, nodes=record.nodes)
    return np.stack([np.diag(B.sum(axis=1)) - B for _, B in network.snapshots(record)])


def run(quick: bool) -> list[Limit]:
    """Print the table; return the limits."""
    name, record = contacts()
    ready = laplacians(record)
    runs = [lambda: [np.linalg.eigvalsh(L) for L in ready]]
    runs += [lambda jobs=jobs: laplacian_spectra(record, DECAY, n_jobs=jobs) for jobs in JOBS]
    with threadpool_limits(1):
        times = in_turn([*runs, *map(plain_work, JOBS)], 2 if quick else 5, time.perf_counter)
    loop, *ours, plain, plain_two = times
    print("| networks | nodes | loop (s) | jobs | laplacian_spectra (s) | ratio |\n|---|---|---|---|---|---|")
    limits = []
    for jobs, seconds in zip(JOBS, ours, strict=True):
        ratio = loop / seconds
        print(
            f"| {name}, {len(ready):,} | {len(record.nodes)} | {loop:.2f} | {jobs} | {seconds:.2f} | "
            f"{ratio:.2f} {TICK[ratio >= 1]} |"
        )
        limits.append(at_least(f"spectra of networks: times the rate of a loop of eigvalsh, n_jobs={jobs}", 1, [ratio]))
    print(f"\n(two threads of numpy.sin: {plain / plain_two:.2f} times as fast, the limit of the machine)")
    return limits


if __name__ == "__main__":
    command(__doc__, run)

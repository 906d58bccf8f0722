"""Two experiments that give curves: stress against the number of landmarks m, computation time against n."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import NamedTuple

import numpy as np

from driftmap.datasets import Hospital
from driftmap.networks import Contacts, laplacian_spectra
from driftmap.utils import Array, Ids
from driftmap.utils.concurrency import one_thread
from reproduction.literal import literal_landmarks
from reproduction.nested_stress import ReportFraction, no_progress
from reproduction.scenarios import DECAY, Stream, embed, select_landmarks, stress_of_landmarks
from reproduction.settings import Settings

LITERAL, SPECTRA = "literal", "spectra"
TIMED_RULES = ("published", "paper", "tight", LITERAL)


class SweepPoint(NamedTuple):
    """Stress in two dimensions with some number of landmarks."""

    data: str
    rule: str
    m: int
    sigma_L: float  # noqa: N815 - the paper's symbol
    sigma: float


class Timing(NamedTuple):
    """Seconds to choose the landmarks of the first n points and to place these n points on the map, k = 2."""

    data: str
    rule: str
    """A scenario; "literal": Algorithm 2 with explicit edges; "spectra": only the Laplacian spectra of n networks."""
    n: int
    seconds: float


def stress_against_m(stream: Stream, settings: Settings, progress: ReportFraction = no_progress) -> list[SweepPoint]:
    """The supplement's figure: sigma and sigma_L for many m, as published and with the tight rule."""
    wanted = [(rule, m) for rule in ("published", "tight") for m in settings.landmark_counts[stream.key]]
    found: list[tuple[str, int, Ids]] = []
    for done, (rule, m) in enumerate(wanted):
        progress(done / len(wanted))
        try:
            found.append((rule, m, select_landmarks(rule, stream.points, m).indices))
        except RuntimeError:
            continue  # the published rule is undefined once its list of pairs is exhausted
    stresses = stress_of_landmarks(stream.points, [indices for _, _, indices in found], n_components=2)
    return [
        SweepPoint(stream.key, rule, m, float(stress.sigma_L[-1]), float(stress.sigma[-1]))
        for (rule, m, _), stress in zip(found, stresses, strict=True)
    ]


def time_against_n(stream: Stream, settings: Settings) -> list[Timing]:
    """The paper's figure of computation time: the online rules, and Algorithm 2 with explicit edges."""
    sizes = np.geomspace(stream.m + 10, len(stream.points), settings.n_lengths).astype(int).tolist()
    timings = []
    # One BLAS thread: more gain nothing on matrices this small, and make the times of a busy machine erratic.
    with one_thread():
        for rule in TIMED_RULES:
            seconds = 0.0
            for before, n in zip([sizes[0], *sizes], sizes, strict=False):
                if rule == LITERAL and seconds * (n / before) ** 3 > settings.literal_seconds:
                    break
                seconds = _seconds(partial(_run, rule, stream.points[:n], stream.m))
                timings.append(Timing(stream.key, rule, n, seconds))
    if isinstance(stream.source, Hospital):
        for n in sizes:
            contacts = _first_events(stream.source.contacts, n)
            timings.append(Timing(stream.key, SPECTRA, n, _seconds(partial(laplacian_spectra, contacts, DECAY))))
    return timings


def _run(rule: str, points: Array, m: int) -> None:
    if rule == LITERAL:
        indices = np.array(literal_landmarks(points, m).landmarks, dtype=np.int64)
    else:
        indices = select_landmarks(rule, points, m).indices
    embed(points, indices, n_components=2)


def _seconds(work: Callable[[], object]) -> float:
    """The shortest of up to ten runs; a run of more than 0.2 s is not repeated."""
    shortest, total = math.inf, 0.0
    for _ in range(10):
        start = time.perf_counter()
        work()
        seconds = time.perf_counter() - start
        shortest, total = min(shortest, seconds), total + seconds
        if total > 0.2:
            break
    return shortest


def _first_events(contacts: Contacts, n: int) -> Contacts:
    """The contacts of the first n event times."""
    early = contacts.times <= contacts.event_times[n - 1]
    return replace(contacts, times=contacts.times[early], pairs=contacts.pairs[early])

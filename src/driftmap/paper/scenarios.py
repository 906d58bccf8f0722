"""The paper's streams, and the landmarks that each of its scenarios leaves at the end of one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.distance import cdist

from driftmap.datasets import Hospital, PathLike, Stocks, load_hospital, load_stocks, s_curve_stream
from driftmap.embedding.lmds import LandmarkMDS
from driftmap.landmarks import InitialLandmarks, OnlineLandmarks, RandomLandmarks, RandomOnlineLandmarks
from driftmap.paper.printed import PRINTED
from driftmap.paper.published import published_landmarks
from driftmap.paper.stresses import Progress, nested_stress, no_progress
from driftmap.parallel import one_thread

Array = NDArray[np.float64]
Ids = NDArray[np.int64]

DATA_SETS = {"s-curve": "S-curve", "spy": "SPY", "hospital": "Hospital"}
"""The data sets: the name on the command line, and the paper's name."""

DIMENSIONS = (1, 2, 3)
"""The embedding dimensions k of Table 1."""


class Scenario(NamedTuple):
    """A way to choose landmarks, as Table 1 compares them."""

    key: str
    title: str
    printed_as: str
    """The column of the printed table to which its values are compared."""
    is_random: bool = False
    is_ours: bool = False
    """Whether it is a rule other than the one the printed numbers follow from, so that it need not agree with them."""


SCENARIOS = (
    Scenario("initial", "Initial", "initial"),
    Scenario("published", "Online, as published", "online"),
    Scenario("paper", "Online, Algorithm 2", "online", is_ours=True),
    Scenario("tight", "Online, tight rule", "online", is_ours=True),
    Scenario("random", "Random", "random", is_random=True),
    Scenario("random_online", "Random online", "random_online", is_random=True),
)


class Stream(NamedTuple):
    """One of the paper's data sets, ready to be mapped with the Euclidean distance."""

    key: str
    points: Array
    m: int
    """Number of landmarks in Table 1."""
    source: Stocks | Hospital | None = None
    """The recorded data, for dates and times; the S-curve has none."""

    @property
    def title(self) -> str:
        """The paper's name of the data set."""
        return DATA_SETS[self.key]


class Change(NamedTuple):
    """A landmark was replaced."""

    arrival: int
    came: int
    left: int


class Landmarks(NamedTuple):
    """Where a scenario ends, and how it got there."""

    indices: Ids
    """The final landmarks, as arrival numbers, ascending."""
    radius: float | None = None
    """The final rho of an online rule."""
    radius_arrivals: Ids = np.empty(0, np.int64)
    """Arrivals at which rho changed."""
    radii: Array = np.empty(0)
    """rho from each of these arrivals on."""
    changes: tuple[Change, ...] = ()
    """The replacements, in order; before the first one the landmarks are the first m points."""


class Fit(NamedTuple):
    """How well landmark MDS with some landmarks maps a stream; arrays list k = 1, 2, 3."""

    sigma_L: Array  # noqa: N815 - the paper's symbol
    sigma: Array


def load(key: str, data: PathLike | None = None) -> Stream:
    """Load one of the data sets; ``data`` is the folder of the recorded ones, see :mod:`driftmap.datasets`.

    >>> load("s-curve").points.shape
    (1000, 3)
    """
    m = PRINTED[key].m
    if key == "s-curve":
        return Stream(key, s_curve_stream(), m)
    if key == "spy":
        stocks = load_stocks(data)
        return Stream(key, stocks.normalized, m, stocks)
    hospital = load_hospital(data)
    # The Laplacian distance of two networks is the Euclidean distance of their sorted spectra.
    return Stream(key, hospital.spectra(decay=0.01), m, hospital)


def choose(scenario: str, points: Array, m: int, seed: int = 0) -> Landmarks:
    """Run a scenario over a stream.

    >>> stream = load("s-curve")
    >>> round(choose("published", stream.points, stream.m).radius, 2)
    0.94
    """
    if scenario == "published":
        run = published_landmarks(points, m)
        history = zip(*(entries.tolist() for entries in run.landmark_history), strict=True)
        changes = (Change(*entry) for entry in history)
        return Landmarks(
            run.landmark_indices,
            run.radius,
            run.radius_history.arrivals,
            run.radius_history.radii,
            tuple(change for change in changes if change.came != change.left),
        )
    if scenario in ("paper", "tight"):
        online = OnlineLandmarks(m, rule=scenario).fit(points)
        events = online.events_
        grown = [event for event in events if event.radius_after != event.radius_before]
        return Landmarks(
            online.landmark_indices_,
            online.radius_,
            np.array([event.arrival for event in grown], dtype=np.int64),
            np.array([event.radius_after for event in grown]),
            tuple(
                Change(event.arrival, event.came, event.left)
                for event in events
                if event.kind == "replaced" and event.came is not None and event.left is not None
            ),
        )
    if scenario == "initial":
        return Landmarks(InitialLandmarks(m).fit(points).landmark_indices_)
    if scenario == "random":
        return Landmarks(RandomLandmarks(m, random_state=seed).fit(points).landmark_indices_)
    if scenario == "random_online":
        return Landmarks(RandomOnlineLandmarks(m, random_state=seed).fit(points).landmark_indices_)
    raise ValueError(f"unknown scenario {scenario!r}")


def embed(points: Array, indices: Ids, n_components: int) -> tuple[Array, Array]:
    """Landmark MDS of all points: coordinates of the points and of the landmarks."""
    landmarks = points[indices]
    mds = LandmarkMDS(n_components).fit(cdist(landmarks, landmarks))
    return mds.place(cdist(points, landmarks)), mds.coordinates_


MIRRORED = {"s-curve": (1.0, 1.0), "spy": (1.0, 1.0), "hospital": (-1.0, 1.0)}
"""Signs of the axes of the published maps: eigenvectors have none, so these show the map as the paper does."""


def aligned_maps(stream: Stream, landmark_sets: dict[str, Ids]) -> dict[str, Array]:
    """Maps in the plane, mirrored so that they can be compared by eye with the published one, which must be there."""
    reference = embed(stream.points, landmark_sets["published"], 2)[0] * np.array(MIRRORED[stream.key])
    reference -= reference.mean(axis=0)  # the origin is the mean of the landmarks, not of the points
    maps = {}
    for key, indices in landmark_sets.items():
        positions = embed(stream.points, indices, 2)[0]
        maps[key] = positions * np.where(np.sum(positions * reference, axis=0) < 0, -1.0, 1.0)
    return maps


def measure(
    points: Array,
    landmark_sets: list[Ids],
    n_components: int = 3,
    *,
    more_maps: Sequence[Array] = (),
    progress: Progress = no_progress,
) -> list[Fit]:
    """Exact sigma and sigma_L in 1, ..., ``n_components`` dimensions for each set of landmarks, then of further maps.

    The further maps have no landmarks; their sigma_L is their sigma.
    """
    # Threads gain nothing on matrices this small and, on a busy machine, lose a lot by waiting for each other.
    with one_thread():
        embedded = [embed(points, indices, n_components) for indices in landmark_sets]
    sigma = nested_stress(points, [*(positions for positions, _ in embedded), *more_maps], progress)
    fits = [
        Fit(nested_stress(points[indices], [at_landmarks])[0], row)
        for indices, (_, at_landmarks), row in zip(landmark_sets, embedded, sigma, strict=False)
    ]
    return fits + [Fit(row, row) for row in sigma[len(landmark_sets) :]]


def map_of_all_points(points: Array, n_components: int) -> Array:
    """Landmark MDS with every point as a landmark, which for Euclidean points is principal component analysis."""
    centred = points - points.mean(axis=0)
    _, axes = np.linalg.eigh(centred.T @ centred)
    return centred @ axes[:, ::-1][:, :n_components]


class Measured(NamedTuple):
    """All scenarios of one data set: their landmarks and stresses, by key; random ones have one entry per run."""

    stream: Stream
    landmarks: dict[str, list[Landmarks]]
    fits: dict[str, list[Fit]]
    sigma_all_points: Array
    """sigma for k = 1, 2, 3 if every point is a landmark, which no stream allows: what is to be had with MDS."""


def run_all(stream: Stream, n_runs: int, progress: Progress = no_progress) -> Measured:
    """Run every scenario, the random ones with seeds 0, ..., ``n_runs`` - 1, and measure all maps in one pass."""
    landmarks = {
        scenario.key: [
            choose(scenario.key, stream.points, stream.m, seed) for seed in range(n_runs if scenario.is_random else 1)
        ]
        for scenario in SCENARIOS
    }
    sets = [chosen.indices for runs in landmarks.values() for chosen in runs]
    everyone = map_of_all_points(stream.points, len(DIMENSIONS))
    *fits, all_points = measure(stream.points, sets, more_maps=[everyone], progress=progress)
    each = iter(fits)
    by_scenario = {key: [next(each) for _ in runs] for key, runs in landmarks.items()}
    return Measured(stream, landmarks, by_scenario, all_points.sigma)

"""The paper's streams, its scenarios (ways to choose landmarks), and the stress that each of them gives."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from scipy.spatial.distance import cdist

from driftmap.datasets import Hospital, Stocks, load_hospital, load_stocks, s_curve_stream
from driftmap.embedding.lmds import LandmarkMDS
from driftmap.landmarks import InitialLandmarks, OnlineLandmarks, RandomLandmarks, RandomOnlineLandmarks
from driftmap.utils import Array, Ids, PathLike
from driftmap.utils.concurrency import one_thread
from reproduction.nested_stress import ReportFraction, nested_stress, no_progress
from reproduction.printed_values import PRINTED
from reproduction.published import published_landmarks

DATA_SETS = {"s-curve": "S-curve", "spy": "SPY", "hospital": "Hospital"}
"""Names of the data sets: on the command line, and in the paper."""

DIMENSIONS = (1, 2, 3)
"""The embedding dimensions k of Table 1."""


DECAY = 0.01
"""alpha, the decay of the hospital's ties per second."""


class Scenario(NamedTuple):
    """A way to choose landmarks: a column of Table 1."""

    key: str
    title: str
    printed_as: str
    """The printed column with which its values are compared."""
    is_random: bool = False
    is_ours: bool = False
    """Whether it is another rule than the one that gives the printed numbers; it need not agree with them."""


SCENARIOS = (
    Scenario("initial", "Initial", "initial"),
    Scenario("published", "Online, as published", "online"),
    Scenario("paper", "Online, Algorithm 2", "online", is_ours=True),
    Scenario("tight", "Online, tight rule", "online", is_ours=True),
    Scenario("random", "Random", "random", is_random=True),
    Scenario("random_online", "Random online", "random_online", is_random=True),
)


class Stream(NamedTuple):
    """One of the paper's data sets as points in order of arrival, compared by the Euclidean distance."""

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


class SelectedLandmarks(NamedTuple):
    """The final landmarks of a scenario, and how they changed."""

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


class Stress(NamedTuple):
    """Stress of landmark MDS over the landmarks and over all points; arrays list k = 1, 2, 3."""

    sigma_L: Array  # noqa: N815 - the paper's symbol
    sigma: Array


def load_stream(key: str, data: PathLike | None = None) -> Stream:
    """Load a data set; ``data`` is the folder of the recorded ones, see :mod:`driftmap.datasets`.

    >>> load_stream("s-curve").points.shape
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
    return Stream(key, hospital.spectra(DECAY), m, hospital)


def select_landmarks(scenario: str, points: Array, m: int, seed: int = 0) -> SelectedLandmarks:
    """Run a scenario over a stream; ``seed`` is for the random ones.

    >>> stream = load_stream("s-curve")
    >>> round(select_landmarks("published", stream.points, stream.m).radius, 2)
    0.94
    """
    if scenario == "published":
        run = published_landmarks(points, m)
        history = zip(*(entries.tolist() for entries in run.landmark_history), strict=True)
        changes = (Change(*entry) for entry in history)
        return SelectedLandmarks(
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
        return SelectedLandmarks(
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
        return SelectedLandmarks(InitialLandmarks(m).fit(points).landmark_indices_)
    if scenario == "random":
        return SelectedLandmarks(RandomLandmarks(m, random_state=seed).fit(points).landmark_indices_)
    if scenario == "random_online":
        return SelectedLandmarks(RandomOnlineLandmarks(m, random_state=seed).fit(points).landmark_indices_)
    raise ValueError(f"unknown scenario {scenario!r}")


def embed(points: Array, indices: Ids, n_components: int) -> tuple[Array, Array]:
    """Landmark MDS of all points: coordinates of the points and of the landmarks."""
    landmarks = points[indices]
    mds = LandmarkMDS(n_components).fit(cdist(landmarks, landmarks))
    return mds.place(cdist(points, landmarks)), mds.coordinates_


AXIS_SIGNS = {"s-curve": (1.0, 1.0), "spy": (1.0, 1.0), "hospital": (-1.0, 1.0)}
"""Eigenvectors have no sign; these show each map as the paper does."""


def aligned_maps(stream: Stream, landmark_sets: dict[str, Ids]) -> dict[str, Array]:
    """Maps in the plane, mirrored like that of the set "published", which must be given, for comparison by eye."""
    reference = embed(stream.points, landmark_sets["published"], 2)[0] * np.array(AXIS_SIGNS[stream.key])
    reference -= reference.mean(axis=0)  # the origin is the mean of the landmarks, not of the points
    maps = {}
    for key, indices in landmark_sets.items():
        positions = embed(stream.points, indices, 2)[0]
        maps[key] = positions * np.where(np.sum(positions * reference, axis=0) < 0, -1.0, 1.0)
    return maps


def stress_of_landmarks(
    points: Array,
    landmark_sets: list[Ids],
    n_components: int = 3,
    *,
    more_maps: Sequence[Array] = (),
    progress: ReportFraction = no_progress,
) -> list[Stress]:
    """Exact sigma and sigma_L in 1, ..., ``n_components`` dimensions for each set of landmarks, then for further maps.

    The further maps have no landmarks; their sigma_L is their sigma.
    """
    # BLAS threads gain nothing on matrices this small and, on a busy machine, lose a lot by waiting for each other.
    with one_thread():
        embedded = [embed(points, indices, n_components) for indices in landmark_sets]
    sigma = nested_stress(points, [*(positions for positions, _ in embedded), *more_maps], progress)
    stresses = [
        Stress(nested_stress(points[indices], [at_landmarks])[0], row)
        for indices, (_, at_landmarks), row in zip(landmark_sets, embedded, sigma, strict=False)
    ]
    return stresses + [Stress(row, row) for row in sigma[len(landmark_sets) :]]


def map_of_all_points(points: Array, n_components: int, more: Array | None = None) -> Array:
    """Place all points, or ``more`` of the same space, by landmark MDS with every point as a landmark.

    For Euclidean points this is principal component analysis.
    """
    mean = points.mean(axis=0)
    centred = points - mean
    _, axes = np.linalg.eigh(centred.T @ centred)
    placed = centred if more is None else more - mean
    return placed @ axes[:, ::-1][:, :n_components]


class DataSetResults(NamedTuple):
    """Landmarks and stresses of all scenarios on one data set, by key; random scenarios have one entry per run."""

    stream: Stream
    landmarks: dict[str, list[SelectedLandmarks]]
    stresses: dict[str, list[Stress]]
    sigma_all_points: Array
    """sigma for k = 1, 2, 3 with every point as a landmark, which a stream does not allow: the best of MDS."""


def run_scenarios(stream: Stream, n_runs: int, progress: ReportFraction = no_progress) -> DataSetResults:
    """Run every scenario, the random ones with seeds 0, ..., ``n_runs`` - 1, and compute all stresses in one pass."""
    landmarks = {
        scenario.key: [
            select_landmarks(scenario.key, stream.points, stream.m, seed)
            for seed in range(n_runs if scenario.is_random else 1)
        ]
        for scenario in SCENARIOS
    }
    sets = [chosen.indices for runs in landmarks.values() for chosen in runs]
    full_map = map_of_all_points(stream.points, len(DIMENSIONS))
    *stresses, all_points = stress_of_landmarks(stream.points, sets, more_maps=[full_map], progress=progress)
    in_order = iter(stresses)
    by_scenario = {key: [next(in_order) for _ in runs] for key, runs in landmarks.items()}
    return DataSetResults(stream, landmarks, by_scenario, all_points.sigma)

"""``driftmap demo``: three ways to choose landmarks, on a stream that drifts along an S."""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from driftmap.cli import arguments as kinds
from driftmap.cli.errors import UserError
from driftmap.cli.files import new_file
from driftmap.cli.progress import Progress
from driftmap.cli.typed import option
from driftmap.cli.writing import axis_names
from driftmap.embedding import LandmarkStress, move, procrustes
from driftmap.plot import comparison_figure, require_matplotlib, save_figure
from driftmap.quality import landmark_stress, stress
from driftmap.tables.writers import Column, CSVWriter
from driftmap.utils import Array, Ids
from driftmap.utils.errors import MissingDependencyError

if TYPE_CHECKING:
    from driftmap.landmarks import LandmarkSelector
    from driftmap.map import StreamMap

DESCRIPTION = """\
Stream the S-curve and map it with three kinds of landmarks, all placed by the default embedding: the first points of
the stream (initial), landmarks that follow the stream (online, which is DriftMap), and a random sample of all points
(random). The other two maps are aligned with that of DriftMap.

For each map, print its stress (sigma, over all pairs of points), its landmark stress (sigma_L, over pairs of
landmarks), its radius (every point is within it of a landmark) and, for online landmarks, the number of replacements.
Write the three maps as one figure, s_curve.png, and the coordinates as s_curve.csv.

example:
  driftmap demo -o demo --landmarks 50 --points 2000
"""

BATCHES = 50


class Result(NamedTuple):
    """One way to choose landmarks and the map it gives."""

    name: str
    landmarks: Ids
    """Arrival numbers."""
    coordinates: Array
    landmark_coordinates: Array
    sigma: float
    sigma_landmarks: float
    radius: float
    replacements: int | None = None
    """None: landmarks do not follow the stream."""


@dataclass(frozen=True, kw_only=True)
class DemoOptions:
    """Options of ``demo``."""

    output: Path = option(
        "-o", "--output", default=Path("driftmap-demo"), type=Path, metavar="DIR", help="default: driftmap-demo"
    )
    landmarks: int = option(
        "--landmarks", default=100, type=partial(kinds.integer, lowest=3), metavar="M", help="default: 100"
    )
    points: int = option(
        "--points", default=1000, type=partial(kinds.integer, lowest=1), metavar="N", help="default: 1000"
    )
    seed: int = option(
        "--seed",
        default=1,
        type=partial(kinds.integer, lowest=0, highest=2**32 - 1),
        metavar="S",
        help="of the points and the random landmarks (default: 1)",
    )


Options = DemoOptions


def run(options: DemoOptions, argv: Sequence[str]) -> int:
    """Carry out the command."""
    # scikit-learn takes too long to import for those who only ask for help
    from driftmap.datasets import s_curve_stream
    from driftmap.landmarks import InitialLandmarks, RandomLandmarks
    from driftmap.map import StreamMap

    folder: Path = options.output
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UserError(f"{folder} cannot be made a folder: {error.strerror}") from error
    picture, table = folder / "s_curve.png", folder / "s_curve.csv"
    with contextlib.ExitStack() as stack:
        names = [
            f"{name}_{axis}" for name in ("initial", "online", "random") for axis in (*axis_names(2), "is_landmark")
        ]
        rows = stack.enter_context(new_file(table))
        writer = CSVWriter(rows, ["arrival", *names])
        missing = None
        try:
            require_matplotlib()
        except MissingDependencyError as error:
            missing = str(error)
        else:
            file = stack.enter_context(new_file(picture))
        X = s_curve_stream(options.points, random_state=options.seed)
        with contextlib.closing(Progress()) as progress:
            online = _follow(StreamMap(2, n_landmarks=options.landmarks), X, progress)
            initial = _map("initial", InitialLandmarks(options.landmarks), X, online, progress)
            random = _map("random", RandomLandmarks(options.landmarks, random_state=options.seed), X, online, progress)
        results = [initial, online, random]
        columns: list[Column] = [np.arange(len(X))]
        for result in results:
            chosen = np.isin(np.arange(len(X)), result.landmarks).astype(np.int64)
            columns += [*result.coordinates.T, chosen]
        writer.write(columns)
        if missing is None:
            maps = {f"{r.name}: sigma = {r.sigma:.3f}": (r.coordinates, r.landmark_coordinates) for r in results}
            title = f"S-curve, {len(X):,} points, {options.landmarks:,} landmarks"
            save_figure(comparison_figure(maps, title=title), file, "png")
    print(_as_text(results))
    print(f"\ncoordinates: {table}")
    print(f"figure: {picture}" if missing is None else f"no figure: {missing}")
    return 0


def _learn(name: str, learner: Any, X: Array, progress: Progress) -> None:
    for start, stop in itertools.pairwise(np.linspace(0, len(X), min(BATCHES, len(X)) + 1).astype(int).tolist()):
        learner.partial_fit(X[start:stop])
        progress.update(name, stop / len(X), f"radius {learner.radius_:.4g}" if stop == len(X) else "", rows=stop)


def _follow(mapper: StreamMap, X: Array, progress: Progress) -> Result:
    """Return the map of landmarks that follow the stream."""
    _learn("online", mapper, X, progress)
    coordinates, sigma_landmarks = mapper.transform(X), landmark_stress(mapper)
    return Result(
        "online",
        mapper.landmark_indices_,
        coordinates,
        mapper.landmark_embedding_,
        stress(X, coordinates),
        sigma_landmarks,
        mapper.radius_,
        mapper.n_replacements_,
    )


def _map(name: str, selector: LandmarkSelector, X: Array, onto: Result, progress: Progress) -> Result:
    """Return the map of fixed landmarks. Their selectors store no other points, so there are no anchors."""
    _learn(name, selector, X, progress)
    between, masses = selector.landmark_distances(), np.maximum(selector.landmark_mass_, 1).astype(np.float64)
    embedding = LandmarkStress(2).fit(between, masses)
    coordinates, marks = embedding.place(selector.distances(X)), embedding.coordinates_
    turn = procrustes(coordinates, onto.coordinates)
    return Result(
        name,
        selector.landmark_indices_,
        move(coordinates, *turn),
        move(marks, *turn),
        stress(X, coordinates),
        stress(between, marks, metric="precomputed"),
        selector.radius_,
    )


def _as_text(results: Sequence[Result]) -> str:
    """Return the results as a table: a row per kind of landmarks, numbers aligned."""
    rows = [("landmarks", "sigma", "sigma_L", "radius", "replacements")]
    for result in results:
        numbers = (f"{value:.4f}" for value in (result.sigma, result.sigma_landmarks, result.radius))
        rows.append((result.name, *numbers, "-" if result.replacements is None else f"{result.replacements:,}"))  # type: ignore[arg-type]
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    lines = ["  ".join([row[0].ljust(widths[0]), *map(str.rjust, row[1:], widths[1:])]) for row in rows]
    return "\n".join([lines[0], "  ".join("-" * width for width in widths), *lines[1:]])

"""``driftmap demo``: three ways to choose landmarks, on a stream that drifts along an S."""

from __future__ import annotations

import argparse
import contextlib
import itertools
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from driftmap.cli import arguments as kinds
from driftmap.cli.errors import UserError
from driftmap.cli.files import new_file, new_table
from driftmap.cli.outputs import axis_names
from driftmap.cli.progress import Progress
from driftmap.embedding import LandmarkMDS
from driftmap.io.writers import Column
from driftmap.plot import comparison_figure, require_matplotlib, save_figure
from driftmap.quality import stress
from driftmap.utils import Array
from driftmap.utils.errors import MissingDependencyError

if TYPE_CHECKING:
    from driftmap.landmarks import LandmarkSelector

DESCRIPTION = """\
Stream the S-curve and map it with three kinds of landmarks: the first points that came (initial), landmarks that follow
the stream (online), and a random sample of all points (random).

Prints for each its stress (sigma, over all pairs of points), its landmark stress (sigma_L, over pairs of landmarks),
its radius (no point is farther from its nearest landmark) and how often a landmark was replaced. Writes the three maps
as one figure, s_curve.png, and the coordinates as s_curve.csv.

example:
  driftmap demo -o demo --landmarks 50 --points 2000
"""

BATCHES = 50


class Result(NamedTuple):
    """One way to choose landmarks and the map it gives."""

    name: str
    selector: LandmarkSelector
    coordinates: Array
    landmark_coordinates: Array
    sigma: float
    sigma_landmarks: float


def register(subparsers: kinds.Subparsers) -> None:
    """Add the subcommand."""
    parser = kinds.add_command(subparsers, "demo", "map the S-curve in three ways", DESCRIPTION, run)
    parser.add_argument(
        "-o", "--output", type=Path, default=Path("driftmap-demo"), metavar="DIR", help="default: %(default)s"
    )
    parser.add_argument("--landmarks", type=kinds.integer_from(3), default=100, metavar="M", help="default: 100")
    parser.add_argument("--points", type=kinds.integer_from(1), default=1000, metavar="N", help="default: 1000")
    seed = kinds.integer_from(0, 2**32 - 1)
    parser.add_argument(
        "--seed", type=seed, default=1, metavar="S", help="of the points and the random landmarks (default: 1)"
    )


def run(args: argparse.Namespace) -> int:
    """Carry out the command."""
    # with scikit-learn, which takes too long to import for those who only ask for help
    from driftmap.datasets import s_curve_stream
    from driftmap.landmarks import InitialLandmarks, OnlineLandmarks, RandomLandmarks

    folder: Path = args.output
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UserError(f"{folder} cannot be made a folder: {error.strerror}") from error
    picture, table = folder / "s_curve.png", folder / "s_curve.csv"
    with contextlib.ExitStack() as stack:
        names = [
            f"{name}_{axis}" for name in ("initial", "online", "random") for axis in (*axis_names(2), "is_landmark")
        ]
        writer = stack.enter_context(new_table(table, ["arrival", *names]))
        missing = None
        try:
            require_matplotlib()
        except MissingDependencyError as error:
            missing = str(error)
        else:
            file = stack.enter_context(new_file(picture))
        X = s_curve_stream(args.points, random_state=args.seed)
        selectors = {
            "initial": InitialLandmarks(args.landmarks),
            "online": OnlineLandmarks(args.landmarks),
            "random": RandomLandmarks(args.landmarks, random_state=args.seed),
        }
        with Progress() as progress:
            results = [_result(name, selector, X, progress) for name, selector in selectors.items()]
        columns: list[Column] = [np.arange(len(X))]
        for result in results:
            chosen = np.isin(np.arange(len(X)), result.selector.landmark_indices_).astype(np.int64)
            columns += [*result.coordinates.T, chosen]
        writer.write(columns)
        if missing is None:
            maps = {result.name: (result.coordinates, result.landmark_coordinates) for result in results}
            title = f"S-curve, {len(X):,} points, {args.landmarks:,} landmarks"
            save_figure(comparison_figure(maps, title=title), file, "png")
    print(_as_text(results))
    print(f"\ncoordinates: {table}")
    print(f"figure: {picture}" if missing is None else f"no figure: {missing}")
    return 0


def _result(name: str, selector: LandmarkSelector, X: Array, progress: Progress) -> Result:
    for start, stop in itertools.pairwise(np.linspace(0, len(X), min(BATCHES, len(X)) + 1).astype(int).tolist()):
        selector.partial_fit(X[start:stop])
        progress.update(name, stop / len(X), f"radius {selector.radius_:.4g}" if stop == len(X) else "", rows=stop)
    between = selector.landmark_distances()
    mds = LandmarkMDS(2).fit(between)
    coordinates = mds.place(selector.distances(X))
    sigma, sigma_landmarks = stress(X, coordinates), stress(between, mds.coordinates_, metric="precomputed")
    return Result(name, selector, coordinates, mds.coordinates_, sigma, sigma_landmarks)


def _as_text(results: Sequence[Result]) -> str:
    """The results as a table: a row per kind of landmarks, numbers aligned."""
    rows = [("landmarks", "sigma", "sigma_L", "radius", "replacements")]
    for name, selector, _, _, sigma, sigma_landmarks in results:
        numbers = (f"{value:.4f}" for value in (sigma, sigma_landmarks, selector.radius_))
        rows.append((name, *numbers, f"{selector.n_replacements_:,}"))  # type: ignore[arg-type]
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    lines = ["  ".join([row[0].ljust(widths[0]), *map(str.rjust, row[1:], widths[1:])]) for row in rows]
    return "\n".join([lines[0], "  ".join("-" * width for width in widths), *lines[1:]])

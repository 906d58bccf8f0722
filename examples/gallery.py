"""The paper's three data sets, each mapped in three ways: python examples/gallery.py [FOLDER]

Side by side: the paper's map (its rule, landmark MDS), ours (the tight rule, stress with 128 anchors), and batch SMACOF
from one start, classical MDS, which sees all points and all their distances. Sigma, the normalised stress over all
pairs of the points drawn, is in the titles; where those are a sample, sigma over all points is printed too, as is that
of our map without anchors. The recorded data come from DRIFTMAP_DATA, or are downloaded.
"""

import sys
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.distance import pdist, squareform
from sklearn.manifold import smacof

from driftmap import DriftMap
from driftmap.datasets import load_hospital, load_stocks, s_curve_stream
from driftmap.embedding import LandmarkMDS, move, procrustes
from driftmap.plot import comparison_figure
from driftmap.quality import stress

Array = NDArray[np.float64]

IMAGES = Path(__file__).parent.parent / "docs" / "images"
ANCHORS = 128
"""Stored points to which our map is fitted besides the landmarks; a point is placed by its landmark distances alone."""


class Stream(NamedTuple):
    """A data set in order of arrival, with the number of landmarks that the paper takes for it."""

    name: str
    points: Array
    m: int
    sample: int
    """Points that are drawn and given to batch SMACOF, whose time and memory grow with their square; evenly spread."""
    color: Any = None
    color_label: str | None = None


def load_streams() -> list[Stream]:
    """The paper's three data sets."""
    stocks, hospital = load_stocks(), load_hospital()
    return [
        Stream("S-curve", s_curve_stream(), 100, 1000),
        Stream("SPY", stocks.normalized, 10, len(stocks.dates), stocks.dates, "date"),
        Stream("Hospital", hospital.spectra(), 20, 2000, (hospital.times - hospital.times[0]) / 86_400, "days"),
    ]


def papers_map(m: int) -> DriftMap:
    """The map as the paper makes it."""
    return DriftMap(n_landmarks=m, rule="paper", embedding="lmds", align=False)


def our_map(m: int, n_anchors: int | None = ANCHORS) -> DriftMap:
    """The map as Driftmap makes it; all that matters is named, so that a new default changes no figure unnoticed."""
    return DriftMap(n_landmarks=m, rule="tight", embedding="stress", n_anchors=n_anchors)


def batch_map(points: Array) -> tuple[Array, float]:
    """SMACOF on all pairs, from classical MDS; the coordinates and their sigma."""
    distances = squareform(pdist(points))
    start = LandmarkMDS(2).fit(distances).coordinates_
    options: dict[str, Any] = {"n_init": 1, "max_iter": 1000, "eps": 1e-7, "normalized_stress": False}
    coordinates, _ = smacof(distances, n_components=2, init=start, **options)
    return coordinates, stress(points, coordinates)


def draw(stream: Stream, folder: Path) -> None:
    """Map a stream in the three ways and write the figure."""
    points, m = stream.points, stream.m
    shown = np.linspace(0, len(points) - 1, stream.sample).astype(np.int64)
    batch, floor = batch_map(points[shown])
    maps: dict[str, tuple[Array, Array | None]] = {}
    print(f"{stream.name} (sigma of the {len(shown):,} points drawn, of all {len(points):,} points)")
    mappers = {"the paper's map": papers_map(m), "ours, landmarks only": our_map(m, None), "ours": our_map(m)}
    for name, mapper in mappers.items():
        coordinates = mapper.fit(points).transform(points)
        # Of the same points as batch SMACOF's, or the two could not be compared.
        sigma = stress(points[shown], coordinates[shown])
        print(f"  {name}: {sigma:.5f}, {stress(points, coordinates):.5f}", flush=True)
        if name == "ours, landmarks only":
            continue
        # Turned onto the batch map, so that the eye compares shapes and not directions.
        turn = procrustes(coordinates[shown], batch)
        maps[f"{name}: sigma = {sigma:.3f}"] = (
            move(coordinates[shown], *turn),
            move(mapper.landmark_embedding_, *turn),
        )
    maps[f"batch SMACOF: sigma = {floor:.3f}"] = (batch, None)
    sampled = f", {len(shown):,} of them drawn" if len(shown) < len(points) else ""
    title = f"{stream.name}: {len(points):,} points{sampled}, {m} landmarks"
    color = None if stream.color is None else stream.color[shown]
    figure = comparison_figure(maps, color=color, color_label=stream.color_label, title=title)
    file = folder / f"gallery-{stream.name.lower()}.png"
    figure.savefig(file, dpi=90, bbox_inches="tight")
    print(f"  batch SMACOF of the points drawn: {floor:.5f}\n  {file.name}", flush=True)


def main() -> None:
    """Write the three figures to the folder that is named, by default the documentation's."""
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else IMAGES
    for stream in load_streams():
        draw(stream, folder)


if __name__ == "__main__":
    main()

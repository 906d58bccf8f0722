"""Map the paper's three data sets in three ways: python examples/gallery.py [FOLDER]

1. The paper's method: landmarks by Algorithm 2 as printed, placed by landmark MDS.
2. Driftmap: landmarks by the tight rule, placed by stress with 128 anchors.
3. Batch SMACOF, started from classical MDS, which uses the distances between all points drawn.

The titles state sigma, the normalised stress over all pairs of the points drawn. The script also prints sigma over all
points, and that of Driftmap without anchors. The recorded data are read from the folder DRIFTMAP_DATA or downloaded.
"""

import sys
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from scipy.spatial.distance import pdist, squareform
from sklearn.manifold import smacof

from driftmap import DriftMap
from driftmap.datasets import load_hospital, load_stocks, s_curve_stream
from driftmap.embedding import LandmarkMDS, move, procrustes
from driftmap.plot import comparison_figure
from driftmap.quality import stress
from driftmap.utils import Array

IMAGES = Path(__file__).parent.parent / "docs" / "images"
N_ANCHORS = 128
PAPER, LANDMARKS_ONLY, DRIFTMAP = "Algorithm 2, landmark MDS", "Driftmap, landmarks only", "Driftmap"
"""Names of the maps."""


class Stream(NamedTuple):
    """A data set in order of arrival, with the paper's number of landmarks."""

    name: str
    points: Array
    m: int
    sample: int
    """Number of points drawn and given to batch SMACOF, evenly spread; its time and memory grow quadratically."""
    color: Any = None
    color_label: str | None = None


def load_streams() -> list[Stream]:
    """Return the paper's three data sets."""
    stocks, hospital = load_stocks(), load_hospital()
    return [
        Stream("S-curve", s_curve_stream(), 100, 1000),
        Stream("SPY", stocks.normalized, 10, len(stocks.dates), stocks.dates, "date"),
        Stream("Hospital", hospital.spectra(), 20, 2000, (hospital.times - hospital.times[0]) / 86_400, "days"),
    ]


def paper_map(m: int) -> DriftMap:
    """Return a map by the paper's method: Algorithm 2 as printed, landmark MDS."""
    return DriftMap(n_landmarks=m, rule="paper", embedding="lmds", align=False)


def default_map(m: int, n_anchors: int | None = N_ANCHORS) -> DriftMap:
    """Return a map with Driftmap's defaults, spelled out so that the figures do not change with the defaults."""
    return DriftMap(n_landmarks=m, rule="tight", embedding="stress", n_anchors=n_anchors)


def batch_map(points: Array) -> tuple[Array, float]:
    """Return the coordinates and sigma of SMACOF on all pairs, started from classical MDS."""
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
    mappers = {PAPER: paper_map(m), LANDMARKS_ONLY: default_map(m, None), DRIFTMAP: default_map(m)}
    for name, mapper in mappers.items():
        coordinates = mapper.fit(points).transform(points)
        # For the same points as batch SMACOF, so that the values are comparable.
        sigma = stress(points[shown], coordinates[shown])
        print(f"  {name}: {sigma:.5f}, {stress(points, coordinates):.5f}", flush=True)
        if name == LANDMARKS_ONLY:
            continue
        # Aligned to the batch map, so that shapes can be compared.
        rotation = procrustes(coordinates[shown], batch)
        maps[f"{name}: sigma = {sigma:.3f}"] = (
            move(coordinates[shown], *rotation),
            move(mapper.landmark_embedding_, *rotation),
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
    """Write the three figures to the given folder, by default docs/images."""
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else IMAGES
    for stream in load_streams():
        draw(stream, folder)


if __name__ == "__main__":
    main()

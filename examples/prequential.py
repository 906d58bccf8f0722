"""How true the map is while the stream arrives: python examples/prequential.py [FIGURE]

At 20 moments of each of the paper's streams, sigma of all points seen so far: our map (the tight rule, stress) against
the paper's (its rule, landmark MDS). The recorded data come from DRIFTMAP_DATA, or are downloaded.
"""

import sys
from pathlib import Path

import numpy as np
from gallery import IMAGES, Array, Stream, load_streams, our_map, papers_map
from matplotlib.figure import Figure
from numpy.typing import NDArray

from driftmap import DriftMap
from driftmap.quality import stress

MOMENTS = 20


def sigmas(mapper: DriftMap, points: Array, moments: NDArray[np.int64]) -> Array:
    """Sigma of the points seen so far, at each moment of one pass."""
    found, seen = [], 0
    for moment in moments:
        mapper.partial_fit(points[seen:moment])
        found.append(stress(points[:moment], mapper.transform(points[:moment])))
        seen = moment
    return np.array(found)


def follow(stream: Stream) -> tuple[NDArray[np.int64], Array, Array]:
    """The moments as numbers of points seen, and sigma of the paper's map and of ours."""
    n = len(stream.points)
    moments = np.array([n * i // MOMENTS for i in range(1, MOMENTS + 1)])
    paper, ours = (sigmas(mapper, stream.points, moments) for mapper in (papers_map(stream.m), our_map(stream.m)))
    return moments, paper, ours


def main() -> None:
    """Print the table and write the figure."""
    file = Path(sys.argv[1]) if len(sys.argv) > 1 else IMAGES / "prequential.png"
    figure = Figure(figsize=(10.5, 3.2), layout="constrained", facecolor="white")
    worst: list[tuple[float, str, int]] = []
    print("| data | points seen | paper's map | ours | ours / paper's |\n|---|---|---|---|---|")
    for i, stream in enumerate(load_streams()):
        moments, paper, ours = follow(stream)
        # Where both maps are exact the ratio of two rounding errors would say nothing.
        ratios = np.where(paper > 1e-9, ours / np.maximum(paper, 1e-300), np.where(ours > 1e-9, np.inf, 1.0))
        for row in zip(moments, paper, ours, ratios, strict=True):
            print(f"| {stream.name} | {row[0]:,} | {row[1]:.4f} | {row[2]:.4f} | {row[3]:.3f} |", flush=True)
        worst.append((float(ratios.max()), stream.name, int(moments[ratios.argmax()])))
        axes = figure.add_subplot(1, 3, i + 1)
        axes.plot(moments, paper, color="#D55E00", marker="o", markersize=3, label="the paper's map")
        axes.plot(moments, ours, color="#0072B2", marker="D", markersize=3, label="ours")
        axes.set_title(f"{stream.name}, {stream.m} landmarks", loc="left", fontsize=11)
        axes.set_xlabel("points seen")
        axes.set_ylabel("sigma of the points seen")
        axes.set_ylim(0, 1.08 * max(paper.max(), ours.max()))
        axes.spines[["top", "right"]].set_visible(False)
        axes.legend(frameon=False, fontsize=9)
    figure.savefig(file, dpi=110)
    for ratio, name, moment in worst:
        print(f"{name}: ours / paper's is at most {ratio:.3f}, at {moment:,} points")
    print(f"largest at any moment: {max(worst)[0]:.3f}; {file.name}")


if __name__ == "__main__":
    main()

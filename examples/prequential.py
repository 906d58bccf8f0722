"""How true the map is while the stream arrives: python examples/prequential.py [FIGURE]

At 20 moments of each of the paper's streams, sigma of all points seen so far: our map (the tight rule, stress), fitted
to its landmarks only and with 128 anchors, against the paper's (its rule, landmark MDS). The recorded data come from
DRIFTMAP_DATA, or are downloaded.
"""

import sys
from pathlib import Path

import numpy as np
from gallery import ANCHORS, IMAGES, Array, Stream, load_streams, our_map, papers_map
from matplotlib.figure import Figure
from numpy.typing import NDArray

from driftmap import DriftMap
from driftmap.quality import stress

MOMENTS = 20
PAPERS = "the paper's map"
OURS = ("ours, landmarks only", f"ours, {ANCHORS} anchors")
KINDS = (PAPERS, *OURS)
STYLES = (("#D55E00", "o"), ("#56B4E9", "s"), ("#0072B2", "D"))


def sigmas(mapper: DriftMap, points: Array, moments: NDArray[np.int64]) -> Array:
    """Sigma of the points seen so far, at each moment of one pass."""
    found, seen = [], 0
    for moment in moments:
        mapper.partial_fit(points[seen:moment])
        found.append(stress(points[:moment], mapper.transform(points[:moment])))
        seen = moment
    return np.array(found)


def follow(stream: Stream) -> tuple[NDArray[np.int64], dict[str, Array]]:
    """The moments as numbers of points seen, and sigma of each kind of map."""
    n = len(stream.points)
    moments = np.array([n * i // MOMENTS for i in range(1, MOMENTS + 1)])
    mappers = dict(zip(KINDS, (papers_map(stream.m), our_map(stream.m, None), our_map(stream.m)), strict=True))
    return moments, {kind: sigmas(mapper, stream.points, moments) for kind, mapper in mappers.items()}


def main() -> None:
    """Print the table and write the figure."""
    file = Path(sys.argv[1]) if len(sys.argv) > 1 else IMAGES / "prequential.png"
    figure = Figure(figsize=(10.5, 3.2), layout="constrained", facecolor="white")
    worst: dict[str, list[tuple[float, str, int]]] = {kind: [] for kind in OURS}
    print(f"| data | points seen | {' | '.join(KINDS)} |\n|---|---|---|---|---|")
    for i, stream in enumerate(load_streams()):
        moments, found = follow(stream)
        for row in zip(moments, *found.values(), strict=True):
            print(f"| {stream.name} | {row[0]:,} | {' | '.join(f'{sigma:.4f}' for sigma in row[1:])} |", flush=True)
        for kind in OURS:
            ratios = found[kind] / found[PAPERS]
            worst[kind].append((float(ratios.max()), stream.name, int(moments[ratios.argmax()])))
        axes = figure.add_subplot(1, 3, i + 1)
        for (kind, values), (color, marker) in zip(found.items(), STYLES, strict=True):
            axes.plot(moments, values, color=color, marker=marker, markersize=3, linewidth=1.2, label=kind)
        axes.set_title(f"{stream.name}, {stream.m} landmarks", loc="left", fontsize=11)
        axes.set_xlabel("points seen")
        axes.set_ylabel("sigma of the points seen")
        axes.set_ylim(bottom=0)
        axes.spines[["top", "right"]].set_visible(False)
        if i == 0:  # one legend for all
            figure.legend(loc="outside lower center", ncols=len(KINDS), frameon=False, fontsize=9)
    figure.savefig(file, dpi=110)
    for kind, cases in worst.items():
        for ratio, name, moment in cases:
            print(f"{name}: {kind} / {PAPERS} is at most {ratio:.3f}, at {moment:,} points")
        print(f"{kind} / {PAPERS}, largest at any moment: {max(cases)[0]:.3f}")
    print(file.name)


if __name__ == "__main__":
    main()

"""Measure the stress of the map while the stream arrives: python examples/prequential.py [FIGURE]

The table has sigma of all points seen so far, at 20 moments of each of the paper's streams. It compares Driftmap (tight
rule, stress), fitted to its landmarks only and with 128 anchors, with the paper's method (Algorithm 2 as printed,
landmark MDS). The recorded data are read from the folder DRIFTMAP_DATA or downloaded.
"""

import sys
from pathlib import Path

import numpy as np
from gallery import IMAGES, LANDMARKS_ONLY, N_ANCHORS, PAPER, Stream, default_map, load_streams, paper_map
from matplotlib.figure import Figure

from driftmap import DriftMap
from driftmap.quality import stress
from driftmap.utils import Array, Ids

MOMENTS = 20
DRIFTMAPS = (LANDMARKS_ONLY, f"Driftmap, {N_ANCHORS} anchors")
KINDS = (PAPER, *DRIFTMAPS)
STYLES = (("#D55E00", "o"), ("#56B4E9", "s"), ("#0072B2", "D"))


def sigmas(mapper: DriftMap, points: Array, moments: Ids) -> Array:
    """Return sigma of the points seen so far, at each moment of one pass."""
    found, seen = [], 0
    for moment in moments:
        mapper.partial_fit(points[seen:moment])
        found.append(stress(points[:moment], mapper.transform(points[:moment])))
        seen = moment
    return np.array(found)


def follow(stream: Stream) -> tuple[Ids, dict[str, Array]]:
    """Return the moments as numbers of points seen, and sigma of each kind of map."""
    n = len(stream.points)
    moments = np.array([n * i // MOMENTS for i in range(1, MOMENTS + 1)])
    mappers = dict(zip(KINDS, (paper_map(stream.m), default_map(stream.m, None), default_map(stream.m)), strict=True))
    return moments, {kind: sigmas(mapper, stream.points, moments) for kind, mapper in mappers.items()}


def main() -> None:
    """Print the table and write the figure."""
    file = Path(sys.argv[1]) if len(sys.argv) > 1 else IMAGES / "prequential.png"
    figure = Figure(figsize=(10.5, 3.2), layout="constrained", facecolor="white")
    worst: dict[str, list[tuple[float, str, int]]] = {kind: [] for kind in DRIFTMAPS}
    print(f"| data | points seen | {' | '.join(KINDS)} |\n|---|---|---|---|---|")
    for i, stream in enumerate(load_streams()):
        moments, found = follow(stream)
        for row in zip(moments, *found.values(), strict=True):
            print(f"| {stream.name} | {row[0]:,} | {' | '.join(f'{sigma:.4f}' for sigma in row[1:])} |", flush=True)
        for kind in DRIFTMAPS:
            ratios = found[kind] / found[PAPER]
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
            print(f"{name}: {kind} / {PAPER} is at most {ratio:.3f}, at {moment:,} points")
        print(f"{kind} / {PAPER}, largest at any moment: {max(cases)[0]:.3f}")
    print(file.name)


if __name__ == "__main__":
    main()

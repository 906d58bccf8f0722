"""Detect novel days on the stock market: python examples/novelty.py [FIGURE]

Each row has the daily returns of ten stocks, in percent. Days are scored before they are learnt; the figure shows their
reach, and the positions of the alerts on the map. Prices are read from the folder DRIFTMAP_DATA or downloaded.
"""

import sys
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure

from driftmap import DriftMap
from driftmap.datasets import load_stocks
from driftmap.map.novelty import NoveltyDetector

FIGURE = Path(__file__).resolve().parent.parent / "docs" / "images" / "novelty.png"
INK, BLUE, RED, GREY = "#22262B", "#0072B2", "#D55E00", "#9AA1A9"


def main() -> None:
    """Print the alerts and write the figure."""
    stocks = load_stocks()
    returns, days = 100 * np.diff(np.log(stocks.prices), axis=0), np.asarray(stocks.dates)[1:]
    mapper = DriftMap(n_landmarks=50)
    arrivals = mapper.update(returns, detector=NoveltyDetector(0.99))
    for alert in arrivals.alerts:
        features = ", ".join(f"{stocks.tickers[j]} {value:+.1f} %" for j, value, _ in alert.features)
        print(f"| {days[alert.row]} | {alert.reach:.2f} | {alert.quantile:.4f} | {features} |")

    figure = Figure(figsize=(10.5, 3.6), layout="constrained", facecolor="white")
    time, place = figure.subplots(1, 2, width_ratios=[1.7, 1.0])
    novel = np.array([alert.row for alert in arrivals.alerts])
    time.plot(days, arrivals.reach, ".", color=BLUE, markersize=2.5)
    time.plot(days[novel], arrivals.reach[novel], "o", color=RED, markersize=6)
    lines = []
    for number, alert in enumerate(arrivals.alerts, 1):
        j, value, _ = alert.features[0]
        lines.append(f"{number}   {days[alert.row]}   {stocks.tickers[j]} {value:+.0f} %")
        for axes, at in ((time, (days[alert.row], alert.reach)), (place, arrivals.coordinates[alert.row])):
            offset = (6, 6) if number % 2 else (-11, -8)
            axes.annotate(str(number), at, offset, textcoords="offset points", fontsize=8.5, color=INK)
    time.text(0.99, 0.98, "\n".join(lines), transform=time.transAxes, ha="right", va="top", fontsize=8.5, color=INK)
    time.set_ylim(0, 1.25 * arrivals.reach[novel].max())
    time.set_title("Reach of each day before it was learnt", loc="left", fontsize=11, color=INK)
    time.set_ylabel("distance to nearest landmark / radius")
    x, y = arrivals.coordinates.T
    place.plot(x, y, ".", color=GREY, markersize=2.5)
    place.plot(x[novel], y[novel], "o", color=RED, markersize=6)
    place.set_title("The map of all days", loc="left", fontsize=11, color=INK)
    place.set_aspect("equal", adjustable="datalim")
    place.set_xlabel("x1")
    place.set_ylabel("x2")
    for axes in (time, place):
        axes.spines[["top", "right"]].set_visible(False)
    file = Path(sys.argv[1]) if len(sys.argv) > 1 else FIGURE
    figure.savefig(file, dpi=110)
    print(file.name)


if __name__ == "__main__":
    main()

"""Measure forgetting on a stream that moves between regimes, and the savings of change detection.

``python -m benchmarks.forgetting``
"""

from __future__ import annotations

import numpy as np

from driftmap import DriftMap
from driftmap.datasets import load_hospital, load_stocks, s_curve_stream
from driftmap.landmarks import RatioShift
from driftmap.quality import stress

LENGTH, LAST, STEP = 5000, 1000, 100
SCALES = (3.0, 1.0, 0.2, 1.0)
WAYS = {
    "no forgetting": {},
    "window=1000": {"window": 1000},
    "half_life=300": {"half_life": 300},
}


def regimes() -> np.ndarray:
    """Return a sequence of distant planes of different sizes in 8 dimensions, with noise."""
    rng, d = np.random.default_rng(0), 8
    parts = []
    for scale in SCALES:
        plane = np.linalg.qr(rng.standard_normal((d, 2)))[0]
        points = scale * rng.standard_normal((LENGTH, 2)) @ plane.T
        parts.append(20 * rng.standard_normal(d) + points + 0.05 * scale * rng.standard_normal((LENGTH, d)))
    return np.concatenate(parts)


def recent(mapper: DriftMap, X: np.ndarray, start: int, n: int) -> float:
    """Return the stress of the last points of a regime that began at ``start``."""
    rows = X[max(start, n - LAST) : n]
    return stress(rows, mapper.transform(rows))


def forgetting() -> None:
    """Print sigma of the last 1,000 points of each regime, and how soon it is reached after a jump."""
    X = regimes()
    print(f"sigma of the last {LAST:,} points at the end of each of {len(SCALES)} regimes of {LENGTH:,} points,")
    print("and in brackets the arrivals after the jump until it is within 10 % of that for good; m = 50, d = 8")
    for name, params in WAYS.items():
        mapper, cells = DriftMap(n_landmarks=50, **params), []
        for start in range(0, len(X), LENGTH):
            sigmas = []
            for n in range(start + STEP, start + LENGTH + 1, STEP):
                mapper.partial_fit(X[n - STEP : n])
                sigmas.append(recent(mapper, X, start, n))
            late = [i for i, sigma in enumerate(sigmas) if sigma > 1.1 * sigmas[-1]]
            cells.append(f"{sigmas[-1]:.4f} ({STEP * (late[-1] + 2 if late else 1):>5,})")
        print(f"  {name:15s}", "  ".join(cells), f"  radius {mapper.radius_:.3g}")


def detection() -> None:
    """Print replacements and sigma with and without a detector."""
    streams = {
        "S-curve": (s_curve_stream(), 100),
        "regimes": (regimes(), 50),
        "stocks": (load_stocks, 10),
        "hospital": (load_hospital, 20),
    }
    print("\nreplacements and sigma (k = 2) when every uncovered point brings one, and with RatioShift()")
    for name, (load, m) in streams.items():
        try:
            X = load if isinstance(load, np.ndarray) else getattr(load(), "normalized", None)
            X = load().spectra() if X is None else X
        except FileNotFoundError as error:
            print(f"  {name}: {error}")
            continue
        plain, held = DriftMap(n_landmarks=m).fit(X), DriftMap(n_landmarks=m, replace_on=RatioShift()).fit(X)
        sample = X[:: max(1, len(X) // 3000)]
        sigma = [stress(sample, mapper.transform(sample)) for mapper in (plain, held)]
        print(
            f"  {name:9s} m={m:<4d} {plain.n_replacements_:>5,} -> {held.n_replacements_:>4,}   "
            f"sigma {sigma[0]:.4f} -> {sigma[1]:.4f}   coverage bound {plain.coverage_bound_:.3g} -> "
            f"{held.coverage_bound_:.3g}"
        )


if __name__ == "__main__":
    forgetting()
    detection()

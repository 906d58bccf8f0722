"""Analyse why single points jump between frames: python -m benchmarks.jumps [--quick]

A new frame is made at every replacement (``frame_tolerance=0``) of the paper's streams. In each frame, the stored point
that moves farthest jumps if it moves more than 6 % of the diameter of the map. "the map moved": the anchors near it
moved, too. "another minimum": its stress still has a minimum at its old position, but a lower one elsewhere; the ratio
is that of their stresses. "its minimum is gone": its stress has no minimum there. Residuals are errors of distances on
the map, relative to the distances. Set ``DRIFTMAP_DATA`` to a folder with the paper's data.
"""

from __future__ import annotations

import warnings
from typing import NamedTuple

import numpy as np
from scipy.optimize import minimize

from benchmarks.slack import paper_streams
from benchmarks.timing import Limit, command
from driftmap import DriftMap
from driftmap.embedding import move
from driftmap.landmarks.online import LandmarkEngine
from driftmap.map.frame import Frame
from driftmap.utils import Array, Ids

JUMP = 0.06
SAMPLE = 200
"""Number of stored points whose move is measured, at most."""
NEIGHBOURS = 5
"""Number of nearby anchors that show whether the map moved."""


class Move(NamedTuple):
    """The point of a frame that moved farthest; distances are relative to the diameter of the map."""

    distance: float
    is_cold: bool
    """True if the frame is a cold fit."""
    neighbours: float
    """Median distance that nearby anchors moved."""
    to_minimum: float
    """Distance from the old position to the minimum of its stress found from there."""
    ratio: float
    """Stress at the new position, divided by that at this minimum."""
    residual: float


def anchors(frame: Frame) -> tuple[Ids, Array]:
    """Return arrival numbers and positions of the anchors."""
    return frame.anchors, move(frame.embedding.anchor_coordinates_, frame.rotation, frame.translation)


def farthest_move(old: Frame, new: Frame, engine: LandmarkEngine) -> Move:
    """Return the farthest move of a stored point between two frames."""
    stored = engine.stored_indices_
    sample = stored[np.unique(np.linspace(0, len(stored) - 1, SAMPLE).astype(np.int64))]
    before, after = (frame.place_stored(engine, sample) for frame in (old, new))
    diameter = 2 * np.linalg.norm(before - before.mean(axis=0), axis=1).max()
    moved = np.linalg.norm(after - before, axis=1)
    worst = moved.argmax()
    (old_ids, old_places), (ids, places) = anchors(old), anchors(new)
    _, first, second = np.intersect1d(old_ids, ids, return_indices=True)
    near = np.argsort(np.linalg.norm(old_places[first] - before[worst], axis=1))[:NEIGHBOURS]
    with_it = np.median(np.linalg.norm(places[second] - old_places[first], axis=1)[near])
    shares = new.embedding.anchors_.masses
    weights = shares / shares.sum()
    distances = new.fixed.distances(engine.store, engine.store.check_queries(engine.stored_points(sample[[worst]])))[0]

    def loss(place: Array) -> float:
        return float(weights @ (np.linalg.norm(places - place, axis=1) - distances) ** 2)

    nearest = minimize(loss, before[worst], method="Nelder-Mead", options={"xatol": 1e-6 * diameter, "fatol": 1e-14})
    now = loss(after[worst])
    return Move(
        moved[worst] / diameter,
        new.embedding.cold_stress_ != old.embedding.cold_stress_,
        with_it / diameter,
        np.linalg.norm(nearest.x - before[worst]) / diameter,
        now / max(nearest.fun, 1e-300),
        np.sqrt(now / (weights @ distances**2)),
    )


def run(quick: bool) -> list[Limit]:
    """Print the table."""
    names = ("frames", "jumps", "in cold fits", "the map moved", "another minimum (stress)", "its minimum is gone")
    print(f"| stream | {' | '.join(names)} | residual of jumps, of all |\n{'|---' * 8}|")
    for name, X, m in paper_streams():
        X = X[:: 4 if quick else 1]
        mapper = DriftMap(n_landmarks=m, frame_tolerance=0).fit(X[: 2 * m])
        frames, moves = mapper._engine.frames, []
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            old = frames.present(mapper._engine.landmarks)
            for x in X[2 * m :]:
                new = frames.present(mapper.partial_fit(x[None])._engine.landmarks)
                if new is not old:
                    moves.append(farthest_move(old, new, mapper._engine.landmarks))
                old = new
        jumps = [one for one in moves if one.distance > JUMP]
        moved = [one for one in jumps if one.neighbours >= one.distance / 2]
        other = [one for one in jumps if one not in moved and one.to_minimum < one.distance / 2]
        ratio = f" ({np.median([one.ratio for one in other]):.2f})" if other else ""
        residuals = [f"{np.median([one.residual for one in some]):.3f}" if some else "-" for some in (jumps, moves)]
        counts = [len(moves), len(jumps), sum(one.is_cold for one in jumps), len(moved), f"{len(other)}{ratio}"]
        cells = [*counts, len(jumps) - len(moved) - len(other), ", ".join(residuals)]
        print(f"| {name} | {' | '.join(map(str, cells))} |", flush=True)
    return []


if __name__ == "__main__":
    command(__doc__, run)

"""What kernels and those who call them both know: records and numbers. Nothing here needs a compiler."""

import numpy as np

FOUND = np.dtype(
    [("nearest", np.float64), ("nearest_slot", np.int64), ("second", np.float64), ("second_slot", np.int64)]
)
"""The two nearest landmarks of a point; slot -1 and infinity where there is none."""

WAYS = 4
"""Witnesses that are remembered for a box."""
AHEAD = 32
"""Points that are looked at together."""
GUESS = np.dtype([("box", np.int64), ("gap", np.float64), ("there", np.int32, WAYS), ("row", np.int64)])
"""A small box, the witnesses there, which of them may be near enough, and how far that is, squared."""

MOST_COMPARED = 3
"""One in so many rows may be compared with all landmarks, before that is better done for many rows at once."""

GENERATIONS = 8
"""Parts of a window; only points of the same one merge, so that a witness is forgotten at most one part too late."""

ABREAST = 16
"""Points that are placed side by side."""
SEARCH = 13
"""Numbers that the search for the place of a point keeps."""
PLACES = 100
"""Places after which a search is lost."""
LAST_STEPS = 3
"""Steps in double precision at its end. They use the second derivatives that single precision found nearby, so what is
left after one that is at most the tolerance long is far below it."""

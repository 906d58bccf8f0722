"""Parameters of memory: capacity of the core-set, window and half-life; and the times of arrivals."""

from __future__ import annotations

import datetime
from typing import Any, NamedTuple

import numpy as np

from driftmap.landmarks.params import LandmarkParams
from driftmap.metrics import Metric
from driftmap.storage.serialization import seconds
from driftmap.utils import SMALLEST_NORMAL, Array, validation
from driftmap.utils.errors import InputError

DEFAULT_MEMORY = 10_000
"""The most points stored by default."""
PER_LANDMARK = 16
"""The least number of stored points per landmark."""
LARGEST_MEMORY = 2**62
SHORTEST_WINDOW = 8 * SMALLEST_NORMAL
"""Times are divided by an eighth of the window."""
TIME_KINDS = ("none", "numbers", "dates", "spans")
"""What arrivals may come with; none: their numbers are their times."""


class Memory(NamedTuple):
    """How many points are stored, and how long they are remembered."""

    limit: int | None
    """The most points that are stored; None: all that are remembered."""
    window: float
    """How long points are remembered; infinity: for ever."""
    half_life: float
    """The time in which masses are halved; infinity: never."""
    expires: bool
    """Whether points are forgotten after a while: there is a window or a half-life."""


def memory_of(params: LandmarkParams, metric: Metric) -> Memory:
    """What the parameters ask for, or an error that says what does not fit."""
    limit = _limit(params, metric)
    detects = not (isinstance(params.replace_on, str) and params.replace_on == "uncovered")
    if detects:
        _check_detector(params, metric)
    window, half_life = (
        np.inf if value is None else validation.positive_number(seconds(value), name)
        for name, value in (("window", params.window), ("half_life", params.half_life))
    )
    if window < SHORTEST_WINDOW:
        raise InputError(f"must be at least {SHORTEST_WINDOW:g}, got {params.window}", parameter="window")
    given = "window" if window < np.inf else "half_life" if half_life < np.inf else None
    if given is None:
        return Memory(limit, window, half_life, expires=False)
    if detects:
        problem = f"does not go with {given}: a landmark that is forgotten is replaced at once"
        raise InputError(problem, parameter="replace_on")
    if max(window, half_life) < np.inf:
        raise InputError("does not go with half_life: both are ways to forget, give one of them", parameter="window")
    if params.rule == "paper":
        problem = 'does not go with rule="paper", which is literal and forgets nothing'
        raise InputError(problem, parameter=given)
    if metric.form == "distances":
        raise InputError(
            'does not go with metric="precomputed": each arrival brings its distances to all earlier ones, which are '
            "stored as a whole",
            parameter=given,
        )
    return Memory(limit, window, half_life, expires=True)


def _check_detector(params: LandmarkParams, metric: Metric) -> None:
    """Raise an error if what is to decide on replacements is no detector, or does not go with rule or metric."""
    given = params.replace_on
    if isinstance(given, str | type) or not (hasattr(given, "update") and hasattr(given, "drift_detected")):
        raise InputError(
            'must be "uncovered" or a detector, an object with update(x) and drift_detected such as '
            f"driftmap.landmarks.RatioShift() or one of river's; got {given!r}",
            parameter="replace_on",
        )
    if params.rule == "paper":
        problem = 'does not go with rule="paper", which is literal: choose rule="tight"'
        raise InputError(problem, parameter="replace_on")
    if metric.form == "distances":
        raise InputError('does not go with metric="precomputed"', parameter="replace_on")


def _limit(params: LandmarkParams, metric: Metric) -> int | None:
    memory, least = params.memory, PER_LANDMARK * params.n_landmarks
    if memory is None:
        return None
    if isinstance(memory, str) and memory == "auto":
        return max(DEFAULT_MEMORY, least) if params.rule == "tight" and metric.triangle else None
    if isinstance(memory, str):
        problem = f'={memory!r} is not known: give a number of points, "auto" or None'
        raise InputError(problem, parameter="memory")
    limit = validation.integer_at_least(memory, "memory", 1)
    if params.rule == "paper":
        raise InputError(
            f'={limit} does not go with rule="paper", which is literal and stores every point: leave it out, or choose '
            'rule="tight"',
            parameter="memory",
        )
    if not metric.triangle:
        raise InputError(
            f"={limit} needs a metric that obeys the triangle inequality, else nothing would be known about points "
            f"that are merged; metric={params.metric!r} is not known to obey it. Choose memory=None; or, if your "
            "function does obey it, set its attribute obeys_triangle = True",
            parameter="memory",
        )
    if limit < least:
        raise InputError(
            f"={limit} is too small for n_landmarks={params.n_landmarks}: at least {PER_LANDMARK} points per landmark "
            f"are needed, here {least}",
            parameter="memory",
        )
    return min(limit, LARGEST_MEMORY)


def times_of(times: Any, n: int, seen: int, last: float, before: str | None) -> tuple[Array, str]:
    """When n further arrivals come, in numbers, and what kind of times these are; all must be of the same kind.

    As given, or by the numbers of the arrivals; dates and spans of time count in seconds.
    """
    if times is None:
        array, kind = np.arange(seen, seen + n, dtype=np.float64), "none"
    else:
        array, kind = _numbers(times)
    if before is not None and before != kind:
        problem = f"are of kind {kind}, but earlier ones were of kind {before}: give all the same"
        raise InputError(problem, parameter="times")
    if array.shape != (n,):
        problem = f"must hold one time for each of the {n} rows: shape ({n},), got {array.shape}"
        raise InputError(problem, parameter="times")
    bad = np.flatnonzero(~np.isfinite(array))
    if len(bad):
        raise InputError(f"[{bad[0]}] is {array[bad[0]]}: times must be finite", parameter="times")
    back = np.flatnonzero(np.diff(array, prepend=last) < 0)
    if len(back):
        earlier = last if back[0] == 0 else array[back[0] - 1]
        problem = f"[{back[0]}] = {array[back[0]]:g} is before {earlier:g}: times must not go back"
        raise InputError(problem, parameter="times")
    return array, kind


def _numbers(times: Any) -> tuple[Array, str]:
    """Times as numbers: dates as seconds since 1970, spans as seconds; no time is NaN."""
    if getattr(getattr(times, "dt", None), "tz", None) is not None:  # a column of pandas with a time zone
        times = times.dt.tz_convert("UTC").dt.tz_localize(None)
    elif getattr(times, "tz", None) is not None:  # an index of pandas
        times = times.tz_convert("UTC").tz_localize(None)
    array = np.asarray(times)
    if array.dtype == object and array.size and all(isinstance(time, datetime.date) for time in array.flat):
        zone = datetime.UTC
        array = np.array(
            [t.astimezone(zone).replace(tzinfo=None) if getattr(t, "tzinfo", None) else t for t in array.flat],
            dtype="datetime64[us]",
        ).reshape(array.shape)
    if array.dtype.kind in "mM":
        unit = array.astype(f"{array.dtype.kind}8[s]")
        rest = (array - unit) / np.timedelta64(1, "s")  # what seconds leave out keeps its digits
        whole = unit.astype(np.int64) + rest
        return np.where(np.isnat(array), np.nan, whole), "dates" if array.dtype.kind == "M" else "spans"
    if array.dtype.kind not in "biuf":
        raise InputError(f"must be numbers or dates, got {array.dtype}", parameter="times")
    return array.astype(np.float64), "numbers"

"""What the paper derives from the hospital contacts: hourly means, and a t-test of whether days are alike."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.distance import pdist
from scipy.stats import ttest_ind

from driftmap.datasets import Hospital
from driftmap.datasets.recorded import DateArray
from driftmap.utils import Array, Ids
from reproduction.scenarios import DECAY, Stream

WEEKDAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday")
DAYTIME = (6, 20)
"""6:00 AM to 8:00 PM: the hours of the paper's sixteen trajectories."""
ALL_HOURS = (0, 24)
STEP = 5
"""Seconds between samples of the continuous trajectory. The paper states no step; this one comes closest."""


def hospital_of(stream: Stream) -> Hospital:
    """The contacts behind the stream."""
    if not isinstance(stream.source, Hospital):
        raise TypeError(f"the stream {stream.key!r} is not made of hospital contacts")
    return stream.source


class Clock(NamedTuple):
    """Weekday and time of day of each arrival."""

    day: Ids
    """0 is Monday."""
    hour: Array
    """Hours since midnight, with fractions."""

    @property
    def full_hour(self) -> Ids:
        """The hour in which the arrival falls: 14 is from 2:00 PM to 3:00 PM."""
        return self.hour.astype(np.int64)

    def within(self, hours: tuple[int, int]) -> NDArray[np.bool_]:
        """Which arrivals fall into these hours of any day."""
        return (self.hour >= hours[0]) & (self.hour < hours[1])

    def text(self, arrival: int) -> str:
        """Weekday and time to the minute, as the paper writes them."""
        minutes = round(float(self.hour[arrival]) * 60)
        hour, minute = divmod(minutes, 60)
        return f"{WEEKDAYS[self.day[arrival]]} {(hour - 1) % 12 + 1}:{minute:02d} {'AM' if hour < 12 else 'PM'}"


def clock(stream: Stream) -> Clock:
    """Weekday and hour of each arrival, by the paper's clock."""
    return _clock_at(hospital_of(stream).clock)


def _clock_at(moments: DateArray) -> Clock:
    days = moments.astype("datetime64[D]")
    seconds = (moments - days).astype("timedelta64[s]").astype(np.float64)
    return Clock((days - days[0]).astype(np.int64), seconds / 3600)


class HourlyMeans(NamedTuple):
    """Mean position on the map in each hour with contacts, in order of time."""

    day: Ids
    hour: Ids
    positions: Array


def hourly_means(positions: Array, when: Clock, hours: tuple[int, int] = ALL_HOURS) -> HourlyMeans:
    """Average positions by day and hour, over the given hours of each day."""
    chosen = when.within(hours)
    slot = when.day[chosen] * 24 + when.full_hour[chosen]
    slots, which = np.unique(slot, return_inverse=True)
    means = np.zeros((len(slots), positions.shape[1]))
    np.add.at(means, which, positions[chosen])
    return HourlyMeans(slots // 24, slots % 24, means / np.bincount(which)[:, None])


class HourTest(NamedTuple):
    """A t-test: are hourly means of two days closer at the same hour than at different hours?"""

    scenario: str
    hours: tuple[int, int]
    n_same: int
    n_different: int
    mean_same: float
    mean_different: float
    p_student: float
    """Two-sided, equal variances."""
    p_welch: float
    """Two-sided, unequal variances."""


def hour_test(scenario: str, positions: Array, when: Clock, hours: tuple[int, int]) -> HourTest:
    """Compare the distances between hourly means at the same hour of two days with those at different hours."""
    means = hourly_means(positions, when, hours)
    distances = pdist(means.positions)
    r, s = np.triu_indices(len(means.hour), k=1)
    same = means.hour[r] == means.hour[s]
    near, far = distances[same], distances[~same]
    return HourTest(
        scenario,
        hours,
        len(near),
        len(far),
        float(near.mean()),
        float(far.mean()),
        float(ttest_ind(near, far).pvalue),
        float(ttest_ind(near, far, equal_var=False).pvalue),
    )


def trajectory(stream: Stream, positions: Array, empty: Array) -> tuple[Array, Clock]:
    """Return the position on the map every STEP seconds, from the first to the last contact, and the times.

    ``positions`` are those at the times of contact, ``empty`` is that of the network without ties, z. Between contacts
    all ties, and so the spectrum, decay by the same factor. Landmark MDS is affine in Euclidean spectra, so the
    position moves on a straight line: x(t) = z + exp(-alpha (t - t_r)) (x(t_r) - z), exactly.
    """
    hospital = hospital_of(stream)
    times = hospital.times
    samples = np.arange(times[0], times[-1] + 1, STEP)
    latest = np.searchsorted(times, samples, side="right") - 1
    remaining = np.exp(-DECAY * (samples - times[latest]))[:, None]
    moments = hospital.clock[0] + (samples - times[0]).astype("timedelta64[s]")
    return empty + remaining * (positions[latest] - empty), _clock_at(moments)


def continuous_hour_test(scenario: str, stream: Stream, positions: Array, empty: Array) -> HourTest:
    """Run the test on hourly means of the trajectory in daytime, without the first hour (Monday 1 PM to 2 PM)."""
    places, when = trajectory(stream, positions, empty)
    slot = when.day * 24 + when.full_hour
    later = slot > slot[0]
    return hour_test(scenario, places[later], Clock(when.day[later], when.hour[later]), DAYTIME)

"""``--metrics``: what a run does, as Prometheus reads it."""

from __future__ import annotations

import contextlib
import os
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from driftmap.cli import arguments as kinds
from driftmap.cli.errors import UserError, note
from driftmap.cli.typed import option
from driftmap.map import StreamMap
from driftmap.map.truth import stress_on
from driftmap.pipeline.observer import Observer, Update
from driftmap.pipeline.operator import Operator
from driftmap.pipeline.saver import Saver
from driftmap.tables.rejected import RejectedLines
from driftmap.utils.errors import InputError, MissingDependencyError

LOOPBACK = "127.0.0.1"
RATE_SECONDS = 1.0
"""Seconds over which the rate is measured, at least."""
STATM = Path("/proc/self/statm")
"""The memory of this process in pages, on Linux."""


@dataclass(frozen=True)
class Monitoring:
    """What others may read of a run."""

    metrics: int | None = option(
        "--metrics",
        shapes=False,
        type=partial(kinds.integer, lowest=0, highest=65535),
        metavar="PORT",
        help="serve metrics for Prometheus at http://127.0.0.1:PORT/metrics; 0 is any port that is free",
    )


@dataclass(frozen=True)
class HostedMonitoring(Monitoring):
    """The same where no other option says who may read it."""

    host: str | None = option(
        "--host", shapes=False, metavar="ADDRESS", help="of --metrics: let others read them; 0.0.0.0 is every address"
    )

    def __post_init__(self) -> None:
        if self.host is not None and self.metrics is None:
            raise UserError("--host is for --metrics: add --metrics PORT")


class Metrics(Observer):
    """A collector of Prometheus. It counts in the thread of the run, and answers in that of a server.

    The lag is the time since rows came after a moment without any: 0 while the run keeps up with its source.
    """

    def __init__(self, operator: Operator, saver: Saver | None, rejected: RejectedLines) -> None:
        self._operator, self._saver, self._rejected = operator, saver, rejected
        self._lock = threading.Lock()
        self._behind_since: float | None = None
        self._sample = time.monotonic(), self._n_rows(), 0.0

    def _n_rows(self) -> int:
        mapper = self._operator.mapper
        return mapper.n_samples_seen_ if mapper.fitted else 0

    def observe(self, update: Update, mapper: StreamMap) -> None:
        """Note that rows came."""
        if self._behind_since is None:
            self._behind_since = time.monotonic()

    def idle(self) -> None:
        """All rows that have come are mapped."""
        self._behind_since = None

    def describe(self) -> list[Any]:
        """Return nothing: which metrics there are depends on the run."""
        return []

    def collect(self) -> Iterator[Any]:
        """Yield all metrics as they are now."""
        from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily

        for name, text, value in self._gauges():
            if value is not None:
                yield GaugeMetricFamily(f"driftmap_{name}", text, value)
        for name, text, count in self._counts():
            yield CounterMetricFamily(f"driftmap_{name}", text, count)
        alerts = CounterMetricFamily("driftmap_alerts", "Alerts", labels=["kind"])
        for kind, n_alerts in self._alerts().items():
            alerts.add_metric([kind], n_alerts)
        yield alerts

    def _alerts(self) -> dict[str, int]:
        detector, monitor, found = self._operator.detector, self._operator.monitor, dict[str, int]()
        if detector is not None:
            found["novelty"] = detector.n_alerts
        if monitor is not None:
            found["drift"] = monitor.n_drifts
        return found

    def _counts(self) -> Iterator[tuple[str, str, int]]:
        mapper = self._operator.mapper
        yield "rows", "Rows mapped", self._n_rows()
        yield "bad_lines", "Lines that were skipped", self._rejected.count
        with mapper.lock:
            yield "replacements", "Replacements of landmarks", mapper.n_replacements_ if mapper.fitted else 0
            yield "frames", "Frames of the map", mapper.frames.count if mapper.fitted else 0

    def _gauges(self) -> Iterator[tuple[str, str, float | None]]:
        now, mapper, monitor = time.monotonic(), self._operator.mapper, self._operator.monitor
        yield "rows_per_second", "Rows mapped per second, since the last look", self._rate(now)
        behind = self._behind_since
        lag = 0.0 if behind is None else now - behind
        yield "lag_seconds", "Time since the run had mapped all rows of its source", lag
        age = None if self._saver is None else self._saver.age
        yield "checkpoint_age_seconds", "Time since the last checkpoint", age
        yield "memory_bytes", "Resident memory of the process", resident_bytes()
        yield "drift_p_value", "p-value of the last look for drift", None if monitor is None else monitor.p_value
        if not mapper.fitted:
            return
        with mapper.lock:
            engine, given = mapper._landmark_engine(), mapper.given_frame()
            yield "radius", "Radius of the landmarks", engine.radius_
            yield "landmarks", "Landmarks", len(engine.landmark_indices_)
            yield "stored_points", "Stored points", len(engine.stored_indices_)
            bound = engine.coverage_bound_ if engine.obeys_triangle else None
            yield "coverage_bound", "Every row lies within this distance of its landmark", bound
            sigma = None
            with contextlib.suppress(InputError):  # nothing is wrong with a short stream
                sigma = None if given is None else stress_on(given[1], engine)
        yield "sigma", "Normalised stress of the map, of up to 500 stored points", sigma

    def _rate(self, now: float) -> float:
        with self._lock:
            then, rows, _ = self._sample
            if now - then >= RATE_SECONDS:
                n_rows = self._n_rows()
                self._sample = now, n_rows, (n_rows - rows) / (now - then)
            return self._sample[2]


def resident_bytes() -> int | None:
    """Return the resident memory of this process; None where the system has no file that says it."""
    try:
        return int(STATM.read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except (OSError, ValueError):
        return None


@contextlib.contextmanager
def serving_metrics(metrics: Metrics, port: int, host: str | None) -> Iterator[None]:
    """Serve metrics until the block ends; an error names a port that is in use."""
    try:
        from prometheus_client import CollectorRegistry, start_http_server
    except ImportError as error:
        raise MissingDependencyError("--metrics needs prometheus_client", extra="metrics") from error
    registry = CollectorRegistry(auto_describe=False)
    registry.register(metrics)
    place = host or LOOPBACK
    try:
        server, thread = start_http_server(port, addr=place, registry=registry)
    except OSError as error:
        problem = f"--metrics {port} cannot be served at {place}: {error.strerror or error}"
        raise UserError(f"{problem}; give another port, or 0 for any") from error
    note(f"metrics at http://{f'[{place}]' if ':' in place else place}:{server.server_port}/metrics")
    try:
        yield
    finally:
        server.shutdown()
        server.server_close()
        thread.join()

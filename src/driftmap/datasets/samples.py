"""Small sample files to try the commands on. All data in them is generated."""

from __future__ import annotations

import io
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from driftmap.utils import Array


class Sample(NamedTuple):
    """A sample file, generated with the same bytes each time."""

    file: str
    """Its default name."""
    about: str
    make: Callable[[], bytes]


def prices() -> bytes:
    """Generate eight fictitious stocks over 750 trading days: two sectors, and a crash from which both recover."""
    rng = np.random.default_rng(1)
    n, names = 750, ("alder", "birch", "cedar", "elm", "amber", "coral", "jade", "onyx")
    market, sectors = 0.006 * rng.standard_normal(n), 0.006 * rng.standard_normal((n, 2))
    market[400:420] -= 0.018
    market[420:520] += 0.004
    growth = market[:, None] + np.repeat(sectors, 4, axis=1) + 0.008 * rng.standard_normal((n, len(names))) + 0.0005
    values = np.array([20.0, 35, 50, 80, 120, 60, 45, 200]) * np.exp(np.cumsum(growth, axis=0))
    days = np.busday_offset(np.datetime64("2021-01-04"), np.arange(n), roll="forward")
    return _csv(["date", *names], days.astype(str).tolist(), values, 2)


def sensors() -> bytes:
    """Generate sensors of a machine, one row per minute for two days.

    They have a daily rhythm, one shock at row 1,500 and a bearing that wears out from row 2,000 on.
    """
    rng = np.random.default_rng(2)
    n = 2880
    hours = np.arange(n) / 60
    load = 0.6 + 0.3 * np.sin(2 * np.pi * (hours - 8) / 24) + 0.04 * rng.standard_normal(n)
    wear = np.clip((np.arange(n) - 2000) / 880, 0, 1)
    temperature = 40 + 25 * load + 12 * wear + 0.5 * rng.standard_normal(n)
    vibration = 1.0 + 0.6 * load + 1.8 * wear + 0.1 * rng.standard_normal(n)
    vibration[1500] = 9.0
    values = np.column_stack([load, temperature, vibration, 8 * load + 0.8 * wear + 0.1 * rng.standard_normal(n)])
    minutes = np.datetime64("2024-03-04T00:00") + np.arange(n).astype("timedelta64[m]")
    return _csv(["time", "load", "temperature", "vibration", "current"], minutes.astype(str).tolist(), values, 3)


def contacts() -> bytes:
    """Generate contacts of 45 people in three school classes, 8:30 to 16:00 on three days; classes mix in breaks."""
    rng = np.random.default_rng(3)
    classes = np.repeat(["1A", "1B", "2A"], 15)
    lines = []
    for day in range(3):
        start = int(np.datetime64("2024-03-04T08:30", "s").astype(np.int64)) + 86_400 * day
        until: dict[tuple[int, int], int] = {}  # the second at which each conversation ends
        for step in range(0, 27_000, 20):
            minute = step // 60
            is_break = 90 <= minute < 110 or 210 <= minute < 270 or 360 <= minute < 375
            for _ in range(rng.poisson(1.5 if is_break else 0.15)):
                i = int(rng.integers(45))
                mixes = rng.random() < (0.6 if is_break else 0.03)
                # Neighbours meet more often than others in their class.
                j = int(rng.integers(45)) if mixes else 15 * (i // 15) + (i % 15 + int(rng.geometric(0.4))) % 15
                if i != j:
                    until[min(i, j), max(i, j)] = step + 20 * int(rng.geometric(0.3))
            until = {pair: end for pair, end in until.items() if end > step}
            lines += [f"{start + step}\t{101 + i}\t{101 + j}\t{classes[i]}\t{classes[j]}\n" for i, j in sorted(until)]
    return "".join(lines).encode()


def embeddings() -> bytes:
    """Generate vectors like a language model's: 2,000 texts on five topics, 64 numbers each; one topic starts late."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    rng = np.random.default_rng(4)
    topics = ("sport", "music", "politics", "science", "storm")
    n = 2000
    topic = rng.integers(4, size=n)
    topic[1200:] = np.where(rng.random(800) < 0.4, 4, topic[1200:])
    centres = rng.standard_normal((5, 64)) @ np.diag(np.linspace(1.5, 0.3, 64))
    vectors = centres[topic] + 0.6 * rng.standard_normal((n, 64))
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    flat = pa.array(vectors.astype(np.float32).ravel())
    table = pa.table(
        {
            "id": pa.array(range(n)),
            "topic": pa.array([topics[k] for k in topic.tolist()]),
            "vector": pa.FixedSizeListArray.from_arrays(flat, 64),
        }
    )
    file = io.BytesIO()
    pq.write_table(table, file)
    return file.getvalue()


SAMPLES = {
    "prices": Sample("prices.csv", "eight stocks over 750 days, with a crash", prices),
    "sensors": Sample("sensors.csv", "four sensors of a machine that wears out, one row per minute", sensors),
    "contacts": Sample("contacts.tsv", "who met whom in a school, three days, with classes (t i j Ci Cj)", contacts),
    "embeddings": Sample("embeddings.parquet", "2,000 text-like vectors of 64 numbers, with topics", embeddings),
}
"""All samples by name."""


def _csv(names: list[str], labels: list[str], values: Array, digits: int) -> bytes:
    rows = (
        ",".join([label, *(f"{v:.{digits}f}" for v in row)]) for label, row in zip(labels, values.tolist(), strict=True)
    )
    return "".join(f"{line}\n" for line in [",".join(names), *rows]).encode()

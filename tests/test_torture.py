"""The short form of ``make torture``: some cases of every kind, in seconds."""

import sys
from collections import Counter

import pytest

from streams import EXAMPLES
from torture.worker import KINDS, Worker

SECONDS = {
    "learning": 60, "interrupts": 3, "checkpoints": 60, "states": 200, "inputs": 40, "addresses": 20, "disks": 5,
    "outputs": 20, "runs": 12, "recordings": 200,
}  # fmt: skip
"""How many cases take about a second or two; of those that start processes, one takes longer."""
LEAST = {
    "learning": {"streams", "arrivals", "interrupts", "saves", "edits"},
    "interrupts": {"streams", "arrivals", "interrupts"},
    "checkpoints": {"edits", "refused"},
    "states": {"edits", "refused"},
    "inputs": {"edits", "refused"},
    "addresses": {"edits"},
    "disks": {"streams", "edits"},
    "outputs": {"streams", "refused"},
    "kills": {"streams", "kills"},
    "follows": {"streams", "kills"},
    "signals": {"streams", "interrupts"},
    "clusters": {"streams", "kills"},
    "connections": {"streams", "edits"},
    "levels": {"streams"},
    "runs": {"edits", "refused", "same"},
    "recordings": {"edits", "refused", "played"},
}

WITH_SERVERS = ("messages", "forgetting", "databases", "webhooks")

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="signals and limits are those of other systems")


@pytest.fixture(scope="module")
def worker():
    worker = Worker()
    yield worker
    worker.close()


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind not in WITH_SERVERS])
def test_cases(worker, kind):
    counts = Counter()
    for number in range(max(1, SECONDS.get(kind, 1) * EXAMPLES // 120)):
        found, failure = worker.run(f"{kind}-{number}")
        assert not failure, f"python -m tests.torture --case {kind}-{number}\n{failure}"
        counts.update(found)
    assert all(counts[name] for name in LEAST[kind]), counts

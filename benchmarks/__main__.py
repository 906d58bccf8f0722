"""Measure all claims about speed: python -m benchmarks [--quick]

Each part is also a separate command, such as ``python -m benchmarks.learning``. Takes less than ten minutes.
"""

from __future__ import annotations

from collections.abc import Callable

from benchmarks import frames, growth, learning, mapping, placement, rows, spectra, storm
from benchmarks.timing import Limit, command

PARTS: dict[str, Callable[[bool], list[Limit]]] = {
    "Learning against a blocked product and row minimum": learning.run,
    "Growth of time and memory": growth.run,
    "A storm of replacements": storm.run,
    "Spectra of temporal networks": spectra.run,
    "Mapping, single rows, threads": mapping.run,
    "New frames": frames.run,
    "Points in the wrong minimum": placement.run,
    "Single rows, metrics, start-up": rows.run,
}


def run(quick: bool) -> list[Limit]:
    """Run all parts; return their limits."""
    limits = []
    for title, part in PARTS.items():
        print(f"\n## {title}\n", flush=True)
        limits += part(quick)
    print("\n## Summary")
    return limits


if __name__ == "__main__":
    command(__doc__, run)

"""Compare Driftmap with peers: python -m benchmarks.peers [--data ...] [--methods ...] [--quick] [--update] [-o folder]

Needs `pip install ".[bench]"`; missing peers are reported. The recorded data are read from DRIFTMAP_DATA or downloaded.
Writes peers.md, peers.json and two figures. With --update, rows of an earlier peers.json in the same folder are kept
unless they are measured again, so that a long run can be split.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any

from benchmarks.peers import data, report, run, scores
from benchmarks.peers.child import RECENT, SINGLES
from benchmarks.peers.methods import FOLLOWED, METHODS, WINDOW


def arguments(argv: list[str] | None = None) -> argparse.Namespace:
    """Parse the command line."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.peers", description=__doc__.splitlines()[0])
    parser.add_argument("--data", nargs="+", choices=data.STREAMS, default=None, help="which streams (default: all)")
    parser.add_argument("--methods", nargs="+", choices=METHODS, default=list(METHODS), help="which methods (all)")
    parser.add_argument("--limit", type=float, default=None, help="seconds per method and stream (100; quick: 5)")
    parser.add_argument("--memory", type=float, default=8.0, help="GB per method and stream (8)")
    parser.add_argument("--threads", type=int, default=1, help="threads of every method (1)")
    parser.add_argument("--jobs", type=int, default=1, help="concurrent processes (1); more affect the timing")
    parser.add_argument("--quick", action="store_true", help="small streams, by default only the drifting one")
    parser.add_argument("--update", action="store_true", help="keep the results of an earlier run in this folder")
    parser.add_argument("-o", "--output", type=Path, default=Path("benchmarks/results/peers"), help="folder")
    options = parser.parse_args(argv)
    options.data = options.data or (["drift"] if options.quick else list(data.STREAMS))
    options.limit = options.limit or (5.0 if options.quick else 100.0)
    return options


def measure(options: argparse.Namespace) -> dict[str, Any]:
    """Measure everything; return the content of the JSON file."""
    settings = {
        "command": "python -m benchmarks.peers"
        + (" --quick" if options.quick else "")
        + (f" --jobs {options.jobs}" if options.jobs > 1 else ""),
        "limit": options.limit,
        "memory": options.memory,
        "singles": SINGLES,
        "neighbours": scores.NEIGHBOURS,
        "all_pairs": data.ALL_PAIRS,
        "sample": data.SAMPLE,
        "recent": RECENT,
        "window": WINDOW,
        "jobs": options.jobs,
    }
    results: dict[str, Any] = {"settings": settings, "machine": run.machine(options.threads), "missing": {}}
    limits = (options.limit, options.memory, options.threads)
    streams = {}
    for key in options.data:
        try:
            streams[key] = data.load(key, options.quick)
        except (OSError, ImportError) as error:
            results["missing"][data.STREAMS[key][0]] = str(error)
    with ThreadPoolExecutor(options.jobs) as pool:

        def start(work: Callable[..., dict[str, Any]], method: str, stream: data.Stream) -> Future[dict[str, Any]]:
            def measured() -> dict[str, Any]:
                print(f"{stream.name}: {work.__name__} {METHODS[method].label}", file=sys.stderr, flush=True)
                return work(method, stream, *limits)

            return pool.submit(measured)

        tables = {key: [start(run.halves, m, stream) for m in options.methods] for key, stream in streams.items()}
        drifting = [m for m in FOLLOWED if m in options.methods] if "drift" in streams else []
        lines = [start(run.follow, m, streams["drift"]) for m in drifting]
        results["streams"] = [
            {"name": streams[key].name, "shape": streams[key].points.shape, "rows": [row.result() for row in rows]}
            for key, rows in tables.items()
        ]
        results["followed"] = [line.result() for line in lines]
    return results


def updated(old: dict[str, Any], new: dict[str, Any]) -> dict[str, Any]:
    """Return the results of an earlier run, updated with the rows of a later one."""

    def merge(rows: list[dict[str, Any]], later: list[dict[str, Any]]) -> list[dict[str, Any]]:
        by_method = {row["method"]: row for row in [*rows, *later]}
        return [by_method[key] for key in METHODS if key in by_method]

    streams = {stream["name"]: stream for stream in old["streams"]}
    for stream in new["streams"]:
        rows = streams.get(stream["name"], {"rows": []})["rows"]
        streams[stream["name"]] = stream | {"rows": merge(rows, stream["rows"])}
    names = [name for name, _ in data.STREAMS.values() if name in streams]
    missing = {name: why for name, why in (old["missing"] | new["missing"]).items() if name not in streams}
    followed = merge(old["followed"], new["followed"])
    return new | {"streams": [streams[name] for name in names], "followed": followed, "missing": missing}


def main(argv: list[str] | None = None) -> None:
    """Measure, and write and print the results."""
    options = arguments(argv)
    options.output.mkdir(parents=True, exist_ok=True)
    file = options.output / "peers.json"
    results = measure(options)
    if options.update and file.exists():
        results = updated(json.loads(file.read_text()), results)
    file.write_text(json.dumps(results, indent=1) + "\n")
    text = report.markdown(results)
    (options.output / "peers.md").write_text(text)
    print(text)
    from benchmarks.peers import figures  # after the results are saved, since matplotlib may be missing

    figures.rate_against_sigma(results["streams"], options.output / "peers-rate.png")
    if results["followed"]:
        figures.recent_sigma(results["followed"], options.output / "peers-drift.png")


if __name__ == "__main__":
    main()

"""Driftmap against its peers: python -m benchmarks.peers [--data ...] [--methods ...] [--quick] [--update] [-o folder]

Needs `pip install ".[bench]"`; a peer that is missing is reported as such. The recorded data come from DRIFTMAP_DATA,
or are downloaded. Writes peers.md, peers.json and two figures. With --update, rows of an earlier peers.json in the same
folder stay, as long as they are not measured again: a long run can be made in parts.
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
    """The command line."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.peers", description=__doc__.splitlines()[0])
    parser.add_argument("--data", nargs="+", choices=data.STREAMS, default=None, help="which streams (default: all)")
    parser.add_argument("--methods", nargs="+", choices=METHODS, default=list(METHODS), help="which methods (all)")
    parser.add_argument("--limit", type=float, default=None, help="seconds per method and stream (100; quick: 5)")
    parser.add_argument("--memory", type=float, default=8.0, help="GB per method and stream (8)")
    parser.add_argument("--threads", type=int, default=1, help="threads of every method (1)")
    parser.add_argument("--jobs", type=int, default=1, help="processes at a time (1); more disturb each other a little")
    parser.add_argument("--quick", action="store_true", help="small streams, by default only the drifting one")
    parser.add_argument("--update", action="store_true", help="keep what an earlier run in this folder has measured")
    parser.add_argument("-o", "--output", type=Path, default=Path("benchmarks/results/peers"), help="folder")
    options = parser.parse_args(argv)
    options.data = options.data or (["drift"] if options.quick else list(data.STREAMS))
    options.limit = options.limit or (5.0 if options.quick else 100.0)
    return options


def measure(options: argparse.Namespace) -> dict[str, Any]:
    """Everything, as the JSON file has it."""
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
    """The results of an earlier run, with the rows of a later one in their place."""

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
    """Measure, write, print."""
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
    from benchmarks.peers import figures  # the numbers are safe by now, should matplotlib be missing

    figures.rate_against_sigma(results["streams"], options.output / "peers-rate.png")
    if results["followed"]:
        figures.recent_sigma(results["followed"], options.output / "peers-drift.png")


if __name__ == "__main__":
    main()

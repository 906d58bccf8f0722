"""Runs one process per method and stream, and measures its maps."""

from __future__ import annotations

import importlib.metadata
import json
import os
import platform
import re
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
from scipy.spatial.distance import pdist

from benchmarks.peers import scores
from benchmarks.peers.child import RECENT
from benchmarks.peers.data import Stream
from benchmarks.peers.methods import METHODS

ROOT = Path(__file__).parents[2]
THREADS = ("OMP", "OPENBLAS", "MKL", "NUMBA", "VECLIB", "NUMEXPR", "LOKY")
LIBRARIES = ("numpy", "scipy")


def machine(threads: int) -> dict[str, Any]:
    """Return the machine and the versions of the libraries."""
    packages = [*LIBRARIES, *dict.fromkeys(method.package for method in METHODS.values())]
    return {
        "cpu": _cpu(),
        "cores": os.cpu_count(),
        "system": platform.system(),
        "threads": threads,
        "python": platform.python_version(),
        "versions": {package: _version(package) for package in packages},
    }


def _cpu() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor() or platform.machine()
    named = [line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")]
    return named[0] if named else platform.machine()


def _version(package: str) -> str:
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return "not installed"


def child(job: dict[str, Any], folder: Path, threads: int) -> list[dict[str, Any]]:
    """Run one job in a new process; return its answers, the last of which may be the reason of its end."""
    job_file, answers = folder / "job.json", folder / "answers.jsonl"
    job_file.write_text(json.dumps(job))
    counts = {f"{name}_NUM_THREADS": str(threads) for name in THREADS[:-1]} | {"LOKY_MAX_CPU_COUNT": str(threads)}
    command = [sys.executable, "-m", "benchmarks.peers.child", str(job_file)]
    with (folder / "errors").open("w+") as errors:
        process = subprocess.Popen(
            command, cwd=ROOT, env=os.environ | counts, stdout=subprocess.DEVNULL, stderr=errors, text=True
        )
        slow = _ended_by_limit(process, answers, job["limit"])
        errors.seek(0)
        last = (errors.read().strip().splitlines() or [""])[-1]
    code = process.returncode
    lines = [json.loads(line) for line in answers.read_text().splitlines()] if answers.exists() else []
    if slow:
        lines.append({"stage": "end", "no": f"too slow (> {job['limit']:g} s)"})
    elif code != 0:
        why = signal.Signals(-code).name if code < 0 else last
        lines.append({"stage": "end", "no": f"the process died: {why}"})
    for line in lines:
        if "no" in line:
            line["no"] = line["no"].format(memory=f"{job['memory']:g}") if "{memory}" in line["no"] else line["no"]
    return lines


def _ended_by_limit(process: subprocess.Popen[str], answers: Path, limit: float) -> bool:
    """Wait for a process; kill it and return True once it exceeds its CPU seconds, counted after its "ready" line.

    A limit set by the process itself would make its clock too coarse for single points.
    """
    start_up = None
    while process.poll() is None:
        time.sleep(0.05)
        if start_up is None and answers.exists():
            ready = re.search(r'"ready", "seconds": ([\d.e-]+)', answers.read_text())
            start_up = float(ready[1]) if ready else None
        if start_up is not None and _seconds_used(process.pid) - start_up > limit:
            process.kill()
            process.wait()
            return True
    return False


def _seconds_used(pid: int) -> float:
    """Return the CPU seconds that a process has used."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    except OSError:  # it has ended, or the system has no /proc, so that time is not limited
        return 0.0
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def halves(key: str, stream: Stream, limit: float, memory: float, threads: int) -> dict[str, Any]:
    """Fit, place and add; return a row of the table, in which every cell is a number or {"no": reason}."""
    method, X, half, sample = METHODS[key], stream.points, stream.half, stream.sample
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        np.save(folder / "points.npy", X)
        job = {"kind": "halves", "method": key, "points": str(folder / "points.npy"), "half": half}
        lines = child(job | {"limit": limit, "memory": memory}, folder, threads)
        maps = {file.stem: np.load(file) for file in folder.glob("*.npy") if file.stem != "points"}
    stages = {line["stage"]: line for line in lines}
    fit, place, single, add = (outcome(stage, stages) for stage in ("fit", "place", "single", "add"))
    held = [stage["megabytes"] for stage in (fit, place, add) if "megabytes" in stage]
    row: dict[str, Any] = {"method": key, "label": method.label, "adds": method.adds, "has_scale": method.has_scale}
    row["fit_seconds"] = fit.get("seconds", fit)
    row["place_rate"] = place.get("rate", place)
    row["place_ms"] = single.get("milliseconds", single)
    row["add_seconds"] = add.get("seconds", add)
    row["memory_mb"] = max(held) if held else fit
    placed = {"place": np.concatenate([maps["fit"], maps["place"]])} if {"fit", "place"} <= maps.keys() else {}
    old = sample[sample < half]
    for stage, answer, Y in (("placed", place, placed.get("place")), ("final", add, maps.get("add"))):
        both = {"as_is": answer, "scaled": answer} if Y is None else scores.sigma(stream.distances, Y[sample])
        row |= {f"{stage}_sigma": both["as_is"], f"{stage}_sigma_scaled": both["scaled"]}
    row["final_trust"] = add if "no" in add else scores.trust(X[sample], maps["add"][sample])
    moved = {"median": add, "max": add} if "no" in add else scores.moved(maps["fit"][old], maps["add"][old])
    return row | {"moved_median": moved["median"], "moved_max": moved["max"]}


def outcome(stage: str, stages: dict[str, dict[str, Any]]) -> dict[str, Any]:
    """Return the answer of a stage or, if it was not reached, the reason."""
    if stage in stages:
        return stages[stage]
    before = ("import", "fit", "place", "end") if stage == "single" else ("import", "fit", "end")
    reasons = [stages[earlier]["no"] for earlier in before if "no" in stages.get(earlier, {})]
    return {"no": reasons[0] if reasons else "not reached"}


def follow(key: str, stream: Stream, limit: float, memory: float, threads: int) -> dict[str, Any]:
    """Return sigma of the latest points at about 20 moments of a stream."""
    X = stream.points
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        np.save(folder / "points.npy", X)
        job = {"kind": "follow", "method": key, "points": str(folder / "points.npy")}
        # Without timing there is no warm-up, so allow a minute for compilers.
        lines = child(job | {"limit": limit + 60, "memory": memory}, folder, threads)
        seen, sigmas = [], []
        for line in lines:
            if "seen" in line:
                end = line["seen"]
                seen.append(end)
                sigmas.append(scores.sigma(pdist(X[max(0, end - RECENT) : end]), np.load(folder / f"{end}.npy")))
    reasons = [line["no"] for line in lines if "no" in line]
    method = METHODS[key]
    return {
        "method": key,
        "label": method.label,
        "learns": method.adds == "partial_fit",
        "has_scale": method.has_scale,
        "seen": seen,
        "sigma": [both["as_is"] for both in sigmas],
        "sigma_scaled": [both["scaled"] for both in sigmas],
        "no": reasons[0] if reasons else None,
    }

"""Runs with checkpoints that are killed or asked to stop at any moment end with the same bytes."""

import os
import signal
import time

from torture.processes import finish, options, start, strike, succeed, write_input


def run(case):
    rng, online = case.rng, case.chance(0.5)
    rows = rng.randint(200, 800) if online else rng.randint(2_000, 20_000)
    source = write_input(case, rows, rng.choice(["csv", "jsonl", "npy", "parquet"]))
    kind = rng.choice(["csv", "jsonl", "npy"] if online else ["csv", "jsonl", "npy", "parquet"])
    command = [*source, *options(case, online=online)]
    seconds = succeed(case.folder, *command, "-o", f"whole.{kind}")
    saving = ["-o", f"o.{kind}", "--checkpoint", "c.ckpt", "--checkpoint-every", rng.choice(["0s", "0.02s", "0.2s"])]
    case.count(streams=1, arrivals=rows)
    for _ in range(rng.randint(3, 9)):
        saved, since = case.folder / "c.ckpt", time.time_ns()
        process = start(case.folder, *command, *saving, "--resume")
        signum, delay = rng.choice([signal.SIGKILL, signal.SIGKILL, signal.SIGTERM, signal.SIGINT]), rng.random()
        if case.chance(0.6):  # while it works: it takes most of the time to start
            while process.poll() is None and not (saved.exists() and saved.stat().st_mtime_ns > since):
                time.sleep(0.002)
            delay *= 0.3
        sent = strike(process, delay * 1.2 * seconds, signum)
        code, err = finish(process)
        assert "Traceback" not in err or is_start(err), err
        if code == 0:
            break
        case.count(kills=1)
        assert sent, f"exit code {code}: {err}"
        assert code in (-signum, 128 + signum) or is_start(err), f"signal {signum}, exit code {code}: {err}"
    succeed(case.folder, *command, *saving, "--resume")
    found, expected = ((case.folder / f"{name}.{kind}").read_bytes() for name in ("o", "whole"))
    assert found == expected, f"{len(found)} bytes instead of {len(expected)}"
    assert sorted(os.listdir(case.folder)) == sorted(["c.ckpt", f"o.{kind}", f"whole.{kind}", source[0]])


def is_start(err):
    """Whether the interpreter itself was interrupted, before the first line of the package."""
    return "driftmap/" not in err.replace("-m driftmap", "") or "site module" in err

"""Runs with checkpoints that are killed or asked to stop at any moment end with the same bytes."""

import os
import signal
import time

from driftmap.tables.formats import OUTPUTS
from torture.processes import KINDS, finish, options, start, strike, succeed, write_input


def run(case):
    rng, online = case.rng, case.chance(0.5)
    rows = rng.randint(200, 800) if online else rng.randint(2_000, 20_000)
    source = write_input(case, rows, rng.choice(KINDS))
    kind = rng.choice([kind for kind in KINDS if not online or OUTPUTS[f".{kind}"].continues])
    command = ["embed", *source, *options(case, online=online)]
    seconds = succeed(case.folder, *command, "-o", f"whole.{kind}")
    saving = ["-o", f"o.{kind}", "--checkpoint", "c.ckpt", "--checkpoint-every", rng.choice(["0s", "0.02s", "0.2s"])]
    case.count(streams=1, arrivals=rows)
    for _ in range(rng.randint(3, 9)):
        if kill(case, [*command, *saving, "--resume"], seconds):
            check(case, source[0], kind)
    succeed(case.folder, *command, *saving, "--resume")
    check(case, source[0], kind)


def kill(case, command, seconds):
    """Start or resume a run and end it after a while; says whether it was faster."""
    saved, since, rng = case.folder / "c.ckpt", time.time_ns(), case.rng
    process = start(case.folder, *command)
    signum, delay = rng.choice([signal.SIGKILL, signal.SIGKILL, signal.SIGTERM, signal.SIGINT]), rng.random()
    if case.chance(0.7):  # while it works: it takes most of the time to start
        while process.poll() is None and not (saved.exists() and saved.stat().st_mtime_ns > since):
            time.sleep(0.001)
        delay *= 0.1
    sent = strike(process, delay * 1.2 * seconds, signum)
    code, err = finish(process)
    assert "Traceback" not in err or is_start(err), err
    if code:
        case.count(kills=1)
        assert sent, f"exit code {code}: {err}"
        assert code in (-signum, 128 + signum) or is_start(err), f"signal {signum}, exit code {code}: {err}"
    return code == 0


def check(case, source, kind):
    """The output is that of the run that was not killed, nothing else is left; the next run begins from the start."""
    found, expected = ((case.folder / f"{name}.{kind}").read_bytes() for name in ("o", "whole"))
    assert found == expected, f"{len(found)} bytes instead of {len(expected)}"
    assert sorted(os.listdir(case.folder)) == sorted(["c.ckpt", f"o.{kind}", f"whole.{kind}", source])
    for name in ("c.ckpt", f"o.{kind}"):
        (case.folder / name).unlink()


def is_start(err):
    """Whether the interpreter itself was interrupted, before the first line of the package."""
    return "driftmap/" not in err.replace("-m driftmap", "") or "site module" in err

"""A growing file is followed by commands that are killed: every row is written once, in the same bytes."""

import os
import signal
import time

from torture.processes import PATIENCE, finish, options, start, succeed, write_input


def run(case):
    rng, folder = case.rng, case.folder
    kind, rows = rng.choice(["csv", "jsonl"]), rng.randint(50, 300)
    source = write_input(case, rows, kind)
    words = [word for word in options(case, online=True) if word not in ("--online", "--novelty")]
    succeed(folder, "embed", *source, *words, "--online", "--novelty", "-o", "whole.csv")
    data = (folder / source[0]).read_bytes()
    ends = sorted(rng.sample(range(len(data)), rng.randint(3, 40))) + [len(data)]  # also within lines
    growing = f"live.{kind}"
    live = ["follow", growing, *source[1:], *words, "-o", "o.csv", "--checkpoint", "c.ckpt", "--resume"]
    live += ["--checkpoint-every", rng.choice(["0s", "0.01s", "0.1s"])]
    (folder / growing).touch()
    case.count(streams=1, arrivals=rows)
    process, written = start(folder, *live), 0
    deadlines = {end for end in ends[:-1] if case.chance(3 / len(ends))}
    for end in ends:
        with (folder / growing).open("ab") as file:
            file.write(data[written:end])
        written = end
        time.sleep(rng.random() * 0.02)
        if end in deadlines:
            time.sleep(rng.random() * 0.6)
            signum = rng.choice([signal.SIGKILL, signal.SIGKILL, signal.SIGTERM])
            process.send_signal(signum)
            code, err = finish(process)
            assert code in (-signum, 128 + signum), f"exit code {code}: {err}"
            assert "Traceback" not in err, err
            case.count(kills=1)
            process = start(folder, *live)
    wait_for(folder / "o.csv", rows + 1, process)
    process.send_signal(signal.SIGTERM)
    code, err = finish(process)
    assert code == 143, f"exit code {code}: {err}"
    assert (folder / "o.csv").read_bytes() == (folder / "whole.csv").read_bytes()
    left = set(os.listdir(folder)) - {"c.ckpt", growing, "o.csv", source[0], "whole.csv"}
    assert not left, f"files that are left: {sorted(left)}"


def wait_for(path, lines, process):
    """Until a file has these lines; an error if the process ends or adds no line for a long time."""
    found, last = 0, time.monotonic()
    while found < lines:
        before, found = found, path.read_bytes().count(b"\n") if path.exists() else 0
        last = time.monotonic() if found != before else last
        if process.poll() is not None:
            raise AssertionError(f"it ended: {finish(process)}")
        if time.monotonic() > last + PATIENCE:
            process.send_signal(signal.SIGABRT)
            end = path.read_bytes()[-200:] if path.exists() else b""
            raise AssertionError(f"{path.name} has {found} of {lines} lines, the last ones {end}: {finish(process)}")
        time.sleep(0.01)

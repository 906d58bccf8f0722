"""Ctrl-C and other requests to end at any moment: one line and nothing left behind, or complete success."""

import os
import signal

from torture.kills import is_start
from torture.processes import KINDS, finish, options, start, strike, succeed, without_warnings, write_input

SIGNALS = {signal.SIGINT: "interrupted", signal.SIGTERM: "terminated", signal.SIGHUP: "hung up"}


def run(case):
    rng, online = case.rng, case.chance(0.3)
    rows = rng.randint(100, 400) if online else rng.randint(1_000, 20_000)  # large files are read by a thread
    kind = rng.choice(KINDS)
    source = write_input(case, rows, kind)
    output = f"o.{rng.choice(['csv', 'parquet', 'npy'])}"
    command = ["embed", *source, *options(case, online=online), "-o", output, "--quiet"]
    command += rng.choice([[], [], ["--plot", "p.png"], [] if online else ["--landmarks-out", "l.csv"]])
    seconds = succeed(case.folder, *command)
    names = sorted(os.listdir(case.folder))
    made = {name: (case.folder / name).read_bytes() for name in names if name != source[0]}
    case.count(streams=1, arrivals=rows)
    for _ in range(rng.randint(3, 9)):
        for name in made:
            (case.folder / name).unlink(missing_ok=True)
        process, signum = start(case.folder, *command), rng.choice(sorted(SIGNALS))
        case.count(interrupts=strike(process, rng.random() * 1.1 * seconds, signum))
        code, err = finish(process)
        if is_start(err) and code not in (0, 128 + signum):
            assert code in (-signum, 1), f"exit code {code}: {err}"
        else:
            said = {0: "", 128 + signum: f"driftmap: {SIGNALS[signum]}\n"}
            assert said.get(code) == without_warnings(err), f"exit code {code}: {err}"
        left = sorted(os.listdir(case.folder))
        assert code or left == names, left
        assert set(left) <= set(names), left
        for name in set(left) & set(made):
            assert (case.folder / name).read_bytes() == made[name], f"{name} is not whole"

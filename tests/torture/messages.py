"""Messages of a broker are followed by commands that are killed, and the broker is stopped and started again: every row
is written once, in the same bytes."""

import itertools
import signal
import time

from brokers import available, running
from torture.follows import wait_for
from torture.processes import finish, options, start, succeed, write_input


def run(case):
    rng, folder = case.rng, case.folder
    if not available():
        return
    kind, rows = rng.choice(available()), rng.randint(50, 300)
    source = write_input(case, rows, "jsonl")
    words = [word for word in options(case, online=True) if word not in ("--online", "--novelty")]
    succeed(folder, "embed", *source, *words, "--online", "--novelty", "-o", "whole.csv")
    payloads = (folder / source[0]).read_bytes().splitlines()
    case.count(streams=1, arrivals=rows)
    with running(kind, folder / "server") as server:
        live = ["follow", server.url, *source[1:], *words, "-o", "o.csv", "--checkpoint", "c.ckpt", "--resume"]
        live += ["--checkpoint-every", rng.choice(["0s", "0.01s", "0.1s"])]
        if kind == "mqtt":  # a session begins with the first connection
            process = start(folder, *live)
            server.wait_for_session()
            strike(process, signal.SIGKILL)
        ends = sorted(rng.sample(range(1, rows), rng.randint(2, 8))) + [rows]
        server.publish(payloads[: ends[0]])
        process = start(folder, *live)
        for first, last in itertools.pairwise(ends):
            time.sleep(rng.random() * 1.5)
            strike(process, rng.choice([signal.SIGKILL, signal.SIGKILL, signal.SIGTERM]))
            case.count(kills=1)
            if kind != "kafka" and case.chance(0.3):  # whose mock cluster holds nothing on the disk
                server.stop()
                server.start()
                case.count(kills=1)
            if case.chance(0.5):
                server.publish(payloads[first:last])
                process = start(folder, *live)
            else:
                process = start(folder, *live)
                server.publish(payloads[first:last])
                if kind != "kafka" and case.chance(0.3):
                    server.stop()
                    time.sleep(rng.random() * 0.5)
                    server.start()
                    case.count(kills=1)
        wait_for(folder / "o.csv", rows + 1, process)
        strike(process, signal.SIGTERM)
    assert (folder / "o.csv").read_bytes() == (folder / "whole.csv").read_bytes()


def strike(process, signum):
    process.send_signal(signum)
    code, err = finish(process)
    assert code in (-signum, 128 + signum), f"exit code {code}: {err}"
    assert "Traceback" not in err, err

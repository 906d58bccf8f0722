"""A growing file is followed by commands that are killed, while a receiver of webhooks fails now and then: each alert
arrives, and all copies of one have the same bytes."""

import itertools
import json
import signal
import time

from torture.follows import wait_for
from torture.messages import strike
from torture.processes import options, start, succeed, write_input
from webhooks import Receiver


def run(case):
    rng, folder = case.rng, case.folder
    rows = rng.randint(100, 300)
    source = write_input(case, rows, "csv")
    words = [word for word in options(case, online=True) if word not in ("--online", "--novelty")]
    words += ["--alert", rng.choice(["0.8", "0.9", "1.2"])]
    succeed(folder, "embed", *source, *words, "--online", "-o", "whole.csv", "--alerts", "whole.jsonl")
    expected = [json.loads(line) for line in (folder / "whole.jsonl").read_text().splitlines()]
    case.count(streams=1, arrivals=rows)
    data = (folder / source[0]).read_bytes()
    ends = [0, *sorted(rng.sample(range(len(data)), rng.randint(3, 8))), len(data)]
    (folder / "live.csv").touch()
    with Receiver() as receiver:
        live = ["follow", "live.csv", *source[1:], *words, "-o", "o.csv", "--checkpoint", "c.ckpt", "--resume"]
        live += ["--alerts", "o.jsonl", "--checkpoint-every", rng.choice(["0s", "0.01s"])]
        live += ["--alert-webhook", receiver.url]
        for i, (first, last) in enumerate(itertools.pairwise(ends)):
            receiver.answers += [rng.choice([500, 503, None]) for _ in range(rng.randint(0, 3))]
            receiver.delay = rng.choice([0.0, 0.0, 0.05])
            process = start(folder, *live)
            with (folder / "live.csv").open("ab") as file:
                file.write(data[first:last])
            if i < len(ends) - 2:
                time.sleep(rng.random() * 1.5)
                strike(process, rng.choice([signal.SIGKILL, signal.SIGKILL, signal.SIGTERM]))
                case.count(kills=1)
        receiver.delay = 0.0
        receiver.answers.clear()
        wait_for(folder / "o.csv", rows + 1, process)
        for _ in range(2000):
            if len({json.loads(body)["id"] for body in receiver.taken()}) == len(expected):
                break
            time.sleep(0.01)
        strike(process, signal.SIGTERM)
        found = {}
        for body in receiver.taken():
            assert found.setdefault(json.loads(body)["id"], body) == body
    written = folder / "o.jsonl"  # a run that is stopped removes an output without a byte
    assert (written.read_bytes() if written.exists() else b"") == (folder / "whole.jsonl").read_bytes()
    alerts = sorted((json.loads(body)["alert"] for body in found.values()), key=lambda alert: alert["row"])
    assert alerts == expected

"""Brokers forget: streams are deleted, replaced or lose rows while a command follows them or is stopped. Rows that can
still be read are all written; otherwise the command ends with one line that says so, and has written no wrong row."""

import signal
import time

from brokers import available, running
from torture.follows import wait_for
from torture.messages import strike
from torture.processes import finish, options, start, succeed, write_input

WHAT = {
    "redis": ["delete", "replace", "row", "old row", "restart"],
    "nats": ["delete", "replace", "row", "old row", "restart", "consumer"],
    "mqtt": ["session"],
}
"""Kafka's mock cluster forgets only together with its address, so that it is another input then."""


def run(case):
    rng, folder = case.rng, case.folder
    if not (kinds := [kind for kind in available() if kind in WHAT]):
        return
    kind = rng.choice(kinds)
    what, rows = rng.choice(WHAT[kind]), rng.randint(40, 200)
    source = write_input(case, rows, "jsonl")
    lines = (folder / source[0]).read_bytes().splitlines(keepends=True)
    lines += lines if kind == "mqtt" else []  # equal rows of another session are no copies
    (folder / source[0]).write_bytes(b"".join(lines))
    words = [word for word in options(case, online=True) if word not in ("--online", "--novelty")]
    succeed(folder, "embed", *source, *words, "--online", "--novelty", "-o", "whole.csv")
    case.count(streams=1, arrivals=len(lines))
    payloads, half = [line.rstrip() for line in lines], len(lines) // 2
    with running(kind, folder / "server") as server:
        live = [*source[1:], *words, "-o", "o.csv", "--checkpoint", "c.ckpt", "--resume", "--checkpoint-every", "0s"]
        process = start(folder, "follow", server.url, *live)
        if kind == "mqtt":
            server.wait_for_session()
        server.publish(payloads[:half])
        wait_for(folder / "o.csv", half + 1, process)
        runs_on = what == "session" or (what != "row" and case.chance(0.7))
        if not runs_on:
            strike(process, signal.SIGTERM)
        is_whole = forget(case, server, what, payloads, half)
        case.count(edits=1)
        if not runs_on:
            process = start(folder, "follow", server.url, *live)
        if is_whole:
            wait_for(folder / "o.csv", len(lines) + 1, process)
            strike(process, signal.SIGTERM)
        else:
            code, err = finish(process)
            assert code == 2, f"exit code {code}: {err}"
            assert "Traceback" not in err, err
            last = err.splitlines()[-1]
            assert "; start again without the checkpoint" in last or "has no such stream" in last, err
    written, whole = (folder / "o.csv").read_bytes(), (folder / "whole.csv").read_bytes()
    assert whole.startswith(written)
    assert len(written) == len(whole) or not is_whole


def forget(case, server, what, payloads, half):
    """Let the broker forget; says whether all rows can still be read."""
    rng = case.rng
    if what == "delete":
        server.delete()
        return False
    if what == "replace":
        server.delete()
        time.sleep(rng.choice([0, 0, 0.3]))
        server._prepare()
        server.publish(payloads[: rng.randint(1, len(payloads))])
        return False
    if what == "session":
        server.forget()
        server.wait_for_session()
    elif what == "restart":
        server.stop()
        time.sleep(rng.random())
        server.start()
    elif what == "consumer":
        server.delete_consumers()
    server.publish(payloads[half:])
    if what == "row":
        server.delete_message(rng.randint(half + 1, len(payloads) - 1))
        return False
    if what == "old row":
        server.delete_message(rng.randint(1, half))
    return True

"""``driftmap follow URL``: streams of messages through kills, bad messages and lost connections; ``--sink``."""

import json
import signal
import subprocess
import sys
import time

import numpy as np
import pytest

from brokers import SERVERS, rows_as_json, running
from driftmap.cli import main
from driftmap.storage import checkpoint

X = np.cumsum(np.random.default_rng(1).standard_normal((150, 3)), axis=0)
OPTIONS = ["--landmarks", "10", "--alert", "0.95", "--checkpoint-every", "0s"]


def reference(folder, payloads):
    """What one pass over the same rows writes."""
    (folder / "rows.jsonl").write_bytes(b"".join(row + b"\n" for row in payloads))
    out, alerts = folder / "one.csv", folder / "one.jsonl"
    words = [sys.executable, "-m", "driftmap", "follow", "-", "-o", out, "--alerts", alerts, *OPTIONS[:-2]]
    with (folder / "rows.jsonl").open("rb") as rows:
        subprocess.run(list(map(str, words)), stdin=rows, check=True, capture_output=True)
    return out.read_bytes(), alerts.read_bytes()


class Run:
    """A followed run that is started again and again."""

    def __init__(self, url, folder, *more):
        self.out, self.alerts, self.folder = folder / "map.csv", folder / "alerts.jsonl", folder
        state = ["--checkpoint", folder / "map.ckpt", "--resume"]
        self.words = ["follow", url, "-o", self.out, "--alerts", self.alerts, *OPTIONS, *state, *more]
        self.process = None

    def start(self):
        words = [sys.executable, "-m", "driftmap", *map(str, self.words)]
        with (self.folder / "said").open("ab") as said:
            self.process = subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=said)

    def wait(self, rows):
        """Until that many rows are written."""
        for _ in range(1200):
            if self.out.exists() and self.out.read_bytes().count(b"\n") > rows:
                return
            assert self.process.poll() is None, (self.folder / "said").read_text()
            time.sleep(0.05)
        raise AssertionError((self.folder / "said").read_text())

    def kill(self, number=signal.SIGKILL):
        self.process.send_signal(number)
        return self.process.wait()


@pytest.mark.parametrize("kind", SERVERS)
def test_a_killed_run_goes_on_with_the_same_bytes(kind, tmp_path):
    payloads = rows_as_json(X)
    with running(kind, tmp_path / "server") as server:
        run = Run(server.url, tmp_path, *(["--sink", server.url.replace("rows", "map")] if kind == "redis" else []))
        if kind == "mqtt":  # a session begins with the first connection
            run.start()
            server.wait_for_session()
            run.kill()
        server.publish(payloads[:90])
        run.start()
        run.wait(40)
        run.kill()
        server.publish(payloads[90:])
        run.start()
        run.wait(150)
        assert run.kill(signal.SIGINT) == 130
        sent = server.entries("map") if kind == "redis" else []
    coordinates, alerts = reference(tmp_path, payloads)
    assert run.out.read_bytes() == coordinates
    assert run.alerts.read_bytes() == alerts
    if kind == "redis":  # at least once
        records = {json.loads(data)["id"]: json.loads(data) for data in sent}
        assert {*range(150)} <= set(records)
        last = coordinates.decode().splitlines()[-1].split(",")
        assert [records[149]["frame"], records[149]["x1"]] == [int(last[0]), float(last[1])]
        assert any(str(key).startswith("alert-") for key in records) == bool(alerts)


@pytest.mark.parametrize(("kind", "where"), [("redis", "entry 1 after "), ("nats", "sequence 5")])
def test_a_bad_message_is_named_by_its_position(kind, where, tmp_path):
    with running(kind, tmp_path / "server") as server:
        server.publish(rows_as_json(X[:4]))
        run = Run(server.url, tmp_path)
        run.start()
        run.wait(4)
        server.publish([b'{"a": 1, "b": "x", "c": 2}'])
        assert run.process.wait(30) == 2
        said = (tmp_path / "said").read_text()
        assert where in said.splitlines()[-1]
        assert "column 'b' is 'x', not a number" in said
        skipping = Run(server.url, tmp_path / "skip", "--skip-bad")
        skipping.folder.mkdir()
        server.publish(rows_as_json(X[4:6]))
        skipping.start()
        skipping.wait(6)
        skipping.kill(signal.SIGINT)
        assert "1 bad line" in (tmp_path / "skip" / "said").read_text()


@pytest.mark.parametrize("kind", ["nats", "mqtt", "kafka"])
def test_every_broker_is_a_sink(kind, tmp_path):
    from driftmap.sources.brokers import open_broker, open_sink
    from driftmap.sources.brokers.base import Record

    with running(kind, tmp_path / "server") as server:
        source = open_broker(server.url + ("?client=sink" if kind == "mqtt" else ""))
        if kind == "mqtt":
            source._open(0)
        sink = open_sink(server.url)
        sink.send([Record(str(i), json.dumps({"id": i}).encode()) for i in range(5)])
        sink.close()
        rows, position = source.read(0, 10)
        while len(rows) < 5:
            more, position = source.read(position, 10)
            rows += more
        source.close()
    # Kafka's mock cluster has four partitions, over which the ids are spread
    assert sorted(json.loads(row)["id"] for row in rows) == list(range(5))


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["embed", "redis://me:secret@localhost/rows"], "redis://localhost/rows never ends"),
        (["follow", "reddis://me:secret@localhost/rows"], "did you mean 'redis'"),
        (["follow", "redis://me:secret@localhost"], "is not a whole address"),
        (["embed", "rows.csv", "--sink", "redis://me:secret@localhost/map"], "--sink sends rows as they arrive"),
        (["follow", "rows.csv", "--sink", "redis://me:secret@localhost"], "is not a whole address"),
    ],
)
def test_mistakes_are_one_line_without_credentials(words, message, capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "rows.csv").write_text("a,b\n1,2\n")
    assert main([*words, "-o", "map.csv"]) == 2
    said = capsys.readouterr().err
    assert message in said
    assert said.count("\n") == 1
    assert "secret" not in said


def test_credentials_are_neither_stored_nor_printed(tmp_path):
    with running("redis", tmp_path / "server") as server:
        server.publish(rows_as_json(X[:20]))
        url = server.url.replace("//", "//default:Zq7marK@")  # a user without a password, who may give any
        run = Run(url, tmp_path, f"--sink={url.replace('rows', 'map')}")
        run.start()
        run.wait(20)
        assert run.kill(signal.SIGINT) == 130
    said = (tmp_path / "said").read_text()
    assert "go on with: driftmap follow redis://127" in said
    assert f"--sink {server.url.replace('rows', 'map')}" in said
    header = checkpoint.read(tmp_path / "map.ckpt").header
    assert header["run"]["input"]["name"] == server.url
    written = [path for path in tmp_path.iterdir() if path.is_file()]
    assert len(written) >= 3
    assert not any(b"Zq7marK" in path.read_bytes() for path in written)
    assert "Zq7marK" not in json.dumps(header)


@pytest.mark.parametrize(("signum", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_run_whose_sink_is_not_there_can_be_stopped(signum, code, tmp_path):
    pytest.importorskip("redis")
    (tmp_path / "rows.csv").write_text("a,b\n1,2\n3,4\n")
    run = Run(tmp_path / "rows.csv", tmp_path, "--sink", "redis://127.0.0.1:1/map")
    run.start()
    for _ in range(600):
        if "trying again" in (tmp_path / "said").read_text():
            break
        time.sleep(0.05)
    run.process.send_signal(signum)
    assert run.process.wait(30) == code
    said = (tmp_path / "said").read_text()
    assert "did not get the last 1 records" in said
    assert "the last state saved is in" in said.splitlines()[-1]

"""``--alert-webhook``: each alert arrives, signed and in the form of a template; the stream waits for none."""

import contextlib
import hashlib
import hmac
import json
import random
import signal
import ssl
import string
import subprocess
import sys
import time

import numpy as np
import pytest

from brokers import free_port
from driftmap.cli import main, webhooks
from driftmap.cli.arguments import without_credentials
from driftmap.cli.webhooks import TEMPLATES, fields, template
from driftmap.sources import webhook as delivery
from driftmap.sources.addresses import WebhookAddress
from driftmap.sources.webhook import Webhook
from driftmap.utils.errors import InputError
from webhooks import Receiver

MARK = "Zq7marK"
X = np.random.default_rng(1).standard_normal((200, 3))
X[40::16] += np.random.default_rng(2).choice([-1, 1], (10, 3)) * np.arange(10, 20)[:, None]  # rows worth an alert
LINES = ["a,b,c\n", *(f"{a!r},{b!r},{c!r}\n" for a, b, c in X.tolist())]
OPTIONS = ["--landmarks", "10", "--alert", "0.9"]


@pytest.fixture(autouse=True)
def quick(monkeypatch):
    monkeypatch.setattr(delivery, "pause_before", lambda attempt: 0.02)


@pytest.fixture
def rows(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "rows.csv").write_text("".join(LINES))
    return ["embed", "rows.csv", "--online", *OPTIONS, "-o", "map.csv"]


def posted(url, bodies, secret=None, seconds=10.0):
    said = []
    webhook = Webhook(WebhookAddress(url), secret, said.append)
    for body in bodies:
        webhook.put(body)
    webhook.close(seconds)
    return said


def test_each_alert_is_posted_once_and_signed(rows, tmp_path, monkeypatch):
    monkeypatch.setenv("DRIFTMAP_WEBHOOK_SECRET", "a secret")
    with Receiver() as receiver:
        assert main([*rows, "--drift", "50", "--alerts", "a.jsonl", "--alert-webhook", receiver.url]) == 0
    expected = [json.loads(line) for line in (tmp_path / "a.jsonl").read_text().splitlines()]
    bodies = [json.loads(body) for body in receiver.taken()]
    assert [body["alert"] for body in bodies] == expected
    assert len({body["id"] for body in bodies}) == len(expected) > 3
    for _, path, headers, body in receiver.posts:
        assert path == "/hook"
        assert headers["Content-Type"] == "application/json"
        signed = hmac.new(b"a secret", body, hashlib.sha256).hexdigest()
        assert headers["X-Driftmap-Signature"] == f"sha256={signed}"


def test_what_fails_is_tried_again_and_what_is_refused_is_not():
    with Receiver() as receiver:
        receiver.answers = [500, None, 429, 200, 400, 302, 200]
        said = posted(receiver.url, [b"1", b"2", b"3", b"4"])
    assert [body for *_, body in receiver.posts] == [b"1", b"1", b"1", b"1", b"2", b"3", b"4"]
    place = f"http://127.0.0.1:{receiver.port}/..."
    assert said == [
        f"{place} does not take alerts (it answers 500 Internal Server Error): trying again",
        f"{place} takes alerts again",
        f"{place} refuses an alert: it answers 400 Bad Request",
        f"{place} refuses an alert: it answers 302, a redirect, which is not followed: give its last address",
    ]
    assert all(path == "/hook" for _, path, _, _ in receiver.posts)


def test_an_unreachable_webhook_delays_no_row(rows, tmp_path, capsys, monkeypatch):
    assert main(rows) == 0
    before = (tmp_path / "map.csv").read_bytes()
    monkeypatch.setattr(webhooks, "DRAIN_SECONDS", 0.1)
    capsys.readouterr()
    url = f"http://127.0.0.1:{free_port()}/services/{MARK}?token={MARK}"
    assert main([*rows, "--alerts", "a.jsonl", "--alert-webhook", url]) == 0
    assert (tmp_path / "map.csv").read_bytes() == before
    said = capsys.readouterr().err
    n_alerts = (tmp_path / "a.jsonl").read_text().count("\n")
    assert "does not take alerts ([Errno 111] Connection refused): trying again" in said
    assert f"did not get {n_alerts} alerts" in said
    assert MARK not in said
    with Receiver() as slow:
        slow.delay = 0.3
        webhook = Webhook(WebhookAddress(slow.url), None, lambda text: None)
        start = time.perf_counter()
        for _ in range(1000):
            webhook.put(b"{}")
        assert time.perf_counter() - start < 0.25  # one answer takes longer
        webhook.close(0)


def test_the_queue_is_bounded(monkeypatch):
    monkeypatch.setattr(delivery, "MOST", 5)
    with Receiver() as receiver:
        receiver.answers, receiver.delay = [], 0.2
        said = posted(receiver.url, [str(i).encode() for i in range(20)], seconds=0.0)
        receiver.delay = 0.0
    assert said[0].endswith("5 alerts wait; the oldest ones are dropped from now on")
    assert "did not get" in said[1]


def certificate(folder):
    """A certificate that nobody has signed, by the program openssl."""
    files = folder / "key.pem", folder / "certificate.pem"
    words = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=localhost"]
    words += ["-addext", "subjectAltName=IP:127.0.0.1", "-keyout", str(files[0]), "-out", str(files[1])]
    try:
        subprocess.run(words, check=True, capture_output=True)
    except FileNotFoundError:
        pytest.skip("openssl is not installed")
    return files


def test_certificates_are_checked(tmp_path, monkeypatch):
    key, signed = certificate(tmp_path)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(signed, key)
    with Receiver(context) as receiver:
        url = receiver.url.replace("http:", "https:")
        said = posted(url, [b"1"], seconds=1.0)
        assert receiver.posts == []
        assert "CERTIFICATE_VERIFY_FAILED" in said[0]
        monkeypatch.setenv("SSL_CERT_FILE", str(signed))
        assert posted(url, [b"2"]) == []
        assert receiver.taken() == [b"2"]


ALERT = {"row": 1234, "time": 'a "time"', "reach": 4.2, "features": [{"name": "load"}, {"name": "heat"}]}
DRIFT = {"kind": "drift", "row": 400, "time": None, "began": 300, "features": [{"name": "load"}]}


def test_templates_give_what_slack_and_alertmanager_take():
    found = {name: json.loads(template(name).substitute(fields("t.csv", ALERT))) for name in TEMPLATES}
    text = 't.csv: row 1,234 (a "time") is novel, with reach 4.2: load, heat'
    assert found["slack"] == {"text": text}
    assert found["alertmanager"][0]["annotations"] == {"summary": text}
    assert found["alertmanager"][0]["labels"]["id"] == "t.csv/novelty-1234"
    assert found["json"]["alert"] == ALERT
    drift = json.loads(template("slack").substitute(fields("t.csv", DRIFT)))
    assert drift["text"] == "t.csv: the rows since 300 differ from those before, seen at row 400: load"


def test_a_template_of_ones_own(rows, tmp_path):
    (tmp_path / "own.json").write_text('{"channel": "#maps", "row": $row, "price": "$$5", "what": $text}')
    with Receiver() as receiver:
        words = ["--alert-webhook", receiver.url, "--webhook-template", "own.json"]
        assert main([*rows, *words]) == 0
    body = json.loads(receiver.taken()[0])
    assert (body["channel"], body["price"], type(body["row"])) == ("#maps", "$5", int)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--alert-webhook", f"ftp://u:{MARK}@h/x"], "--alert-webhook takes http:// or https://"),
        (["--alert-webhook", f"hooks.slack.com/{MARK}"], "--alert-webhook takes http:// or https://"),
        (["--alert-webhook", f"https://u:{MARK}@h:0/x"], "https://... is not a whole address"),
        ([f"--alert-webhook=https:///{MARK}"], "https://... is not a whole address"),
        (["--alert-webhook", f"https://h/a b{MARK}"], "https://... has characters that must be escaped"),
        (["--webhook-template", "slack"], "--webhook-template is for --alert-webhook"),
        (
            ["--alert-webhook", "http://h/x", "--webhook-template", "slak"],
            "'slak' is none of json, slack",
        ),
        (["--alert-webhook", "http://h/x", "--webhook-template", "bad.txt"], "bad.txt gives no JSON"),
        (
            ["--alert-webhook", "http://h/x", "--webhook-template", "new.txt"],
            "new.txt: there is no $txt; there are",
        ),
    ],
)
def test_mistakes_are_one_line(words, message, rows, tmp_path, capsys):
    (tmp_path / "bad.txt").write_text('{"text": "$text"}')
    (tmp_path / "new.txt").write_text('{"text": $txt}')
    assert main([*rows, *words]) == 2
    said = capsys.readouterr().err
    assert message in said.replace(": gives", " gives")
    assert said.count("\n") == 1
    assert MARK not in said


def test_a_webhook_needs_alerts(rows, capsys):
    words = [word for word in rows if word not in ("--alert", "0.9")]
    assert main([*words, "--alert-webhook", "http://h/x"]) == 2
    assert "--alert-webhook needs to know which rows are worth an alert" in capsys.readouterr().err


def test_the_address_is_shown_without_credentials():
    url = f"https://me:{MARK}@hooks.example.org:8443/services/{MARK}?key={MARK}"
    for words in (["--alert-webhook", url], [f"--alert-webhook={url}"]):
        shown = without_credentials(["follow", "x.csv", *words])
        assert shown == ["follow", "x.csv", "--alert-webhook", "https://hooks.example.org:8443/..."]
        found = shown[-1]
        assert (found.host, found.port, found.credentials) == ("hooks.example.org", 8443, f"me:{MARK}")
        assert found.path == f"/services/{MARK}?key={MARK}"
    assert WebhookAddress("http://h").path == "/"
    with pytest.raises(InputError, match="takes http://"):
        WebhookAddress("h")
    assert string.Template(TEMPLATES["slack"]).is_valid()


def test_alerts_of_a_killed_run_all_arrive(tmp_path):
    rng = random.Random(3)
    (tmp_path / "rows.csv").write_text("".join(LINES))
    words = ["embed", "rows.csv", "--online", *OPTIONS, "-o", "one.csv", "--alerts", "one.jsonl"]
    subprocess.run([sys.executable, "-m", "driftmap", *words], cwd=tmp_path, check=True, capture_output=True)
    expected = [json.loads(line) for line in (tmp_path / "one.jsonl").read_text().splitlines()]
    assert len(expected) > 5
    (tmp_path / "live.csv").write_text("".join(LINES[:100]))
    with Receiver() as receiver:
        receiver.answers = [503] * 3
        words = ["follow", "live.csv", *OPTIONS, "-o", "map.csv", "--checkpoint", "map.ckpt", "--resume"]
        words += ["--checkpoint-every", "0s", "--alert-webhook", receiver.url]
        for i in range(3):
            process = subprocess.Popen([sys.executable, "-m", "driftmap", *words], cwd=tmp_path, stderr=subprocess.PIPE)
            wait_for_lines(tmp_path / "map.csv", (60, 150, 200)[i])
            if i == 0:
                with (tmp_path / "live.csv").open("a") as file:
                    file.write("".join(LINES[100:]))
            if i < 2:
                time.sleep(0.1 * rng.random())
                process.kill()
                process.communicate()
        for _ in range(500):
            if len({json.loads(body)["id"] for body in receiver.taken()}) == len(expected):
                break
            time.sleep(0.02)
        process.send_signal(signal.SIGINT)
        said = process.communicate()[1].decode()
    assert str(receiver.url) not in said
    assert f"--alert-webhook http://127.0.0.1:{receiver.port}/..." in said
    found = {}
    for body in receiver.taken():
        assert found.setdefault(json.loads(body)["id"], body) == body
    alerts = sorted((json.loads(body)["alert"] for body in found.values()), key=lambda alert: alert["row"])
    assert alerts == expected


def wait_for_lines(path, n):
    for _ in range(1200):
        with contextlib.suppress(FileNotFoundError):
            if path.read_bytes().count(b"\n") > n:
                return
        time.sleep(0.05)
    raise AssertionError(path)

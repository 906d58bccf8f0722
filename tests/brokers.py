"""Brokers on this machine for the tests: real servers of Redis, NATS and MQTT, and Kafka's mock cluster."""

import asyncio
import contextlib
import importlib.util
import json
import shutil
import socket
import subprocess
import time
from pathlib import Path

import pytest

SERVERS = {"redis": "redis-server", "nats": "nats-server", "mqtt": "mosquitto", "kafka": ""}
PATIENCE = 60
"""Seconds to wait until a broker has a message."""
CLIENTS = {"redis": "redis", "nats": "nats", "mqtt": "paho.mqtt.client", "kafka": "confluent_kafka"}


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def program_of(kind):
    """The server of a broker; None where it is missing. Kafka's mock cluster needs none."""
    return (
        "" if kind == "kafka" else shutil.which(SERVERS[kind], path="/usr/bin:/usr/sbin:/usr/local/bin:/usr/local/sbin")
    )


def available():
    """The brokers whose server and client are installed."""
    return [
        kind
        for kind in SERVERS
        if program_of(kind) is not None and importlib.util.find_spec(CLIENTS[kind].split(".")[0])
    ]


class Server:
    """A broker that can be stopped and started again on the same port, with what it holds on the disk."""

    def __init__(self, kind, folder):
        pytest.importorskip(CLIENTS[kind], reason=f"{kind} needs its client: pip install driftmap[{kind}]")
        self.program = program_of(kind)
        if self.program is None:
            pytest.skip(f"{SERVERS[kind]} is not installed")
        self.kind, self.folder, self.port, self.process = kind, Path(folder), free_port(), None
        self.folder.mkdir(parents=True, exist_ok=True)
        self.url = f"{kind}://127.0.0.1:{self.port}/rows"

    def start(self):
        folder, port = self.folder, str(self.port)
        if self.kind == "kafka":
            self._start_mock()
            return
        if self.kind == "redis":
            words = ["--port", port, "--bind", "127.0.0.1", "--dir", folder, "--appendonly", "yes", "--save", ""]
        elif self.kind == "nats":
            words = ["-a", "127.0.0.1", "-p", port, "-js", "-sd", folder]
        else:
            settings = folder / "mosquitto.conf"
            settings.write_text(
                f"listener {port} 127.0.0.1\nallow_anonymous true\npersistence true\npersistence_location {folder}/\n"
                "autosave_interval 1\nautosave_on_changes true\nmax_queued_messages 0\nuser root\n"
                f"log_dest file {folder}/log\nlog_type subscribe\n"
            )
            words = ["-c", settings]
        self.process = subprocess.Popen(
            [self.program, *map(str, words)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        for _ in range(200):
            with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", self.port), 1):
                break
            time.sleep(0.05)
        else:
            raise RuntimeError(f"{self.program} does not answer")
        self._prepare()

    def _start_mock(self):
        import confluent_kafka

        # The mock cluster lives as long as this client; others reach it by the addresses of its brokers.
        self.process = confluent_kafka.Producer(
            {"test.mock.num.brokers": 1, "bootstrap.servers": "mock", "log_level": 0}
        )
        brokers = self.process.list_topics(timeout=10).brokers
        broker = next(iter(brokers.values()))
        self.port = broker.port
        self.url = f"kafka://{broker.host}:{broker.port}/rows"
        self.process.list_topics("rows", timeout=10)  # creates the topic, with four partitions

    def _prepare(self):
        if self.kind == "nats":
            self._nats(lambda jetstream: jetstream.add_stream(name="rows", subjects=["rows"]))

    def stop(self):
        if self.process is not None and self.kind != "kafka":
            self.process.terminate()
            self.process.wait()
        self.process = None

    def forget(self):
        """Start again without anything that the broker held; Kafka's mock cluster has another address then."""
        self.stop()
        for path in self.folder.iterdir():
            shutil.rmtree(path) if path.is_dir() else path.unlink()
        self.start()

    def delete(self):
        """Delete the stream."""
        if self.kind == "redis":
            import redis

            with redis.Redis(port=self.port) as client:
                client.delete("rows")
        else:
            self._nats(lambda jetstream: jetstream.delete_stream("rows"))

    def delete_message(self, number):
        """Delete a message of the stream, counted from 1."""
        if self.kind == "redis":
            import redis

            with redis.Redis(port=self.port) as client:
                entry, _ = client.xrange("rows", count=number)[-1]
                client.xdel("rows", entry)
        else:
            self._nats(lambda jetstream: jetstream.delete_msg("rows", number))

    def delete_consumers(self):
        """Delete what NATS knows of its readers."""

        async def delete(jetstream):
            for consumer in await jetstream.consumers_info("rows"):
                await jetstream.delete_consumer("rows", consumer.name)

        self._nats(delete)

    def wait_for_session(self):
        """Until a client has subscribed at the broker of MQTT, which keeps messages for it from then on."""
        log = self.folder / "log"
        for _ in range(1200):
            if log.exists() and b" rows\n" in log.read_bytes():
                return
            time.sleep(0.05)
        raise RuntimeError("there is no subscription")

    def publish(self, payloads):
        """Send messages, and wait until the broker has them."""
        if self.kind == "redis":
            import redis

            with redis.Redis(port=self.port) as client, client.pipeline() as pipeline:
                for payload in payloads:
                    pipeline.xadd("rows", {"data": payload})
                pipeline.execute()
        elif self.kind == "nats":

            async def send(jetstream):
                for payload in payloads:
                    await jetstream.publish("rows", payload)

            self._nats(send)
        elif self.kind == "mqtt":
            import paho.mqtt.client as mqtt

            client = mqtt.Client(mqtt.CallbackAPIVersion.VERSION2)
            client.connect("127.0.0.1", self.port)
            client.loop_start()
            sent = [client.publish("rows", payload, qos=1) for payload in payloads]
            for one in sent:
                one.wait_for_publish(PATIENCE)  # returns then, without an error
            published = sum(one.is_published() for one in sent)
            client.disconnect()
            client.loop_stop()
            if published < len(sent):
                raise RuntimeError(f"the broker has {published} of {len(sent)} messages after {PATIENCE} seconds")
        else:
            for payload in payloads:
                self.process.produce("rows", payload, partition=0)
            if left := self.process.flush(PATIENCE):
                raise RuntimeError(f"the broker lacks {left} of {len(payloads)} messages after {PATIENCE} seconds")

    def entries(self, stream):
        """The payloads of a stream of Redis."""
        import redis

        with redis.Redis(port=self.port) as client:
            return [fields[b"data"] for _, fields in client.xrange(stream)]

    def _nats(self, work):
        import nats

        async def run():
            connection = await nats.connect(f"nats://127.0.0.1:{self.port}")
            await work(connection.jetstream())
            await connection.close()

        asyncio.run(run())


@contextlib.contextmanager
def running(kind, folder):
    server = Server(kind, folder)
    server.start()
    try:
        yield server
    finally:
        server.stop()


def rows_as_json(X):
    return [json.dumps({"a": a, "b": b, "c": c}).encode() for a, b, c in X.tolist()]

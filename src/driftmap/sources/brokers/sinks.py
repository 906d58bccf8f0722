"""Message brokers as sinks: records go back to a stream or topic, each at least once, each with its own id."""

from __future__ import annotations

import contextlib
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from typing import Any

from driftmap.sources.addresses import Address
from driftmap.sources.brokers.base import LostError, Record, pause_before, require
from driftmap.sources.brokers.kafka import client_settings
from driftmap.sources.brokers.mqtt import client_of
from driftmap.sources.brokers.nats import BackgroundLoop, connected
from driftmap.utils.errors import InputError

SEND_TIMEOUT = 30.0
"""Seconds to wait until a broker has what was sent."""


class Sink(ABC):
    """Where records go. ``send`` returns when the broker has them; a lost connection is reported and tried again."""

    def __init__(self, address: Address) -> None:
        self.address, self.name = address, address.name
        self.report: Callable[[str], Any] = lambda message: None
        self.waiting: Callable[[], AbstractContextManager[None]] = contextlib.nullcontext
        """Around a pause before the next try; what it raises ends them."""
        self._is_open = False

    def send(self, records: Sequence[Record]) -> None:
        """Send some records, as often as it takes."""
        lost = 0
        while True:
            try:
                if not self._is_open:
                    self._open()
                    self._is_open = True
                self._send(records)
            except LostError as error:
                self.close()
                if not lost:
                    self.report(f"{self.name} is not connected ({error}): trying again")
                lost += 1
                try:
                    with self.waiting():
                        time.sleep(pause_before(lost))
                except BaseException:
                    self.report(f"{self.name} did not get the last {len(records):,} records")
                    raise
                continue
            if lost:
                self.report(f"{self.name} is connected again")
            return

    def close(self) -> None:
        """Close the connection."""
        if self._is_open:
            self._is_open = False
            self._close()

    @abstractmethod
    def _open(self) -> None: ...

    @abstractmethod
    def _send(self, records: Sequence[Record]) -> None: ...

    @abstractmethod
    def _close(self) -> None: ...


class RedisSink(Sink):
    """Entries of a stream with the fields ``id`` and ``data``."""

    def _open(self) -> None:
        redis, address = require("redis", "redis"), self.address
        self._errors = redis.exceptions
        self._client = redis.Redis(
            address.host,
            address.port or 6379,
            username=address.user,
            password=address.password,
            socket_timeout=SEND_TIMEOUT,
        )

    def _send(self, records: Sequence[Record]) -> None:
        try:
            with self._client.pipeline(transaction=False) as pipeline:
                for record in records:
                    pipeline.xadd(self.address.stream, {"id": record.id, "data": record.data})
                pipeline.execute()
        except (self._errors.AuthenticationError, self._errors.ResponseError) as error:
            raise InputError(f"refuses: {error}", source=self.name) from error
        except (self._errors.ConnectionError, self._errors.TimeoutError) as error:
            raise LostError(str(error)) from error

    def _close(self) -> None:
        self._client.close()


class NatsSink(Sink):
    """Messages of a JetStream subject; the header ``Nats-Msg-Id`` lets the server leave out copies."""

    def _open(self) -> None:
        self._nats, self._loop = require("nats", "nats"), BackgroundLoop()
        try:
            self._connection = self._loop.run(connected(self._nats, self.address))
        except (OSError, self._nats.errors.Error) as error:
            self._loop.close(None)
            raise LostError(str(error) or type(error).__name__) from error

    def _send(self, records: Sequence[Record]) -> None:
        jetstream = self._connection.jetstream(timeout=SEND_TIMEOUT)

        async def publish() -> None:
            for record in records:
                await jetstream.publish(self.address.stream, record.data, headers={"Nats-Msg-Id": record.id})

        try:
            self._loop.run(publish())
        except self._nats.js.errors.NoStreamResponseError as error:
            raise InputError("belongs to no stream of the server", source=self.name) from error
        except (OSError, self._nats.errors.Error) as error:
            raise LostError(str(error) or type(error).__name__) from error

    def _close(self) -> None:
        self._loop.close(self._connection)


class KafkaSink(Sink):
    """Messages of a topic, with the id as key."""

    def _open(self) -> None:
        self._kafka = require("confluent_kafka", "kafka")
        self._producer = self._kafka.Producer(client_settings(self.address) | {"enable.idempotence": True})

    def _send(self, records: Sequence[Record]) -> None:
        failed: list[str] = []

        def delivered(error: Any, message: Any) -> None:
            if error is not None:
                failed.append(error.str())

        for record in records:
            self._producer.produce(self.address.stream, record.data, key=record.id, on_delivery=delivered)
        if self._producer.flush(SEND_TIMEOUT) or failed:
            self._producer.purge()
            raise LostError(failed[0] if failed else "no answer")

    def _close(self) -> None:
        del self._producer


class MqttSink(Sink):
    """Messages of a topic (QoS 1); the id is part of the record."""

    def _open(self) -> None:
        mqtt = require("paho.mqtt.client", "mqtt")
        self._client = client_of(mqtt, self.address, session=False)
        try:
            self._client.connect(self.address.host, self.address.port or 1883)
        except OSError as error:
            raise LostError(str(error)) from error
        self._client.loop_start()

    def _send(self, records: Sequence[Record]) -> None:
        sent = [self._client.publish(self.address.stream, record.data, qos=1) for record in records]
        try:
            for one in sent:
                one.wait_for_publish(SEND_TIMEOUT)
        except (RuntimeError, ValueError) as error:
            raise LostError(str(error)) from error
        if not all(one.is_published() for one in sent):
            raise LostError("no answer")

    def _close(self) -> None:
        self._client.disconnect()
        self._client.loop_stop()


SINKS: dict[str, type[Sink]] = {"kafka": KafkaSink, "redis": RedisSink, "nats": NatsSink, "mqtt": MqttSink}

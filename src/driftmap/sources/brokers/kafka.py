"""Kafka (``kafka://host/topic``): the position is the next offset of each partition, and digests of the last messages.

Partitions are assigned at these offsets, never subscribed to. With one partition, rows come in the order of the topic;
with several, in order of arrival, which another run need not repeat. Offsets have gaps if a topic is compacted or
written in transactions.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from driftmap.sources.addresses import Address
from driftmap.sources.brokers.base import SEND_TIMEOUT, Broker, Message, Record, Sink
from driftmap.sources.brokers.connection import CONNECT_TIMEOUT, WAIT_SECONDS, LostError, digest, require
from driftmap.utils.errors import InputError


class KafkaTopic(Broker):
    """Messages of a topic."""

    def __init__(self, address: Address) -> None:
        super().__init__(address)
        self._kafka = require("confluent_kafka", "kafka")
        self._consumer: Any = None
        self._offsets: dict[str, int] = {}
        self._first: dict[str, int] = {}
        self._digests: dict[str, str] = {}
        """Digests of the last message read of each partition, from its time and its bytes."""
        self._checked: dict[str, int] = {}
        """The offsets of messages read before this connection, which are read again."""

    def _open(self, position: Any) -> None:
        self._close()
        mark: dict[str, Any] = {"offsets": {}, "digests": {}}
        mark = mark if position == 0 else self._identified(position, *mark)
        self._consumer = self._kafka.Consumer(client_settings(self.address) | {
            "group.id": self.address.options.get("group", "driftmap"), "enable.auto.commit": False,
            "auto.offset.reset": "error",
        })  # fmt: skip
        topic = self.address.stream
        found = self._asked(lambda: self._consumer.list_topics(topic, timeout=CONNECT_TIMEOUT)).topics[topic]
        if found.error is not None or not found.partitions:
            if position == 0:
                raise InputError("has no such topic", source=self.name)
            raise self._start_again(" was read before, but was deleted")
        if lost := sorted(set(mark["offsets"]) - {str(partition) for partition in found.partitions}):
            raise self._replaced(f"offset {mark['offsets'][lost[0]]:,} of partition {lost[0]}")
        self._offsets, self._digests, self._checked = {}, dict(mark["digests"]), {}
        for partition in sorted(found.partitions):
            name, (low, high) = str(partition), self._bounds(partition)
            offset = self._offsets[name] = low if position == 0 else int(mark["offsets"].get(name, 0))
            if not low <= offset <= high:
                raise self._out_of_range(name)
            if name in self._digests and offset > low:
                self._checked[name] = offset - 1
        if position == 0:
            self._first = dict(self._offsets)
        self._consumer.assign(self._partitions(self._offsets | self._checked))

    def _poll(self, limit: int) -> list[Message]:
        messages = []
        for message in self._consumer.consume(limit, WAIT_SECONDS):
            if (error := message.error()) is not None:
                self._check(error, message)
                continue
            name, payload = str(message.partition()), message.value() or b""
            found = digest(repr(message.timestamp()).encode(), payload)
            if self._checked.pop(name, -1) == message.offset():
                if found != self._digests[name]:
                    raise self._replaced(f"offset {self._offsets[name]:,}{self._partition(name)}")
                continue
            self._offsets[name], self._digests[name] = message.offset() + 1, found
            position = {"offsets": dict(self._offsets), "digests": dict(self._digests)}
            messages.append(Message(payload, position))
        return messages

    def where(self, position: Any, ahead: int) -> str:
        """Return where to find a row: its offset, if there is one partition."""
        offsets = self._first if position == 0 else position["offsets"]
        return f"{self.name}, offset {next(iter(offsets.values())) + ahead}" if len(offsets) == 1 else self.name

    def done(self, position: Any) -> None:
        """Commit the offsets, for tools that monitor the group."""
        if self._consumer is not None and position != 0:
            self._consumer.commit(offsets=self._partitions(position["offsets"]), asynchronous=True)

    def _check(self, error: Any, message: Any) -> None:
        codes = self._kafka.KafkaError
        if error.code() in (codes._AUTO_OFFSET_RESET, codes.OFFSET_OUT_OF_RANGE):
            name = str(max(message.partition(), 0))
            low, high = self._bounds(int(name))
            if low <= self._offsets[name] <= high:  # only the message before it no longer exists
                raise LostError(error.str())
            raise self._out_of_range(name)
        if error.code() in (codes._ALL_BROKERS_DOWN, codes._TRANSPORT):
            raise LostError(error.str())
        if not error.retriable():
            raise InputError(f": {error.str()}", source=self.name)

    def _out_of_range(self, name: str) -> InputError:
        """Return the error for a partition without a message at the next offset."""
        offset, (low, high) = self._offsets[name], self._bounds(int(name))
        where = self._partition(name)
        if offset > high:
            problem = f" ends at offset {high:,}{where}, but was read up to {offset:,}"
            return self._start_again(f"{problem}: it is another topic now, or was set back")
        return self._gone(offset, low - 1, where)

    def _partition(self, name: str) -> str:
        """Return the name of a partition for messages; empty if there is only one."""
        return f" of partition {name}" if len(self._offsets) > 1 else ""

    def _bounds(self, partition: int) -> tuple[int, int]:
        where = self._kafka.TopicPartition(self.address.stream, partition)
        low, high = self._asked(lambda: self._consumer.get_watermark_offsets(where, timeout=CONNECT_TIMEOUT))
        return low, high

    def _asked(self, question: Any) -> Any:
        try:
            return question()
        except self._kafka.KafkaException as error:
            raise LostError(error.args[0].str()) from error

    def _partitions(self, offsets: dict[str, int]) -> list[Any]:
        topic = self.address.stream
        return [self._kafka.TopicPartition(topic, int(name), offset) for name, offset in offsets.items()]

    def _close(self) -> None:
        if self._consumer is not None:
            self._consumer.close()
            self._consumer = None


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


def client_settings(address: Address) -> dict[str, Any]:
    """Return the settings of a client; with credentials it authenticates by SASL, by default over TLS."""
    settings: dict[str, Any] = {
        "bootstrap.servers": f"{address.host}:{address.port_number}",
        "log_level": 0,
        "topic.metadata.refresh.interval.ms": 1000,
    }
    if address.user is not None:
        settings |= {
            "security.protocol": address.options.get("security", "SASL_SSL"), "sasl.mechanism": "PLAIN",
            "sasl.username": address.user, "sasl.password": address.password or "",
        }  # fmt: skip
    return settings

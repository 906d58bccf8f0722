"""Kafka (``kafka://host/topic``): the position is the next offset of each partition.

Partitions are assigned at these offsets, never subscribed to. With one partition the order of rows is that of the
topic; with several it is the order of arrival, which another run need not repeat.
"""

from __future__ import annotations

from typing import Any

from driftmap.io.addresses import Address
from driftmap.io.brokers.base import CONNECT_TIMEOUT, WAIT_SECONDS, Broker, LostError, Message, require
from driftmap.utils.errors import InputError


class KafkaTopic(Broker):
    """Messages of a topic."""

    def __init__(self, address: Address) -> None:
        super().__init__(address)
        self._kafka = require("confluent_kafka", "kafka")
        self._consumer: Any = None
        self._offsets: dict[str, int] = {}
        self._first: dict[str, int] = {}

    def _open(self, position: Any) -> None:
        self._close()
        self._consumer = self._kafka.Consumer(client_settings(self.address) | {
            "group.id": self.address.options.get("group", "driftmap"), "enable.auto.commit": False,
            "auto.offset.reset": "error",
        })  # fmt: skip
        topic = self.address.stream
        found = self._asked(lambda: self._consumer.list_topics(topic, timeout=CONNECT_TIMEOUT)).topics[topic]
        if found.error is not None or not found.partitions:
            raise InputError("has no such topic", source=self.name)
        self._offsets = {}
        for partition in sorted(found.partitions):
            low, high = self._bounds(partition)
            offset = low if position == 0 else int(position.get(str(partition), 0))
            if not low <= offset <= high:
                raise self._gone(partition, offset)
            self._offsets[str(partition)] = offset
        self._first = dict(self._offsets)
        self._consumer.assign(self._partitions(self._offsets))

    def _poll(self, limit: int) -> list[Message]:
        messages = []
        for message in self._consumer.consume(limit, WAIT_SECONDS):
            if (error := message.error()) is not None:
                self._check(error, message)
                continue
            self._offsets[str(message.partition())] = message.offset() + 1
            messages.append(Message(message.value() or b"", dict(self._offsets)))
        return messages

    def where(self, position: Any, ahead: int) -> str:
        """Its offset, where there is one partition."""
        offsets = self._first if position == 0 else position
        return f"{self.name}, offset {next(iter(offsets.values())) + ahead}" if len(offsets) == 1 else self.name

    def done(self, position: Any) -> None:
        """Commit the offsets, for those who monitor the group."""
        if self._consumer is not None and position != 0:
            self._consumer.commit(offsets=self._partitions(position), asynchronous=True)

    def _check(self, error: Any, message: Any) -> None:
        codes = self._kafka.KafkaError
        if error.code() in (codes._AUTO_OFFSET_RESET, codes.OFFSET_OUT_OF_RANGE):
            partition = max(message.partition(), 0)
            raise self._gone(partition, self._offsets[str(partition)])
        if error.code() in (codes._ALL_BROKERS_DOWN, codes._TRANSPORT):
            raise LostError(error.str())
        if not error.retriable():
            raise InputError(f": {error.str()}", source=self.name)

    def _gone(self, partition: int, offset: int) -> InputError:
        """The rows from an offset on are not there."""
        low, high = self._bounds(partition)
        where = f" of partition {partition}" if len(self._offsets) > 1 else ""
        if offset > high:
            problem = f" ends at offset {high:,}{where}, but was read up to {offset:,}: it is another topic now"
        else:
            problem = f": rows {offset:,} to {low - 1:,}{where} are no longer in the topic"
        return InputError(f"{problem}; start again without the checkpoint", source=self.name)

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


def client_settings(address: Address) -> dict[str, Any]:
    """Settings of a client of the address; with credentials it authenticates by SASL, by default over TLS."""
    settings: dict[str, Any] = {
        "bootstrap.servers": f"{address.host}:{address.port or 9092}",
        "log_level": 0,
        "topic.metadata.refresh.interval.ms": 1000,
    }
    if address.user is not None:
        settings |= {
            "security.protocol": address.options.get("security", "SASL_SSL"), "sasl.mechanism": "PLAIN",
            "sasl.username": address.user, "sasl.password": address.password or "",
        }  # fmt: skip
    return settings

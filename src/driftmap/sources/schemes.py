"""The table of message brokers: for each scheme of an address, its options and the classes that read and write."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple


class Scheme(NamedTuple):
    """A kind of broker. Its module in ``driftmap.sources.brokers``, its extra and its scheme have the same name."""

    stream: str
    """What its streams are called, in capitals."""
    port: int
    """The default port."""
    source: str
    """The class in its module that reads, a :class:`~driftmap.sources.brokers.base.Broker`."""
    sink: str
    """The class in its module that writes, a :class:`~driftmap.sources.brokers.base.Sink`."""
    options: tuple[str, ...] = ("payload",)
    """The options that an address may have after the question mark."""


SCHEMES: Mapping[str, Scheme] = {
    "kafka": Scheme("TOPIC", 9092, "KafkaTopic", "KafkaSink", ("payload", "group", "security")),
    "redis": Scheme("STREAM", 6379, "RedisStream", "RedisSink"),
    "nats": Scheme("STREAM", 4222, "NatsStream", "NatsSink"),
    "mqtt": Scheme("TOPIC", 1883, "MqttTopic", "MqttSink", ("payload", "client")),
}


def forms() -> list[str]:
    """Return the form of an address of each scheme.

    >>> forms()[0]
    'kafka://HOST/TOPIC'
    """
    return [f"{name}://HOST/{scheme.stream}" for name, scheme in SCHEMES.items()]

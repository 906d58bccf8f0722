"""Message brokers as sources and sinks of rows: Kafka, Redis streams, NATS JetStream, MQTT; each needs its extra."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from driftmap.sources.addresses import Address
from driftmap.sources.brokers.base import Broker
from driftmap.sources.brokers.payloads import PAYLOADS
from driftmap.utils.errors import InputError

if TYPE_CHECKING:
    from driftmap.sources.brokers.sinks import Sink

CLASSES = {"kafka": "KafkaTopic", "redis": "RedisStream", "nats": "NatsStream", "mqtt": "MqttTopic"}
"""For each scheme its class, in the module of its name."""

__all__ = ["Address", "Broker", "open_broker", "open_sink", "parse"]


def parse(url: str) -> Address:
    """An address whose options can be used."""
    address = url if isinstance(url, Address) else Address(url)
    payload = address.options.get("payload")
    if payload is not None and payload not in PAYLOADS:
        raise InputError(f"has payload={payload!r}: it must be one of {', '.join(PAYLOADS)}", source=address.name)
    return address


def open_broker(url: str) -> Broker:
    """The source of rows that a URL names; it connects when rows are read."""
    address = parse(url)
    module = import_module(f"driftmap.sources.brokers.{address.scheme}")
    broker: Broker = getattr(module, CLASSES[address.scheme])(address)
    return broker


def open_sink(url: str) -> Sink:
    """The sink that a URL names; it connects when records are sent."""
    from driftmap.sources.brokers.sinks import SINKS

    address = parse(url)
    return SINKS[address.scheme](address)

"""Message brokers as sources and sinks of rows: Kafka, Redis streams, NATS JetStream, MQTT; each needs its extra."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from driftmap.io.brokers.base import Address, Broker, address_of
from driftmap.utils.columns import suggestion
from driftmap.utils.errors import InputError

if TYPE_CHECKING:
    from driftmap.io.brokers.sinks import Sink

SCHEMES = {
    "kafka": ("KafkaTopic", ("group", "security")),
    "redis": ("RedisStream", ()),
    "nats": ("NatsStream", ()),
    "mqtt": ("MqttTopic", ("client",)),
}
"""For each scheme its class, in the module of its name, and the options of its addresses."""

__all__ = ["Address", "Broker", "is_address", "open_broker", "open_sink", "parse", "without_credentials"]


def is_address(name: str) -> bool:
    """Whether a name is the address of a broker, not that of a file."""
    return "://" in name


def without_credentials(name: str) -> str:
    """An address as it may be shown; any other word as it is.

    >>> without_credentials("redis://me:secret@host/rows?payload=csv"), without_credentials("a@b.csv")
    ('redis://host/rows?payload=csv', 'a@b.csv')
    """
    if not is_address(name):
        return name
    parts = urlsplit(name)
    return parts._replace(netloc=parts.netloc.rpartition("@")[2]).geturl()


def parse(url: str) -> tuple[str, Address]:
    """The scheme and the parts of an address, if it is one that can be used."""
    scheme = url.partition("://")[0]
    if scheme not in SCHEMES:
        problem = f"is no scheme that is known{suggestion(scheme, [*SCHEMES])}: it must be one of {', '.join(SCHEMES)}"
        raise InputError(problem, source=f"{scheme}://")
    return scheme, address_of(url, SCHEMES[scheme][1])


def open_broker(url: str) -> Broker:
    """The source of rows that a URL names; it connects when rows are read."""
    scheme, address = parse(url)
    broker: Broker = getattr(import_module(f"driftmap.io.brokers.{scheme}"), SCHEMES[scheme][0])(address)
    return broker


def open_sink(url: str) -> Sink:
    """The sink that a URL names; it connects when records are sent."""
    from driftmap.io.brokers.sinks import SINKS

    scheme, address = parse(url)
    return SINKS[scheme](address)

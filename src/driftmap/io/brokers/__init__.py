"""Message brokers as sources of rows: Kafka, Redis streams, NATS JetStream, MQTT. Each needs the extra of its name."""

from __future__ import annotations

from importlib import import_module

from driftmap.io.brokers.base import Address, Broker, address_of
from driftmap.utils.columns import suggestion
from driftmap.utils.errors import InputError

SCHEMES = {
    "kafka": ("kafka", "KafkaTopic", ("group", "security")),
    "redis": ("redis", "RedisStream", ()),
    "nats": ("nats", "NatsStream", ()),
    "mqtt": ("mqtt", "MqttTopic", ("client",)),
}
"""For each scheme its module, its class and the options of its addresses."""

__all__ = ["SCHEMES", "Address", "Broker", "address_of", "is_address", "open_broker"]


def is_address(name: str) -> bool:
    """Whether a name is the address of a broker, not that of a file."""
    return "://" in name


def open_broker(url: str) -> Broker:
    """The source of rows that a URL names."""
    scheme = url.partition("://")[0]
    if scheme not in SCHEMES:
        known = ", ".join(SCHEMES)
        problem = f"is no scheme that is known{suggestion(scheme, list(SCHEMES))}: it must be one of {known}"
        raise InputError(problem, source=f"{scheme}://")
    module, name, options = SCHEMES[scheme]
    broker: Broker = getattr(import_module(f"driftmap.io.brokers.{module}"), name)(address_of(url, options))
    return broker

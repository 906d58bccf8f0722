"""Message brokers as sources and sinks of rows, by the table :data:`driftmap.sources.schemes.SCHEMES`."""

from __future__ import annotations

from importlib import import_module

from driftmap.sources.addresses import Address
from driftmap.sources.brokers.base import Broker, Sink
from driftmap.sources.brokers.payloads import PAYLOADS
from driftmap.sources.schemes import SCHEMES
from driftmap.utils.errors import InputError

__all__ = ["Address", "Broker", "Sink", "open_broker", "open_sink", "parse"]


def parse(url: str) -> Address:
    """Return a valid address; raise an error if it has a bad option."""
    address = url if isinstance(url, Address) else Address(url)
    if address.is_database:
        raise InputError("is a database, not a stream of messages", source=address.name, advice="table")
    payload = address.options.get("payload")
    if payload is not None and payload not in PAYLOADS:
        raise InputError(f"has payload={payload!r}: it must be one of {', '.join(PAYLOADS)}", source=address.name)
    return address


def open_broker(url: str) -> Broker:
    """Return the source of rows that a URL names; it connects when rows are read."""
    address = parse(url)
    broker: Broker = _class(address, SCHEMES[address.scheme].source)(address)
    return broker


def open_sink(url: str) -> Sink:
    """Return the sink that a URL names; it connects when records are sent."""
    address = parse(url)
    sink: Sink = _class(address, SCHEMES[address.scheme].sink)(address)
    return sink


def _class(address: Address, name: str) -> type:
    """Return a class of the scheme's module, which is imported here."""
    found: type = vars(import_module(f"driftmap.sources.brokers.{address.scheme}"))[name]
    return found

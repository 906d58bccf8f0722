"""The tables of message brokers and databases: for each scheme of an address, its options and what reads and writes."""

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


class Database(NamedTuple):
    """A kind of database, reached through Arrow Database Connectivity (ADBC)."""

    form: str
    """What follows the scheme, in capitals."""
    driver: str
    """The module of its driver."""
    is_file: bool
    """Whether the database is a file."""
    options: tuple[str, ...] = ()
    """What an address may say after the question mark."""
    stream: str = "NAME"


DATABASES: Mapping[str, Database] = {
    "sqlite": Database("/FILE", "adbc_driver_sqlite", is_file=True),
    "duckdb": Database("/FILE", "adbc_driver_duckdb", is_file=True),
    "postgresql": Database(
        "HOST/NAME",
        "adbc_driver_postgresql",
        is_file=False,
        options=("sslmode", "sslrootcert", "sslcert", "sslkey", "application_name", "connect_timeout"),
    ),
}


def database_forms() -> list[str]:
    """Return the form of an address of each database.

    >>> database_forms()
    ['sqlite:///FILE', 'duckdb:///FILE', 'postgresql://HOST/NAME']
    """
    return [f"{name}://{database.form}" for name, database in DATABASES.items()]


def forms() -> list[str]:
    """Return the form of an address of each broker.

    >>> forms()[0]
    'kafka://HOST/TOPIC'
    """
    return [f"{name}://HOST/{scheme.stream}" for name, scheme in SCHEMES.items()]

"""Message brokers as sources: every row once and in order, from any position, through lost connections."""

import json

import numpy as np
import pyarrow as pa
import pytest

from brokers import SERVERS, rows_as_json, running
from driftmap.sources.brokers import open_broker
from driftmap.sources.brokers.payloads import rows_of
from driftmap.utils.errors import InputError

X = np.random.default_rng(0).standard_normal((60, 3))
PAYLOADS = rows_as_json(X)


@pytest.fixture(params=SERVERS)
def server(request, tmp_path):
    with running(request.param, tmp_path / "server") as server:
        yield server


def opened(server):
    """A source of the server's rows; a session of MQTT exists from its first connection on."""
    source = open_broker(server.url + ("?client=test" if server.kind == "mqtt" else ""))
    if server.kind == "mqtt":
        source._open(0)
        source.close()
    return source


def read(source, position, n):
    rows = []
    while len(rows) < n:
        some, position = source.read(position, 7)
        rows += some
    return rows, position


def values(rows):
    return np.array([[row["a"], row["b"], row["c"]] for row in map(json.loads, rows)])


def test_rows_come_in_order_and_go_on_from_any_position(server):
    source = opened(server)
    server.publish(PAYLOADS[:40])
    rows, position = read(source, 0, 21)
    np.testing.assert_array_equal(values(rows), X[: len(rows)])
    done = len(rows)
    source.done(position)
    more, _ = read(source, position, 3)  # learnt, but not in the checkpoint when the process dies
    source.close()
    server.publish(PAYLOADS[40:])
    other = open_broker(server.url + ("?client=test" if server.kind == "mqtt" else ""))
    again, _ = read(other, json.loads(json.dumps(position)), 60 - done)
    other.close()
    np.testing.assert_array_equal(values(again), X[done:])
    assert again[: len(more)] == more


@pytest.mark.parametrize("server", ["redis", "nats", "mqtt"], indirect=True)
def test_a_lost_connection_is_reported_and_nothing_is_lost(server):
    source, said = opened(server), []
    source.report = said.append
    server.publish(PAYLOADS[:10])
    rows, position = read(source, 0, 10)
    source.done(position)
    server.stop()

    def start_again():
        if server.process is None:
            server.start()
            server.publish(PAYLOADS[10:20])

    source.waiting = start_again
    more, _ = read(source, position, 10)
    source.close()
    np.testing.assert_array_equal(values(rows + more), X[:20])
    assert "is not connected" in said[0]
    assert said[-1].endswith("is connected again")


@pytest.mark.parametrize("server", ["redis", "nats"], indirect=True)  # Kafka's mock cluster deletes nothing
def test_rows_that_are_gone_are_an_error_that_names_them(server):
    source = opened(server)
    server.publish(PAYLOADS[:30])
    _, position = read(source, 0, 7)
    source.close()
    if server.kind == "redis":
        import redis

        with redis.Redis(port=server.port) as client:
            client.xtrim("rows", maxlen=10, approximate=False)
    else:
        server._nats(lambda jetstream: jetstream.purge_stream("rows", keep=10))
    with pytest.raises(InputError, match=r"rows 8 to 20 are no longer in the stream"):
        opened(server).read(position, 7)


def test_a_kafka_topic_that_is_shorter_than_what_was_read_is_an_error(tmp_path):
    with running("kafka", tmp_path) as server:
        server.publish(PAYLOADS[:5])
        with pytest.raises(InputError, match="ends at offset 5, but was read up to 9"):
            open_broker(server.url).read({"offsets": {"0": 9}, "digests": {}}, 7)


@pytest.mark.parametrize("server", ["redis", "nats"], indirect=True)  # Kafka's mock cluster creates every topic
def test_a_stream_that_does_not_exist_is_an_error(server):
    with pytest.raises(InputError, match="has no such stream"):
        open_broker(server.url.replace("/rows", "/rowz")).read(0, 7)


@pytest.mark.parametrize("kind", SERVERS)
def test_a_position_without_the_identity_of_the_stream_is_an_error(kind, tmp_path):
    with running(kind, tmp_path / "server") as server:
        server.publish(PAYLOADS[:5])
        position = {"redis": {"id": "0-1", "read": 1}, "nats": 3, "kafka": {"0": 3}, "mqtt": {"last": []}}[kind]
        with pytest.raises(InputError, match=r"has no identity of the stream .*; start again"):
            open_broker(server.url).read(position, 7)


def test_messages_are_named_by_what_their_broker_calls_them():
    pytest.importorskip("confluent_kafka")
    source = open_broker("kafka://localhost/rows")
    assert source.where({"offsets": {"0": 7}}, 2) == "kafka://localhost/rows, offset 9"
    assert source.where({"offsets": {"0": 7, "1": 3}}, 2) == "kafka://localhost/rows"


def test_entries_of_redis_without_data_are_rows_by_their_fields(tmp_path):
    with running("redis", tmp_path) as server:
        import redis

        with redis.Redis(port=server.port) as client:
            client.xadd("rows", {"a": 1.5, "b": "x"})
        rows, _ = open_broker(server.url).read(0, 7)
    assert json.loads(rows[0]) == {"a": 1.5, "b": "x"}


def test_payloads_of_every_kind():
    table = pa.table({"a": [1.5, 2.5], "b": ["x", "y"]})
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    arrow = sink.getvalue().to_pybytes()
    assert [json.loads(row) for row in rows_of(arrow)] == table.to_pylist()
    single = np.array([0.1, 1e30, -3.0], dtype="<f4")
    np.testing.assert_array_equal(json.loads(rows_of(single.tobytes(), "float32")[0]), single.astype(float))
    assert rows_of(b'{"a":\r\n1}') == [b'{"a":  1}\n']
    assert rows_of(b"1,2\r\n3,4") == [b"1,2\n", b"3,4\n"]
    for bad, kind in [(b"123", "float32"), (arrow[:-30], "arrow")]:
        (row,) = rows_of(bad, kind)
        assert isinstance(json.loads(row), str)  # a line that is no row: the parser names it


@pytest.mark.parametrize(
    ("url", "message"),
    [
        ("redis://127.0.0.1", r"redis://127.0.0.1 is not a whole address"),
        ("redis://me:secret@127.0.0.1/s?payload=xml", r"has payload='xml': it must be one of json, csv"),
        ("redis://me:secret@127.0.0.1/s?paylod=csv", r"has the unknown option 'paylod' \(did you mean 'payload'"),
        ("reddis://127.0.0.1/s", r"is not a known scheme \(did you mean 'redis'"),
        ("redis://me:secret@127.0.0.1:99999/s", r"redis://\.\.\. is not a whole address"),
    ],
)
def test_mistakes_in_addresses_are_named_without_credentials(url, message):
    with pytest.raises(InputError, match=message) as raised:
        open_broker(url)
    assert "secret" not in str(raised.value)

import dataclasses
import functools
import gzip
import itertools
import math
import pickle
import subprocess
import sys

import networkx
import numpy as np
import pyarrow
import pytest
import scipy.linalg
import scipy.sparse
from hypothesis import given
from hypothesis import strategies as st

from driftmap.networks import (
    Contacts,
    TieDecayNetwork,
    group_strengths,
    half_life,
    laplacian_distance,
    laplacian_spectra,
    laplacian_spectrum,
    read_contacts,
    read_metadata,
    spectrum_at,
)

NODES = range(5)
zstd = functools.partial(pyarrow.compress, codec="zstd", asbytes=True)
decays = st.sampled_from([0.0, 0.01, 0.7])
pairs = st.tuples(st.sampled_from(NODES), st.sampled_from(NODES)).filter(lambda pair: pair[0] != pair[1])
gaps = st.sampled_from([0.0, 0.0, 0.25, 20.0, 400.0])


@st.composite
def contact_lists(draw):
    events = draw(st.lists(st.tuples(pairs, gaps), min_size=1, max_size=30))
    times = itertools.accumulate(gap for _, gap in events)
    return [(i, j, t) for ((i, j), _), t in zip(events, times, strict=True)]


def direct_sum(contacts, decay, t):
    """The paper's definition of b_ij(t): a sum over the distinct events on {i, j} up to t."""
    B = np.zeros((len(NODES), len(NODES)))
    for pair, when in {(frozenset((i, j)), when) for i, j, when in contacts if when <= t}:
        i, j = pair
        B[i, j] += math.exp(-decay * (t - when))
        B[j, i] = B[i, j]
    return B


def random_network(n, density, seed=0):
    rng = np.random.default_rng(seed)
    upper = np.triu(rng.random((n, n)) * (rng.random((n, n)) < density), 1)
    return upper + upper.T


@given(contact_lists(), decays, st.sampled_from([0.0, 3.5, 1000.0]))
def test_network_equals_the_direct_sum_at_and_after_the_last_contact(contacts, decay, later):
    network = TieDecayNetwork(decay, nodes=NODES)
    for position, contact in enumerate(contacts):
        network.add(*contact)
        t = contact[2] + later
        np.testing.assert_allclose(
            network.adjacency(t), direct_sum(contacts[: position + 1], decay, t), rtol=1e-12, atol=1e-300
        )


@given(contact_lists(), decays)
def test_one_at_a_time_many_at_once_and_streamed_give_the_same_network(contacts, decay):
    single, many, streamed = (TieDecayNetwork(decay) for _ in range(3))
    for contact in contacts:
        single.add(*contact)
    many.add_contacts(contacts)
    *_, (last, B) = streamed.snapshots(contacts)
    assert last == single.time == many.time
    assert single.nodes == many.nodes == streamed.nodes
    for other in (many.adjacency(), B, streamed.sparse_adjacency().toarray()):
        np.testing.assert_array_equal(single.adjacency(), other)


@given(contact_lists(), decays)
def test_snapshots_follow_the_update_rule_at_every_time_with_contacts(contacts, decay):
    B, before = np.zeros((len(NODES), len(NODES))), None
    snapshots = TieDecayNetwork(decay, nodes=NODES).snapshots(contacts)
    for (t, snapshot), (_, step) in zip(
        snapshots, itertools.groupby(contacts, key=lambda contact: contact[2]), strict=True
    ):
        A = np.zeros_like(B)
        for i, j, _ in step:
            A[i, j] = A[j, i] = 1.0
        B = A if before is None else math.exp(-decay * (t - before)) * B + A
        before = t
        np.testing.assert_allclose(snapshot, B, rtol=1e-12, atol=1e-300)


def test_a_pair_reported_twice_at_the_same_time_counts_once():
    network = TieDecayNetwork(0.1)
    network.add_contacts([("a", "b", 5), ("b", "a", 5), ("a", "b", 5.0)])
    assert network.adjacency()[0, 1] == 1.0


def test_nodes_join_at_their_first_contact():
    network = TieDecayNetwork(0.0)
    assert (network.nodes, network.time, network.adjacency().shape) == ((), None, (0, 0))
    network.add("a", "b", 0)
    network.add("c", "a", 1)
    assert network.nodes == ("a", "b", "c")
    np.testing.assert_array_equal(network.adjacency(), [[0, 1, 1], [1, 0, 0], [1, 0, 0]])


def test_a_network_with_given_nodes_has_all_of_them_and_no_others():
    network = TieDecayNetwork(0.0, nodes=["a", "b", "c"])
    np.testing.assert_array_equal(network.adjacency(7.0), np.zeros((3, 3)))
    with pytest.raises(ValueError, match=r"'a', 'z', 1\).*'z' is not one of the nodes"):
        network.add("a", "z", 1)
    with pytest.raises(ValueError, match="not one of the nodes"):
        TieDecayNetwork(0.0, nodes=()).add("a", "b", 0)


BAD_CONTACTS = {
    "too old": ("a", "b", 9.5),
    "self contact": ("c", "c", 11),
    "NaN": ("a", "c", math.nan),
    "infinite": ("a", "c", math.inf),
    "no number": ("a", "c", "noon"),
    "no time": ("a", "c"),
    "unhashable": ("a", ["c"], 11),
}


@pytest.mark.parametrize("bad", BAD_CONTACTS.values(), ids=BAD_CONTACTS)
def test_a_bad_contact_is_named_and_changes_nothing(bad):
    network = TieDecayNetwork(0.1)
    network.add("a", "b", 10)
    before = network.adjacency()
    for contacts in ([bad], [("a", "d", 10), ("b", "d", 10.5), bad]):
        with pytest.raises(ValueError) as error:
            network.add_contacts(contacts)
        assert repr(bad) in str(error.value)
        assert (network.nodes, network.time) == (("a", "b"), 10.0)
        np.testing.assert_array_equal(network.adjacency(), before)


def test_snapshots_of_an_endless_stream_arrive_as_it_runs_and_stop_at_a_bad_contact():
    network = TieDecayNetwork(0.5)
    endless = network.snapshots((k % 3, (k + 1) % 3, k // 2) for k in itertools.count())
    assert [t for t, _ in itertools.islice(endless, 4)] == [0.0, 1.0, 2.0, 3.0]

    network = TieDecayNetwork(0.5)
    with pytest.raises(ValueError, match="older"):
        list(network.snapshots([(0, 1, 5), (1, 2, 6), (0, 1, 4)]))
    assert network.time == 6.0


def test_the_network_is_not_known_before_its_latest_contact():
    network = TieDecayNetwork(0.1)
    network.add(0, 1, 10)
    for t in (9.99, math.nan, math.inf):
        with pytest.raises(ValueError, match="latest contact"):
            network.adjacency(t)


def test_a_negative_or_infinite_decay_is_refused():
    for decay in (-0.1, math.nan, math.inf):
        with pytest.raises(ValueError, match="decay"):
            TieDecayNetwork(decay)


def test_memory_does_not_grow_with_the_number_of_contacts():
    network = TieDecayNetwork(0.01)
    network.add_contacts((k % 3, 3, k) for k in range(3))
    at_first = len(pickle.dumps(network))
    network.add_contacts((k % 3, 3, k) for k in range(3, 3000))
    assert len(pickle.dumps(network)) == at_first
    assert len(network.ties().ends) == 3


def test_a_long_silence_leaves_no_tie_and_no_warning():
    network = TieDecayNetwork(1.0)
    network.add(0, 1, 0)
    assert network.adjacency(1e9)[0, 1] == 0.0
    network.add(0, 1, 1e9)
    assert network.adjacency()[0, 1] == 1.0


@pytest.mark.parametrize("n", [1, 7, 60])
def test_spectrum_equals_networkx_whatever_form_the_network_comes_in(n):
    B = random_network(n, 0.3)
    graph = networkx.from_numpy_array(B)
    expected = np.sort(networkx.laplacian_spectrum(graph))
    for network in (B, B.tolist(), scipy.sparse.csr_array(B), scipy.sparse.coo_matrix(B), graph):
        np.testing.assert_allclose(laplacian_spectrum(network), expected, atol=1e-12)


def test_spectrum_of_a_tie_decay_network_is_that_of_its_latest_matrix():
    network = TieDecayNetwork(0.1)
    network.add_contacts([(0, 1, 0), (1, 2, 5), (0, 2, 9)])
    np.testing.assert_allclose(laplacian_spectrum(network), laplacian_spectrum(network.adjacency()), atol=1e-14)


def test_networkx_is_not_imported_unless_a_graph_is_given():
    code = (
        "import sys, numpy as np, driftmap.networks as n; n.laplacian_spectrum(np.zeros((2, 2)));"
        "sys.exit('networkx' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_empty_networks_have_empty_spectra():
    for network in (np.zeros((0, 0)), networkx.Graph(), TieDecayNetwork(0.1)):
        assert laplacian_spectrum(network).shape == (0,)
    assert laplacian_distance(networkx.Graph(), np.zeros((2, 2))) == 0.0


LARGE = {
    "random": random_network(400, 0.02),
    "in two parts": scipy.linalg.block_diag(*[random_network(200, 0.05)] * 2),
    "complete": np.ones((400, 400)) - np.eye(400),
    "without ties": np.zeros((400, 400)),
}


@pytest.mark.parametrize("B", LARGE.values(), ids=LARGE)
def test_the_largest_eigenvalues_of_a_large_network_are_right_and_repeatable(B):
    expected = laplacian_spectrum(B)[-6:]
    found = laplacian_spectrum(scipy.sparse.csr_array(B), 6)
    np.testing.assert_allclose(found, expected, rtol=1e-10, atol=1e-10)
    np.testing.assert_array_equal(laplacian_spectrum(B, 6), found)


def test_networks_that_have_no_laplacian_spectrum_are_refused():
    for network in (
        np.array([[0, 1], [0, 0]]),
        networkx.DiGraph([(0, 1)]),
        scipy.sparse.csr_array([[0, 1], [0, 0]]),
    ):
        with pytest.raises(ValueError, match="not symmetric"):
            laplacian_spectrum(network)
    with pytest.raises(ValueError, match="square"):
        laplacian_spectrum(np.zeros((2, 3)))
    with pytest.raises(ValueError, match="NaN"):
        laplacian_spectrum(np.array([[0, np.nan], [np.nan, 0]]))
    for n_eigenvalues in (0, 3):
        with pytest.raises(ValueError, match="n_eigenvalues"):
            laplacian_spectrum(np.zeros((2, 2)), n_eigenvalues)


def test_distance_is_that_of_the_sorted_spectra_and_blind_to_nodes_without_ties():
    a, b = random_network(20, 0.3, seed=1), random_network(20, 0.3, seed=2)
    expected = np.linalg.norm(laplacian_spectrum(a) - laplacian_spectrum(b))
    assert laplacian_distance(a, b) == pytest.approx(expected)
    assert laplacian_distance(b, a) == pytest.approx(expected)
    assert laplacian_distance(np.pad(a, (0, 5)), b) == pytest.approx(expected)
    assert laplacian_distance(a, np.pad(a, (2, 3))) == pytest.approx(0, abs=1e-12)
    top = np.linalg.norm(laplacian_spectrum(a)[-4:] - laplacian_spectrum(b)[-4:])
    assert laplacian_distance(a, b, n_eigenvalues=4) == pytest.approx(top)


@given(contact_lists(), decays)
def test_spectra_of_a_contact_list_are_those_of_its_snapshots(contacts, decay):
    times, spectra = laplacian_spectra(contacts, decay, nodes=NODES)
    snapshots = list(TieDecayNetwork(decay, nodes=NODES).snapshots(contacts))
    np.testing.assert_array_equal(times, [t for t, _ in snapshots])
    np.testing.assert_allclose(spectra, [laplacian_spectrum(B) for _, B in snapshots], atol=1e-12)
    assert np.all(np.diff(spectra) >= 0)
    # The smallest eigenvalue of a Laplacian is 0, and their sum is the sum of all weights.
    np.testing.assert_allclose(spectra[:, 0], 0, atol=1e-12)
    np.testing.assert_allclose(spectra.sum(axis=1), [B.sum() for _, B in snapshots])


def test_spectra_do_not_depend_on_the_size_of_the_blocks(monkeypatch):
    contacts = [(k % 4, 4 + k % 3, k // 2) for k in range(60)]
    whole = laplacian_spectra(contacts, 0.3)[1]
    monkeypatch.setattr("driftmap.networks.spectra.STACK_BYTES", 8 * 7 * 7 * 4)
    np.testing.assert_array_equal(laplacian_spectra(contacts, 0.3)[1], whole)


@pytest.mark.parametrize("n_jobs", [1, 2, 3, -1])
def test_spectra_do_not_depend_on_the_number_of_threads(monkeypatch, n_jobs):
    rng = np.random.default_rng(0)
    contacts = [(*rng.choice(30, 2, replace=False).tolist(), k // 3) for k in range(900)]
    expected = laplacian_spectra(contacts, 0.3)[1]
    monkeypatch.setattr("driftmap.networks.spectra.STACK_BYTES", 8 * 30 * 30 * 7)
    np.testing.assert_array_equal(laplacian_spectra(contacts, 0.3, n_jobs=n_jobs)[1], expected)


@pytest.mark.parametrize("faded", [0.0, 1e-300, 1e-20, 1e-16, 1e-12, 1e-3])
def test_nodes_that_are_left_out_of_the_decomposition_change_no_eigenvalue(faded):
    B = random_network(40, 0.3)
    B[25:] *= faded
    B[:, 25:] *= faded
    expected = np.linalg.eigvalsh(np.diag(B.sum(axis=1)) - B)
    np.testing.assert_allclose(laplacian_spectrum(B), expected, rtol=0, atol=1e-14 * expected[-1])
    np.testing.assert_allclose(laplacian_spectrum(-B), -expected[::-1], rtol=0, atol=1e-14 * expected[-1])


def test_spectra_keep_only_the_largest_eigenvalues_on_request(monkeypatch):
    contacts = Contacts.from_events((k % 7, 7 + k % 5, k // 2) for k in range(40))
    times, whole = laplacian_spectra(contacts, 0.3)
    np.testing.assert_array_equal(laplacian_spectra(contacts, 0.3, n_eigenvalues=2)[1], whole[:, -2:])
    monkeypatch.setattr("driftmap.networks.spectra.DENSE_LIMIT", 5)  # send even this network to the sparse solver
    sparse_times, sparse = laplacian_spectra(contacts, 0.3, n_eigenvalues=2)
    np.testing.assert_array_equal(sparse_times, times)
    np.testing.assert_allclose(sparse, whole[:, -2:], atol=1e-10)


def test_spectra_refuse_contacts_out_of_order():
    with pytest.raises(ValueError, match=r"\(1, 2, 4.0\) is older"):
        laplacian_spectra([(0, 1, 5), (1, 2, 4)], 0.1)


@given(contact_lists(), decays, st.lists(st.floats(-10, 1e4), min_size=1, max_size=5))
def test_a_spectrum_between_contacts_is_the_last_one_scaled(contacts, decay, asked):
    times, spectra = laplacian_spectra(contacts, decay, nodes=NODES)
    found = spectrum_at(spectra, times, asked, decay)
    for t, row in zip(asked, found, strict=True):
        expected = laplacian_spectrum(direct_sum(contacts, decay, t))
        np.testing.assert_allclose(row, expected, atol=1e-11)
        np.testing.assert_array_equal(spectrum_at(spectra, times, t, decay), row)


def test_a_spectrum_is_only_given_for_matching_ascending_times_and_a_finite_moment():
    for spectra, times in (([[0.0, 1.0]], [0, 1]), ([[0.0], [1.0]], [1, 1]), (np.zeros((0, 2)), [])):
        with pytest.raises(ValueError, match="ascending"):
            spectrum_at(spectra, times, 2.0, 0.1)
    with pytest.raises(ValueError, match="finite"):
        spectrum_at([[0.0]], [0], math.nan, 0.1)
    for decay in (-1.0, math.nan):
        with pytest.raises(ValueError, match="decay must be finite and not negative"):
            spectrum_at([[0.0]], [0], 1.0, decay)


EVENTS = [("7", "12", 20.0), ("12", "9", 20.0), ("7", "9", 60.0)]
FILES = {
    "tabs and statuses": ("20\t7\t12\tMED\tNUR\n20\t12\t9\tNUR\tPAT\n60\t7\t9\tMED\tPAT\n", None),
    "spaces": ("20 7 12\n20 12 9\n60 7 9", None),
    "csv without header": ("20,7,12\n20,12,9\n60,7,9\n", None),
    "csv, blank lines, CRLF": ("t,i,j\r\n20,7,12\r\n\r\n20, 12, 9\r\n60,7,9\r\n\r\n", None),
    "csv, columns in another order": ("i,note,t,j\n7,,20,12\n12,,20,9\n7,,60,9\n", None),
    "csv, other names": ("when,who,whom\n20,7,12\n20,12,9\n60,7,9\n", ("when", "who", "whom")),
    "csv, statuses": ("t,i,j,Si,Sj\n20,7,12,MED,NUR\n20,12,9,NUR,PAT\n60,7,9,MED,PAT\n", None),
    "csv, statuses, other names": (
        "a,b,c,d,e\n20,7,12,MED,NUR\n20,12,9,NUR,PAT\n60,7,9,MED,PAT\n",
        ("a", "b", "c", "d", "e"),
    ),
    "with byte order mark": ("\ufefft,i,j\n20,7,12\n20,12,9\n60,7,9\n", None),
    "source and target": ("Time, Source, Target\n20, 7, 12\n20, 12, 9\n60, 7, 9\n", None),
    "tabs, header": ("timestamp\tuser_a\tuser_b\n20\t7\t12\n20\t12\t9\n60\t7\t9\n", None),
    "spaces, header": ("from to time\n7 12 20\n12 9 20\n7 9 60\n", None),
    "semicolons": ("id1;id2;t\r\n7;12;20\r\n12;9;20\r\n7;9;60\r\n", None),
    "header in a comment": (
        "% undirected\n# timestamp,user_a,user_b,rssi\n20,7,12,-70\n20,12,9,-80\n60,7,9,-60\n",
        None,
    ),
    "comments before the data": ("# contacts of 2024\n\n20\t7\t12\n20\t12\t9\n60\t7\t9\n", None),
    "quoted": ('"time","source","target"\n"20","7","12"\n"20","12","9"\n"60","7","9"\n', None),
    "classes": ("t i j Ci Cj\n20 7 12 MED NUR\n20 12 9 NUR PAT\n60 7 9 MED PAT\n", None),
    "roles": ("time,role1,node1,role2,node2\n20,MED,7,NUR,12\n20,NUR,12,PAT,9\n60,MED,7,PAT,9\n", None),
    "time last": ("7 12 1400000020\n12 9 1400000020\n7 9 1400000060\n", None),
    "by number": ("7 12 20\n12 9 20\n7 9 60\n", ("3", "1", "2")),
    "self-contacts": ("20 7 12\n20 12 9\n40 9 9\n60 7 9\n60 7 7\n", None),
    "ISO dates": (
        "date,source,target\n1970-01-01T00:00:20,7,12\n1970-01-01 00:00:20,12,9\n1970-01-01T01:01:00+01:00,7,9\n",
        None,
    ),
    "ISO dates after tabs": (
        "1970-01-01 00:00:20\t7\t12\n1970-01-01 00:00:20\t12\t9\n1970-01-01 00:01:00\t7\t9\n",
        None,
    ),
}


@pytest.mark.parametrize("compress", [bytes, gzip.compress, zstd], ids=["plain", "gzip", "zstd"])
@pytest.mark.parametrize(("text", "columns"), FILES.values(), ids=FILES)
def test_the_same_contacts_are_read_from_every_format(tmp_path, text, columns, compress):
    file = tmp_path / "contacts"
    file.write_bytes(compress(text.encode()))
    contacts = read_contacts(file, columns)
    start = 1_400_000_000 if "1400000020" in text else 0
    assert [(i, j, t - start) for i, j, t in contacts] == EVENTS
    assert len(contacts) == 3
    assert contacts.left_out == tuple(name for name in ("note", "rssi") if name in text)
    assert contacts.nodes == ("7", "12", "9")
    np.testing.assert_array_equal(contacts.pairs, [[0, 1], [1, 2], [0, 2]])
    assert list(contacts.attributes.values()) == ([("MED", "NUR", "PAT")] if "MED" in text else [])
    assert contacts.weights is None
    assert contacts.n_self == (2 if "40 9 9" in text else 0)


def test_contacts_in_a_file_are_sorted_by_time(tmp_path):
    file = tmp_path / "contacts"
    file.write_text("60 7 9\n20 7 12\n20 12 9\n")
    assert list(read_contacts(file)) == EVENTS


BAD_FILES = {
    "empty": ("", None, "broken is empty"),
    "blank": ("\n\n", None, "broken is empty"),
    "only a header": ("t,i,j\n", None, "line 1 is followed by no contacts"),
    "ragged": ("20 7 12\n\n20 12\n", None, "line 3 has 2 fields, but the first line has 3"),
    "time is no number": ("20 7 12\nnoon 12 9\n", None, "line 2: time 'noon' is neither a number nor a date"),
    "time is NaN": ("20 7 12\nnan 12 9\n", None, "line 2: .*no finite time"),
    "only self-contacts": ("t,i,j\n20,9,9\n", None, "followed by no contacts but 1 of a node with itself"),
    "negative weight": ("20 7 12 1\n20 7 9 -1\n", None, "line 2: .*no finite weight"),
    "node missing": ("t,i,j\n20,,12\n", None, "line 2 lacks the label of a node"),
    "column missing": ("t,x,y\n20,7,12\n", None, "line 1 is neither .*`time, source, target`: t, x, y"),
    "given column missing": (
        "t,i,whom\n20,7,12\n",
        ("t", "i", "who"),
        "line 1 is not a header with the columns 'who' .did you mean 'whom'.*it has 't', 'i', 'whom'",
    ),
    "four columns": ("20 7 12 MED\n", None, "line 1 is neither"),
    "two statuses": ("20 7 12 MED NUR\n40 7 12 PAT NUR\n", None, "line 2: '7' is 'PAT', but was 'MED'"),
    "not text": ("20 7 12\n\udcff\n", None, "not a text file"),
}


@pytest.mark.parametrize(("text", "columns", "message"), BAD_FILES.values(), ids=BAD_FILES)
def test_a_bad_file_gives_one_error_that_names_file_and_line(tmp_path, text, columns, message):
    file = tmp_path / "broken"
    file.write_bytes(text.encode(errors="surrogateescape"))
    with pytest.raises(ValueError, match=message) as error:
        read_contacts(file, columns)
    assert str(error.value).startswith(str(file))


@pytest.mark.parametrize("compress", [gzip.compress, zstd], ids=["gzip", "zstd"])
def test_a_cut_off_or_damaged_compressed_file_is_named(tmp_path, compress):
    file = tmp_path / "contacts.gz"
    whole = compress("".join(f"{20 * k} {k % 7} 9\n" for k in range(10_000)).encode())
    damaged = bytearray(whole)
    damaged[-8 if compress is gzip.compress else 20] ^= 255  # the checksum; a block
    for content in (whole[: len(whole) // 2], bytes(damaged), whole[:5]):
        file.write_bytes(content)
        with pytest.raises(ValueError, match=r"contacts\.gz is cut off or damaged after line \d+"):
            read_contacts(file)


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_lines_of_contacts_may_end_in_several_ways_anywhere_in_a_file(tmp_path, end):
    times = range(0, 2_000_000, 20)
    (tmp_path / "file").write_bytes("".join(f"{t} {t % 7} é9{end}" for t in times).encode())
    contacts = read_contacts(tmp_path / "file")
    assert contacts.times.tolist() == [*times]
    assert set(contacts.nodes) == {*map(str, range(7)), "é9"}


def test_a_missing_file_or_a_wrong_number_of_columns_is_an_error(tmp_path):
    with pytest.raises(FileNotFoundError, match="nowhere"):
        read_contacts(tmp_path / "nowhere")
    (tmp_path / "file").write_text("t,i\n")
    with pytest.raises(ValueError, match="columns must name"):
        read_contacts(tmp_path / "file", columns=("t", "i"))


WEIGHTED = {
    "time last": ("7 12 2 1400000020\n12 7 3 1400000020\n7 9 0.5 1400000040\n", None),
    "four columns": ("20 7 12 2\n20 12 7 3\n40 7 9 0.5\n", None),
    "named": ("weight,source,target,time\n2,7,12,20\n3,12,7,20\n0.5,7,9,40\n", None),
    "given": ("a,b,c,d\n7,12,20,2\n12,7,20,3\n7,9,40,0.5\n", ("c", "a", "b", "d")),
}


@pytest.mark.parametrize(("text", "columns"), WEIGHTED.values(), ids=WEIGHTED)
def test_weights_of_contacts_are_used(tmp_path, text, columns):
    (tmp_path / "file").write_text(text)
    contacts = read_contacts(tmp_path / "file", columns)
    found = [(i, j, t % 1_400_000_000, weight) for i, j, t, weight in contacts]
    assert found == [("7", "12", 20.0, 2.0), ("12", "7", 20.0, 3.0), ("7", "9", 40.0, 0.5)]
    network = TieDecayNetwork(math.log(2) / 20)
    network.add_contacts(contacts)
    np.testing.assert_allclose(network.adjacency(), [[0, 1.5, 0.5], [1.5, 0, 0], [0.5, 0, 0]])
    np.testing.assert_allclose(laplacian_spectra(contacts, 0.0)[1][0], [0, 0, 6])


def test_weights_of_one_are_no_weights():
    events = [(k % 4, 4 + k % 3, k // 2) for k in range(60)]
    weighted = [(*event, 1.0) for event in events]
    np.testing.assert_array_equal(laplacian_spectra(weighted, 0.3)[1], laplacian_spectra(events, 0.3)[1])


METADATA = {
    "SocioPatterns": ("7\tMED\tF\n12\tNUR\tM\n9\tPAT\tF\n999\tPAT\tM\n", ["class", "attribute2"]),
    "header": ("id,role,sex\n9,PAT,F\n7,MED,F\n12,NUR,M\n", ["role", "sex"]),
    "another header": ("whoever role sex\n9 PAT F\n7 MED F\n12 NUR M\n", ["role", "sex"]),
}


@pytest.mark.parametrize(("text", "names"), METADATA.values(), ids=METADATA)
def test_metadata_describe_the_nodes(tmp_path, text, names):
    (tmp_path / "metadata").write_text(text)
    contacts = read_metadata(
        tmp_path / "metadata", Contacts.from_events([("7", "12", 0), ("12", "9", 1), ("9", "4", 2)])
    )
    assert contacts.attributes == {names[0]: ("MED", "NUR", "PAT", ""), names[1]: ("F", "M", "F", "")}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "is empty"),
        ("7\n12\n", "line 1 has one field"),
        ("id,role\n7,MED\n12\n", "line 3 has 1 fields"),
        ("id,role\n7,MED\n7,NUR\n", "line 3: '7' has other attributes"),
        ("id,role\n70,MED\n", "does not describe any of the nodes: it has 70, but the contacts have 12, 7"),
    ],
)
def test_bad_metadata_are_named(tmp_path, text, message):
    (tmp_path / "metadata").write_text(text)
    with pytest.raises(ValueError, match=message):
        read_metadata(tmp_path / "metadata", Contacts.from_events([("7", "12", 0)]))


@given(contact_lists(), decays)
def test_strengths_of_groups_are_sums_over_the_network(contacts, decay):
    record = Contacts.from_events(contacts)
    groups = tuple("abc"[k % 3] if k % 4 else "" for k in range(len(record.nodes)))
    record = dataclasses.replace(record, attributes={"group": groups})
    found = group_strengths(record, "group", decay)
    network = TieDecayNetwork(decay, nodes=record.nodes)
    for row, (_, B) in zip(found.values, network.snapshots(record), strict=True):
        for group, value in zip(found.groups, row, strict=True):
            expected = B[[label == group for label in groups]].sum()
            assert value == pytest.approx(expected, rel=1e-9, abs=1e-12)
    assert len(found.strongest()) == len(found.values)
    with pytest.raises(ValueError, match=r"attribute must be one of 'group'; got 'grup' \(did you mean"):
        group_strengths(record, "grup", decay)


def test_the_half_life_is_the_scale_of_the_gaps_between_contacts_of_a_pair():
    def fits(events):
        return half_life(Contacts.from_events(events))

    assert fits([("a", "b", 0), ("c", "d", 1), ("b", "a", 4), ("a", "b", 4), ("a", "b", 20)]) == pytest.approx(8)
    assert fits([("a", "b", 0), ("a", "c", 3), ("b", "c", 30)]) == pytest.approx(9)  # no pair meets twice
    scaled = [("a", "b", 1000 * t) for t in (0, 1, 3)]
    assert fits(scaled) == pytest.approx(1000 * math.sqrt(2))
    with pytest.raises(ValueError, match="give a rate"):
        fits([("a", "b", 5), ("a", "c", 5)])


def test_times_are_dates_if_they_are_seconds_since_1970_or_if_their_start_is_known():
    recorded = Contacts.from_events([("a", "b", 1385982020.5), ("a", "b", 1386345580)])
    assert recorded.dates().astype(str).tolist() == ["2013-12-02T11:00:20.500000", "2013-12-06T15:59:40.000000"]
    counted = Contacts.from_events([("a", "b", 0), ("a", "b", 86400)])
    assert counted.dates() is None
    assert counted.dates("2024-02-28").astype(str).tolist() == [
        "2024-02-28T00:00:00.000000",
        "2024-02-29T00:00:00.000000",
    ]


def test_progress_counts_spectra(monkeypatch):
    contacts = [(k % 4, 4 + k % 3, k) for k in range(60)]
    monkeypatch.setattr("driftmap.networks.spectra.STACK_BYTES", 8 * 7 * 7 * 25)
    done = []
    laplacian_spectra(contacts, 0.3, on_progress=done.append)
    assert done == [25, 50, 60]

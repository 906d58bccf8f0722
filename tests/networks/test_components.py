"""Spectra of large networks, by connected components."""

import numpy as np
import pytest

from driftmap.networks import TieDecayNetwork, laplacian_spectra, spectra
from driftmap.networks.components import components

N = 320
"""Nodes of a network that is decomposed by its components."""


def contacts(n_events=90, seed=0, groups=8):
    """Contacts within groups of nodes, one or two at a time, and some between the groups."""
    rng, events = np.random.default_rng(seed), []
    for k in range(n_events):
        group = rng.integers(groups) if rng.random() < 0.9 else slice(None)
        i, j = rng.choice(np.arange(N).reshape(groups, -1)[group].ravel(), 2, replace=False)
        events.append((int(i), int(j), float(k // 2), float(rng.integers(1, 4))))
    return events


@pytest.mark.parametrize("decay", [0.0, 0.1, 3.0, 50.0])
@pytest.mark.parametrize("count", [None, 7, 200])
def test_spectra_are_those_of_the_whole_matrix(decay, count):
    events = contacts()
    times, found = laplacian_spectra(events, decay, nodes=range(N), n_eigenvalues=count)
    snapshots = list(TieDecayNetwork(decay, nodes=range(N)).snapshots(events))
    assert times.tolist() == [t for t, _ in snapshots]
    for row, (_, B) in list(zip(found, snapshots, strict=True))[::9]:
        expected = np.linalg.eigvalsh(np.diag(B.sum(axis=1)) - B)
        np.testing.assert_allclose(row, expected[-(count or N) :], rtol=0, atol=1e-13 * expected[-1])


def test_few_eigenvalues_of_one_large_component_are_found_from_its_ties():
    rng = np.random.default_rng(1)
    events = [(k, k + 1, 0.0, 1.0) for k in range(N - 1)] + [
        (*rng.choice(N, 2, replace=False).tolist(), 1.0 + k // 100, 1.0) for k in range(300)
    ]
    few, whole = (laplacian_spectra(events, 0.1, n_eigenvalues=count)[1] for count in (5, None))
    np.testing.assert_allclose(few, whole[:, -5:], rtol=1e-9)


def test_spectra_depend_on_neither_the_number_of_threads_nor_the_steps_before():
    events = contacts()
    one, two = (laplacian_spectra(events, 0.5, nodes=range(N), n_jobs=jobs)[1] for jobs in (1, 2))
    np.testing.assert_array_equal(one, two)
    network = TieDecayNetwork(0.5, nodes=range(N))
    network.add_contacts(events)
    np.testing.assert_array_equal(spectra.NetworkSpectra(N)(network), one[-1])


def test_a_component_is_decomposed_again_only_after_a_contact_in_it(monkeypatch):
    sizes = []

    def eigvalsh(matrix, original=np.linalg.eigvalsh):
        sizes.append(len(matrix))
        return original(matrix)

    monkeypatch.setattr(np.linalg, "eigvalsh", eigvalsh)
    apart = [(2 * k, 2 * k + 1, 0.0) for k in range(N // 2)]
    laplacian_spectra([*apart, (0, 1, 1.0), (2, 3, 2.0), (4, 6, 3.0)], 0.1)
    assert sizes == [2] * (N // 2) + [2, 2, 4]


def test_ties_that_are_too_old_to_count_join_nothing():
    network = TieDecayNetwork(1.0)
    network.add_contacts([("a", "b", 0), ("c", "d", 10), ("b", "c", 60)])
    assert sorted(one.n_nodes for one in components(network, 4)) == [2]
    network = TieDecayNetwork(0.5)
    network.add_contacts([("a", "b", 0), ("c", "d", 10), ("b", "c", 60)])
    assert [one.n_nodes for one in components(network, 4)] == [4]
    assert components(TieDecayNetwork(1.0), 4) == []
    network = TieDecayNetwork(1.0)
    network.add("a", "b", 0, 0.0)
    assert components(network, 2) == []

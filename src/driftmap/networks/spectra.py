"""Laplacian spectra of networks, and the distance between networks based on them.

The unnormalised Laplacian distance between two networks is the Euclidean distance between their sorted spectra.
`laplacian_spectra` turns a stream of networks into a stream of vectors, which the Euclidean metric compares.
"""

from __future__ import annotations

import inspect
import itertools
import sys
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np
import scipy.sparse
import scipy.sparse.linalg
from numpy.typing import ArrayLike

from driftmap.networks.components import Component, components
from driftmap.networks.contacts import Contact, Contacts, Node
from driftmap.networks.tie_decay import TieDecayNetwork
from driftmap.utils import Array, validation
from driftmap.utils.concurrency import in_parallel, n_threads, one_thread
from driftmap.utils.errors import InputError

DENSE_LIMIT = 300
"""Most nodes for which all eigenvalues of a dense matrix cost no more than a few of a sparse one."""
STEPS_AT_ONCE = 16
"""Number of large networks whose components are distributed to the threads together."""
NODE_COUNT_STEP = 4
"""Networks are decomposed in one call if their numbers of nodes with ties agree up to this multiple."""
STACK_BYTES = 2**24
"""Bytes of the stack of networks whose spectra are computed together."""


def laplacian_spectrum(network: Any, n_eigenvalues: int | None = None) -> Array:
    """Return the eigenvalues of the unnormalised Laplacian D - B, ascending; or only the `n_eigenvalues` largest.

    `network` is a symmetric adjacency matrix (array or SciPy sparse), a networkx graph (edge attribute "weight", 1 by
    default) or a `TieDecayNetwork` (at its latest contact). All eigenvalues of a large network need a dense matrix, a
    few need only its edges. Equal networks give equal numbers.

    >>> laplacian_spectrum(np.array([[0, 2], [2, 0]]))
    array([0., 4.])
    """
    adjacency = _as_adjacency(network)
    n = adjacency.shape[0]
    count = _check_count(n_eigenvalues, n)
    if n > DENSE_LIMIT and 4 * count < n:
        return _largest_eigenvalues(scipy.sparse.csr_array(adjacency), count)
    dense = adjacency.toarray() if scipy.sparse.issparse(adjacency) else adjacency
    return _eigenvalues(dense[np.newaxis])[0, n - count :]


def laplacian_distance(a: Any, b: Any, n_eigenvalues: int | None = None) -> float:
    """Return the Euclidean distance between the spectra of two networks, in the forms that `laplacian_spectrum` takes.

    A node without ties only adds a zero eigenvalue, so the smaller of two networks is padded with such nodes. With
    `n_eigenvalues`, only that many largest eigenvalues are compared.

    >>> laplacian_distance(np.array([[0, 2], [2, 0]]), np.array([[0, 1, 0], [1, 0, 0], [0, 0, 0]]))
    2.0
    """
    matrices = [_as_adjacency(a), _as_adjacency(b)]
    count = _check_count(n_eigenvalues, max(matrix.shape[0] for matrix in matrices))
    spectra = np.zeros((2, count))
    for row, matrix in zip(spectra, matrices, strict=True):
        n = min(count, matrix.shape[0])
        row[:n] = laplacian_spectrum(matrix, n or None)
    spectra.sort(axis=1)
    return float(np.linalg.norm(spectra[0] - spectra[1]))


def laplacian_spectra(
    contacts: Iterable[Contact],
    decay: float,
    *,
    nodes: Iterable[Node] | None = None,
    n_eigenvalues: int | None = None,
    n_jobs: int | None = None,
    on_progress: Callable[[int], object] | None = None,
) -> tuple[Array, Array]:
    """Return the times t_r of a list of contacts and, one row each, the sorted spectrum of B(t_r).

    Every row has one eigenvalue per node of the whole list (or of `nodes`), or the `n_eigenvalues` largest. `n_jobs`
    threads (1 by default, -1: one per core) share the decompositions; the numbers do not depend on it. Networks of more
    than 300 nodes are decomposed by connected components, each only after a new contact in it. `on_progress` is called
    with the number of finished spectra.

    >>> times, spectra = laplacian_spectra([("a", "b", 0), ("b", "c", 20)], decay=0)
    >>> times, abs(spectra.round(6))
    (array([ 0., 20.]), array([[0., 0., 2.], [0., 1., 3.]]))
    """
    record = contacts if isinstance(contacts, Contacts) else Contacts.from_events(contacts)
    network = TieDecayNetwork(decay, nodes=record.nodes if nodes is None else nodes)
    times, n = record.event_times, len(network.nodes)
    count = _check_count(n_eigenvalues, n)
    spectra = np.empty((len(times), count))
    jobs = n_threads(n_jobs)
    if n > DENSE_LIMIT:
        steps = (components(network, n) for _ in network.steps(record))
        with one_thread():
            for row, spectrum in enumerate(_by_components(steps, n, count, jobs)):
                spectra[row] = spectrum
                if on_progress is not None:
                    on_progress(row + 1)
        return times, spectra
    # LAPACK receives a stack in one call: many small networks share the overhead, and NumPy releases the interpreter
    # lock meanwhile.
    snapshots = (matrix for _, matrix in network.snapshots(record))
    size = max(1, STACK_BYTES // max(1, 8 * n * n))
    stacks = (np.stack(list(itertools.islice(snapshots, size))) for _ in range(0, len(times), size))
    # On small matrices, BLAS threads gain nothing and, on a busy machine, lose much time by waiting for each other.
    with one_thread():
        row = 0
        # Building networks holds the interpreter lock, which decompositions need: first build, then map.
        while batch := list(itertools.islice(stacks, jobs)):
            for found in in_parallel(_eigenvalues, batch, jobs):
                spectra[row : row + len(found)] = found[:, n - count :]
                row += len(found)
                if on_progress is not None:
                    on_progress(row)
    return times, spectra


class NetworkSpectra:
    """The spectra of a growing tie-decay network, of `n_nodes` in the end: the rows of `laplacian_spectra`.

    >>> network, spectrum = TieDecayNetwork(decay=0), NetworkSpectra(n_nodes=4)
    >>> network.add("a", "b", 0)
    >>> spectrum(network)
    array([0., 0., 0., 2.])
    """

    def __init__(self, n_nodes: int, n_eigenvalues: int | None = None) -> None:
        self.n_nodes, self.n_eigenvalues = n_nodes, _check_count(n_eigenvalues, n_nodes)
        self._known: dict[bytes, Array] = {}

    def __call__(self, network: TieDecayNetwork) -> Array:
        """Return the spectrum at the latest contact, with a zero for each node that has not appeared yet."""
        n, count = self.n_nodes, self.n_eigenvalues
        with one_thread():
            if n > DENSE_LIMIT:
                (spectrum,) = _by_components([components(network, n)], n, count, 1, self._known)
                return spectrum
            adjacency, present = np.zeros((1, n, n)), network.n_nodes
            adjacency[0, :present, :present] = network.adjacency()
            return np.asarray(_eigenvalues(adjacency)[0, n - count :])


def spectrum_at(spectra: ArrayLike, times: ArrayLike, t: ArrayLike, decay: float) -> Array:
    """Return the spectrum of B(t) at any `t`, one or many, from the spectra at the contacts' `times`.

    Between contacts B only decays, and its eigenvalues decay with it: the spectrum of the last t_r <= t is scaled by
    exp(-decay (t - t_r)). Before the first contact every eigenvalue is 0.

    >>> spectrum_at([[0.0, 2.0], [0.0, 3.0]], times=[0, 20], t=[10, 25], decay=0.1).round(3)
    array([[0. , 0.736], [0. , 1.82 ]])
    """
    rows, known, asked = (np.asarray(values, dtype=np.float64) for values in (spectra, times, t))
    if rows.ndim != 2 or known.shape != rows.shape[:1] or not known.size or not np.all(np.diff(known) > 0):
        raise InputError(f"need one spectrum for each ascending time, got {rows.shape} and {known.shape}")
    if not np.all(np.isfinite(asked)):
        raise InputError("must be finite", parameter="t")
    validation.positive_number(decay, "decay", or_zero=True)
    last = np.searchsorted(known, asked, side="right") - 1
    scale = np.where(last < 0, 0.0, np.exp(-decay * np.maximum(asked - known[last], 0.0)))
    return np.asarray(scale[..., np.newaxis] * rows[last], dtype=np.float64)


def _check_count(n_eigenvalues: int | None, n: int) -> int:
    if n_eigenvalues is not None and not 1 <= n_eigenvalues <= n:
        problem = f"must be between 1 and the {n} nodes, got {n_eigenvalues}"
        raise InputError(problem, parameter="n_eigenvalues")
    return n if n_eigenvalues is None else n_eigenvalues


def _as_adjacency(network: Any) -> Any:
    """Return the validated adjacency matrix of a network, dense or sparse as given."""
    networkx = sys.modules.get("networkx")  # a caller that passes a graph has imported networkx
    if isinstance(network, TieDecayNetwork):
        return network.sparse_adjacency()
    if networkx is not None and isinstance(network, networkx.Graph):
        network = networkx.to_scipy_sparse_array(network, dtype=float) if len(network) else np.zeros((0, 0))
    is_sparse = scipy.sparse.issparse(network)
    matrix = network.astype(np.float64) if is_sparse else np.asarray(network, dtype=np.float64)
    if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1]:
        raise InputError(f"an adjacency matrix is square, got shape {matrix.shape}")
    if not np.all(np.isfinite(matrix.data if is_sparse else matrix)):
        raise InputError("the adjacency matrix holds NaN or infinity")
    # Rounding errors may differ on the two sides of the diagonal.
    if matrix.shape[0] and abs(matrix - matrix.T).max() > 1e-9 * abs(matrix).max():
        raise InputError("the adjacency matrix is not symmetric; the distance is for undirected networks")
    return matrix


def _eigenvalues(adjacency: Array) -> Array:
    """Return all Laplacian eigenvalues of a stack of dense networks, ascending.

    A node without ties only adds a zero eigenvalue, so the decomposition omits it. In a network that decays, most ties
    are old. A tie is ignored if it is lighter than eps / 4n of the heaviest: all such ties together change each
    eigenvalue by at most eps / 4 of the largest one, which is less than its rounding error.
    """
    n = adjacency.shape[-1]
    degrees = adjacency.sum(axis=2)
    heaviest = np.maximum(adjacency.max(axis=2, initial=0.0), -adjacency.min(axis=2, initial=0.0))
    tied = heaviest > np.finfo(np.float64).eps / (4 * max(n, 1)) * heaviest.max(axis=1, initial=0.0, keepdims=True)
    counts = np.minimum(-(-tied.sum(axis=1) // NODE_COUNT_STEP) * NODE_COUNT_STEP, n)
    order = np.argsort(~tied, axis=1, kind="stable")
    spectra = np.zeros(degrees.shape)
    for count in np.unique(counts):
        networks = np.flatnonzero(counts == count)[:, np.newaxis]
        nodes = order[networks[:, 0], :count]
        laplacians = adjacency[networks[:, :, np.newaxis], nodes[:, :, np.newaxis], nodes[:, np.newaxis, :]]
        np.negative(laplacians, out=laplacians)
        diagonal = np.arange(count)
        laplacians[:, diagonal, diagonal] += degrees[networks, nodes]
        spectra[networks[:, 0], n - count :] = np.linalg.eigvalsh(laplacians)
    spectra.sort(axis=1)  # rounding may make a zero negative
    return spectra


def _by_components(
    steps: Iterable[list[Component]], n: int, count: int, jobs: int, known: dict[bytes, Array] | None = None
) -> Iterator[Array]:
    """Return the `count` largest of the n eigenvalues at each step; `known` has those of earlier components."""
    known = {} if known is None else known
    steps = iter(steps)
    while batch := list(itertools.islice(steps, STEPS_AT_ONCE)):
        new = {one.key: one for step in batch for one in step if one.key not in known}
        known.update(zip(new, in_parallel(lambda one: _of_component(one, count), new.values(), jobs), strict=True))
        for step in batch:
            spectrum = np.zeros(n)
            found = [one.decayed * known[one.key] for one in step]
            if found:
                spectrum[n - sum(map(len, found)) :] = np.concatenate(found)
            spectrum.sort()  # rounding may make a zero negative
            yield spectrum[n - count :]
        for key in known.keys() - {one.key for one in batch[-1]}:
            del known[key]


def _of_component(component: Component, count: int) -> Array:
    """Return the largest eigenvalues of a component, at most `count`."""
    n = component.n_nodes
    if n > DENSE_LIMIT and 4 * count < n:
        return _largest_eigenvalues(component.sparse_adjacency(), count)
    adjacency = component.adjacency()
    found = np.linalg.eigvalsh(np.diag(adjacency.sum(axis=1)) - adjacency)
    return np.asarray(found[max(0, n - count) :], dtype=np.float64)


def _largest_eigenvalues(adjacency: Any, n_eigenvalues: int) -> Array:
    """Return the largest Laplacian eigenvalues by the Lanczos method, which uses only the edges."""
    laplacian = scipy.sparse.diags_array(adjacency.sum(axis=1)) - adjacency
    # A fixed start makes the result repeatable. It must not be the vector of ones, which every Laplacian maps to zero.
    # If few eigenvalues are distinct, the method restarts from a random vector, which SciPy lets us fix since 1.17.
    start = np.random.default_rng(0).standard_normal(adjacency.shape[0])
    restart = {"rng": 0} if "rng" in inspect.signature(scipy.sparse.linalg.eigsh).parameters else {}
    try:
        found = scipy.sparse.linalg.eigsh(
            laplacian, n_eigenvalues, which="LA", v0=start, return_eigenvectors=False, **restart
        )
    except scipy.sparse.linalg.ArpackError:  # no ties, or no convergence
        return _eigenvalues(adjacency.toarray()[np.newaxis])[0, -n_eigenvalues:]
    return np.sort(np.asarray(found, dtype=np.float64))

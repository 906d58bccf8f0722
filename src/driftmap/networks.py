"""Tie-decay networks: contacts in, a weighted network at any time out, and its Laplacian spectrum.

A contact (i, j, t) raises the weight of the tie between i and j by one; between contacts every weight decays
at the rate `decay` (alpha in the paper's supplement). The unnormalised Laplacian distance between two
networks is the Euclidean distance between their sorted spectra, so `laplacian_spectra` turns a stream of
networks into a stream of vectors that needs no distance of its own.
"""

from __future__ import annotations

import inspect
import itertools
import math
import sys
from array import array
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeAlias

import numpy as np
import scipy.sparse
import scipy.sparse.linalg
from numpy.typing import ArrayLike, NDArray
from threadpoolctl import threadpool_limits

from driftmap.contacts import Contact, Contacts, Node, checked, read_contacts
from driftmap.parallel import n_threads

__all__ = [
    "Contacts",
    "TieDecayNetwork",
    "laplacian_distance",
    "laplacian_spectra",
    "laplacian_spectrum",
    "read_contacts",
    "spectrum_at",
]

FloatArray: TypeAlias = NDArray[np.float64]

_DENSE_LIMIT = 300  # nodes up to which all eigenvalues cost no more than a few by the sparse solver
_NODES_ALIKE = 4  # networks whose numbers of nodes differ by less are decomposed together
_BLOCK_BYTES = 2**24  # memory for the stack of networks whose spectra are computed together


class TieDecayNetwork:
    """The weighted network B(t) of a stream of undirected contacts.

    B(t_{r+1}) = exp(-decay (t_{r+1} - t_r)) B(t_r) + A_{r+1}, where A is 0/1: a pair that is reported twice
    at the same time counts once. Each tie is decayed only when it is used, so a contact costs the same in a
    network of any size, and memory holds one entry per pair that ever met, however long the stream.

    `decay` is the rate per unit of time, >= 0. With `nodes`, the network has exactly these nodes and a
    contact of any other is an error; without, nodes join at their first contact. A contact that is older than
    the latest, joins a node to itself or has no finite time raises a ValueError that names it, and changes
    nothing.

    >>> network = TieDecayNetwork(decay=np.log(2) / 20)
    >>> network.add("ann", "bob", 0)
    >>> network.add("ann", "bob", 20)
    >>> network.adjacency()[0, 1], network.adjacency(40)[0, 1]  # 1/2 + 1, then half of it
    (np.float64(1.5), np.float64(0.75))
    """

    def __init__(self, decay: float, nodes: Iterable[Node] | None = None) -> None:
        if not (math.isfinite(decay) and decay >= 0):
            raise ValueError(f"decay must be a finite rate >= 0, got {decay}")
        self.decay = float(decay)
        self._fixed = nodes is not None
        self._index: dict[Node, int] = {}
        for node in () if nodes is None else nodes:
            self._index.setdefault(node, len(self._index))
        self._time: float | None = None
        # One entry per pair that ever met: its ends, its weight at its own last contact, and when that was.
        self._ties: dict[tuple[int, int], int] = {}
        self._ends = array("q")
        self._weights = array("d")
        self._last = array("d")

    def __repr__(self) -> str:
        return f"TieDecayNetwork(decay={self.decay}, {len(self._index)} nodes, time={self._time})"

    @property
    def nodes(self) -> tuple[Node, ...]:
        """The nodes in the order of B's rows: as given, or by first contact."""
        return tuple(self._index)

    @property
    def time(self) -> float | None:
        """Time of the latest contact; None before the first."""
        return self._time

    def add(self, i: Node, j: Node, t: float) -> None:
        """Add one contact; `t` may equal the latest contact's time but not precede it."""
        self._apply(*self._admissible((i, j, t), self._time))

    def add_contacts(self, contacts: Iterable[Contact]) -> None:
        """Add many (i, j, t) contacts in order of time: all of them or, if one is bad, none."""
        latest, admitted = self._time, []
        for contact in contacts:
            admitted.append(self._admissible(contact, latest))
            latest = admitted[-1][2]
        for i, j, t in admitted:
            self._apply(i, j, t)

    def add_step(self, pairs: Iterable[tuple[Node, Node]], t: float) -> None:
        """Add the (i, j) contacts of one time step: all of them or, if one is bad, none."""
        self.add_contacts((*pair, t) for pair in pairs)

    def adjacency(self, t: float | None = None) -> FloatArray:
        """B(t) as a symmetric array, at any `t` from the latest contact on; by default at that contact."""
        rows, columns, weights = self._decayed(t)
        matrix = np.zeros((len(self._index), len(self._index)))
        matrix[rows, columns] = weights
        matrix[columns, rows] = weights
        return matrix

    def sparse_adjacency(self, t: float | None = None) -> Any:
        """B(t) as a SciPy CSR array, for networks too large for `adjacency`."""
        rows, columns, weights = self._decayed(t)
        shape = (len(self._index), len(self._index))
        half = scipy.sparse.coo_array((weights, (rows, columns)), shape=shape)
        return (half + half.T).tocsr()

    def snapshots(self, contacts: Iterable[Contact]) -> Iterator[tuple[float, FloatArray]]:
        """Add contacts in order of time and yield (t_r, B(t_r)) once all contacts of t_r are in.

        Takes any iterable, an endless one too. A bad contact raises; the contacts before it stay added.

        >>> network = TieDecayNetwork(decay=0)
        >>> [(t, B.sum()) for t, B in network.snapshots([(0, 1, 5), (1, 2, 5), (0, 1, 9)])]
        [(5.0, np.float64(4.0)), (9.0, np.float64(6.0))]
        """
        for t in self._steps(contacts):
            yield t, self.adjacency()

    def _steps(self, contacts: Iterable[Contact]) -> Iterator[float]:
        step: float | None = None
        for contact in contacts:
            i, j, t = self._admissible(contact, self._time)
            if step is not None and t > step:
                yield step
            self._apply(i, j, t)
            step = t
        if step is not None:
            yield step

    def _admissible(self, contact: Contact, latest: float | None) -> Contact:
        i, j, t = checked(contact)
        if latest is not None and t < latest:
            raise ValueError(f"contact {contact!r} is older than the latest contact, at t={latest}")
        if self._fixed and not (i in self._index and j in self._index):
            unknown = j if i in self._index else i
            raise ValueError(f"contact {contact!r}: {unknown!r} is not one of the nodes given")
        return i, j, t

    def _apply(self, i: Node, j: Node, t: float) -> None:
        a = self._index.setdefault(i, len(self._index))
        b = self._index.setdefault(j, len(self._index))
        pair = (a, b) if a < b else (b, a)
        tie = self._ties.setdefault(pair, len(self._ties))
        if tie == len(self._weights):
            self._ends.extend(pair)
            self._weights.append(1.0)
            self._last.append(t)
        elif self._last[tie] != t:
            self._weights[tie] = self._weights[tie] * math.exp(-self.decay * (t - self._last[tie])) + 1.0
            self._last[tie] = t
        self._time = t

    def _decayed(self, t: float | None) -> tuple[NDArray[np.int64], NDArray[np.int64], FloatArray]:
        """The ends of every tie and its weight at time `t`."""
        latest = -math.inf if self._time is None else self._time
        now = latest if t is None else float(t)
        if t is not None and not latest <= now < math.inf:  # in this form NaN fails too
            raise ValueError(f"t={t} is not a finite time from the latest contact's, {self._time}, on")
        ends = np.array(self._ends, dtype=np.int64).reshape(-1, 2)
        weights = np.array(self._weights) * np.exp(-self.decay * (now - np.array(self._last)))
        return ends[:, 0], ends[:, 1], weights


def laplacian_spectrum(network: Any, n_eigenvalues: int | None = None) -> FloatArray:
    """Eigenvalues of the unnormalised Laplacian D - B, ascending; or only the `n_eigenvalues` largest.

    `network` is a symmetric adjacency matrix (array or SciPy sparse), a networkx graph (edge attribute
    "weight", 1 where absent) or a `TieDecayNetwork` (at its latest contact). All eigenvalues of a large
    network take a dense matrix; a few take only its edges, and a network always gives the same numbers.

    >>> laplacian_spectrum(np.array([[0, 2], [2, 0]]))
    array([0., 4.])
    """
    adjacency = _as_adjacency(network)
    n = adjacency.shape[0]
    kept = _n_kept(n_eigenvalues, n)
    if n > _DENSE_LIMIT and 4 * kept < n:
        return _largest_eigenvalues(scipy.sparse.csr_array(adjacency), kept)
    dense = adjacency.toarray() if scipy.sparse.issparse(adjacency) else adjacency
    return _eigenvalues(dense[np.newaxis])[0, n - kept :]


def laplacian_distance(a: Any, b: Any, n_eigenvalues: int | None = None) -> float:
    """Euclidean distance between the spectra of two networks, of the kinds `laplacian_spectrum` takes.

    A node without ties only adds a zero eigenvalue, so networks of different sizes are compared as if the
    smaller one had further such nodes. With `n_eigenvalues`, only that many largest ones are compared.

    >>> laplacian_distance(np.array([[0, 2], [2, 0]]), np.array([[0, 1, 0], [1, 0, 0], [0, 0, 0]]))
    2.0
    """
    matrices = [_as_adjacency(a), _as_adjacency(b)]
    kept = _n_kept(n_eigenvalues, max(matrix.shape[0] for matrix in matrices))
    spectra = np.zeros((2, kept))
    for row, matrix in zip(spectra, matrices, strict=True):
        n = min(kept, matrix.shape[0])
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
) -> tuple[FloatArray, FloatArray]:
    """The times t_r of a list of contacts and, one row each, the sorted spectrum of B(t_r).

    Every row has one eigenvalue per node of the whole list (or of `nodes`), or the `n_eigenvalues` largest.
    `n_jobs` threads (1 by default, -1: one per core) work on networks of up to 300 nodes; the numbers do not depend on
    it. Larger ones are decomposed one by one, with the threads of the linear algebra library.

    >>> times, spectra = laplacian_spectra([("a", "b", 0), ("b", "c", 20)], decay=0)
    >>> times, abs(spectra.round(6))
    (array([ 0., 20.]), array([[0., 0., 2.], [0., 1., 3.]]))
    """
    record = contacts if isinstance(contacts, Contacts) else Contacts.from_events(contacts)
    network = TieDecayNetwork(decay, nodes=record.nodes if nodes is None else nodes)
    times, n = record.event_times, len(network.nodes)
    kept = _n_kept(n_eigenvalues, n)
    spectra = np.empty((len(times), kept))
    if n > _DENSE_LIMIT and kept < n:
        for row, _ in enumerate(network._steps(record)):
            spectra[row] = laplacian_spectrum(network, kept)
        return times, spectra
    # A stack goes to LAPACK in one call: the Python cost of a call is then shared by many small networks, and numpy
    # lets other threads run meanwhile.
    snapshots = (matrix for _, matrix in network.snapshots(record))
    size = max(1, _BLOCK_BYTES // max(1, 8 * n * n))
    stacks = (np.stack(list(itertools.islice(snapshots, size))) for _ in range(0, len(times), size))
    jobs = 1 if n > _DENSE_LIMIT else n_threads(n_jobs)
    # The library's own threads gain nothing on small matrices and, on a busy machine, lose a lot by waiting for each
    # other.
    with threadpool_limits(1 if n <= _DENSE_LIMIT else None, user_api="blas"), ThreadPoolExecutor(jobs) as pool:
        row = 0
        # Networks are made while no thread works on others: it would wait for Python between any two of its steps.
        while made := list(itertools.islice(stacks, jobs)):
            for found in pool.map(_eigenvalues, made):
                spectra[row : row + len(found)] = found[:, n - kept :]
                row += len(found)
    return times, spectra


def spectrum_at(spectra: ArrayLike, times: ArrayLike, t: ArrayLike, decay: float) -> FloatArray:
    """Spectrum of B(t) at any `t`, one or many, from the spectra at the contacts' `times`.

    Between contacts B only shrinks, and its eigenvalues with it: the spectrum of the last t_r <= t is scaled
    by exp(-decay (t - t_r)). Before the first contact there are no ties and every eigenvalue is 0.

    >>> spectrum_at([[0.0, 2.0], [0.0, 3.0]], times=[0, 20], t=[10, 25], decay=0.1).round(3)
    array([[0. , 0.736], [0. , 1.82 ]])
    """
    rows, known, asked = (np.asarray(values, dtype=np.float64) for values in (spectra, times, t))
    if rows.ndim != 2 or known.shape != rows.shape[:1] or not known.size or not np.all(np.diff(known) > 0):
        raise ValueError(f"need one spectrum for each ascending time, got {rows.shape} and {known.shape}")
    if not np.all(np.isfinite(asked)):
        raise ValueError("t must be finite")
    last = np.searchsorted(known, asked, side="right") - 1
    scale = np.where(last < 0, 0.0, np.exp(-decay * np.maximum(asked - known[last], 0.0)))
    return np.asarray(scale[..., np.newaxis] * rows[last], dtype=np.float64)


def _n_kept(n_eigenvalues: int | None, n: int) -> int:
    if n_eigenvalues is not None and not 1 <= n_eigenvalues <= n:
        raise ValueError(f"n_eigenvalues must be between 1 and the {n} nodes, got {n_eigenvalues}")
    return n if n_eigenvalues is None else n_eigenvalues


def _as_adjacency(network: Any) -> Any:
    """The network's adjacency matrix, dense or sparse as it came, checked."""
    networkx = sys.modules.get("networkx")  # a graph can only come from a program that has imported networkx
    if isinstance(network, TieDecayNetwork):
        return network.sparse_adjacency()
    if networkx is not None and isinstance(network, networkx.Graph):
        network = networkx.to_scipy_sparse_array(network, dtype=float) if len(network) else np.zeros((0, 0))
    is_sparse = scipy.sparse.issparse(network)
    matrix = network.astype(np.float64) if is_sparse else np.asarray(network, dtype=np.float64)
    if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1]:
        raise ValueError(f"an adjacency matrix is square, got shape {matrix.shape}")
    if not np.all(np.isfinite(matrix.data if is_sparse else matrix)):
        raise ValueError("the adjacency matrix holds NaN or infinity")
    # Rounding may differ on the two sides of the diagonal; a direction may not.
    if matrix.shape[0] and abs(matrix - matrix.T).max() > 1e-9 * abs(matrix).max():
        raise ValueError("the adjacency matrix is not symmetric; the distance is for undirected networks")
    return matrix


def _eigenvalues(adjacency: FloatArray) -> FloatArray:
    """All Laplacian eigenvalues of a stack of dense networks, ascending.

    A node without ties only adds a zero, so it is left out of the decomposition; in a network that decays, most nodes
    have no ties or what is left of old ones. These count as none if they are lighter than eps / 4n of the heaviest:
    all of them together move no eigenvalue by more than eps / 4 of the largest, less than its rounding.
    """
    n = adjacency.shape[-1]
    degrees = adjacency.sum(axis=2)
    heaviest = np.maximum(adjacency.max(axis=2, initial=0.0), -adjacency.min(axis=2, initial=0.0))
    tied = heaviest > np.finfo(np.float64).eps / (4 * max(n, 1)) * heaviest.max(axis=1, initial=0.0, keepdims=True)
    counts = np.minimum(-(-tied.sum(axis=1) // _NODES_ALIKE) * _NODES_ALIKE, n)
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
    spectra.sort(axis=1)  # a zero may have come out as less
    return spectra


def _largest_eigenvalues(adjacency: Any, n_eigenvalues: int) -> FloatArray:
    """The largest Laplacian eigenvalues by the Lanczos method, from the edges alone."""
    laplacian = scipy.sparse.diags_array(adjacency.sum(axis=1)) - adjacency
    # A fixed start makes the result repeatable. It must not be the vector of ones, which every Laplacian maps
    # to zero, so that the method could not leave it. If few eigenvalues are distinct the method starts again
    # from a random vector; SciPy has let us fix that one too since 1.17.
    start = np.random.default_rng(0).standard_normal(adjacency.shape[0])
    restart = {"rng": 0} if "rng" in inspect.signature(scipy.sparse.linalg.eigsh).parameters else {}
    try:
        found = scipy.sparse.linalg.eigsh(
            laplacian, n_eigenvalues, which="LA", v0=start, return_eigenvectors=False, **restart
        )
    except scipy.sparse.linalg.ArpackError:  # no ties at all, or no convergence
        return _eigenvalues(adjacency.toarray()[np.newaxis])[0, -n_eigenvalues:]
    return np.sort(np.asarray(found, dtype=np.float64))

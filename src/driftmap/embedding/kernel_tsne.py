"""Kernel t-SNE and bi-kernel t-SNE: t-SNE of the landmarks, other points by a function fitted to its map."""

from __future__ import annotations

import numpy as np

from driftmap.embedding.kernels import KernelMap, PlacedByKernels
from driftmap.embedding.tsne import LandmarkTSNE
from driftmap.metrics import euclidean
from driftmap.utils import Array, validation

NARROWEST_KERNEL = 1e-3
"""The least width of a kernel, in medians of all: landmarks in the same place would have none."""
N_LARGEST = 10
"""How many of the largest distances say how far landmarks are apart at most."""
AT_FARTHEST = 0.6
"""What a kernel of bi-kernel t-SNE is at that distance."""
LEAST_COMPONENT = 1e-12
"""A principal component smaller than this share of the largest is rounding noise."""


class KernelTSNE(PlacedByKernels, LandmarkTSNE):
    """Kernel t-SNE (Gisbrecht, Schulz and Hammer, 2015): points by a normalised Gaussian kernel.

    The width of a landmark's kernel is ``width`` times the distance to its nearest other landmark. The columns of the
    map are fitted so that landmarks lie where t-SNE of the landmarks has put them.

    Parameters
    ----------
    n_components, perplexity
        See :class:`LandmarkTSNE`.
    width : float
        Of the kernels. The smaller, the nearer points lie to their nearest landmark; widths of 0.5 and more mix up what
        t-SNE has separated.

    Examples
    --------
    >>> import numpy as np
    >>> line = np.arange(12.0)
    >>> embedding = KernelTSNE(n_components=1).fit(np.abs(line[:, None] - line))
    >>> place = embedding.place(np.abs(np.array([[3.5]]) - line))[0, 0]  # between two landmarks
    >>> bool(np.isclose(place, embedding.coordinates_[3:5].mean()))
    True
    """

    def __init__(self, n_components: int = 2, *, perplexity: float | None = None, width: float = 0.05) -> None:
        super().__init__(n_components, perplexity=perplexity, n_anchors=0)
        self.width = width

    def check(self, n_landmarks: int) -> None:
        """Refuse parameters that no stream could satisfy."""
        super().check(n_landmarks)
        validation.positive_number(self.width, "width")

    def _prepare(self, distances: Array) -> None:
        super()._prepare(distances)
        m, k = self.coordinates_.shape
        rates = 0.5 / kernel_widths(distances, self.width) ** 2
        exponents = -(distances**2) * rates
        kernels = np.exp(exponents - exponents.max(axis=1)[:, None])
        kernels /= kernels.sum(axis=1)[:, None]
        columns = np.column_stack([np.linalg.pinv(kernels) @ self.coordinates_, np.ones(m)])
        self._map = KernelMap(rates, columns, np.zeros(k + 1), normalised=True)


class BiKernelTSNE(PlacedByKernels, LandmarkTSNE):
    """Bi-kernel t-SNE (Zhang et al., Information Visualization 20(1), 2021).

    Gaussian kernels of the data and of the map by t-SNE are related by least squares; the map is the first principal
    components of the second kernel, in its units. Both kernels are wide, 0.6 at the largest distances, so it needs many
    landmarks: with 200 of them :class:`LandmarkTSNE` and :class:`KernelTSNE` keep neighbours far better.

    Parameters
    ----------
    n_components, perplexity
        See :class:`LandmarkTSNE`.
    """

    def __init__(self, n_components: int = 2, *, perplexity: float | None = None) -> None:
        super().__init__(n_components, perplexity=perplexity, n_anchors=0)

    def _prepare(self, distances: Array) -> None:
        super()._prepare(distances)
        positions = self.layout_.positions
        between = euclidean(positions, positions)
        rate, map_rate = wide_rate(distances), wide_rate(between)
        kernel, map_kernel = np.exp(-rate * distances**2), np.exp(-map_rate * between**2)
        mean = map_kernel.mean(axis=0)
        axes = principal_axes(map_kernel - mean, self.n_components)
        fitted = np.linalg.pinv(kernel.T @ kernel) @ kernel.T @ map_kernel
        self.coordinates_ = (map_kernel - mean) @ axes
        self.n_dimensions_ = int(np.sum(axes.any(axis=0)))
        self._map = KernelMap(np.full(len(distances), rate), fitted @ axes, -mean @ axes, normalised=False)


def kernel_widths(distances: Array, width: float) -> Array:
    """For each landmark, ``width`` times the distance to its nearest other one, (m,)."""
    nearest = np.where(np.eye(len(distances), dtype=bool), np.inf, distances).min(axis=1)
    known = nearest[(nearest > 0) & (nearest < np.inf)]
    typical = float(np.median(known)) if len(known) else 1.0
    return width * np.maximum(np.where(nearest < np.inf, nearest, typical), NARROWEST_KERNEL * typical)


def wide_rate(distances: Array) -> float:
    """1 / (2 sigma^2) of the Gaussian kernel that is 0.6 at the median of the ten largest distances of pairs."""
    pairs = distances[np.triu_indices(len(distances), 1)]
    farthest = float(np.median(np.sort(pairs)[-N_LARGEST:])) if len(pairs) else 0.0
    return -np.log(AT_FARTHEST) / farthest**2 if farthest > 0 else 1.0


def principal_axes(centred: Array, k: int) -> Array:
    """The first k principal axes of centred rows, (m, k); missing ones are 0. The largest entry is positive."""
    _, sizes, axes = np.linalg.svd(centred, full_matrices=False)
    axes = np.where((sizes > LEAST_COMPONENT * sizes[0])[:, None], axes, 0.0)[:k]
    largest = np.argmax(np.abs(axes), axis=1)
    axes = axes * np.where(axes[np.arange(len(axes)), largest] < 0, -1.0, 1.0)[:, None]
    return np.pad(axes, ((0, k - len(axes)), (0, 0))).T

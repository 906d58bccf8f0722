"""The table of metrics that have a name: what each promises, needs and means for the columns of a table.

Hints, checks, error messages, tests and ``make torture`` read this table. A metric that the core measures is a struct
in ``src/core/distances.h`` and one entry here, whose triangle flag is that of the struct.
"""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass

from driftmap import _core


@dataclass(frozen=True)
class KnownMetric:
    """A metric that has a name."""

    name: str
    _: KW_ONLY
    triangle: bool = False
    """True if the triangle inequality is known to hold (of "minkowski": for p >= 1)."""
    aliases: tuple[str, ...] = ()
    parameter: str = ""
    """The parameter without which scipy would estimate it from each batch."""
    meaning: str = ""
    """What that parameter is."""
    undefined: str = ""
    """What is wrong with a row for which the metric is not defined."""
    scale_free: bool = False
    """True if columns of different scales count alike, so that no normalisation is advised."""
    counts_constants: bool = False
    """True if a constant column changes distances."""
    sparse: bool = False
    """True if it also measures the rows of sparse matrices."""

    @property
    def compiled(self) -> bool:
        """True if the core measures it."""
        return self.name in _core.METRICS


def _compiled(name: str, **properties: object) -> KnownMetric:
    return KnownMetric(name, triangle=_core.METRICS[name], **properties)  # type: ignore[arg-type]


_KNOWN = (
    _compiled("euclidean", aliases=("l2",), sparse=True),
    _compiled("cityblock", aliases=("l1", "manhattan")),
    _compiled("chebyshev"),
    _compiled("minkowski"),
    _compiled("canberra", scale_free=True),
    _compiled("braycurtis", counts_constants=True),
    _compiled(
        "cosine",
        undefined="is zero and has no direction, which metric='cosine' needs: drop such rows",
        counts_constants=True,
        sparse=True,
    ),
    _compiled(
        "correlation",
        undefined="is constant, so metric='correlation' is not defined for it: drop such rows",
        counts_constants=True,
    ),
    _compiled("hamming", scale_free=True, counts_constants=True),
    KnownMetric("nan_euclidean"),  # three rows may have three pairs of columns in common
    KnownMetric("precomputed"),
    # scipy's cdist
    KnownMetric("dice"),
    KnownMetric("jaccard"),
    KnownMetric("jensenshannon", triangle=True, counts_constants=True),  # the root of the divergence
    KnownMetric("mahalanobis", parameter="VI", meaning="the inverse covariance matrix", scale_free=True),
    KnownMetric("rogerstanimoto"),
    KnownMetric("russellrao"),
    KnownMetric("seuclidean", parameter="V", meaning="the variance of each column", scale_free=True),
    KnownMetric("sokalsneath"),
    KnownMetric("sqeuclidean"),
    KnownMetric("yule"),
)
METRICS = {metric.name: metric for metric in _KNOWN}
"""All names. scipy's ``cdist`` may know more, of which nothing is promised."""
ALIASES = {alias: metric.name for metric in _KNOWN for alias in metric.aliases}


def known(metric: object) -> KnownMetric | None:
    """Return the entry of a metric that is given by its name or an alias; None for any other metric."""
    return METRICS.get(ALIASES.get(metric, metric)) if isinstance(metric, str) else None

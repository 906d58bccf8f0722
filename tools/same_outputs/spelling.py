"""How a checkout spells what the lists use: the only place that knows the difference between old and new.

Commands are programs on the PATH of a case. Names of the API are imported
from the first module that has them.
"""

from __future__ import annotations

PROGRAMS = {
    "driftmap": ["$PYTHON -m driftmap"],
    "driftmap-follow": ["driftmap follow", "driftmap embed --follow"],
    "driftmap-contacts": ["driftmap contacts", "driftmap embed --contacts"],
    "driftmap-cluster": ["driftmap cluster --scheduler local", "driftmap embed --dask local"],
    "reproduction": ['env PYTHONPATH="$CHECKOUT" $PYTHON -m reproduction', "driftmap reproduce"],  # it is not installed
}
"""What the programs of the list stand for: the first spelling that prints a help."""

NAMES = {
    "driftmap": ["DriftMap", "FrozenMap", "InputError", "OnlineLandmarks"],
    "driftmap.map": ["StreamMap", "NoveltyDetector"],
    "driftmap.map.novelty": ["NoveltyDetector"],
    "driftmap.landmarks": [
        "FarthestFirstLandmarks", "InitialLandmarks", "RandomLandmarks", "RandomOnlineLandmarks", "RatioShift",
        "greedy_dominating_set", "greedy_size_bound", "is_dominating", "private_points", "radius_for_budget",
    ],
    "driftmap.embedding": [
        "BiKernelTSNE", "KernelTSNE", "LandmarkDiffusionMap", "LandmarkIsomap", "LandmarkMDS", "LandmarkStress",
        "LandmarkTSNE", "choose_anchors", "classical_mds", "procrustes",
    ],
    "driftmap.networks": [
        "Contacts", "TieDecayNetwork", "group_strengths", "half_life", "laplacian_distance", "laplacian_spectra",
        "laplacian_spectrum", "read_contacts", "read_metadata", "spectrum_at",
    ],
    "driftmap.datasets": ["SAMPLES", "load_hospital", "load_stocks", "s_curve_stream"],
    "driftmap.plot": ["comparison_figure", "html", "map_figure", "save_figure"],
    "driftmap.tables": ["DelayEmbedding", "FillMissing", "RunningScale", "delay_embedding"],
    "driftmap.tables.steps": ["DelayEmbedding", "FillMissing", "RunningScale", "delay_embedding"],
    "driftmap.tables.delay": ["DelayEmbedding", "delay_embedding"],
    "driftmap.tables.missing": ["FillMissing"],
    "driftmap.tables.scaling": ["RunningScale"],
}  # fmt: skip
MODULES = {
    "np": "numpy", "pd": "pandas", "pl": "polars", "pa": "pyarrow", "nx": "networkx", "sparse": "scipy.sparse",
    "da": "dask.array", "dd": "dask.dataframe", "dask": "dask", "cluster": "driftmap.dask", "pickle": "pickle",
    "quality": "driftmap.quality", "os": "os", "copy": "copy", "sklearn": "sklearn.base", "rv": "river.preprocessing",
    "ds": "sklearn.datasets",
}  # fmt: skip
"""Modules that a script may use, by the names that it uses."""


def modules_of(name: str) -> list[str]:
    """Where a name of the API may be."""
    return [module for module, names in NAMES.items() if name in names]

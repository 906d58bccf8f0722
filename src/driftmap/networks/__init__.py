"""Networks in continuous time: contacts, their tie-decay networks, and Laplacian spectra."""

from driftmap.networks.attributes import Strengths, group_strengths
from driftmap.networks.contacts import Contacts, half_life
from driftmap.networks.files import read_contacts, read_metadata, read_nodes
from driftmap.networks.spectra import (
    NetworkSpectra,
    laplacian_distance,
    laplacian_spectra,
    laplacian_spectrum,
    spectrum_at,
)
from driftmap.networks.stream import ContactStream
from driftmap.networks.tie_decay import TieDecayNetwork

__all__ = [
    "ContactStream",
    "Contacts",
    "NetworkSpectra",
    "Strengths",
    "TieDecayNetwork",
    "group_strengths",
    "half_life",
    "laplacian_distance",
    "laplacian_spectra",
    "laplacian_spectrum",
    "read_contacts",
    "read_metadata",
    "read_nodes",
    "spectrum_at",
]

"""Networks in continuous time: contacts, the tie-decay networks they make, and Laplacian spectra of networks."""

from driftmap.networks.contacts import Contacts, read_contacts
from driftmap.networks.spectra import laplacian_distance, laplacian_spectra, laplacian_spectrum, spectrum_at
from driftmap.networks.tie_decay import TieDecayNetwork

__all__ = [
    "Contacts",
    "TieDecayNetwork",
    "laplacian_distance",
    "laplacian_spectra",
    "laplacian_spectrum",
    "read_contacts",
    "spectrum_at",
]

"""Lists of contacts as tables: the spectra of the tie-decay network."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

from driftmap.io.npy import ArrayTable
from driftmap.io.sources import open_source
from driftmap.io.tables import numbered
from driftmap.utils.errors import InputError


@contextlib.contextmanager
def open_contacts(file: str, decay: float, columns: list[str] | None) -> Iterator[ArrayTable]:
    """The Laplacian spectra of the tie-decay network, one row per time with contacts, labelled ``t``."""
    from driftmap.networks import laplacian_spectra, read_contacts  # which take long to import

    with open_source(file, once=False) as source:
        assert source.path is not None
        try:
            contacts = read_contacts(source.path, columns)
        except InputError as error:
            if error.source is not None:  # a copy of standard input has a name that means nothing to the user
                error.source = source.name
            raise
    times, spectra = laplacian_spectra(contacts, decay)
    names: list[str] = [f"eigenvalue{i}" for i in numbered(spectra.shape[1])]
    yield ArrayTable(source.name, spectra, names, times, "t")

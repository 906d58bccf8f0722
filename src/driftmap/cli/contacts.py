"""Lists of contacts as tables: the spectra of the tie-decay network."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

from driftmap.cli.errors import UserError, refused_by_library
from driftmap.io.npy import ArrayTable
from driftmap.io.sources import open_source
from driftmap.io.tables import numbered


@contextlib.contextmanager
def open_contacts(file: str, decay: float, columns: list[str] | None) -> Iterator[ArrayTable]:
    """The Laplacian spectra of the tie-decay network, one row per time with contacts, labelled ``t``."""
    from driftmap.networks import laplacian_spectra, read_contacts  # which take long to import

    with open_source(file, once=False) as source:
        assert source.path is not None
        try:
            contacts = read_contacts(source.path, columns)
        except ValueError as error:  # a copy of standard input has a name that means nothing to the user
            raise UserError(str(error).replace(str(source.path), source.name)) from error
    with refused_by_library():
        times, spectra = laplacian_spectra(contacts, decay)
    names: list[str] = [f"eigenvalue{i}" for i in numbered(spectra.shape[1])]
    yield ArrayTable(source.name, spectra, names, times, "t")

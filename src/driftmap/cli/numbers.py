"""Numbers as text: the shortest that gives the same bits when it is read, in the form of Python's ``repr``."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from driftmap.cli.blocks import optional

FEW = 500
"""Numbers that are not worth the import of another library."""


def as_text(numbers: NDArray[Any]) -> list[bytes]:
    """Each number as text.

    >>> as_text(np.array([0.5, -3.0, 1e-5, np.nan]))
    [b'0.5', b'-3.0', b'1e-05', b'nan']
    """
    orjson = optional("orjson") if len(numbers) > FEW and numbers.dtype == np.float64 else None
    if orjson is None:
        return [repr(number).encode() for number in numbers.tolist()]
    column = np.ascontiguousarray(numbers)
    texts: list[bytes] = orjson.dumps(column, option=orjson.OPT_SERIALIZE_NUMPY)[1:-1].split(b",")
    # Python begins to write exponents at other numbers, and in another form.
    size = np.abs(column)
    alike = ((size >= 1e-4) & (size < 1e16)) | (size == 0)
    for i in np.flatnonzero(~alike).tolist():
        texts[i] = repr(float(column[i])).encode()
    return texts

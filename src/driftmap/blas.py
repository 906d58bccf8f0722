"""The threads of the libraries for linear algebra."""

from __future__ import annotations

import functools
from contextlib import AbstractContextManager
from typing import Any

from threadpoolctl import ThreadpoolController


def one_thread() -> AbstractContextManager[Any]:
    """Within this, products are computed by one thread only."""
    limited: AbstractContextManager[Any] = _controller().limit(limits=1, user_api="blas")
    return limited


@functools.cache
def _controller() -> ThreadpoolController:
    """What tells libraries how many threads to use; to find these takes milliseconds."""
    return ThreadpoolController()

"""How the loops are compiled."""

import contextlib
import gc
from collections.abc import Iterator
from typing import Any

import numba

if numba.config.DISABLE_JIT:  # type: ignore[attr-defined]
    raise RuntimeError("NUMBA_DISABLE_JIT is set, but Driftmap's kernels must be compiled: unset it")


@contextlib.contextmanager
def without_collecting() -> Iterator[None]:
    """Compile here: a compiler makes many objects that stay, and the collector would look at them again and again."""
    collecting = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if collecting:
            gc.enable()


def cached(**options: Any) -> Any:
    """A decorator for functions whose code numba keeps, where there is a place for it."""

    def decorate(function: Any) -> Any:
        try:
            return numba.njit(cache=True, **options)(function)
        except RuntimeError:  # nothing can be written, neither here nor in the user's caches
            return numba.njit(**options)(function)

    return decorate


jit = cached(nogil=True)
# Called from other kernels only: without the door to Python, which takes longer to compile than many a kernel, and not
# cached on their own, since two processes that compile different kernels would write the same files.
WITHOUT_DOOR: dict[str, Any] = {"no_cpython_wrapper": True, "no_cfunc_wrapper": True}
jit_inner = numba.njit(nogil=True, **WITHOUT_DOOR)
# Long and called from one place only: compiled there, and not on its own before.
jit_once = numba.njit(nogil=True, inline="always", **WITHOUT_DOOR)
# Small and called for every point: calling it, with the dozen words that an array is, would take longer than the work.
jit_inlined = numba.njit(nogil=True, forceinline=True, **WITHOUT_DOOR)
# Sums may be reordered where they only feed a bound with room to spare.
REORDERED: dict[str, Any] = {"fastmath": {"reassoc", "contract", "nsz"}}
jit_reordered = cached(nogil=True, **REORDERED)
jit_inlined_reordered = numba.njit(nogil=True, forceinline=True, **REORDERED, **WITHOUT_DOOR)
# Quotients by 0 are infinite, as in numpy: to ask before each division would keep loops from being vectorised.
AS_NUMPY: dict[str, Any] = {"error_model": "numpy"}
jit_dividing = cached(nogil=True, **AS_NUMPY)
jit_inner_dividing: Any = numba.njit(nogil=True, **AS_NUMPY, **WITHOUT_DOOR)

"""How the loops are compiled."""

from typing import Any

import numba

jit = numba.njit(cache=True, nogil=True)
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
jit_reordered = numba.njit(cache=True, nogil=True, **REORDERED)
jit_inlined_reordered = numba.njit(nogil=True, forceinline=True, **REORDERED, **WITHOUT_DOOR)
# Quotients by 0 are infinite, as in numpy: nothing has to be asked before a division.
AS_NUMPY: dict[str, Any] = {"error_model": "numpy"}
jit_dividing: Any = numba.njit(cache=True, nogil=True, **AS_NUMPY)
jit_inner_dividing: Any = numba.njit(nogil=True, **AS_NUMPY, **WITHOUT_DOOR)

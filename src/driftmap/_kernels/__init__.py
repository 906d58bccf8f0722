"""Compiled loops. The only folder that imports numba; it is loaded when the first point arrives.

Two rules keep every result the same to the bit, whichever kernel computed it:

- A squared Euclidean distance is always the sum over coordinates in their order, never reassociated, never fused.
  The radius is some pair's distance and is compared with that pair again later, so one pair must have one value.
  (Distances that only place points on a map, in ``measure``, meet no other and may be fused.)
- Matrix products, and sums in another order or in single precision, are used only to discard what is certainly too
  far away; what remains is computed exactly.

Of equally near landmarks the one that arrived first counts as nearer; landmark matrices are therefore given in order of
arrival, with ``slots`` naming the slot of each landmark. ``cells`` and ``landmarks`` are the records described in
:mod:`driftmap.state`.
"""

"""Which levels of the compiled core there are (``src/bindings/level.cpp``)."""

built: str
"""Names of the levels that were built."""

processor: int
"""The level of this processor: 2, 3 or 4 for x86-64-v2 to v4; less for others."""

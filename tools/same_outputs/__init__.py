"""Compares the outputs of two checkouts: the same commands and scripts must give the same bytes."""

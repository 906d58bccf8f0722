"""Compares the outputs of two checkouts: the same commands and scripts give the same bytes."""

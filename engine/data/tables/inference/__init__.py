"""Guesses how a table is written, what its columns contain, and which of them is the target."""

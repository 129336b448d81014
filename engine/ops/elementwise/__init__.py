"""Ops on each element by itself."""

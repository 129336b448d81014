"""Reductions, scans and sorting."""

"""Rewrites of Python nodes that break the compiled step, and the time that a step gains by them."""

"""Breakpoints of a training, and the origin of NaN."""

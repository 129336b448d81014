"""Ops that bring means to 0 and variances to 1."""

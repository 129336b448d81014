"""Ops that bring elements to other positions and compute nothing."""

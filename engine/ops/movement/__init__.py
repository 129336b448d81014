"""Ops that bring elements to other places and compute nothing."""

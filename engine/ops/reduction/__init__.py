"""Ops that make one number of many, or put many in order."""

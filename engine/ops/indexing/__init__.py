"""Ops that pick and place elements by index or mask."""

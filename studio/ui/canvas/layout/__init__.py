"""Positions of nodes: automatic layout, alignment, and pushing nodes aside."""

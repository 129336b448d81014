"""Expands loops, conditions, functions and base classes of module classes into plain statements."""

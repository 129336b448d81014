"""Breakpoints of a project: conditions at which a training pauses."""

"""Turns changed code into edits of the graph."""

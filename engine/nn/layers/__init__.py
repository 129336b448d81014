"""Layers of `engine.nn`, one family per file."""

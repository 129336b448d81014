"""Frames and comments on the canvas: their items, geometry and editor."""

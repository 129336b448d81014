"""Painting of the views of tensors, in cards on the canvas and in panels."""

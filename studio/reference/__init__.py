"""Markdown reference of the node catalogue, for the documentation site and the window."""

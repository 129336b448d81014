"""Probes on the canvas: cards beside their nodes, and the commands that add them."""

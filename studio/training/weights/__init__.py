"""Weights of files and runs in a project: which fit, under which names, and loading them."""

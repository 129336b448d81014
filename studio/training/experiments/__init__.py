"""Experiments on a copy of a project that find out why its loss does not fall."""

"""Samples at a data node, before and after it, and their statistics."""

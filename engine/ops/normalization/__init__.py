"""Batch and layer normalization."""

"""Checks of data sources, splits and batches."""

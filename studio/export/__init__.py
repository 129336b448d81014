"""Exports projects to other formats."""

"""Data of a project: sample previews, statistics, findings, and transform arguments fitted to data."""

"""Applies fixes of problems to a project, and measures what they change."""

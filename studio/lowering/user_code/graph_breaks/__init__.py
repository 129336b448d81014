"""Rewrites the source of Python nodes so that the compiled step has no graph break there, and verifies the results."""

"""Container modules."""

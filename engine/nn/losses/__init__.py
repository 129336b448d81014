"""The losses, by what they compare."""

"""OpenMP, which the engine does not use: it has thread pools of its own."""


def is_available() -> bool:
    """Never."""
    return False

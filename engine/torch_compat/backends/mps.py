"""Apple's GPUs, which the engine does not use."""


def is_available() -> bool:
    """Never."""
    return False


def is_built() -> bool:
    """Never."""
    return False

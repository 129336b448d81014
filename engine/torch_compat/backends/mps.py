"""torch.backends.mps: the engine does not support Apple's GPUs."""


def is_available() -> bool:
    """Return False."""
    return False


def is_built() -> bool:
    """Return False."""
    return False

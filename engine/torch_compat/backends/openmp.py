"""torch.backends.openmp: the engine uses other thread pools than OpenMP."""


def is_available() -> bool:
    """Return False."""
    return False

"""torch.backends.mkl: the engine does not use MKL. NumPy brings its BLAS."""


def is_available() -> bool:
    """Return False."""
    return False

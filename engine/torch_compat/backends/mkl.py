"""Intel's MKL, which the engine does not use: NumPy multiplies matrices by the BLAS that it comes with."""


def is_available() -> bool:
    """Never."""
    return False

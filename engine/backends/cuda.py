"""Switches of CUDA's matrix products: accepted so that programs run unchanged."""

from types import SimpleNamespace

matmul = SimpleNamespace(allow_tf32=False, allow_fp16_reduced_precision_reduction=True)


def is_built() -> bool:
    """Whether CUDA can be used where there is a GPU: CuPy is asked when one is."""
    return True

"""Softmax functions."""

from __future__ import annotations

import warnings

from engine.dtypes import DType
from engine.tensors import Tensor
from engine.tensors.creation import rand_like, zeros_like


def softmax(input: Tensor, dim: int | None = None, _stacklevel: int = 3, dtype: DType | None = None) -> Tensor:
    """``exp(xᵢ) / Σⱼ exp(xⱼ)`` along `dim`, computed in `dtype`. Without `dim`, PyTorch's rule selects it."""
    return _to_dtype(input, dtype).softmax(_default_dim("softmax", input, dim))


def softmin(input: Tensor, dim: int | None = None, _stacklevel: int = 3, dtype: DType | None = None) -> Tensor:
    """`softmax` of ``-x``."""
    return _to_dtype(-input, dtype).softmax(_default_dim("softmin", input, dim))


def log_softmax(input: Tensor, dim: int | None = None, _stacklevel: int = 3, dtype: DType | None = None) -> Tensor:
    """Logarithm of `softmax`, numerically stable."""
    return _to_dtype(input, dtype).log_softmax(_default_dim("log_softmax", input, dim))


def gumbel_softmax(logits: Tensor, tau: float = 1, hard: bool = False, eps: float = 1e-10, dim: int = -1) -> Tensor:
    """Differentiable samples from a categorical distribution: `softmax` of noisy logits at temperature `tau`.

    With `hard`, the result is one-hot and its gradient that of the soft sample. Sources: Jang et al., arXiv 1611.01144;
    Maddison et al., arXiv 1611.00712. `eps` has no effect, as in PyTorch.
    """
    uniform = rand_like(logits.detach())
    exponential = -(1 - uniform).log()  # the samples are below 1, so the logarithm is finite
    noise = -exponential.clamp(min=1e-38).log()
    soft = ((logits + noise) / tau).softmax(dim)
    if not hard:
        return soft
    chosen = soft.detach().argmax(dim, keepdim=True)
    one_hot = zeros_like(soft.detach()).scatter(dim, chosen, 1.0)
    return one_hot - soft.detach() + soft


def _to_dtype(input: Tensor, dtype: DType | None) -> Tensor:
    return input if dtype is None else input.to(dtype=dtype)


def _default_dim(name: str, input: Tensor, dim: int | None) -> int:
    if dim is not None:
        return dim
    guess = 0 if input.ndim in (0, 1, 3) else 1
    warnings.warn(
        f"{name} without dim uses dimension {guess} for an input with {input.ndim} dimensions. Pass dim.",
        stacklevel=3,
    )
    return guess

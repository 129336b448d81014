"""Parametrizations: weight norm, spectral norm, orthogonal."""

from __future__ import annotations

from engine.errors import ShapeError
from engine.modes import no_grad
from engine.nn.module import Module
from engine.nn.utils.orthogonal_parametrization import orthogonal
from engine.nn.utils.parametrize import register_parametrization
from engine.nn.utils.weight_matrix import (
    as_matrix,
    largest_singular_value,
    norm_over_other_dims,
    normalize,
    output_dimension,
    random_direction,
    weight_from_norm,
)
from engine.tensors import Tensor


def weight_norm(module: Module, name: str = "weight", dim: int | None = 0) -> Module:
    """Weight normalization ``g v / |v|``, which trains norm and direction separately (arXiv 1602.07868).

    Args:
        module: module with the tensor
        name: name of the tensor
        dim: dimension with separate norms; None for one norm
    """
    return register_parametrization(module, name, _WeightNorm(-1 if dim is None else dim), unsafe=True)


def spectral_norm(
    module: Module, name: str = "weight", n_power_iterations: int = 1, eps: float = 1e-12, dim: int | None = None
) -> Module:
    """Spectral normalization: divides the weight by its largest singular value (Miyato et al., arXiv 1802.05957).

    Args:
        module: module with the tensor
        name: name of the tensor
        n_power_iterations: power iterations per training forward pass
        eps: lower bound of norms in denominators
        dim: output dimension (default: by the layer type)
    """
    weight = getattr(module, name, None)
    if not isinstance(weight, Tensor):
        raise ValueError(f"{type(module).__name__} has no tensor {name!r}")
    dim = output_dimension(module) if dim is None else dim
    return register_parametrization(module, name, _SpectralNorm(weight, n_power_iterations, dim, eps))


class _WeightNorm(Module):
    def __init__(self, dim: int) -> None:
        super().__init__()
        self.dim = dim

    def forward(self, weight_g: Tensor, weight_v: Tensor) -> Tensor:
        return weight_from_norm(weight_g, weight_v, self.dim)

    def right_inverse(self, weight: Tensor) -> tuple[Tensor, Tensor]:
        return norm_over_other_dims(weight, self.dim), weight


class _SpectralNorm(Module):
    _u: Tensor
    _v: Tensor

    def __init__(self, weight: Tensor, n_power_iterations: int = 1, dim: int = 0, eps: float = 1e-12) -> None:
        super().__init__()
        if not -weight.ndim <= dim < weight.ndim:
            raise ShapeError(f"spectral_norm: dim={dim} is out of range for a weight of {weight.ndim} dimensions")
        if n_power_iterations <= 0:
            raise ValueError(f"spectral_norm: n_power_iterations must be ≥ 1, not {n_power_iterations}")
        self.dim = dim % weight.ndim
        self.eps = eps
        self.n_power_iterations = n_power_iterations
        if weight.ndim > 1:
            matrix = as_matrix(weight.detach(), self.dim)
            self.register_buffer("_u", random_direction(matrix, matrix.shape[0], eps))
            self.register_buffer("_v", random_direction(matrix, matrix.shape[1], eps))
            self._iterate_power_method(matrix, 15)

    @no_grad()
    def _iterate_power_method(self, matrix: Tensor, times: int) -> None:
        for _ in range(times):
            self._u.copy_(normalize(matrix @ self._v, self.eps))
            self._v.copy_(normalize(matrix.mT @ self._u, self.eps))

    def forward(self, weight: Tensor) -> Tensor:
        if weight.ndim == 1:
            return normalize(weight, self.eps)
        matrix = as_matrix(weight, self.dim)
        if self.training:
            self._iterate_power_method(matrix.detach(), self.n_power_iterations)
        # Copies, because the next forward pass changes the buffers, which this backward pass needs.
        return weight / largest_singular_value(matrix, self._u.clone(), self._v.clone())

    def right_inverse(self, value: Tensor) -> Tensor:
        return value


__all__ = ["orthogonal", "spectral_norm", "weight_norm"]

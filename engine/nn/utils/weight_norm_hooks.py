"""Deprecated hook-based weight norm and spectral norm, with PyTorch's parameter names."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from engine.modes import no_grad
from engine.nn.module import Module
from engine.nn.parameter import Parameter
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

HANDLES = "_norm_handles"


def weight_norm(module: Module, name: str = "weight", dim: int | None = 0) -> Module:
    """Weight normalization with the parameters `NAME_g` and `NAME_v`. Prefer `parametrizations.weight_norm`."""
    weight, axis = _pop_parameter(module, name), -1 if dim is None else dim
    setattr(module, f"{name}_g", Parameter(norm_over_other_dims(weight.detach(), axis)))
    setattr(module, f"{name}_v", Parameter(weight.detach()))

    def compute(module: Module) -> Tensor:
        return weight_from_norm(getattr(module, f"{name}_g"), getattr(module, f"{name}_v"), axis)

    return _install_hook(module, name, "weight_norm", compute)


def remove_weight_norm(module: Module, name: str = "weight") -> Module:
    """Remove the normalization and keep the weight as a parameter."""
    return _restore_parameter(module, name, "weight_norm", (f"{name}_g", f"{name}_v"))


def spectral_norm(
    module: Module, name: str = "weight", n_power_iterations: int = 1, eps: float = 1e-12, dim: int | None = None
) -> Module:
    """Spectral normalization. Prefer `parametrizations.spectral_norm`.

    The trained parameter is `NAME_orig`; the singular vectors are the buffers `NAME_u` and `NAME_v`.
    """
    if n_power_iterations <= 0:
        raise ValueError(f"spectral_norm: n_power_iterations must be ≥ 1, not {n_power_iterations}")
    axis = output_dimension(module) if dim is None else dim
    weight = _pop_parameter(module, name)
    matrix = as_matrix(weight.detach(), axis)
    module.register_parameter(f"{name}_orig", weight)
    for suffix, size in (("u", matrix.shape[0]), ("v", matrix.shape[1])):
        module.register_buffer(f"{name}_{suffix}", random_direction(matrix, size, eps))

    def compute(module: Module) -> Tensor:
        weight, u, v = (getattr(module, f"{name}_{suffix}") for suffix in ("orig", "u", "v"))
        matrix = as_matrix(weight, axis)
        if module.training:
            with no_grad():
                for _ in range(n_power_iterations):
                    v.copy_(normalize(matrix.mT @ u, eps))
                    u.copy_(normalize(matrix @ v, eps))
        return weight / largest_singular_value(matrix, u.clone(), v.clone())

    return _install_hook(module, name, "spectral_norm", compute)


def remove_spectral_norm(module: Module, name: str = "weight") -> Module:
    """Remove the normalization and keep the weight as a parameter."""
    return _restore_parameter(module, name, "spectral_norm", tuple(f"{name}_{suffix}" for suffix in ("orig", "u", "v")))


def _pop_parameter(module: Module, name: str) -> Parameter:
    weight = module._parameters.get(name)
    if weight is None:
        raise ValueError(f"{type(module).__name__} has no parameter {name!r}")
    delattr(module, name)
    return weight


def _install_hook(module: Module, name: str, kind: str, compute: Callable[[Module], Tensor]) -> Module:
    """Compute the weight now and before each forward pass."""
    with no_grad():
        setattr(module, name, compute(module))
    handle = module.register_forward_pre_hook(lambda module, args: setattr(module, name, compute(module)))
    module.__dict__.setdefault(HANDLES, {})[kind, name] = (handle, compute)
    return module


def _restore_parameter(module: Module, name: str, kind: str, parts: tuple[str, ...]) -> Module:
    handles: dict[Any, Any] = module.__dict__.get(HANDLES, {})
    if (kind, name) not in handles:
        raise ValueError(f"{type(module).__name__} has no {kind} on {name!r}")
    handle, compute = handles.pop((kind, name))
    training = module.training
    module.training = False  # no further power iteration
    with no_grad():
        weight = compute(module).detach()
    module.training = training
    handle.remove()
    for part in (name, *parts):
        delattr(module, part)
    module.register_parameter(name, Parameter(weight))
    return module

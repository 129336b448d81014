"""PyTorch's names for those of the engine, and which of them exist."""

from __future__ import annotations

from functools import cache

from engine.parity.names import modules, stored

TORCH, LAYERS, METRICS, FUNCTIONAL = "torch", "layers", "metrics", "F"
"""Modules of a PyTorch package. `layers` and `metrics` hold what PyTorch does not have."""

MODULES = {
    "engine": ("torch", TORCH),
    "nn": ("torch.nn", "nn"),
    "functional": ("torch.nn.functional", FUNCTIONAL),
    "F": ("torch.nn.functional", FUNCTIONAL),
    "linalg": ("torch.linalg", "torch.linalg"),
    "checkpoint": ("torch.utils.checkpoint", "checkpoint"),
    "optim": ("torch.optim", "optim"),
    "lr_scheduler": ("torch.optim.lr_scheduler", "lr_scheduler"),
    "torch": ("torch", TORCH),
}
"""Namespace of PyTorch and the name in generated code, by the name of a module in the code of a project."""

UNLISTED = frozenset({"torch.split_with_sizes"})
"""Names that PyTorch has, but does not list as public ones."""
ENGINE_ONLY = frozenset({"data", "fit", "transforms"})
"""Modules of the engine that PyTorch has no counterpart of."""


@cache
def _stored(namespace: str) -> frozenset[str]:
    return frozenset(stored().get(namespace, ()))


@cache
def _modules() -> frozenset[str]:
    return frozenset(modules()) | stored().keys() | {"torch.nn.init", "torch.utils.data", "torch.utils"}


def exists(path: str) -> bool:
    """Whether PyTorch has a name: "torch.nn.Linear", or a module such as "torch.nn"."""
    namespace, _, name = path.rpartition(".")
    return path == TORCH or path in UNLISTED or path in _modules() or name in _stored(namespace)


__all__ = ["ENGINE_ONLY", "FUNCTIONAL", "LAYERS", "METRICS", "MODULES", "TORCH", "exists"]

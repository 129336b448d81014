"""Orthogonal parametrization of weights."""

from __future__ import annotations

from typing import Literal

from engine.errors import ShapeError
from engine.nn.module import Module
from engine.nn.utils.parametrize import register_parametrization
from engine.ops.linalg.decompositions import linalg_qr
from engine.ops.linalg.matrix_functions import matrix_exp
from engine.ops.linalg.systems import linalg_solve
from engine.ops.movement.joining import cat
from engine.shape import format_shape
from engine.tensors import Tensor
from engine.tensors.creation import eye, randn, zeros_like

Map = Literal["matrix_exp", "cayley", "householder"]


def orthogonal(
    module: Module, name: str = "weight", orthogonal_map: Map | None = None, *, use_trivialization: bool = True
) -> Module:
    """Parametrize a weight to be (semi-)orthogonal (Lezcano Casado, arXiv 1901.08428).

    Args:
        module: module with the tensor
        name: name of the tensor
        orthogonal_map: map to orthogonal matrices: "matrix_exp", "cayley" or "householder" (default: by the shape)
        use_trivialization: start from the current value, made orthogonal
    """
    weight = getattr(module, name, None)
    if not isinstance(weight, Tensor):
        raise ValueError(f"{type(module).__name__} has no tensor {name!r}")
    if weight.ndim < 2:
        raise ShapeError(
            f"orthogonal requires a matrix or a batch of matrices, but {name} is {format_shape(weight.shape)}"
        )
    kind = orthogonal_map or ("matrix_exp" if weight.shape[-2] == weight.shape[-1] else "householder")
    if kind not in ("matrix_exp", "cayley", "householder"):
        raise ValueError(f"orthogonal_map must be 'matrix_exp', 'cayley' or 'householder', not {kind!r}")
    return register_parametrization(module, name, _Orthogonal(weight, kind, use_trivialization), unsafe=True)


class _Orthogonal(Module):
    base: Tensor | None

    def __init__(self, weight: Tensor, kind: Map, use_trivialization: bool) -> None:
        super().__init__()
        if not use_trivialization:
            raise NotImplementedError("use_trivialization=False is not supported. Omit the argument.")
        self.kind: Map = kind
        self.wide = weight.shape[-2] < weight.shape[-1]
        self.register_buffer("base", None)

    def forward(self, X: Tensor) -> Tensor:
        X = X.mT if self.wide else X
        Q = _householder_product(X) if self.kind == "householder" else _rotation(X, self.kind)
        Q = Q if self.base is None else self.base @ Q
        return Q.mT if self.wide else Q

    def right_inverse(self, Q: Tensor) -> Tensor:
        start = -_diagonal_like(Q)
        Q = Q.mT if self.wide else Q
        n, k = Q.shape[-2:]
        if n != k:
            Q = cat([Q, randn(*Q.shape[:-2], n, n - k, dtype=Q.dtype, device=Q.device)], dim=-1)
        self.base = _orthogonalize(Q)
        return start


def _rotation(X: Tensor, kind: Map) -> Tensor:
    """Matrix exponential or Cayley transform of a skew-symmetric matrix."""
    n, k = X.shape[-2:]
    X = X.tril()
    if n != k:
        X = cat([X, X.new_zeros((*X.shape[:-1], n - k))], dim=-1)
    A = X - X.mT
    if kind == "matrix_exp":
        return matrix_exp(A)[..., :k]
    identity = eye(n, dtype=A.dtype, device=A.device)
    return linalg_solve(identity - A * 0.5, identity + A * 0.5)[..., :k]


def _householder_product(X: Tensor) -> Tensor:
    """Product of Householder reflections, whose vectors are below the diagonal."""
    k = X.shape[-1]
    below = X.tril(-1)
    unit = _diagonal_like(X)
    tau = 2 / (1 + (below * below).sum(-2))
    Q = unit
    for index in reversed(range(k)):
        v = (below + unit)[..., index : index + 1]
        Q = Q - v * tau[..., index, None, None] * (v.mT @ Q)
    return Q * X.detach().diagonal(0, -2, -1).trunc().unsqueeze(-2)


def _diagonal_like(X: Tensor) -> Tensor:
    """Identity matrices in the shape of a batch."""
    return zeros_like(X.detach()) + eye(*X.shape[-2:], dtype=X.dtype, device=X.device)


def _orthogonalize(A: Tensor) -> Tensor:
    Q, R = linalg_qr(A)
    return Q * R.diagonal(0, -2, -1).sign().unsqueeze(-2)

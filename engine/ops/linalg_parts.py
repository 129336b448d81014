"""Parts of matrices that the linear algebra composes with: identity, triangles, the main diagonal."""

from __future__ import annotations

from typing import Any

import numpy as np

from engine.ops.choice import where


def identity_like(x: Any) -> Any:
    """The identity for the rows of the matrices `x`, in their dtype and on their device."""
    n = x.shape[-2]
    return x.new_empty(n, n) if x.is_meta else x.new_tensor(np.eye(n))


def lower(x: Any, diagonal: int = 0) -> Any:
    """The lower triangle of the matrices `x`, from `diagonal` down."""
    return x if x.is_meta else where(x.new_tensor(np.tri(x.shape[-2], x.shape[-1], diagonal)).bool(), x, 0.0)


def upper(x: Any, diagonal: int = 0) -> Any:
    """The upper triangle of the matrices `x`, from `diagonal` up."""
    return x if x.is_meta else where(x.new_tensor(np.tri(x.shape[-2], x.shape[-1], diagonal - 1)).bool(), 0.0, x)


def main_diagonal(x: Any) -> Any:
    """The main diagonal of the matrices `x`, as the last dimension."""
    n = min(x.shape[-2:])
    x = x[..., :n, :n]
    return x.reshape(*x.shape[:-2], n * n)[..., :: n + 1]

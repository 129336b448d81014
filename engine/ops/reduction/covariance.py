"""Covariance, correlation and numerical gradients, composed of other ops."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from engine.errors import DTypeError, RangeError, ShapeError
from engine.ops.composite import composite
from engine.ops.movement.primitives import cat
from engine.ops.shape_rules import wrap_dims
from engine.shape import format_shape


@composite(sample=lambda s: [
    ((s.normal(3, 5),), {}), ((s.normal(5),), {}), ((s.normal(3, 5),), {"correction": 0}),
])  # fmt: skip
def cov(x: Any, *, correction: int = 1, fweights: Any = None, aweights: Any = None) -> Any:
    """Covariance matrix of variables: rows are variables, columns are observations.

    Args:
        x: one variable, or one in each row
        correction: subtracted from the number of observations in the divisor
        fweights: integer number of repetitions of each observation
        aweights: relative weight of each observation
    """
    if x.ndim > 2:
        raise ShapeError(f"cov(): the input must have at most 2 dimensions, not {format_shape(x.shape)}")
    rows = x.reshape(1, -1) if x.ndim < 2 else x
    rows = rows if rows.dtype.is_floating_point else rows.float()
    if fweights is not None and fweights.dtype.is_floating_point:
        raise DTypeError(f"cov(): fweights must be integers, not {fweights.dtype.name}")
    if fweights is None and aweights is None:
        total: Any = rows.shape[1]
        centered = rows - rows.mean(1, keepdim=True)
        weighted, count = centered, total - correction
    else:
        weights: list[Any] = [weight for weight in (fweights, aweights) if weight is not None]
        w = (weights[0] if len(weights) == 1 else weights[0] * weights[1]).to(rows.dtype)
        total = w.sum()
        centered = rows - (rows * w).sum(1, keepdim=True) / total
        reduction = correction if aweights is None else correction * (w * aweights).sum() / total
        weighted, count = centered * w, (total - reduction).clamp(min=0)
    result = weighted @ centered.mT / (count if not isinstance(count, int) or count > 0 else 0.0)
    return result.squeeze()


@composite(sample=lambda s: [((s.normal(3, 5),), {}), ((s.normal(5),), {})])
def corrcoef(x: Any) -> Any:
    """Correlation matrix of variables: rows are variables, columns are observations."""
    result = cov(x)
    if result.ndim == 0:
        return result / result
    deviation = result.diagonal().sqrt()
    return (result / deviation.unsqueeze(1) / deviation).clamp(-1, 1)


@composite(method=False, result="tuple[Tensor, ...]", sample=lambda s: [
    ((s.normal(5),), {}), ((s.normal(4, 5),), {}), ((s.normal(4, 5),), {"dim": 1}),
    ((s.normal(4, 5),), {"spacing": 0.5}), ((s.normal(4, 5),), {"dim": (0, 1), "edge_order": 2}),
])  # fmt: skip
def gradient(x: Any, *, spacing: Any = None, dim: Any = None, edge_order: int = 1) -> tuple[Any, ...]:
    """Numerical gradient of samples along dimensions: central differences, one-sided at the edges.

    Args:
        x: samples of a function
        spacing: distance of the samples (default: 1): a number, or for each dimension a number or a tensor of positions
        dim: dimensions to differentiate along (default: all)
        edge_order: 1 or 2, the order of accuracy at the edges
    """
    if edge_order not in (1, 2):
        raise RangeError(f"gradient(): edge_order must be 1 or 2, not {edge_order!r}")
    dims = wrap_dims("gradient", tuple(range(x.ndim)) if dim is None else dim, x.ndim)
    has_several = isinstance(spacing, Sequence)
    if has_several and len(spacing) != len(dims):
        raise ShapeError(f"gradient(): got {len(spacing)} spacings for {len(dims)} dimensions. Pass one for each.")
    return tuple(
        _gradient_along(x, axis, spacing[i] if has_several else spacing, edge_order) for i, axis in enumerate(dims)
    )


def _gradient_along(x: Any, dim: int, spacing: Any, edge_order: int) -> Any:
    size = x.shape[dim]
    if size <= edge_order:
        raise ShapeError(
            f"gradient(): edge_order={edge_order} requires {edge_order + 1} samples, but dimension {dim} has {size}"
        )
    x = x if x.dtype.is_floating_point else x.float()

    def part(start: int | None, stop: int | None) -> Any:
        return x[(slice(None),) * dim + (slice(start, stop),)]

    def edge(x0: Any, x1: Any, x2: Any, near: Any, far: Any) -> Any:
        """One-sided derivative at x0, with x1 − x0 = `near` and x2 − x1 = `far`."""
        if edge_order == 1:
            return (x1 - x0) / near
        both = near + far
        return -x0 * ((near + both) / (near * both)) + x1 * (both / (near * far)) - x2 * (near / (far * both))

    if getattr(spacing, "ndim", 0) != 1:
        near = far = 1.0 if spacing is None else float(spacing)
        before = after = near
        inner = (part(2, None) - part(None, -2)) / (2 * near)
    else:
        step = spacing[1:] - spacing[:-1]
        along = [1] * (x.ndim - dim - 1)
        low, high = step[:-1].reshape(-1, *along), step[1:].reshape(-1, *along)
        inner = (
            part(2, None) * (low / (high * (low + high)))
            + part(1, -1) * ((high - low) / (low * high))
            - part(None, -2) * (high / (low * (low + high)))
        )
        near, far, before, after = step[0], step[min(1, len(step) - 1)], step[-1], step[max(-2, -len(step))]
    first = edge(part(0, 1), part(1, 2), part(2, 3), near, far)
    last = -edge(part(-1, None), part(-2, -1), part(-3, -2), before, after)
    return cat([first, inner, last], dim=dim)

"""Embedding lookups."""

from __future__ import annotations

from typing import Literal

from engine.dtypes import int64
from engine.errors import DTypeError, ShapeError
from engine.functions import where
from engine.modes import no_grad
from engine.ops.indexing.gather import index_select
from engine.ops.indexing.index_checks import IndexCaller
from engine.ops.linalg.norms import vector_norm
from engine.shape import format_shape
from engine.tensors import Tensor
from engine.tensors.creation import tensor


def embedding(
    input: Tensor,
    weight: Tensor,
    padding_idx: int | None = None,
    max_norm: float | None = None,
    norm_type: float = 2.0,
    scale_grad_by_freq: bool = False,
    sparse: bool = False,
) -> Tensor:
    """Look up rows of `weight`: ``…`` indices give ``(*, embedding_dim)``.

    Args:
        input: row indices, any shape
        weight: embedding matrix ``(num_embeddings, embedding_dim)``
        padding_idx: row without gradient
        max_norm: upper bound of the norm; looked-up rows with a larger norm are rescaled in `weight`
        norm_type: exponent of the norm for `max_norm`
        scale_grad_by_freq: divide each row's gradient by its number of lookups
        sparse: accepted for compatibility; gradients are dense
    """
    _check_index("embedding", input)
    if max_norm is not None and not input.is_meta and not weight.is_meta:
        _renormalize_rows(weight, input, max_norm, norm_type)
    rows = index_select(weight, 0, input.flatten(), owner=_ROWS).reshape((*input.shape, weight.shape[1]))
    if scale_grad_by_freq and not input.is_meta:
        share = _frequencies(input).to(rows.dtype).reciprocal().unsqueeze(-1)
        rows = rows * share + (rows * (1 - share)).detach()
    if padding_idx is None:
        return rows
    return where((input == padding_idx % weight.shape[0]).unsqueeze(-1), rows.detach(), rows)


_ROWS = IndexCaller("embedding", "rows of the weight")


def _check_index(name: str, input: Tensor) -> None:
    if input.dtype.kind != 1:
        raise DTypeError(
            f"{name} requires integer indices, but the input is {input.dtype.name}.", in_code="Use input.long()."
        )


def _frequencies(input: Tensor) -> Tensor:
    """Number of occurrences of each index."""
    indices = input.flatten().tolist()
    counts: dict[int, int] = {}
    for index in indices:
        counts[index] = counts.get(index, 0) + 1
    return tensor([counts[index] for index in indices], device=input.device).reshape(input.shape)


def _renormalize_rows(weight: Tensor, input: Tensor, max_norm: float, norm_type: float) -> None:
    with no_grad():
        indices = tensor(sorted(set(input.flatten().tolist())), dtype=int64, device=weight.device)
        if not indices.numel():
            return
        rows = weight.detach().index_select(0, indices)
        size = vector_norm(rows, norm_type, -1, True)
        weight[indices] = where(size > max_norm, rows * (max_norm / (size + 1e-7)), rows)


def embedding_bag(
    input: Tensor,
    weight: Tensor,
    offsets: Tensor | None = None,
    max_norm: float | None = None,
    norm_type: float = 2,
    scale_grad_by_freq: bool = False,
    mode: Literal["sum", "mean", "max"] = "mean",
    sparse: bool = False,
    per_sample_weights: Tensor | None = None,
    include_last_offset: bool = False,
    padding_idx: int | None = None,
) -> Tensor:
    """Sum, mean or maximum of the rows of each bag of indices: ``(B, embedding_dim)``.

    Args:
        input: indices ``(B, N)``, one bag per row; or one-dimensional, with `offsets`
        weight: embedding matrix ``(num_embeddings, embedding_dim)``
        offsets: start index of each bag in a one-dimensional input
        max_norm: as in `embedding`
        norm_type: as in `embedding`
        scale_grad_by_freq: as in `embedding`
        mode: reduction of each bag: "sum", "mean" or "max"
        sparse: accepted for compatibility; gradients are dense
        per_sample_weights: weights of the looked-up rows, in the shape of `input`; mode "sum" only
        include_last_offset: `offsets` ends with the end of the last bag
        padding_idx: index that is left out of the reduction
    """
    if mode not in ("sum", "mean", "max"):
        raise ValueError(f'embedding_bag: mode must be "sum", "mean" or "max", not {mode!r}')
    _check_index("embedding_bag", input)
    if per_sample_weights is not None and mode != "sum":
        raise NotImplementedError(f'embedding_bag: per_sample_weights require mode="sum", not {mode!r}')
    if per_sample_weights is not None and tuple(per_sample_weights.shape) != tuple(input.shape):
        raise ShapeError(
            f"embedding_bag: per_sample_weights {format_shape(per_sample_weights.shape)} must have the shape of the "
            f"input, {format_shape(input.shape)}"
        )
    positions, valid = _bags(input, offsets, include_last_offset)
    indices = (
        input if positions is None else input.flatten().index_select(0, positions.flatten()).reshape(positions.shape)
    )
    if padding_idx is not None:
        counted = indices != padding_idx % weight.shape[0]
        valid = counted if valid is None else valid & counted
    rows = embedding(indices, weight, None, max_norm, norm_type, scale_grad_by_freq)
    if per_sample_weights is not None:
        factors = per_sample_weights
        if positions is not None:
            factors = factors.flatten().index_select(0, positions.flatten()).reshape(positions.shape)
        rows = rows * factors.unsqueeze(-1)
    return _reduce_bags(rows, valid, mode)


def _reduce_bags(rows: Tensor, valid: Tensor | None, mode: str) -> Tensor:
    """One row per bag; zeros for empty bags."""
    if rows.shape[1] == 0:
        return rows.sum(1)
    if mode == "max":
        if valid is None:
            return rows.max(1)[0]
        maxima = where(valid.unsqueeze(-1), rows, float("-inf")).max(1)[0]
        return where(valid.any(1, True), maxima, 0.0)
    total = (rows if valid is None else where(valid.unsqueeze(-1), rows, 0.0)).sum(1)
    if mode == "sum":
        return total
    return total / (rows.shape[1] if valid is None else valid.sum(1, True).clamp(min=1))


def _bags(input: Tensor, offsets: Tensor | None, include_last: bool) -> tuple[Tensor | None, Tensor | None]:
    """For a one-dimensional input: index positions (bags, longest bag) and the mask of valid ones."""
    if input.ndim == 2:
        if offsets is not None:
            raise ValueError("embedding_bag: offsets require a one-dimensional input; each row of a matrix is a bag")
        return None, None
    if input.ndim != 1 or offsets is None:
        raise ShapeError(
            f"embedding_bag: the input must have 2 dimensions, or 1 with offsets, but is {format_shape(input.shape)} "
            f"{'with' if offsets is not None else 'without'} offsets"
        )
    starts = [int(offset) for offset in offsets.tolist()]
    if starts and starts[0] != 0:
        raise ValueError(f"embedding_bag: offsets must start with 0, not {starts[0]}")
    ends = starts[1:] if include_last else [*starts[1:], input.shape[0]]
    starts = starts[: len(ends)]
    if any(end < start for start, end in zip(starts, ends, strict=True)) or any(e > input.shape[0] for e in ends):
        raise ValueError(f"embedding_bag: offsets must be sorted and at most {input.shape[0]}, not {starts}")
    longest = max((end - start for start, end in zip(starts, ends, strict=True)), default=0)
    positions = [[*range(a, b), *[0] * (longest - b + a)] for a, b in zip(starts, ends, strict=True)]
    valid = [[i < b - a for i in range(longest)] for a, b in zip(starts, ends, strict=True)]
    shape = (len(ends), longest)
    return (
        tensor(positions, dtype=int64, device=input.device).reshape(shape),
        (tensor(valid, device=input.device).reshape(shape) != 0),
    )

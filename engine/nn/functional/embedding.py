"""Look-ups in a table of vectors."""

from __future__ import annotations

from typing import Literal

from engine.dtypes import int64
from engine.errors import DTypeError, ShapeError
from engine.functions import where
from engine.modes import no_grad
from engine.ops.indexing.index import Owner, index_select
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
    """Rows of `weight` at the whole numbers `input`; row `padding_idx` gets no gradient.

    Args:
        input: positions in the table, of any shape
        weight: the table, rows × size
        padding_idx: a row that gets no gradient
        max_norm: rows looked up that are longer are shortened to this length, in the table itself
        norm_type: the norm that measures it
        scale_grad_by_freq: divide a row's gradient by how often it is looked up
        sparse: PyTorch's; gradients are dense here
    """
    _check_index("embedding", input)
    if max_norm is not None and not input.is_meta and not weight.is_meta:
        _shorten(weight, input, max_norm, norm_type)
    rows = index_select(weight, 0, input.flatten(), owner=_ROWS).reshape((*input.shape, weight.shape[1]))
    if scale_grad_by_freq and not input.is_meta:
        share = _frequencies(input).to(rows.dtype).reciprocal().unsqueeze(-1)
        rows = rows * share + (rows * (1 - share)).detach()
    if padding_idx is None:
        return rows
    return where((input == padding_idx % weight.shape[0]).unsqueeze(-1), rows.detach(), rows)


_ROWS = Owner("embedding", "rows of the weight")


def _check_index(name: str, input: Tensor) -> None:
    if input.dtype.kind != 1:
        raise DTypeError(
            f"{name} looks up whole numbers, but the input is {input.dtype.name}.", in_code="Use input.long()."
        )


def _frequencies(input: Tensor) -> Tensor:
    """How often each of the numbers occurs."""
    numbers = input.flatten().tolist()
    times: dict[int, int] = {}
    for number in numbers:
        times[number] = times.get(number, 0) + 1
    return tensor([times[number] for number in numbers], device=input.device).reshape(input.shape)


def _shorten(weight: Tensor, input: Tensor, max_norm: float, norm_type: float) -> None:
    with no_grad():
        places = tensor(sorted(set(input.flatten().tolist())), dtype=int64, device=weight.device)
        if not places.numel():
            return
        rows = weight.detach().index_select(0, places)
        size = vector_norm(rows, norm_type, -1, True)
        weight[places] = where(size > max_norm, rows * (max_norm / (size + 1e-7)), rows)


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
    """The sum, mean or maximum of the rows that each bag looks up: ``B×size``.

    Args:
        input: ``B×N``, a bag in each row; or all bags one after the other, with `offsets`
        weight: the table, rows × size
        offsets: where each bag begins in a one-dimensional input
        max_norm: as of `embedding`
        norm_type: as of `embedding`
        scale_grad_by_freq: as of `embedding`
        mode: what is made of a bag
        sparse: PyTorch's; gradients are dense here
        per_sample_weights: factors of the rows, in the shape of `input`, for mode "sum"
        include_last_offset: the last offset is the end of the last bag
        padding_idx: positions that do not count
    """
    if mode not in ("sum", "mean", "max"):
        raise ValueError(f'embedding_bag: mode must be "sum", "mean" or "max", not {mode!r}')
    _check_index("embedding_bag", input)
    if per_sample_weights is not None and mode != "sum":
        raise NotImplementedError(f'embedding_bag: per_sample_weights go with mode="sum", not {mode!r}')
    if per_sample_weights is not None and tuple(per_sample_weights.shape) != tuple(input.shape):
        raise ShapeError(
            f"embedding_bag: per_sample_weights {format_shape(per_sample_weights.shape)} must have the shape of the "
            f"input, {format_shape(input.shape)}"
        )
    places, valid = _bags(input, offsets, include_last_offset)
    numbers = input if places is None else input.flatten().index_select(0, places.flatten()).reshape(places.shape)
    if padding_idx is not None:
        counted = numbers != padding_idx % weight.shape[0]
        valid = counted if valid is None else valid & counted
    rows = embedding(numbers, weight, None, max_norm, norm_type, scale_grad_by_freq)
    if per_sample_weights is not None:
        factors = per_sample_weights
        if places is not None:
            factors = factors.flatten().index_select(0, places.flatten()).reshape(places.shape)
        rows = rows * factors.unsqueeze(-1)
    return _reduced(rows, valid, mode)


def _reduced(rows: Tensor, valid: Tensor | None, mode: str) -> Tensor:
    """One row for each bag; of an empty bag, zeros."""
    if rows.shape[1] == 0:
        return rows.sum(1)
    if mode == "max":
        if valid is None:
            return rows.max(1)[0]
        found = where(valid.unsqueeze(-1), rows, float("-inf")).max(1)[0]
        return where(valid.any(1, True), found, 0.0)
    total = (rows if valid is None else where(valid.unsqueeze(-1), rows, 0.0)).sum(1)
    if mode == "sum":
        return total
    return total / (rows.shape[1] if valid is None else valid.sum(1, True).clamp(min=1))


def _bags(input: Tensor, offsets: Tensor | None, include_last: bool) -> tuple[Tensor | None, Tensor | None]:
    """For a one-dimensional input: positions of each bag's numbers, bags × longest, and which of them are meant."""
    if input.ndim == 2:
        if offsets is not None:
            raise ValueError("embedding_bag: offsets are for an input of one dimension; rows are bags by themselves")
        return None, None
    if input.ndim != 1 or offsets is None:
        raise ShapeError(
            f"embedding_bag: the input has 2 dimensions, or 1 with offsets, but is {format_shape(input.shape)} "
            f"{'with' if offsets is not None else 'without'} offsets"
        )
    starts = [int(offset) for offset in offsets.tolist()]
    if starts and starts[0] != 0:
        raise ValueError(f"embedding_bag: the first bag must begin at 0, not at {starts[0]}")
    ends = starts[1:] if include_last else [*starts[1:], input.shape[0]]
    starts = starts[: len(ends)]
    if any(end < start for start, end in zip(starts, ends, strict=True)) or any(e > input.shape[0] for e in ends):
        raise ValueError(f"embedding_bag: the offsets {starts} do not ascend, or go beyond {input.shape[0]} numbers")
    longest = max((end - start for start, end in zip(starts, ends, strict=True)), default=0)
    places = [[*range(a, b), *[0] * (longest - b + a)] for a, b in zip(starts, ends, strict=True)]
    meant = [[i < b - a for i in range(longest)] for a, b in zip(starts, ends, strict=True)]
    shape = (len(ends), longest)
    return (
        tensor(places, dtype=int64, device=input.device).reshape(shape),
        (tensor(meant, device=input.device).reshape(shape) != 0),
    )

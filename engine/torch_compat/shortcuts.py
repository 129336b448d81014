"""Functions of `torch` that the engine defines in other modules, and compositions of other functions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from engine import linalg
from engine.errors import RangeError, ShapeError
from engine.func import vmap
from engine.functions import stack
from engine.nn import functional
from engine.nn.functional import (
    adaptive_avg_pool1d,
    adaptive_max_pool1d,
    avg_pool1d,
    bilinear,
    celu,
    channel_shuffle,
    conv1d,
    conv2d,
    conv3d,
    conv_transpose1d,
    conv_transpose2d,
    conv_transpose3d,
    cosine_similarity,
    group_norm,
    hardshrink,
    layer_norm,
    max_pool1d,
    max_pool2d,
    max_pool3d,
    pairwise_distance,
    pixel_shuffle,
    pixel_unshuffle,
    prelu,
    rms_norm,
    rrelu,
    selu,
)
from engine.ops.argument_names import as_public_function
from engine.shape import format_shape
from engine.tensors import Tensor
from engine.tensors.creation import randn
from engine.tensors.indexing import index_put, put
from engine.utils.dlpack import to_dlpack


def dropout(input: Tensor, p: float, train: bool) -> Tensor:
    """`nn.functional.dropout` without default arguments."""
    return functional.dropout(input, p, train)


def dropout_(input: Tensor, p: float, train: bool) -> Tensor:
    """In-place `dropout`."""
    return functional.dropout(input, p, train, inplace=True)


def alpha_dropout(input: Tensor, p: float, train: bool) -> Tensor:
    """`nn.functional.alpha_dropout` without default arguments."""
    return functional.alpha_dropout(input, p, train)


def alpha_dropout_(input: Tensor, p: float, train: bool) -> Tensor:
    """In-place `alpha_dropout`."""
    return functional.alpha_dropout(input, p, train, inplace=True)


def feature_alpha_dropout(input: Tensor, p: float, train: bool) -> Tensor:
    """`nn.functional.feature_alpha_dropout` without default arguments."""
    return functional.feature_alpha_dropout(input, p, train)


def feature_alpha_dropout_(input: Tensor, p: float, train: bool) -> Tensor:
    """In-place `feature_alpha_dropout`."""
    return functional.feature_alpha_dropout(input, p, train, inplace=True)


def detach(input: Tensor) -> Tensor:
    """Return a tensor that shares the data and is detached from the autograd graph."""
    return input.detach()


def get_device(input: Tensor) -> int:
    """Return the index of the tensor's GPU; -1 on the CPU."""
    return input.get_device()


def real(input: Tensor) -> Tensor:
    """Return the tensor: its elements are real."""
    return input.real


def imag(input: Tensor) -> Tensor:
    """Raise DTypeError: there are no complex tensors."""
    return input.imag


def fill(input: Tensor, value: float | Tensor) -> Tensor:
    """Return a tensor like `input` filled with `value`."""
    return input.clone().fill_(value)


def constant_pad_nd(input: Tensor, pad: Sequence[int], value: float = 0) -> Tensor:
    """`nn.functional.pad` in constant mode."""
    return functional.pad(input, pad, "constant", value)


def grid_sampler(
    input: Tensor, grid: Tensor, interpolation_mode: int, padding_mode: int, align_corners: bool
) -> Tensor:
    """`nn.functional.grid_sample` with the modes as integers.

    Args:
        input: images or volumes
        grid: see `grid_sample`
        interpolation_mode: 0 is "bilinear", 1 "nearest", 2 "bicubic"
        padding_mode: 0 is "zeros", 1 "border", 2 "reflection"
        align_corners: see `grid_sample`
    """
    mode = _mode_name("interpolation_mode", interpolation_mode, ("bilinear", "nearest", "bicubic"))
    padding = _mode_name("padding_mode", padding_mode, ("zeros", "border", "reflection"))
    return functional.grid_sample(input, grid, mode, padding, align_corners)


def grid_sampler_2d(
    input: Tensor, grid: Tensor, interpolation_mode: int, padding_mode: int, align_corners: bool
) -> Tensor:
    """`grid_sampler` for images (4 dimensions)."""
    _check_dimensions("grid_sampler_2d", input, 4)
    return grid_sampler(input, grid, interpolation_mode, padding_mode, align_corners)


def grid_sampler_3d(
    input: Tensor, grid: Tensor, interpolation_mode: int, padding_mode: int, align_corners: bool
) -> Tensor:
    """`grid_sampler` for volumes (5 dimensions)."""
    _check_dimensions("grid_sampler_3d", input, 5)
    return grid_sampler(input, grid, interpolation_mode, padding_mode, align_corners)


def _mode_name(title: str, number: int, names: tuple[str, ...]) -> Any:
    if not 0 <= number < len(names):
        raise RangeError(f"grid_sampler(): {title} must be 0 to {len(names) - 1}, not {number}")
    return names[number]


def _check_dimensions(name: str, input: Tensor, ndim: int) -> None:
    if input.ndim != ndim:
        raise ShapeError(f"{name}(): the input must have {ndim} dimensions, not {format_shape(input.shape)}")


def vander(x: Tensor, N: int | None = None, increasing: bool = False) -> Tensor:
    """Return the Vandermonde matrix: powers N - 1, …, 0 of each element as columns; 0, …, N - 1 if `increasing`."""
    if x.ndim != 1:
        raise ShapeError(f"vander(): the input must have 1 dimension, not {x.ndim}")
    count = len(x) if N is None else N
    if count < 0:
        raise RangeError(f"vander(): N must be ≥ 0, not {N}")
    powers = range(count) if increasing else reversed(range(count))
    columns = [x**power for power in powers]
    return stack(columns, dim=1) if columns else x.new_zeros((len(x), 0))


def unravel_index(indices: Tensor, shape: Any) -> tuple[Tensor, ...]:
    """Convert flat indices to index tensors for a tensor of `shape`."""
    sizes = (shape,) if isinstance(shape, int) else tuple(int(size) for size in shape)
    if indices.dtype.is_floating_point or indices.dtype.name == "bool":
        raise ShapeError(f"unravel_index(): indices must be integers, not {indices.dtype.name}")
    if any(size < 0 for size in sizes):
        raise ShapeError(f"unravel_index(): the sizes of the shape must be ≥ 0, not {sizes}")
    found: list[Tensor] = []
    for size in reversed(sizes):
        found.append(indices % size)
        indices = indices // size
    return tuple(reversed(found))


def svd_lowrank(
    A: Tensor, q: int | None = 6, niter: int | None = 2, M: Tensor | None = None
) -> tuple[Tensor, Tensor, Tensor]:
    """Approximate the `q` largest singular values and vectors of a matrix, as `(U, S, V)`.

    Source: Halko, Martinsson and Tropp, "Finding structure with randomness", SIAM Review 53 (2011), algorithm 5.1.

    Args:
        A: matrix, or batch of matrices
        q: number of singular values
        niter: number of power iterations
        M: matrix to subtract from A
    """
    A = A if M is None else A - M
    rows, columns = A.shape[-2:]
    count = min(6 if q is None else q, rows, columns)
    sketch = A @ randn(*A.shape[:-2], columns, count, dtype=A.dtype, device=A.device)
    basis = _orthonormal(sketch)
    for _ in range(2 if niter is None else niter):
        basis = _orthonormal(A @ _orthonormal(A.mT @ basis))
    U, S, Vh = linalg.svd(basis.mT @ A, full_matrices=False)
    return basis @ U, S, Vh.mT


def pca_lowrank(A: Tensor, q: int | None = None, center: bool = True, niter: int = 2) -> tuple[Tensor, Tensor, Tensor]:
    """Approximate the first `q` principal components of the rows of a matrix, as `(U, S, V)`; see `svd_lowrank`.

    Args:
        A: observations in rows, variables in columns
        q: number of components (default: 6, or the smaller size of the matrix)
        center: subtract the mean of each column before
        niter: number of power iterations
    """
    limit = min(A.shape[-2:])
    count = min(6, limit) if q is None else q
    if not 0 <= count <= limit:
        raise RangeError(f"pca_lowrank(): q must be between 0 and the smaller size of the matrix, {limit}, not {q}")
    return svd_lowrank(A - A.mean(-2, keepdim=True) if center else A, count, niter)


def _orthonormal(matrix: Tensor) -> Tensor:
    return linalg.qr(matrix)[0]


globals().update({function.__name__: as_public_function(function) for function in (hardshrink,)})

__all__ = [
    "adaptive_avg_pool1d",
    "adaptive_max_pool1d",
    "alpha_dropout",
    "alpha_dropout_",
    "avg_pool1d",
    "bilinear",
    "celu",
    "channel_shuffle",
    "constant_pad_nd",
    "conv1d",
    "conv2d",
    "conv3d",
    "conv_transpose1d",
    "conv_transpose2d",
    "conv_transpose3d",
    "cosine_similarity",
    "detach",
    "dropout",
    "dropout_",
    "feature_alpha_dropout",
    "feature_alpha_dropout_",
    "fill",
    "get_device",
    "grid_sampler",
    "grid_sampler_2d",
    "grid_sampler_3d",
    "group_norm",
    "hardshrink",
    "imag",
    "index_put",
    "layer_norm",
    "max_pool1d",
    "max_pool2d",
    "max_pool3d",
    "pairwise_distance",
    "pca_lowrank",
    "pixel_shuffle",
    "pixel_unshuffle",
    "prelu",
    "put",
    "real",
    "rms_norm",
    "rrelu",
    "selu",
    "svd_lowrank",
    "to_dlpack",
    "unravel_index",
    "vander",
    "vmap",
]

"""Products of vectors and matrices other than `matmul`: addmm, powers, chains, Kronecker and cross products."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

from engine.dtypes import bool_
from engine.errors import DTypeError, RangeError, ShapeError
from engine.ops.composite import composite
from engine.ops.elementwise.selection import where
from engine.ops.linalg.identity import identity_like
from engine.ops.linalg.systems import inv
from engine.ops.movement.primitives import cat
from engine.ops.shape_rules import broadcast_shapes, wrap_dim
from engine.shape import count, format_shape


def _check_ndims(name: str, ndims: tuple[int, ...], *tensors: Any) -> None:
    """Raise ShapeError unless the tensors have these numbers of dimensions."""
    if tuple(x.ndim for x in tensors) != ndims:
        descriptions = {1: "a vector", 2: "a matrix", 3: "a batch of matrices"}
        raise ShapeError(
            f"{name}: expected {' and '.join(descriptions[n] for n in ndims)}, "
            f"not {' and '.join(format_shape(x.shape) for x in tensors)}.",
            in_code="Use matmul().",
        )


# -- two factors ------------------------------------------------------------------------------


@composite(sample=lambda s: [(s.normal(3, 4), s.normal(4, 2))])
def mm(input: Any, mat2: Any) -> Any:
    """Product of two matrices."""
    _check_ndims("mm", (2, 2), input, mat2)
    return input @ mat2


@composite(sample=lambda s: [(s.normal(2, 3, 4), s.normal(2, 4, 5))])
def bmm(input: Any, mat2: Any) -> Any:
    """Products of two batches with the same number of matrices."""
    _check_ndims("bmm", (3, 3), input, mat2)
    if input.shape[0] != mat2.shape[0]:
        raise ShapeError(f"bmm: the batch sizes must be equal, not {input.shape[0]} and {mat2.shape[0]}")
    return input @ mat2


@composite(sample=lambda s: [(s.normal(3, 4), s.normal(4))])
def mv(input: Any, vec: Any) -> Any:
    """Product of a matrix and a vector."""
    _check_ndims("mv", (2, 1), input, vec)
    return input @ vec


@composite(sample=lambda s: [(s.normal(4), s.normal(4)), (s.normal(0), s.normal(0))])
def dot(input: Any, tensor: Any) -> Any:
    """Dot product Σ xᵢ yᵢ of two vectors."""
    _check_ndims("dot", (1, 1), input, tensor)
    return input @ tensor


@composite(sample=lambda s: [(s.normal(4), s.normal(4))])
def vdot(input: Any, other: Any) -> Any:
    """Same as `dot` for real tensors."""
    _check_ndims("vdot", (1, 1), input, other)
    return input @ other


@composite(
    sample=lambda s: [(s.normal(2, 4), s.normal(3, 4)), (s.normal(4), s.normal(4)), (s.normal(3, 4), s.normal())]
)
def inner(input: Any, other: Any) -> Any:
    """Σ x[…, i] y[…, i]: dot products of all pairs of rows. A scalar multiplies."""
    if input.ndim == 0 or other.ndim == 0:
        return input * other
    if input.shape[-1] != other.shape[-1]:
        raise ShapeError(
            f"inner: the last sizes must be equal, not {format_shape(input.shape)} and {format_shape(other.shape)}"
        )
    if input.ndim == other.ndim == 1:
        return input.dot(other)
    return tensordot(input, other, ([-1], [-1]))


@composite(aliases=("ger",), sample=lambda s: [(s.normal(4), s.normal(3))])
def outer(input: Any, vec2: Any) -> Any:
    """Outer product: the matrix xᵢ yⱼ of two vectors."""
    _check_ndims("outer", (1, 1), input, vec2)
    return input.unsqueeze(-1) * vec2


@composite(
    method=False,
    public=False,
    sample=lambda s: [((s.normal(3, 4), s.normal(4)), {}), ((s.normal(3, 4), s.normal(3, 1)), {"dim": 0})],
)
def vecdot(x: Any, y: Any, *, dim: int = -1) -> Any:
    """Σ x y along `dim`; the other dimensions broadcast."""
    return (x * y).sum(dim)


# -- product and sum --------------------------------------------------------------------------


def _check_factors(*factors: float) -> None:
    if any(isinstance(factor, float) for factor in factors):
        raise DTypeError("alpha and beta must be integers for integer tensors.", in_code="Convert with .float().")


def _add_product(input: Any, product: Any, beta: float, alpha: float) -> Any:
    """β·input + α·product. With β = 0 the input is ignored, including NaN."""
    if not product.is_floating_point():
        if not input.is_floating_point():
            _check_factors(alpha, beta)
        alpha, beta = int(alpha), int(beta)
    product = product if alpha == 1 else product * alpha
    if broadcast_shapes("addmm", [tuple(input.shape), tuple(product.shape)]) != tuple(product.shape):
        raise ShapeError(
            f"addmm: the input {format_shape(input.shape)} does not broadcast to the product "
            f"{format_shape(product.shape)}"
        )
    if beta == 0:
        return product
    return (input if beta == 1 else input * beta) + product


@composite(
    in_place=True,
    sample=lambda s: [
        ((s.normal(3, 2), s.normal(3, 4), s.normal(4, 2)), {"beta": 3, "alpha": 2}),
        (s.normal(2), s.normal(3, 4), s.normal(4, 2)),
    ],
)
def addmm(input: Any, mat1: Any, mat2: Any, *, beta: float = 1, alpha: float = 1) -> Any:
    """β·input + α·mat1 mat2."""
    _check_ndims("addmm", (2, 2), mat1, mat2)
    return _add_product(input, mat1 @ mat2, beta, alpha)


@composite(in_place=True, sample=lambda s: [((s.normal(3), s.normal(3, 4), s.normal(4)), {"beta": 3, "alpha": 2})])
def addmv(input: Any, mat: Any, vec: Any, *, beta: float = 1, alpha: float = 1) -> Any:
    """β·input + α·mat vec."""
    _check_ndims("addmv", (2, 1), mat, vec)
    return _add_product(input, mat @ vec, beta, alpha)


@composite(in_place=True, sample=lambda s: [((s.normal(3, 2), s.normal(3), s.normal(2)), {"beta": 3, "alpha": 2})])
def addr(input: Any, vec1: Any, vec2: Any, *, beta: float = 1, alpha: float = 1) -> Any:
    """β·input + α·vec1 vec2ᵀ, or the logical or for booleans."""
    if input.dtype is vec1.dtype is vec2.dtype is bool_:
        _check_factors(alpha, beta)
        return (input & bool(beta)) | (outer(vec1, vec2) & bool(alpha))
    return _add_product(input, outer(vec1, vec2), beta, alpha)


@composite(
    in_place=True,
    sample=lambda s: [((s.normal(2, 3, 2), s.normal(2, 3, 4), s.normal(2, 4, 2)), {"beta": 3, "alpha": 2})],
)
def baddbmm(input: Any, batch1: Any, batch2: Any, *, beta: float = 1, alpha: float = 1) -> Any:
    """β·input + α·batch1 batch2 for each matrix of the batch."""
    return _add_product(input, bmm(batch1, batch2), beta, alpha)


@composite(
    in_place=True,
    sample=lambda s: [((s.normal(3, 2), s.normal(2, 3, 4), s.normal(2, 4, 2)), {"beta": 3, "alpha": 2})],
)
def addbmm(input: Any, batch1: Any, batch2: Any, *, beta: float = 1, alpha: float = 1) -> Any:
    """β·input + α·Σ batch1 batch2, summed over the batch."""
    _check_ndims("addbmm", (3, 3), batch1, batch2)
    return _add_product(input, tensordot(batch1, batch2, ([0, 2], [0, 1])), beta, alpha)


# -- several factors --------------------------------------------------------------------------


@composite(sample=lambda s: [(s.normal(2, 3, 3), n) for n in (1, 2, 5)] + [(s.normal(3, 3) + 3, -2)])
def matrix_power(input: Any, n: int) -> Any:
    """n-th power of a square matrix, of its inverse for negative `n`.

    Args:
        input: square matrices, ``(*, M, M)``
        n: exponent; negative ones are powers of the inverse
    """
    if input.ndim < 2 or input.shape[-1] != input.shape[-2]:
        raise ShapeError(f"matrix_power: the matrices must be square, not {format_shape(input.shape)}")
    if n == 0:
        return where(
            input.detach().new_zeros((), dtype=bool_), input, identity_like(input)
        )  # keeps the graph, with gradient 0
    square = inv(input) if n < 0 else input.clone() if n == 1 else input
    result, n = None, abs(n)
    while n:
        if n & 1:
            result = square if result is None else result @ square
        n >>= 1
        square = square @ square if n else square
    return result


@composite(
    method=False,
    public=False,
    sample=lambda s: [
        ([s.normal(3, 4), s.normal(4, 2), s.normal(2, 5)],),
        ([s.normal(4), s.normal(4, 2), s.normal(2)],),
    ],
)
def multi_dot(tensors: Sequence[Any]) -> Any:
    """Product of several matrices in the order with the fewest multiplications. The first and last may be vectors."""
    if len(tensors) < 2:
        raise ValueError(f"multi_dot: expected at least 2 tensors, not {len(tensors)}")
    first_is_vector, last_is_vector = tensors[0].ndim == 1, tensors[-1].ndim == 1
    chain = [tensors[0].unsqueeze(0) if first_is_vector else tensors[0], *tensors[1:-1]]
    chain.append(tensors[-1].unsqueeze(-1) if last_is_vector else tensors[-1])
    _check_ndims("multi_dot", (2,) * len(chain), *chain)
    for left, right in pairwise(chain):
        if left.shape[1] != right.shape[0]:
            raise ShapeError(f"multi_dot: {format_shape(left.shape)} and {format_shape(right.shape)} do not multiply")
    result = _multiply_chain(
        chain, _optimal_splits([chain[0].shape[0], *(x.shape[1] for x in chain)]), 0, len(chain) - 1
    )
    result = result.squeeze(-1) if last_is_vector else result
    return result.squeeze(0) if first_is_vector else result


def _optimal_splits(sizes: list[Any]) -> dict[tuple[int, int], int]:
    """Best split of each part of a chain of matrices (Cormen et al., section 15.2)."""
    n = len(sizes) - 1
    cost: dict[tuple[int, int], Any] = {(i, i): 0 for i in range(n)}
    split: dict[tuple[int, int], int] = {}
    for length in range(1, n):
        for i in range(n - length):
            j = i + length
            costs = [cost[i, k] + cost[k + 1, j] + sizes[i] * sizes[k + 1] * sizes[j + 1] for k in range(i, j)]
            best = min(range(len(costs)), key=costs.__getitem__)
            cost[i, j], split[i, j] = costs[best], i + best
    return split


def _multiply_chain(chain: list[Any], split: dict[tuple[int, int], int], i: int, j: int) -> Any:
    if i == j:
        return chain[i]
    return _multiply_chain(chain, split, i, split[i, j]) @ _multiply_chain(chain, split, split[i, j] + 1, j)


@composite(method=False, sample=lambda s: [(s.normal(3, 4), s.normal(4, 2), s.normal(2, 5))])
def chain_matmul(*matrices: Any) -> Any:
    """`linalg.multi_dot` of its arguments."""
    return matrices[0] if len(matrices) == 1 else multi_dot(matrices)


@composite(
    method=False,
    sample=lambda s: [
        (s.normal(2, 3, 4), s.normal(3, 4, 5)),
        ((s.normal(2, 3, 4), s.normal(3, 4, 2)), {"dims": ([2, 0], [1, 2])}),
        (s.normal(2), s.normal(3), 0),
    ],
)
def tensordot(a: Any, b: Any, dims: Any = 2) -> Any:
    """Sum of products over the last `dims` dimensions of `a` and the first of `b`, or over two lists of dimensions."""
    if isinstance(dims, int):
        if dims < 0:
            raise RangeError(f"tensordot: dims must be at least 0, not {dims}")
        summed_a, summed_b = list(range(a.ndim - dims, a.ndim)), list(range(dims))
    else:
        summed_a, summed_b = ([d] if isinstance(d, int) else _int_list(d) for d in dims)
    summed_a = [wrap_dim("tensordot", d, a.ndim) for d in summed_a]
    summed_b = [wrap_dim("tensordot", d, b.ndim) for d in summed_b]
    if len(summed_a) != len(summed_b):
        raise ShapeError(f"tensordot: dims must be lists of equal length, not {len(summed_a)} and {len(summed_b)}")
    for i, j in zip(summed_a, summed_b, strict=True):
        if a.shape[i] == b.shape[j]:
            continue
        if a.shape[i] == 1:  # broadcasts, so b can be summed first
            b = b.sum(j, True)
        elif b.shape[j] == 1:
            a = a.sum(i, True)
        else:
            raise ShapeError(
                f"tensordot: dimension {i} of {format_shape(a.shape)} and {j} of {format_shape(b.shape)} differ"
            )
    free_a = [d for d in range(a.ndim) if d not in summed_a]
    free_b = [d for d in range(b.ndim) if d not in summed_b]
    inner_size = count(a.shape[d] for d in summed_a)
    left = a.permute((*free_a, *summed_a)).reshape(count(a.shape[d] for d in free_a), inner_size)
    right = b.permute((*summed_b, *free_b)).reshape(inner_size, count(b.shape[d] for d in free_b))
    return (left @ right).reshape((*(a.shape[d] for d in free_a), *(b.shape[d] for d in free_b)))


def _int_list(dims: Any) -> list[int]:
    return [int(d) for d in (dims.tolist() if hasattr(dims, "tolist") else dims)]


@composite(sample=lambda s: [(s.normal(2, 3), s.normal(2, 2)), (s.normal(3), s.normal(2, 1, 2))])
def kron(input: Any, other: Any) -> Any:
    """Kronecker product: each element of `input` times all of `other`."""
    n = max(input.ndim, other.ndim)
    a = (1,) * (n - input.ndim) + tuple(input.shape)
    b = (1,) * (n - other.ndim) + tuple(other.shape)
    left = input.reshape(tuple(size for pair in a for size in (pair, 1)))
    right = other.reshape(tuple(size for pair in b for size in (1, pair)))
    return (left * right).reshape(tuple(x * y for x, y in zip(a, b, strict=True)))


@composite(
    method=False,
    public=False,
    sample=lambda s: [(s.normal(4, 3), s.normal(1, 3)), ((s.normal(3, 2), s.normal(3, 2)), {"dim": 0})],
)
def linalg_cross(input: Any, other: Any, *, dim: int = -1) -> Any:
    """Cross product of vectors of size 3 along `dim`."""
    shape = broadcast_shapes("cross", [tuple(input.shape), tuple(other.shape)])
    if input.ndim != other.ndim:
        raise ShapeError(
            f"cross: {format_shape(input.shape)} and {format_shape(other.shape)} have different numbers of dimensions.",
            in_code="Add one with unsqueeze().",
        )
    if shape[dim] != 3 or input.shape[dim] != 3 or other.shape[dim] != 3:
        raise ShapeError(
            f"cross: dimension {dim} must have size 3, in {format_shape(input.shape)} and {format_shape(other.shape)}"
        )
    (a, b, c), (d, e, f) = input.split(1, dim), other.split(1, dim)
    return cat([b * f - c * e, c * d - a * f, a * e - b * d], dim=dim)


@composite(sample=lambda s: [(s.normal(4, 3), s.normal(4, 3)), (s.normal(3, 2), s.normal(3, 2))])
def cross(input: Any, other: Any, dim: int | None = None) -> Any:
    """`linalg.cross` along `dim` (default: the first dimension of size 3)."""
    if dim is None:
        dim = next((i for i, size in enumerate(input.shape) if size == 3), None)
        if dim is None:
            raise ShapeError(f"cross: no dimension of {format_shape(input.shape)} has size 3")
        dim -= input.ndim
    return linalg_cross(input, other, dim=dim)


@composite(sample=lambda s: [(s.normal(3, 4),)])
def trace(input: Any) -> Any:
    """Trace: sum of the main diagonal of a matrix."""
    _check_ndims("trace", (2,), input)
    return input.diagonal().sum(-1)

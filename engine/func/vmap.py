"""`vmap`: vectorizes a function of one sample over a batch.

The function runs once per sample and the results are stacked. Every operation works, including `if` on values and
`.item()`, which PyTorch does not support. But the time is that of one call per sample, while PyTorch has batching
rules that process all samples at once.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Literal, TypeAlias

from engine import random
from engine.ops.movement.joining import stack
from engine.tensors import Tensor
from engine.tensors.structure import items, leaves, replace_tensors

Dims: TypeAlias = Any
"""Batch dimension: an index, None for data shared by all samples, or a structure of these."""


def vmap(
    func: Callable[..., Any],
    in_dims: Dims = 0,
    out_dims: Dims = 0,
    randomness: Literal["error", "same", "different"] = "error",
    *,
    chunk_size: int | None = None,
) -> Callable[..., Any]:
    """Return a function that applies `func` to each sample of a batch. `func` runs once per sample.

    Args:
        func: takes and returns tensors of one sample, or structures of them
        in_dims: batch dimension of the arguments: an index, or a tuple with an index, None (shared by all
            samples) or a structure of these for each argument; keyword arguments are shared
        out_dims: batch dimension of the results; None for results that are equal for all samples
        randomness: "same" or "different" random numbers per sample, or "error" if any are drawn
        chunk_size: no effect: samples run one by one
    """
    if randomness not in ("error", "same", "different"):
        raise RuntimeError(f'vmap(): randomness must be "error", "same" or "different", not {randomness!r}')
    if chunk_size is not None and chunk_size < 1:
        raise ValueError(f"vmap(): chunk_size must be 1 or more, not {chunk_size}")

    @functools.wraps(func)
    def batched(*args: Any, **kwargs: Any) -> Any:
        dims = _argument_dims(args, in_dims)
        tensors = list(items(args))
        count = _batch_size(tensors, dims)
        results: list[Any] = []
        state = random.get_rng_state()
        for index in range(count):
            sample = iter([x if d is None else x.select(d, index) for x, d in zip(tensors, dims, strict=True)])
            sample_args = _with_leaves(args, sample)
            if randomness == "same":
                random.set_rng_state(state)
            results.append(_require_tensors(func(*sample_args, **kwargs)))
            if randomness == "error" and random.get_rng_state() != state:
                raise RuntimeError(
                    'vmap(): the function draws random numbers. Pass randomness="different" for new numbers per '
                    'sample, or "same".'
                )
        return _stack_results(results, out_dims)

    return batched


# -- arguments ---------------------------------------------------------------------------------


def _with_leaves(tree: Any, items: Iterator[Any]) -> Any:
    """Return the structure with other leaves."""
    if isinstance(tree, Mapping):
        return {key: _with_leaves(item, items) for key, item in tree.items()}
    if isinstance(tree, tuple) and hasattr(tree, "_fields"):
        return type(tree)(*[_with_leaves(item, items) for item in tree])
    if isinstance(tree, (list, tuple)):
        return type(tree)([_with_leaves(item, items) for item in tree])
    return next(items)


def _argument_dims(args: Any, dims: Dims) -> list[int | None]:
    """Return the batch dimension of each leaf of the arguments; None for keyword arguments."""
    if not isinstance(dims, (int, tuple, list)):
        raise ValueError(f"vmap(): in_dims must be an integer or a tuple with one item per argument, not {dims!r}")
    if not args:
        raise ValueError("vmap(): the function was called without arguments. Call it with tensors.")
    if not isinstance(dims, int) and len(dims) != len(args):
        raise ValueError(f"vmap(): in_dims has {len(dims)} items, but there are {len(args)} arguments")
    leaf_dims = list(_dims_of_leaves(args, tuple(dims) if isinstance(dims, list) else dims, "in_dims"))
    for index, (item, dim) in enumerate(zip(items(args), leaf_dims, strict=True)):
        if dim is None:
            continue
        if not isinstance(item, Tensor):
            raise ValueError(
                f"vmap(): in_dims has {dim} for a {type(item).__name__}, which is not a tensor. Use None for it."
            )
        if not -item.ndim <= dim < item.ndim:
            raise ValueError(f"vmap(): in_dims has {dim} for tensor {index}, which has {item.ndim} dimensions")
    if all(dim is None for dim in leaf_dims):
        raise ValueError("vmap(): in_dims is None for all arguments. Pass the batch dimension of at least one.")
    return leaf_dims


def _dims_of_leaves(tree: Any, dims: Dims, name: str) -> Iterator[int | None]:
    """Return the batch dimension of each leaf of `tree`. An index or None in `dims` applies to a whole subtree."""
    if dims is None or isinstance(dims, int):
        yield from [dims for _ in items(tree)]
    elif isinstance(tree, Mapping) and isinstance(dims, Mapping) and tree.keys() == dims.keys():
        for key, item in tree.items():
            yield from _dims_of_leaves(item, dims[key], name)
    elif isinstance(tree, (list, tuple)) and isinstance(dims, (list, tuple)) and len(tree) == len(dims):
        for item, part in zip(tree, dims, strict=True):
            yield from _dims_of_leaves(item, part, name)
    else:
        raise ValueError(f"vmap(): the structure of {name}={dims!r} does not match the data")


def _batch_size(tensors: Sequence[Any], dims: Sequence[int | None]) -> int:
    sizes = [int(x.shape[d]) for x, d in zip(tensors, dims, strict=True) if d is not None]
    if len(set(sizes)) > 1:
        raise ValueError(f"vmap(): the batch sizes must be equal, not {sizes}")
    if sizes[0] == 0:
        raise ValueError("vmap(): the batch has no samples, so the shape of the result is unknown.")
    return sizes[0]


# -- results ------------------------------------------------------------------------------------


def _require_tensors(result: Any) -> Any:
    for item in items(result):
        if not isinstance(item, Tensor):
            raise ValueError(f"vmap(): the function must return tensors, not {type(item).__name__}")
    return result


def _stack_results(results: Sequence[Any], dims: Dims) -> Any:
    """Stack the results of the samples, leaf by leaf."""
    first = results[0]
    if isinstance(dims, (list, tuple)) and isinstance(first, Tensor):
        if len(dims) != 1:
            raise ValueError(f"vmap(): out_dims has {len(dims)} items, but there is one result")
        dims = dims[0]
    leaf_dims = _dims_of_leaves(first, dims, "out_dims")
    columns = zip(*[leaves(one) for one in results], strict=True)
    return replace_tensors(first, iter([column[0] if dim is None else stack(column, dim)
                                for column, dim in zip(columns, leaf_dims, strict=True)]))  # fmt: skip

"""`vmap`: a function of one sample as a function of a batch.

The function is called for one sample after the other and what it gives is stacked. So everything that works on one
sample works here, `if` on its numbers and `.item()` included, which PyTorch refuses; but it takes the time of as many
calls, where PyTorch has a rule for each op that does all samples at once.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Literal, TypeAlias

from engine import random
from engine.ops.movement.joining import stack
from engine.tensors import Tensor
from engine.tensors.structure import items, leaves, rebuilt

Dims: TypeAlias = Any
"""Which dimension is the batch's: a number, None for what all samples share, or a structure of these."""


def vmap(
    func: Callable[..., Any],
    in_dims: Dims = 0,
    out_dims: Dims = 0,
    randomness: Literal["error", "same", "different"] = "error",
    *,
    chunk_size: int | None = None,
) -> Callable[..., Any]:
    """The function that applies `func` to every sample of a batch. It calls `func` as often as there are samples.

    Args:
        func: takes tensors, or structures of them, of one sample; returns tensors or a structure of them
        in_dims: where the samples are in the arguments, as a number, or a tuple with a number, None for what all
            samples share, or a structure of these for each argument; all share what is given by keyword
        out_dims: where they shall be in the results; None for what is the same for all
        randomness: whether samples draw the same numbers, different ones, or may draw none
        chunk_size: taken for PyTorch's sake; samples are run one by one
    """
    if randomness not in ("error", "same", "different"):
        raise RuntimeError(f'vmap(): randomness must be "error", "same" or "different", not {randomness!r}')
    if chunk_size is not None and chunk_size < 1:
        raise ValueError(f"vmap(): chunk_size must be 1 or more, not {chunk_size}")

    @functools.wraps(func)
    def batched(*args: Any, **kwargs: Any) -> Any:
        places = _spread_in(args, in_dims)
        tensors = list(items(args))
        count = _count(tensors, places)
        found: list[Any] = []
        state = random.get_rng_state()
        for index in range(count):
            chosen = iter([x if d is None else x.select(d, index) for x, d in zip(tensors, places, strict=True)])
            given = _replaced(args, chosen)
            if randomness == "same":
                random.set_rng_state(state)
            found.append(_checked(func(*given, **kwargs)))
            if randomness == "error" and random.get_rng_state() != state:
                raise RuntimeError(
                    'vmap(): the function draws random numbers. Say randomness="different" to draw others for each '
                    'sample, or "same".'
                )
        return _joined(found, out_dims)

    return batched


# -- where the samples are in the arguments -----------------------------------------------------


def _replaced(tree: Any, items: Iterator[Any]) -> Any:
    """The structure with other leaves."""
    if isinstance(tree, Mapping):
        return {key: _replaced(item, items) for key, item in tree.items()}
    if isinstance(tree, tuple) and hasattr(tree, "_fields"):
        return type(tree)(*[_replaced(item, items) for item in tree])
    if isinstance(tree, (list, tuple)):
        return type(tree)([_replaced(item, items) for item in tree])
    return next(items)


def _spread_in(args: Any, dims: Dims) -> list[int | None]:
    """The dimension for each leaf of the arguments; all samples share those given by keyword."""
    if not isinstance(dims, (int, tuple, list)):
        raise ValueError(f"vmap(): in_dims must be a number or a tuple with one for each argument, not {dims!r}")
    if not args:
        raise ValueError("vmap(): the function got no arguments, so there is no batch. Call it with tensors.")
    if not isinstance(dims, int) and len(dims) != len(args):
        raise ValueError(f"vmap(): in_dims is for {len(dims)} arguments, but there are {len(args)}")
    found = list(_spread(args, tuple(dims) if isinstance(dims, list) else dims, "in_dims"))
    for place, (item, dim) in enumerate(zip(items(args), found, strict=True)):
        if dim is None:
            continue
        if not isinstance(item, Tensor):
            raise ValueError(
                f"vmap(): in_dims has {dim} for a {type(item).__name__}, which is no tensor. Give None there."
            )
        if not -item.ndim <= dim < item.ndim:
            raise ValueError(f"vmap(): in_dims has {dim} for tensor {place}, which has {item.ndim} dimensions")
    if all(dim is None for dim in found):
        raise ValueError("vmap(): in_dims has None for everything, so there is no batch. Give a number somewhere.")
    return found


def _spread(tree: Any, dims: Dims, name: str) -> Iterator[int | None]:
    """The dimension for each leaf of `tree`: `dims` has its structure, or a number or None for parts of it."""
    if dims is None or isinstance(dims, int):
        yield from [dims for _ in items(tree)]
    elif isinstance(tree, Mapping) and isinstance(dims, Mapping) and tree.keys() == dims.keys():
        for key, item in tree.items():
            yield from _spread(item, dims[key], name)
    elif isinstance(tree, (list, tuple)) and isinstance(dims, (list, tuple)) and len(tree) == len(dims):
        for item, part in zip(tree, dims, strict=True):
            yield from _spread(item, part, name)
    else:
        raise ValueError(f"vmap(): {name}={dims!r} has not the structure of what it is for")


def _count(tensors: Sequence[Any], places: Sequence[int | None]) -> int:
    sizes = [int(x.shape[d]) for x, d in zip(tensors, places, strict=True) if d is not None]
    if len(set(sizes)) > 1:
        raise ValueError(f"vmap(): the batches must have one size, not {sizes}")
    if sizes[0] == 0:
        raise ValueError("vmap(): a batch of no samples, so what the function gives is not known.")
    return sizes[0]


# -- results ------------------------------------------------------------------------------------


def _checked(result: Any) -> Any:
    for item in items(result):
        if not isinstance(item, Tensor):
            raise ValueError(f"vmap(): the function must return tensors, not {type(item).__name__}")
    return result


def _joined(found: Sequence[Any], dims: Dims) -> Any:
    """Results of the samples, stacked leaf by leaf."""
    first = found[0]
    if isinstance(dims, (list, tuple)) and isinstance(first, Tensor):
        if len(dims) != 1:
            raise ValueError(f"vmap(): out_dims is for {len(dims)} results, but there is one")
        dims = dims[0]
    places = _spread(first, dims, "out_dims")
    columns = zip(*[leaves(one) for one in found], strict=True)
    return rebuilt(first, iter([column[0] if dim is None else stack(column, dim)
                                for column, dim in zip(columns, places, strict=True)]))  # fmt: skip

"""PyTorch's function of an op, and comparison of calls and results."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import ml_dtypes
import numpy as np

import engine
from engine.dtypes import DType
from engine.ops import COMPOSITES, REGISTRY
from engine.ops.composite import Composite
from engine.ops.record import Op
from engine.tensors import Tensor

Record = Op | Composite

INTERNAL = {"to_device", "copy_slices", "fill", "random"}
"""Run by the dispatcher and the compiler only, which know what they need."""

ELSEWHERE: dict[str, str] = {}
"""Where PyTorch has what is called differently there."""

APART: dict[str, str] = {
    "assign": "copy_ is its in-place form",
    "gather_backward": "the primitive of scatter_add and of gather's gradient",
    "zero_pad": "the primitive of pad and of narrow's gradient",
    "addcdiv_sqrt": "a step of adaptive optimizers that needs no memory of the size of the parameter",
}
"""Public names that PyTorch does not have, and why they are there."""

SHAPE_IN_PLACE = {"as_strided", "squeeze", "t", "transpose", "unsqueeze"}
"""Ops whose in-place variant changes the tensor's shape."""

TOLERANCES = {
    "float64": {"rtol": 1e-9, "atol": 1e-11},
    "float32": {"rtol": 3e-5, "atol": 3e-6},
    "float16": {"rtol": 1e-2, "atol": 2e-3},
    "bfloat16": {"rtol": 6e-2, "atol": 2e-2},
}


def records() -> list[Record]:
    """Every op and composite except internal ones."""
    return [record for record in (*REGISTRY.values(), *COMPOSITES.values()) if record.name not in INTERNAL]


def is_public(record: Record) -> bool:
    """Whether the op is public."""
    return record.public or record.method


def counterpart(torch: Any, name: str) -> Callable[..., Any] | None:
    """PyTorch's function or method `name`."""
    path = ELSEWHERE.get(name, name)
    functional = torch.nn.functional
    for namespace in (torch, torch.Tensor, functional, torch.special, torch.linalg):
        found: Any = namespace
        for part in path.split("."):
            found = getattr(found, part, None)
        if callable(found):
            return found
    return None


# -- arguments --------------------------------------------------------------------------------


def map_nested(function: Callable[[Any], Any], value: Any) -> Any:
    """`value` with `function` applied to the elements of nested lists, tuples and dicts."""
    if type(value) in (list, tuple):
        return type(value)(map_nested(function, item) for item in value)
    return {key: map_nested(function, item) for key, item in value.items()} if type(value) is dict else function(value)


def leaves(value: Any) -> Iterator[Any]:
    """Elements of nested lists, tuples and dicts. Named tuples count as tuples."""
    if isinstance(value, (list, tuple)) and not hasattr(value, "numel"):
        for item in value:
            yield from leaves(item)
    elif isinstance(value, dict):
        yield from leaves(list(value.values()))
    else:
        yield value


def to_engine(value: Any, requires_grad: bool = False, device: str = "cpu") -> Any:
    def convert(item: Any) -> Any:
        if not isinstance(item, np.ndarray):
            return item
        tensor = engine.tensor(item, device=device)
        return tensor.requires_grad_() if requires_grad and tensor.is_floating_point() else tensor

    return map_nested(convert, value)


def to_torch(torch: Any, value: Any, requires_grad: bool = False) -> Any:
    def convert(item: Any) -> Any:
        if isinstance(item, DType):
            return getattr(torch, item.name)
        if not isinstance(item, np.ndarray):
            return item
        if item.dtype == ml_dtypes.bfloat16:
            tensor = torch.tensor(item.astype(np.float32)).to(torch.bfloat16)
        else:
            tensor = torch.tensor(item)
        return tensor.requires_grad_() if requires_grad and tensor.is_floating_point() else tensor

    return map_nested(convert, value)


def float_tensors(value: Any) -> list[Any]:
    """Floating-point tensors among the arguments."""
    return [item for item in leaves(value) if getattr(item, "requires_grad", False)]


# -- gradients --------------------------------------------------------------------------------


def weighted_sum(library: Any, result: Any) -> Any:
    """A scalar that weights every element differently, so that errors do not cancel.

    None if no result has a gradient.
    """
    total = None
    for out in leaves(result):
        if getattr(out, "requires_grad", False):
            weights = np.cos(np.arange(out.numel())).reshape(tuple(out.shape))
            part = (out * library.tensor(weights, dtype=out.dtype)).sum()
            total = part if total is None else total + part
    return total


def gradients(library: Any, value: Any, inputs: list[Any], create: bool) -> list[Any]:
    """Gradients of `value` with respect to `inputs`; zeros for unused inputs."""
    return [
        x * 0 if found is None else found
        for x, found in zip(
            inputs, library.autograd.grad(value, inputs, create_graph=create, allow_unused=True), strict=True
        )
    ]


# -- results ----------------------------------------------------------------------------------


def numbers(tensor: Any) -> Any:
    """A tensor of either library as a NumPy array, half precision as float32."""
    tensor = tensor.detach()
    if isinstance(tensor, Tensor):
        array = tensor.numpy()
        return array.astype(np.float32) if array.dtype == ml_dtypes.bfloat16 else array
    return (tensor.float() if str(tensor.dtype) == "torch.bfloat16" else tensor).numpy(force=True)


def dtype_of(tensor: Any) -> str:
    return tensor.dtype.name if isinstance(tensor.dtype, DType) else str(tensor.dtype).removeprefix("torch.")


def assert_same(actual: Any, expected: Any, what: object) -> None:
    """Assert equal results: values, shapes, dtypes, number of results and field names."""
    if hasattr(expected, "numel") and hasattr(expected, "dtype"):
        assert isinstance(actual, Tensor), what
        assert dtype_of(actual) == dtype_of(expected), what
        assert tuple(actual.shape) == tuple(expected.shape), what
        close = TOLERANCES.get(dtype_of(expected), {"rtol": 0.0, "atol": 0.0})
        np.testing.assert_allclose(numbers(actual), numbers(expected), **close, err_msg=str(what))
    elif isinstance(expected, (list, tuple)):
        assert len(actual) == len(expected), what
        for name in getattr(type(expected), "__match_args__", ()):
            assert_same(getattr(actual, name), getattr(expected, name), (what, name))
        for one, other in zip(actual, expected, strict=True):
            assert_same(one, other, what)
    else:
        assert type(actual) is type(expected) or str(type(expected)).startswith("<class 'torch"), what
        assert str(actual).rpartition(".")[2] == str(expected).rpartition(".")[2], what

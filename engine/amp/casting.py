"""What autocast does to the inputs of an op."""

from __future__ import annotations

import functools
import weakref
from collections.abc import Callable, Sequence
from typing import Any, TypeVar, cast

from engine.amp.lists import DELICATE, PRODUCTS, WIDEST
from engine.dtypes import DType, float32, float64
from engine.modes import MODES
from engine.ops.record import Op
from engine.tensor import Tensor

F = TypeVar("F", bound=Callable[..., Any])


class Casting:
    """Autocast of one thread: the lower precision for each kind of device where it is on."""

    def __init__(self, dtypes: dict[str, DType], cache: Cache | None) -> None:
        self.dtypes = dtypes
        self.cache = cache

    def prepare(self, op: Op, inputs: Sequence[Any]) -> Sequence[Any]:
        """The inputs in the precision that `op` runs in."""
        kind = _kind(inputs, self.dtypes)
        if kind is None:
            return inputs
        lists = "cuda" if kind == "meta" and "cuda" in self.dtypes else "cpu" if kind == "meta" else kind
        if op.name in PRODUCTS:
            target = self.dtypes[kind]
        elif op.name in DELICATE[lists]:
            target = float32
        elif op.name in WIDEST[lists]:
            found = {value.dtype for value in inputs if _eligible(value, kind)}
            target = float32 if float32 in found else next(iter(found), float32)
        else:
            return inputs
        return [self._cast(value, target) if _eligible(value, kind) else value for value in inputs]

    def _cast(self, tensor: Tensor, target: DType) -> Tensor:
        if tensor.dtype is target:
            return tensor
        if self.cache is None or not (tensor.is_leaf and tensor.requires_grad and MODES.grad):
            return tensor.to(target)
        return self.cache.cast(tensor, target)


class Cache:
    """Parameters that were cast once inside an autocast block, so that ten uses of a weight are one conversion."""

    def __init__(self) -> None:
        self._found: dict[tuple[int, DType], tuple[Any, int, Tensor]] = {}

    def cast(self, tensor: Tensor, target: DType) -> Tensor:
        key, version = (id(tensor), target), tensor._storage.version
        known = self._found.get(key)
        if known is not None and known[0]() is tensor and known[1] == version:
            return known[2]
        result = tensor.to(target)
        self._found[key] = weakref.ref(tensor), version, result
        return result

    def clear(self) -> None:
        self._found.clear()


def _kind(inputs: Sequence[Any], dtypes: dict[str, DType]) -> str | None:
    """The kind of device of the tensors, if autocast is on there."""
    for value in inputs:
        if isinstance(value, Tensor):
            kind = value.device.type
            if kind in dtypes:
                return kind
    return None


def _eligible(value: Any, kind: str) -> bool:
    return (
        isinstance(value, Tensor)
        and value.is_floating_point()
        and value.dtype is not float64
        and value.device.type == kind
    )


def in_full_precision(function: F) -> F:
    """Marks a function that autocast runs in float32: its tensors are converted, and inside nothing is cast."""

    @functools.wraps(function)
    def wrapped(*args: Any, **kwargs: Any) -> Any:
        casting = MODES.autocast
        if casting is None:
            return function(*args, **kwargs)
        values = (*args, *kwargs.values())
        kind = _kind(values, casting.dtypes)
        if kind is None:
            return function(*args, **kwargs)
        wide = [casting._cast(value, float32) if _eligible(value, kind) else value for value in values]
        MODES.autocast = None
        try:
            return function(*wide[: len(args)], **dict(zip(kwargs, wide[len(args) :], strict=True)))
        finally:
            MODES.autocast = casting

    return cast(F, wrapped)

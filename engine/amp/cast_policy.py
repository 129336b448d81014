"""What autocast does to the inputs of an op."""

from __future__ import annotations

import functools
import weakref
from collections.abc import Callable, Sequence
from typing import Any, TypeVar, cast

from engine.amp.op_lists import FLOAT32, LOWER_PRECISION, NAMES, WIDEST_INPUT
from engine.dtypes import DType, float32, float64
from engine.modes import MODES
from engine.ops.record import Op
from engine.tensors import Tensor

F = TypeVar("F", bound=Callable[..., Any])


class CastPolicy:
    """Autocast of one thread: the lower precision for each kind of device where it is on."""

    def __init__(self, dtypes: dict[str, DType], cache: CastCache | None) -> None:
        self.dtypes = dtypes
        self.cache = cache

    def prepare(self, op: Op, inputs: Sequence[Any]) -> Sequence[Any]:
        """The inputs in the precision that `op` runs in."""
        kind = _kind(inputs, self.dtypes)
        if kind is None or (target := self._target(op.name, kind, inputs)) is None:
            return inputs
        return [self._cast(value, target) if _eligible(value, kind) else value for value in inputs]

    def call(self, function: Callable[..., Any], args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
        """Calls a function that is written in ops, in the precision that is listed for it by its name, if one is."""
        values = (*args, *kwargs.values())
        kind = _kind(values, self.dtypes)
        name = function.__name__
        if kind is None or name not in NAMES[self._lists(kind)]:
            return function(*args, **kwargs)
        if (target := self._target(name, kind, values)) is not None:
            values = [self._cast(value, target) if _eligible(value, kind) else value for value in values]
        MODES.autocast = None  # inside nothing is cast any more
        try:
            return function(*values[: len(args)], **dict(zip(kwargs, values[len(args) :], strict=True)))
        finally:
            MODES.autocast = self

    def _lists(self, kind: str) -> str:
        """The kind of device whose lists count."""
        return kind if kind != "meta" else "cuda" if "cuda" in self.dtypes else "cpu"

    def _target(self, name: str, kind: str, values: Sequence[Any]) -> DType | None:
        """The precision that is listed for a name; None where it takes what it is given."""
        lists = self._lists(kind)
        if name in LOWER_PRECISION[lists]:
            return self.dtypes[kind]
        if name in FLOAT32[lists]:
            return float32
        if name in WIDEST_INPUT[lists]:
            found = {value.dtype for value in values if _eligible(value, kind)}
            return float32 if float32 in found else next(iter(found), float32)
        return None

    def _cast(self, tensor: Tensor, target: DType) -> Tensor:
        if tensor.dtype is target:
            return tensor
        if self.cache is None or not (tensor.is_leaf and tensor.requires_grad and MODES.grad):
            return tensor.to(target)
        return self.cache.cast(tensor, target)


class CastCache:
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


def cast_by_name(function: F) -> F:
    """Marks a function that is written in ops and has a precision of its own in `engine.amp.op_lists`, by its name."""

    @functools.wraps(function)
    def wrapped(*args: Any, **kwargs: Any) -> Any:
        casting = MODES.autocast
        return function(*args, **kwargs) if casting is None else casting.call(function, args, kwargs)

    return cast(F, wrapped)

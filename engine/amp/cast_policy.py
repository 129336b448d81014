"""Casts of op inputs under autocast."""

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
    """Autocast state of a thread: the lower precision per device type for which it is on."""

    def __init__(self, dtypes: dict[str, DType], cache: CastCache | None) -> None:
        self.dtypes = dtypes
        self.cache = cache

    def prepare(self, op: Op, inputs: Sequence[Any]) -> Sequence[Any]:
        """Cast the inputs to the precision in which `op` runs."""
        kind = _kind(inputs, self.dtypes)
        if kind is None or (target := self._target(op.name, kind, inputs)) is None:
            return inputs
        return [self._cast(value, target) if _eligible(value, kind) else value for value in inputs]

    def call(self, function: Callable[..., Any], args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
        """Call a composite function in the precision listed for its name, if it is listed."""
        values = (*args, *kwargs.values())
        kind = _kind(values, self.dtypes)
        name = function.__name__
        if kind is None or name not in NAMES[self._lists(kind)]:
            return function(*args, **kwargs)
        if (target := self._target(name, kind, values)) is not None:
            values = [self._cast(value, target) if _eligible(value, kind) else value for value in values]
        MODES.autocast = None  # ops inside are not cast again
        try:
            return function(*values[: len(args)], **dict(zip(kwargs, values[len(args) :], strict=True)))
        finally:
            MODES.autocast = self

    def _lists(self, kind: str) -> str:
        """Return the device type whose lists apply."""
        return kind if kind != "meta" else "cuda" if "cuda" in self.dtypes else "cpu"

    def _target(self, name: str, kind: str, values: Sequence[Any]) -> DType | None:
        """Return the dtype listed for a name; None if the inputs keep their dtypes."""
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
    """Cache of parameters cast in an autocast block, so that each weight is converted once."""

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
    """Return the device type of the tensors if autocast is on for it."""
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
    """Decorate a composite function that is listed by name in `engine.amp.op_lists`."""

    @functools.wraps(function)
    def wrapped(*args: Any, **kwargs: Any) -> Any:
        casting = MODES.autocast
        return function(*args, **kwargs) if casting is None else casting.call(function, args, kwargs)

    return cast(F, wrapped)

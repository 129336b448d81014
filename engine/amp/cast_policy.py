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
        device_type = _device_type(inputs, self.dtypes)
        if device_type is None or (target := self._target(op.name, device_type, inputs)) is None:
            return inputs
        return [self._cast(value, target) if _eligible(value, device_type) else value for value in inputs]

    def call(self, function: Callable[..., Any], args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
        """Call a composite function in the precision listed for its name, if it is listed."""
        values = (*args, *kwargs.values())
        device_type = _device_type(values, self.dtypes)
        name = function.__name__
        if device_type is None or name not in NAMES[self._list_key(device_type)]:
            return function(*args, **kwargs)
        if (target := self._target(name, device_type, values)) is not None:
            values = [self._cast(value, target) if _eligible(value, device_type) else value for value in values]
        MODES.autocast = None  # ops inside are not cast again
        try:
            return function(*values[: len(args)], **dict(zip(kwargs, values[len(args) :], strict=True)))
        finally:
            MODES.autocast = self

    def _list_key(self, device_type: str) -> str:
        """Return the device type whose lists apply."""
        return device_type if device_type != "meta" else "cuda" if "cuda" in self.dtypes else "cpu"

    def _target(self, name: str, device_type: str, values: Sequence[Any]) -> DType | None:
        """Return the dtype listed for a name; None if the inputs keep their dtypes."""
        lists = self._list_key(device_type)
        if name in LOWER_PRECISION[lists]:
            return self.dtypes[device_type]
        if name in FLOAT32[lists]:
            return float32
        if name in WIDEST_INPUT[lists]:
            found = {value.dtype for value in values if _eligible(value, device_type)}
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
        self._entries: dict[tuple[int, DType], tuple[Any, int, Tensor]] = {}

    def cast(self, tensor: Tensor, target: DType) -> Tensor:
        key, version = (id(tensor), target), tensor._storage.version
        entry = self._entries.get(key)
        if entry is not None and entry[0]() is tensor and entry[1] == version:
            return entry[2]
        result = tensor.to(target)
        self._entries[key] = weakref.ref(tensor), version, result
        return result

    def clear(self) -> None:
        self._entries.clear()


def _device_type(inputs: Sequence[Any], dtypes: dict[str, DType]) -> str | None:
    """Return the device type of the tensors if autocast is on for it."""
    for value in inputs:
        if isinstance(value, Tensor):
            device_type = value.device.type
            if device_type in dtypes:
                return device_type
    return None


def _eligible(value: Any, device_type: str) -> bool:
    return (
        isinstance(value, Tensor)
        and value.is_floating_point()
        and value.dtype is not float64
        and value.device.type == device_type
    )


def cast_by_name(function: F) -> F:
    """Decorate a composite function that is listed by name in `engine.amp.op_lists`."""

    @functools.wraps(function)
    def wrapped(*args: Any, **kwargs: Any) -> Any:
        casting = MODES.autocast
        return function(*args, **kwargs) if casting is None else casting.call(function, args, kwargs)

    return cast(F, wrapped)

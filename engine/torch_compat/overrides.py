"""torch.overrides: dispatch to `__torch_function__` for functions written with that protocol.

The engine's functions do not dispatch to it: they take tensors and numbers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from engine.tensors import Tensor


def has_torch_function(relevant_args: Iterable[Any]) -> bool:
    """Return whether the class of an argument defines `__torch_function__`."""
    return any(_overrides(type(argument)) for argument in relevant_args)


def has_torch_function_unary(argument: Any) -> bool:
    """Return `has_torch_function` for one argument."""
    return _overrides(type(argument))


def has_torch_function_variadic(*arguments: Any) -> bool:
    """Return `has_torch_function` for several arguments."""
    return has_torch_function(arguments)


def handle_torch_function(
    public_api: Callable[..., Any], relevant_args: Iterable[Any], *args: Any, **kwargs: Any
) -> Any:
    """Call `__torch_function__` of the arguments, subclasses first, until one returns a result.

    Raises TypeError if all return NotImplemented.
    """
    overriding: list[Any] = []
    for argument in relevant_args:
        kind = type(argument)
        if _overrides(kind) and all(type(other) is not kind for other in overriding):
            position = next(
                (index for index, other in enumerate(overriding) if issubclass(kind, type(other))), len(overriding)
            )
            overriding.insert(position, argument)
    kinds = tuple(map(type, overriding))
    for argument in overriding:
        result = argument.__torch_function__(public_api, kinds, args, kwargs)
        if result is not NotImplemented:
            return result
    names = ", ".join(kind.__name__ for kind in kinds)
    raise TypeError(f"{public_api.__name__}() has no implementation for {names or 'its arguments'}")


def is_tensor_like(inp: Any) -> bool:
    """Return whether an object is a tensor or defines `__torch_function__`."""
    return isinstance(inp, Tensor) or _overrides(type(inp))


def _overrides(kind: type) -> bool:
    return "__torch_function__" in dir(kind)


__all__ = [
    "handle_torch_function",
    "has_torch_function",
    "has_torch_function_unary",
    "has_torch_function_variadic",
    "is_tensor_like",
]

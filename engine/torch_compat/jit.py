"""torch.jit: TorchScript's decorators return their argument unchanged, and Python runs it.

`engine.compile` makes functions and modules faster. Traces and TorchScript files are not supported.
"""

from __future__ import annotations

import builtins
import types
import typing
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Final, TypeVar

from engine.nn.module import Module

T = TypeVar("T")


class Error(RuntimeError):
    """PyTorch's error for scripts. The engine does not raise it."""


class TracerWarning(Warning):
    """PyTorch's warning for traces. The engine does not emit it."""


class ScriptModule(Module):
    """An ordinary module. PyTorch compiles its marked methods."""


def script(
    obj: T,
    optimize: Any = None,
    _frames_up: int = 0,
    _rcb: Any = None,
    example_inputs: Any = None,
) -> T:
    """Return the function, class or module unchanged. It has no `graph`, `code` or `save`."""
    return obj


def script_method(fn: T) -> T:
    """Return the method unchanged."""
    return fn


def script_if_tracing(fn: T) -> T:
    """Return the function unchanged."""
    return fn


def export(fn: T) -> T:
    """Return the method unchanged."""
    return fn


def unused(fn: T) -> T:
    """Return the method unchanged. Python can call it."""
    return fn


def interface(obj: T) -> T:
    """Return the class unchanged."""
    return obj


def ignore(drop: Any = False, **kwargs: Any) -> Any:
    """Return the function unchanged. Used as `@ignore` or `@ignore(drop=True)`."""
    return drop if callable(drop) else lambda fn: fn


def annotate(the_type: Any, the_value: T) -> T:
    """Return the value."""
    return the_value


def is_scripting() -> bool:
    """Return False."""
    return False


def is_tracing() -> bool:
    """Return False."""
    return False


def isinstance(obj: Any, target_type: Any) -> bool:
    """Return whether `obj` has a type; for `list[int]` and similar, check the elements of lists, dicts and tuples."""
    if type(target_type) is tuple:
        return any(isinstance(obj, one) for one in target_type)
    origin, arguments = typing.get_origin(target_type), typing.get_args(target_type)
    if origin is None:
        return (obj is None) if target_type is None else _has_type(obj, target_type)
    if origin in (typing.Union, types.UnionType):
        return any(isinstance(obj, one) for one in arguments)
    if not _has_type(obj, origin):
        return False
    if origin is dict:
        return all(isinstance(key, arguments[0]) and isinstance(value, arguments[1]) for key, value in obj.items())
    if origin is tuple and arguments[-1:] != (...,):
        return len(obj) == len(arguments) and all(map(isinstance, obj, arguments))
    return all(isinstance(one, arguments[0]) for one in obj)


_has_type = builtins.isinstance


class Future:
    """The result of `fork`, which is available at once.

    Args:
        devices: no effect
    """

    def __init__(self, *, devices: Any = None) -> None:
        self._results: list[Any] = []

    def set_result(self, result: Any) -> None:
        self._results = [result]

    def done(self) -> bool:
        """Return whether there is a result."""
        return bool(self._results)

    def wait(self) -> Any:
        """Return the result. Raises RuntimeError if there is none."""
        if not self._results:
            raise RuntimeError("this Future has no result. Call set_result() first.")
        return self._results[0]

    value = wait


def fork(func: Callable[..., Any], *args: Any, **kwargs: Any) -> Future:
    """Call the function at once. `wait` returns its result."""
    future = Future()
    future.set_result(func(*args, **kwargs))
    return future


def wait(future: Future) -> Any:
    """Return the result of a `fork`."""
    return future.wait()


@contextmanager
def optimized_execution(should_optimize: bool) -> Iterator[None]:
    """Without effect."""
    yield


@contextmanager
def fuser(name: str) -> Iterator[None]:
    """Without effect."""
    yield


__all__ = [
    "Error",
    "Final",
    "Future",
    "ScriptModule",
    "TracerWarning",
    "annotate",
    "export",
    "fork",
    "fuser",
    "ignore",
    "interface",
    "is_scripting",
    "is_tracing",
    "isinstance",
    "optimized_execution",
    "script",
    "script_if_tracing",
    "script_method",
    "unused",
    "wait",
]

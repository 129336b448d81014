"""Per-thread switches: whether ops are recorded for autograd, and who watches them."""

from __future__ import annotations

import functools
import inspect
import threading
from collections.abc import Callable
from types import TracebackType
from typing import Any, NamedTuple, TypeVar, cast

F = TypeVar("F", bound=Callable[..., Any])


class Packing(NamedTuple):
    """What a thread does with tensors that are saved for the backward pass."""

    pack: Callable[[Any], Any]
    unpack: Callable[[Any], Any]


class Modes(threading.local):
    """The state of one thread."""

    grad: bool = True
    inference: bool = False
    """New tensors are inference tensors, unknown to autograd for good."""
    observer: Any = None
    """Who is told of each op call, while somebody looks (`engine.inspect`)."""
    autocast: Any = None
    """Who chooses the precision of ops (`engine.amp`)."""
    packing: Packing | None = None
    packing_refused: str | None = None
    """Why nothing may be packed, where somebody forbade it."""
    walk: Any = None
    """The backward pass that is under way."""
    check_nan: bool | None = None
    """In anomaly mode, whether gradients are searched for NaN; else None."""


MODES = Modes()


class set_grad_enabled:
    """Turns recording for autograd on or off, as a call, a context manager, or a decorator."""

    def __init__(self, mode: bool) -> None:
        self.outer, self.mode = MODES.grad, mode
        MODES.grad = mode

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: object, error: object, trace: TracebackType | None) -> None:
        MODES.grad = self.outer

    def __call__(self, function: F) -> F:
        MODES.grad = self.outer  # what was decorated is to run in this mode, not what follows it
        return under(lambda: set_grad_enabled(self.mode), function)


def under(mode: Callable[[], Any], function: F) -> F:
    """`function` run in a mode of its own; a generator is in it while it runs, not while its caller does."""

    @functools.wraps(function)
    def wrapped(*args: Any, **kwargs: Any) -> Any:
        with mode():
            return function(*args, **kwargs)

    @functools.wraps(function)
    def generated(*args: Any, **kwargs: Any) -> Any:
        steps, value = function(*args, **kwargs), None
        while True:
            try:
                with mode():
                    found = steps.send(value)
            except StopIteration as stop:
                return stop.value
            value = yield found

    return cast(F, generated if inspect.isgeneratorfunction(function) else wrapped)


class _Mode:
    """A context manager and decorator that fixes the gradient mode; can be entered again and again."""

    _mode: bool

    def __new__(cls, function: Callable[..., Any] | None = None) -> Any:  # `@no_grad` without call
        return super().__new__(cls) if function is None else under(cls, function)

    def __init__(self) -> None:
        self._outer: list[bool] = []

    def __enter__(self) -> None:
        self._outer.append(MODES.grad)
        MODES.grad = self._mode and not MODES.inference

    def __exit__(self, kind: object, error: object, trace: TracebackType | None) -> None:
        MODES.grad = self._outer.pop()

    def __call__(self, function: F) -> F:
        return under(type(self), function)


class no_grad(_Mode):
    """Inside, nothing is recorded for autograd."""

    _mode = False


class enable_grad(_Mode):
    """Inside, ops are recorded for autograd, also within `no_grad`."""

    _mode = True


def is_grad_enabled() -> bool:
    return MODES.grad

"""Per-thread modes: gradient recording, observers, autocast and capture."""

from __future__ import annotations

import contextvars
import functools
import inspect
import threading
from collections.abc import Callable
from types import TracebackType
from typing import Any, NamedTuple, TypeVar, cast

import numpy as np

F = TypeVar("F", bound=Callable[..., Any])


class Packing(NamedTuple):
    """Functions that pack and unpack tensors saved for the backward pass."""

    pack: Callable[[Any], Any]
    unpack: Callable[[Any], Any]


class _InterceptingMode:
    """A mode with an object that intercepts op calls. While one is set, no call takes the fast path."""

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    def __get__(self, modes: Any, owner: type | None = None) -> Any:
        return modes.interceptors.get(self._name)

    def __set__(self, modes: Any, holder: Any) -> None:
        if holder is None:
            modes.interceptors.pop(self._name, None)
        else:
            modes.interceptors[self._name] = holder
        modes.fast_call = None if modes.interceptors else modes.call_silently


class Modes(threading.local):
    """The modes of one thread."""

    grad: bool = True
    inference: bool = False
    """New tensors are inference tensors, which autograd never records."""
    observer: Any = _InterceptingMode()
    """The observer that receives each op call (`engine.inspect`), or None."""
    autocast: Any = _InterceptingMode()
    """The object that chooses the precision of ops (`engine.amp`), or None."""
    capture: Any = _InterceptingMode()
    """The recorder that replaces the execution of ops (`engine.compiler`), or None."""
    tracer: Any = None
    """The tracer that keeps the values of tensors created on the meta device (`engine.onnx`), or None."""
    packing: Packing | None = None
    packing_disabled_message: str | None = None
    """Why saved tensors may not be packed, if that is disabled."""
    backward_pass: Any = None
    """The backward pass that is running."""
    recomputation: int = 0
    """Number of the second run of a checkpoint; 0 outside of one."""
    undo: list[tuple[Any, ...]] | None = None
    """In a compiled call, the C functions with arguments that undo lasting changes if the call is interrupted."""
    check_nan: bool | None = None
    """In anomaly mode, whether gradients are checked for NaN; else None."""

    def __init__(self) -> None:
        context = contextvars.Context()
        context.run(np.seterr, all="ignore")
        self.call_silently = context.run
        """Call a kernel without NumPy's warnings about overflow and NaN.

        This takes a tenth of the time of entering `np.errstate`, which is a microsecond.
        """
        self.interceptors: dict[str, Any] = {}
        self.fast_call: Callable[..., Any] | None = self.call_silently
        """`call_silently` while no mode intercepts op calls, else None: the only check of the fast path."""


MODES = Modes()


def note_items(values: dict[Any, Any]) -> None:
    """Record the items of a dict before they change, so that an interrupted compiled call can restore them."""
    if MODES.undo is not None:
        MODES.undo += [(values.update, dict(values)), (values.clear,)]


def note_attributes(owner: object, *names: str) -> None:
    """Record attributes before they change, so that an interrupted compiled call can restore them."""
    if MODES.undo is not None:
        MODES.undo += [(setattr, owner, name, getattr(owner, name)) for name in names]


class set_grad_enabled:
    """Turn gradient recording on or off, as a call, context manager or decorator."""

    def __init__(self, mode: bool) -> None:
        self.outer, self.mode = MODES.grad, mode
        MODES.grad = mode

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: object, error: object, trace: TracebackType | None) -> None:
        MODES.grad = self.outer

    def __call__(self, function: F) -> F:
        MODES.grad = self.outer  # the mode applies to the decorated function, not to the code after it
        return run_in_mode(lambda: set_grad_enabled(self.mode), function)


def run_in_mode(mode: Callable[[], Any], function: F) -> F:
    """Run `function` in a mode. A generator is in the mode while it runs, its caller is not."""

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
    """A context manager and decorator that sets gradient recording. It is reentrant."""

    _mode: bool

    def __new__(cls, function: Callable[..., Any] | None = None) -> Any:  # `@no_grad` without call
        return super().__new__(cls) if function is None else run_in_mode(cls, function)

    def __init__(self) -> None:
        self._outer: list[bool] = []

    def __enter__(self) -> None:
        self._outer.append(MODES.grad)
        MODES.grad = self._mode and not MODES.inference

    def __exit__(self, kind: object, error: object, trace: TracebackType | None) -> None:
        MODES.grad = self._outer.pop()

    def __call__(self, function: F) -> F:
        return run_in_mode(type(self), function)


class no_grad(_Mode):
    """Context manager and decorator that disables gradient recording."""

    _mode = False


class enable_grad(_Mode):
    """Context manager and decorator that enables gradient recording, also within `no_grad`."""

    _mode = True


def is_grad_enabled() -> bool:
    return MODES.grad

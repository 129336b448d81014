"""Per-thread switches: whether ops are recorded for autograd, and who watches them."""

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
    """What a thread does with tensors that are saved for the backward pass."""

    pack: Callable[[Any], Any]
    unpack: Callable[[Any], Any]


class _HasSay:
    """A mode whose holder has a say in each op call. While one is held, no call takes the direct way."""

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    def __get__(self, modes: Any, owner: type | None = None) -> Any:
        return modes.having_say.get(self._name)

    def __set__(self, modes: Any, holder: Any) -> None:
        if holder is None:
            modes.having_say.pop(self._name, None)
        else:
            modes.having_say[self._name] = holder
        modes.direct = None if modes.having_say else modes.quiet


class Modes(threading.local):
    """The state of one thread."""

    grad: bool = True
    inference: bool = False
    """New tensors are inference tensors, unknown to autograd for good."""
    observer: Any = _HasSay()
    """Who is told of each op call, while somebody looks (`engine.inspect`)."""
    autocast: Any = _HasSay()
    """Who chooses the precision of ops (`engine.amp`)."""
    capture: Any = _HasSay()
    """Who records ops in place of running them (`engine.compiler`)."""
    packing: Packing | None = None
    packing_refused: str | None = None
    """Why nothing may be packed, where somebody forbade it."""
    walk: Any = None
    """The backward pass that is under way."""
    again: int = 0
    """The number of the run that computes what a checkpoint has dropped; 0 outside of such runs."""
    undo: list[tuple[Any, ...]] | None = None
    """In a compiled call, where whoever changes something lasting notes before how that is taken back, should the call
    be interrupted: functions of C, each with its arguments."""
    check_nan: bool | None = None
    """In anomaly mode, whether gradients are searched for NaN; else None."""

    def __init__(self) -> None:
        context = contextvars.Context()
        context.run(np.seterr, all="ignore")
        self.quiet = context.run
        """Calls a kernel where NumPy does not warn of overflow and NaN.

        It takes a tenth of the microsecond that entering `np.errstate` each time does.
        """
        self.having_say: dict[str, Any] = {}
        self.direct: Callable[..., Any] | None = self.quiet
        """`quiet` while nobody has a say in op calls, else None: all that the commonest calls need to ask."""


MODES = Modes()


def note_items(values: dict[Any, Any]) -> None:
    """Before the items of a dict change: an interrupted compiled call takes that back."""
    if MODES.undo is not None:
        MODES.undo += [(values.update, dict(values)), (values.clear,)]


def note_attributes(owner: object, *names: str) -> None:
    """Before attributes change: an interrupted compiled call takes that back."""
    if MODES.undo is not None:
        MODES.undo += [(setattr, owner, name, getattr(owner, name)) for name in names]


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

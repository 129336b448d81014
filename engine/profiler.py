"""Named ranges of torch.profiler. Nothing measures them here: `engine.inspect.trace` lists the ops of a call."""

from __future__ import annotations

import functools
from collections.abc import Callable
from enum import Enum
from types import TracebackType
from typing import Any, TypeVar, cast

F = TypeVar("F", bound=Callable[..., Any])


class ProfilerActivity(Enum):
    """What PyTorch's profiler can measure."""

    CPU = 0
    CUDA = 2


def supported_activities() -> set[ProfilerActivity]:
    """None."""
    return set()


def kineto_available() -> bool:
    """Never."""
    return False


class record_function:
    """Names a range of a program, as a context manager or a decorator. It has no effect.

    Args:
        name: of the range
        args: what else belongs to the name
    """

    def __init__(self, name: str, args: str | None = None) -> None:
        self.name, self.args = name, args

    def __enter__(self) -> record_function:
        return self

    def __exit__(self, kind: object, error: object, trace: TracebackType | None) -> None:
        pass

    def __call__(self, function: F) -> F:
        @functools.wraps(function)
        def wrapped(*args: Any, **kwargs: Any) -> Any:
            with self:
                return function(*args, **kwargs)

        return cast(F, wrapped)


__all__ = ["ProfilerActivity", "kineto_available", "record_function", "supported_activities"]

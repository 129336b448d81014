"""Functions that run before or after a module's forward pass."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

_ids = itertools.count()


class RemovableHandle:
    """Takes a hook away again: call `remove()`, or use it as a context manager."""

    def __init__(self, hooks: dict[int, Any]) -> None:
        self.id = next(_ids)
        self._hooks = hooks

    def remove(self) -> None:
        self._hooks.pop(self.id, None)

    def __enter__(self) -> RemovableHandle:
        return self

    def __exit__(self, *error: object) -> None:
        self.remove()


@dataclass(frozen=True, slots=True)
class Hook:
    function: Callable[..., Any]
    with_kwargs: bool = False
    always_call: bool = False
    """Runs even if the forward pass raised."""


@dataclass(frozen=True, slots=True)
class ForwardHooks:
    """The hooks of one module, in the order in which they run."""

    before: dict[int, Hook] = field(default_factory=dict)
    after: dict[int, Hook] = field(default_factory=dict)

    def add(self, hooks: dict[int, Hook], hook: Hook, *, prepend: bool) -> RemovableHandle:
        handle = RemovableHandle(hooks)
        others = dict(hooks) if prepend else {}
        if prepend:
            hooks.clear()
        hooks[handle.id] = hook
        hooks.update(others)
        return handle

    def call(self, module: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """`module.forward` with its hooks around it. What a hook returns replaces the input or the output."""
        try:
            args, kwargs = self._prepare(module, args, kwargs)
            output = module.forward(*args, **kwargs)
        except Exception:
            self._finish(module, args, kwargs, None, [hook for hook in self.after.values() if hook.always_call])
            raise
        return self._finish(module, args, kwargs, output, list(self.after.values()))

    def _prepare(
        self, module: Any, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> tuple[tuple[Any, ...], dict[str, Any]]:
        for hook in list(self.before.values()):
            if hook.with_kwargs:
                result = hook.function(module, args, kwargs)
                if result is not None:
                    args, kwargs = result
            else:
                result = hook.function(module, args)
                if result is not None:
                    args = result if isinstance(result, tuple) else (result,)
        return args, kwargs

    def _finish(
        self, module: Any, args: tuple[Any, ...], kwargs: dict[str, Any], output: Any, hooks: list[Hook]
    ) -> Any:
        for hook in hooks:
            given = (module, args, kwargs, output) if hook.with_kwargs else (module, args, output)
            result = hook.function(*given)
            if result is not None:
                output = result
        return output

"""Handles that remove hooks."""

from __future__ import annotations

import itertools
from typing import Any, Self

_ids = itertools.count()


class RemovableHandle:
    """Handle of a hook. Call `remove()` or use it as a context manager to remove the hook."""

    def __init__(self, *hooks: dict[int, Any]) -> None:
        self.id = next(_ids)
        self._hooks = hooks

    @classmethod
    def add(cls, hooks: dict[int, Any], hook: Any, *, first: bool = False) -> Self:
        """Add `hook` after the others, or before them."""
        handle = cls(hooks)
        others = dict(hooks) if first else {}
        if first:
            hooks.clear()
        hooks[handle.id] = hook
        hooks.update(others)
        return handle

    def remove(self) -> None:
        for hooks in self._hooks:
            hooks.pop(self.id, None)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.remove()

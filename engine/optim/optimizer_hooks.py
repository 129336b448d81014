"""Hooks of an optimizer: around `step`, `state_dict` and `load_state_dict`."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator
from typing import Any

from engine.graph import RemovableHandle


class OptimizerHooks:
    """Hook functions by event, in the order in which they run."""

    def __init__(self) -> None:
        self._hooks: defaultdict[str, dict[int, Callable[..., Any]]] = defaultdict(dict)

    def add(self, event: str, hook: Callable[..., Any], *, prepend: bool = False) -> RemovableHandle:
        return RemovableHandle.add(self._hooks[event], hook, first=prepend)

    def hooks_for(self, event: str) -> list[Callable[..., Any]]:
        return list(self._hooks[event].values()) if self._hooks else []

    def replay_state(self) -> Iterator[tuple[str, dict[Any, Any], tuple[str, ...]]]:
        """State that replayed steps guard: names, dicts, and keys whose values may change."""
        yield "", self._hooks, ()

    def run(self, event: str, *args: Any) -> None:
        for hook in self.hooks_for(event):
            hook(*args)

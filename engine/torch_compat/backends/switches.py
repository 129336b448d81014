"""The context manager `flags` of modules whose switches have no effect."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Any


def flags_of(module: dict[str, Any], *names: str) -> Callable[..., AbstractContextManager[None]]:
    """Return a context manager `flags(...)` that sets switches of a module temporarily.

    Args:
        module: the module's names
        names: its switches, in the order of the arguments
    """

    @contextmanager
    def flags(*values: Any, **options: Any) -> Iterator[None]:
        """Set switches temporarily. They have no effect."""
        new_values = {**dict(zip(names, values, strict=False)), **options}
        unknown = new_values.keys() - set(names)
        if unknown or len(values) > len(names):
            invalid = ", ".join(sorted(unknown)) or f"{len(values)} positional arguments"
            raise TypeError(f"flags() takes {', '.join(names)}, not {invalid}")
        old_values = {name: module[name] for name in new_values}
        module.update(new_values)
        try:
            yield
        finally:
            module.update(old_values)

    return flags

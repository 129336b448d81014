"""Switches that can be set and change nothing, in modules of switches."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Any


def flags_of(module: dict[str, Any], *names: str) -> Callable[..., AbstractContextManager[None]]:
    """A context manager `flags(...)` that sets switches of a module for a while.

    Args:
        module: the module's names
        names: its switches, in the order of the arguments
    """

    @contextmanager
    def flags(*values: Any, **options: Any) -> Iterator[None]:
        """Sets switches for a while. They change nothing."""
        given = {**dict(zip(names, values, strict=False)), **options}
        unknown = given.keys() - set(names)
        if unknown or len(values) > len(names):
            raise TypeError(
                f"flags() takes {', '.join(names)}, not {', '.join(sorted(unknown)) or 'so many arguments'}"
            )
        before = {name: module[name] for name in given}
        module.update(given)
        try:
            yield
        finally:
            module.update(before)

    return flags

"""Dicts, lists and tuples of tensors: what is in them, and the same structure of other things."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from engine.tensors.tensor import Tensor


def form(tree: Any) -> str:
    """A text that is equal for trees of one structure: tensors as *, other leaves by their types."""
    if isinstance(tree, Tensor):
        return "*"
    if isinstance(tree, Mapping):
        return f"{{{', '.join(f'{key!r}: {form(item)}' for key, item in tree.items())}}}"
    if isinstance(tree, (list, tuple)):
        parts = ", ".join(form(item) for item in tree)
        return f"[{parts}]" if isinstance(tree, list) else f"({parts},)"
    return type(tree).__name__


def items(tree: Any) -> Iterator[Any]:
    """The leaves of a structure, tensors or not, in order."""
    if isinstance(tree, Mapping):
        for item in tree.values():
            yield from items(item)
    elif isinstance(tree, (list, tuple)):
        for item in tree:
            yield from items(item)
    else:
        yield tree


def leaves(tree: Any) -> Iterator[Tensor]:
    """The tensors of a structure, in order."""
    return (item for item in items(tree) if isinstance(item, Tensor))


def rebuilt(tree: Any, leaves: Iterator[Any]) -> Any:
    """The structure with other things in place of its tensors."""
    if isinstance(tree, Tensor):
        return next(leaves)
    if isinstance(tree, Mapping):
        return {key: rebuilt(item, leaves) for key, item in tree.items()}
    if isinstance(tree, (list, tuple)):
        items = [rebuilt(item, leaves) for item in tree]
        return tuple(items) if isinstance(tree, tuple) else items
    return tree

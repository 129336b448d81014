"""Nested dicts, lists and tuples of tensors: flattening and rebuilding."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from engine.tensors.tensor import Tensor


def structure_of(tree: Any) -> str:
    """Return a string that is equal for trees of equal structure: tensors as *, other leaves by type."""
    if isinstance(tree, Tensor):
        return "*"
    if isinstance(tree, Mapping):
        return f"{{{', '.join(f'{key!r}: {structure_of(item)}' for key, item in tree.items())}}}"
    if isinstance(tree, (list, tuple)):
        parts = ", ".join(structure_of(item) for item in tree)
        return f"[{parts}]" if isinstance(tree, list) else f"({parts},)"
    return type(tree).__name__


def items(tree: Any) -> Iterator[Any]:
    """Return the leaves of a structure, tensors or not, in order."""
    if isinstance(tree, Mapping):
        for item in tree.values():
            yield from items(item)
    elif isinstance(tree, (list, tuple)):
        for item in tree:
            yield from items(item)
    else:
        yield tree


def leaves(tree: Any) -> Iterator[Tensor]:
    """Return the tensors of a structure, in order."""
    return (item for item in items(tree) if isinstance(item, Tensor))


def replace_tensors(tree: Any, leaves: Iterator[Any]) -> Any:
    """Return the structure with its tensors replaced."""
    if isinstance(tree, Tensor):
        return next(leaves)
    if isinstance(tree, Mapping):
        return {key: replace_tensors(item, leaves) for key, item in tree.items()}
    if isinstance(tree, (list, tuple)):
        items = [replace_tensors(item, leaves) for item in tree]
        return tuple(items) if isinstance(tree, tuple) else items
    return tree

"""Dicts, lists and tuples of tensors: what is in them, and the same structure of other things."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from engine.tensor import Tensor


def leaves(tree: Any) -> Iterator[Tensor]:
    """The tensors of a structure, in order."""
    if isinstance(tree, Tensor):
        yield tree
    elif isinstance(tree, Mapping):
        for item in tree.values():
            yield from leaves(item)
    elif isinstance(tree, (list, tuple)):
        for item in tree:
            yield from leaves(item)


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

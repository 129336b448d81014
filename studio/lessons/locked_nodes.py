"""The nodes of a lesson that the learner cannot change or remove."""

from __future__ import annotations

from collections.abc import Iterable

from studio.document.blocks.block_expansion import flat_document
from studio.document.model import Document, Node


def locked_change(locked: Iterable[str], before: Document, after: Document) -> str | None:
    """The first locked node that an edit changes or removes; None if it changes none.

    Positions, notes and wires of locked nodes can be changed.
    """
    paths = tuple(locked)
    if not paths or before is after:
        return None
    old, new = _nodes(before), _nodes(after)
    return next((path for path in paths if path in old and not _is_same(old[path], new.get(path))), None)


def _nodes(document: Document) -> dict[str, Node]:
    return {**flat_document(document).nodes, **document.nodes}


def _is_same(old: Node, new: Node | None) -> bool:
    if old is new:
        return True
    if new is None:
        return False
    fields = (field for field in Node.__struct_fields__ if field not in ("at", "note", "collapsed"))
    return all(getattr(old, field) == getattr(new, field) for field in fields)


__all__ = ["locked_change"]

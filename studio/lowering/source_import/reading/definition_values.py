"""Set parameters of nodes in the class of a block, where instances may set them too."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, cast

from msgspec.structs import replace

from studio.document import edits
from studio.document import node_names as naming
from studio.document.blocks import block_nodes
from studio.document.blocks.block_edits import demote, edit_block, promote, promoted_as, rename_param
from studio.document.model import Document, Json, ParamRef
from studio.lowering.source_import.reading.module_source import Argument, Each, Value


class Absent:
    """Marks a parameter that is left out."""


ABSENT = Absent()


def to_json(value: Value) -> Json:
    """A literal as a parameter: tuples become lists, values per copy an object."""
    if isinstance(value, Each):
        assert not isinstance(value.values, Argument)
        return {block_nodes.EACH: [to_json(each) for each in value.values]}
    if isinstance(value, (tuple, list)):
        return [to_json(each) for each in cast("Iterable[Any]", value)]
    return cast("Json", value)


def set_values(document: Document, block: str, values: Mapping[ParamRef, Value]) -> Document:
    """Set or leave out parameters of nodes on the canvas or in all instances of a block.

    A promoted parameter stays promoted if all that it sets change alike. Instances then have the new value.
    """
    if not block:
        for ref, value in values.items():
            document = _set(document, "", ref, value)
        return document
    waiting = dict(values)
    for param, refs in document.blocks[block].params.items():
        changed = [ref for ref in refs if ref in waiting]
        if not changed:
            continue
        if len(changed) == len(refs) and len({repr(waiting[ref]) for ref in refs}) == 1:
            document = demote(document, block, param)
            for ref in refs:
                document = _set(document, block, ref, waiting.pop(ref))
                document = promote(document, block, ref, param)
        else:
            for ref in changed:
                document = release(document, block, ref)
                document = _set(document, block, ref, waiting.pop(ref))
    for ref, value in waiting.items():
        document = _set(document, block, ref, value)
    return document


def release(document: Document, block: str, ref: ParamRef) -> Document:
    """Make a parameter one that instances do not set."""
    param = promoted_as(document.blocks[block], ref)
    if param is None:
        return document
    definition = document.blocks[block]
    refs = tuple(each for each in definition.params[param] if each != ref)
    if not refs:
        return demote(document, block, param)
    changed = replace(definition, params={**definition.params, param: refs})
    return replace(document, blocks={**document.blocks, block: changed})


def bind(document: Document, block: str, ref: ParamRef, argument: str, param: str | None) -> tuple[Document, str]:
    """Let an argument of the class set a parameter; also returns the name under which it is promoted.

    Args:
        param: the name under which the argument sets other parameters already
    """
    current = promoted_as(document.blocks[block], ref)
    if current is not None and param in (None, current):
        others = document.blocks[block].params
        if param is None and current != argument and argument not in others and argument != block_nodes.REPEAT:
            return rename_param(document, block, current, argument), argument
        return document, current
    document = release(document, block, ref)
    wanted = param or naming.unique_name(argument, [*document.blocks[block].params, block_nodes.REPEAT])
    return promote(document, block, ref, wanted), wanted


def _set(document: Document, block: str, ref: ParamRef, value: Value) -> Document:
    def edit(view: Document) -> Document:
        if value is ABSENT:
            return edits.clear_param(view, ref.node, ref.param)
        return edits.set_param(view, ref.node, ref.param, to_json(value))

    return edit_block(document, block, edit) if block else edit(document)


__all__ = ["ABSENT", "bind", "release", "set_values", "to_json"]

"""Set the parameters that a class has other values for, and promote those that its constructor sets."""

from __future__ import annotations

from collections.abc import Mapping

from studio.document import edits
from studio.document.blocks import block_nodes
from studio.document.document_errors import EditError
from studio.document.model import ParamRef
from studio.lowering.source_import.edits.module_change import ModuleChange
from studio.lowering.source_import.reading.definition_values import ABSENT, bind, release, set_values, to_json
from studio.lowering.source_import.reading.module_source import REQUIRED, Argument, Each, NodeSource, Value, same
from studio.lowering.source_import.reading.source_errors import SourceError


def bind_arguments(change: ModuleChange) -> None:
    """Let arguments of the constructor set what the class says. A new one is promoted."""
    if not change.block:
        _model_arguments(change)
        return
    for name, node in change.new.nodes.items():
        old = change.old_node(name)
        listed = {**node.arguments, block_nodes.REPEAT: node.copies}
        before: dict[str, Value] = {} if old is None else {**old.arguments, block_nodes.REPEAT: old.copies}
        for key, value in listed.items():
            ref = _ref(change, node, key)
            previous = before.get(key, ABSENT)
            if isinstance(previous, Argument) and not same(previous, value) and ref is not None:
                change.document = release(change.document, change.block, ref)
            if not isinstance(value, Argument) or ref is None or same(previous, value):
                continue
            _bind(change, ref, value.name, node.made_line)
    for argument, refs in change.after.arguments.items():
        for param, listed in change.document.blocks[change.block].params.items():
            if refs & set(listed):
                change.after.params.setdefault(argument, param)


def _bind(change: ModuleChange, ref: ParamRef, argument: str, line: int) -> None:
    default = change.new.arguments.get(argument, REQUIRED)
    shown = change.shown
    if default is not REQUIRED and ref.param not in shown.nodes[ref.node].params:
        change.edit(lambda shown: edits.set_param(shown, ref.node, ref.param, to_json(default)), line)
    try:
        change.document, param = bind(change.document, change.block, ref, argument, change.after.params.get(argument))
    except EditError as error:
        raise SourceError(str(error), line) from None
    change.after.params[argument] = param


def _model_arguments(change: ModuleChange) -> None:
    if change.new.arguments:
        raise SourceError("The constructor of the model takes no arguments. Write the values.", change.new.line)


def _ref(change: ModuleChange, node: NodeSource, key: str) -> ParamRef | None:
    """The parameter that an argument of a constructor sets; None if it is inferred in all instances."""
    title = change.after.nodes[node.name]
    if not node.is_instance or key == block_nodes.REPEAT:
        return ParamRef(title, key)
    inner = change.graphs[node.target]
    return ParamRef(title, inner.params[key]) if key in inner.params else None


def set_arguments(change: ModuleChange) -> None:
    """Set what changed at the layers, operations and instances."""
    values: dict[ParamRef, Value] = {}
    for name, node in change.new.nodes.items():
        old = change.old_node(name)
        before: Mapping[str, Value] = {} if old is None or old.target != node.target else old.arguments
        for key, value in node.arguments.items():
            if (key in before and same(before[key], value)) or isinstance(value, Argument):
                continue
            _check_each(change, node, value)
            if (ref := _ref(change, node, key) or _promote_inferred(change, node, key, is_new=old is None)) is not None:
                values[ref] = value
        for key in before:
            if key not in node.arguments and (ref := _ref(change, node, key)) is not None:
                values[ref] = ABSENT
        copies = None if old is None else old.copies
        if not same(copies, node.copies) and not isinstance(node.copies, Argument):
            _check_each(change, node, node.copies)
            values[ParamRef(change.after.nodes[name], block_nodes.REPEAT)] = (
                ABSENT if node.copies is None else node.copies
            )
    try:
        change.document = set_values(change.document, change.block, values)
    except EditError as error:
        raise SourceError(str(error), change.new.line) from None


def _check_each(change: ModuleChange, node: NodeSource, value: Value) -> None:
    if isinstance(value, Each) and (isinstance(value.values, Argument) or not value.values):
        raise SourceError(
            "Values per copy that differ between instances can be changed on the canvas only.", node.made_line
        )


def _promote_inferred(change: ModuleChange, node: NodeSource, key: str, *, is_new: bool) -> ParamRef | None:
    """Promote what was inferred in all instances so far, because one of them now sets it."""
    inner = change.graphs[node.target] if node.is_instance else None
    if inner is None or is_new or key not in inner.arguments:
        return None
    for ref in sorted(inner.arguments[key]):
        change.document, inner.params[key] = bind(change.document, inner.block, ref, key, inner.params.get(key))
    return ParamRef(change.after.nodes[node.name], inner.params[key])


__all__ = ["bind_arguments", "set_arguments"]

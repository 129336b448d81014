"""Fixes of the chain of data nodes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from msgspec import structs

from engine.data.tables.csv_columns import format_names, parse_names
from studio.document import edits
from studio.document.model import Document, Endpoint, FitRecord, Json, Node, Wire
from studio.lowering.problems import quick_fixes
from studio.lowering.problems.problem import Fix
from studio.nodes.types import NodeType
from studio.training.data.data_chain import ChainLink


def insert_transform(
    target: Endpoint,
    key: str,
    params: Mapping[str, Json],
    *,
    on: str = "inputs",
    title: str,
    fitted: FitRecord | None = None,
) -> Fix:
    """Insert a transform before an input of samples."""
    given = dict(params) if on == "inputs" else {**params, "on": on}
    node = Node(key, given, fitted=fitted)
    return quick_fixes.insert(target, node, title=title, input_port="samples", output_port="samples")


def replace_transform(link: ChainLink, key: str, params: Mapping[str, Json], *, title: str) -> Fix:
    """Use another transform at a node."""

    def edit(document: Document) -> Document:
        node = structs.replace(document.nodes[link.name], type=key, params=dict(params), fitted=None)
        return structs.replace(document, nodes={**document.nodes, link.name: node})

    return Fix(title, edit)


def remove_transform(link: ChainLink) -> Fix:
    return quick_fixes.bypass(link.name, link.type.inputs[0].name)


def ignore_columns(source: ChainLink, names: Sequence[str]) -> Fix | None:
    """Leave columns of a table out; None if the source has no columns."""
    if source.type.param("ignore") is None:
        return None

    def edit(document: Document) -> Document:
        ignored = parse_names(str(document.nodes[source.name].params.get("ignore", "")))
        ignored += [name for name in names if name not in ignored]
        return edits.set_param(document, source.name, "ignore", format_names(ignored))

    current = parse_names(str(source.values.get("ignore", "")))
    text = format_names([*current, *(name for name in names if name not in current)])
    title = f"Ignore {names[0]}" if len(names) == 1 else f"Ignore {len(names)} columns"
    return Fix(title, edit, (f"{source.name}.ignore={text}",))


def add_metric(beside: str, node: Node, inputs: Sequence[str]) -> Fix:
    """Add a metric with the inputs of another one."""

    def edit(document: Document) -> Document:
        x, y = document.nodes[beside].at
        name = edits.unique_name(document, node.type)
        document = edits.add(document, name, Node(node.type, node.params, at=(x, y + quick_fixes.NODE_SPACING / 2)))
        for wire in document.wires:
            if wire.target.node == beside and wire.target.port in inputs:
                document = edits.connect(document, Wire(wire.source, Endpoint(name, wire.target.port)))
        return document

    return Fix(f"Add {node.type.rpartition('.')[2]}", edit)


def has_param(node_type: NodeType, name: str) -> bool:
    return node_type.param(name) is not None


__all__ = ["add_metric", "has_param", "ignore_columns", "insert_transform", "remove_transform", "replace_transform"]

"""Texts about a node or group of an autograd graph: the details pane and tooltips."""

from __future__ import annotations

import html
from collections.abc import Iterable, Sequence

from engine.inspect import GraphCut, GraphNode, SavedTensor
from engine.shape import format_shape
from studio.training.autograd.graph_outline import Key
from studio.ui import number_format
from studio.ui.panels.autograd.graph_layouter import ShownGraph

_MAX_ROWS = 40
_CUTS = {
    "detach": "detached by detach()",
    "data": "read through .data",
    "no_grad": "computed in no_grad()",
    "inference_mode": "computed in inference_mode()",
    "not differentiable": "computed by an op without a gradient",
}


def details(shown: ShownGraph, key: Key | None) -> str:
    """The details of a node or group as HTML. Links are "node:ID" and "canvas:PATH". Without key, of the graph."""
    if key is None:
        return _graph_text(shown)
    return _group_text(shown, key) if isinstance(key, str) else _node_text(shown, shown.snapshot.graph.nodes[key])


def tooltip(shown: ShownGraph, key: Key) -> str:
    """A short plain text about an item."""
    if isinstance(key, str):
        group = shown.outline.groups[key]
        lines = [group.title, number_format.count(len(group.members), "nodes")]
        norm, saved = group.gradient_norm, group.saved_bytes
    else:
        node = shown.snapshot.graph.nodes[key]
        lines = [_title(node), f"Shape {format_shape(node.spec.shape)}, {node.spec.dtype.name}"]
        norm, saved = node.gradient_norm, node.saved_bytes
    if norm is not None:
        lines.append(f"Gradient norm {number_format.norm(norm)}")
    if saved:
        lines.append(f"Saved for backward: {number_format.size(saved)}")
    if not isinstance(key, str) and (owner := shown.snapshot.nodes.get(key)):
        lines.append(f"From {owner}")
    return "\n".join(lines)


def _node_text(shown: ShownGraph, node: GraphNode) -> str:
    snapshot = shown.snapshot
    rows: list[tuple[str, str]] = []
    if owner := snapshot.nodes.get(node.id):
        rows.append(("Canvas", _link(f"canvas:{owner}", owner)))
    if node.leaf:
        rows.append(("Parameter", html.escape(node.leaf)))
    if node.where is not None:
        rows.append(("Line", html.escape(_line(node.where))))
    rows.append(("Shape", f"{html.escape(format_shape(node.spec.shape))} {node.spec.dtype.name}"))
    rows.append(("Gradient", _norm(node.gradient_norm)))
    if node.uses > 1:
        rows.append(("Sum of", number_format.count(node.uses, "gradients")))
    rows.append(("Order", f"{node.id + 1} of {len(snapshot.graph.nodes)} in the backward pass"))
    senders = [edge.source for edge in snapshot.graph.edges if edge.target == node.id]
    receivers = [edge.target for edge in snapshot.graph.edges if edge.source == node.id]
    rows.append(("From", _node_links(shown, senders) or "the loss"))
    if receivers:
        rows.append(("To", _node_links(shown, receivers)))
    rows += [(f"{hook.kind} hook", html.escape(hook.name)) for hook in node.hooks]
    parts = [f"<h3>{html.escape(_title(node))}</h3>", _table(rows)]
    parts += [_cut_text(shown, index, cut) for index, cut in enumerate(snapshot.graph.cuts) if cut.node == node.id]
    if node.saved:
        parts += [f"<h4>Saved for backward: {number_format.size(node.saved_bytes)}</h4>", _saved_table(node.saved)]
        parts += [_changed_text(saved) for saved in node.changed]
    return "".join(parts)


def _group_text(shown: ShownGraph, path: str) -> str:
    group, graph = shown.outline.groups[path], shown.snapshot.graph
    nodes = [graph.nodes[id] for id in group.members]
    leaves = [node for node in nodes if node.leaf]
    rows = [
        ("Canvas", _link(f"canvas:{path}", path)),
        (
            "Nodes",
            f"{number_format.count(len(nodes) - len(leaves), 'ops')}, {number_format.count(len(leaves), 'parameters')}",
        ),
        ("Gradient", _norm(group.gradient_norm)),
        ("Saved", number_format.size(group.saved_bytes)),
    ]
    parts = [f"<h3>{html.escape(group.title)}</h3>", _table(rows)]
    if leaves:
        parts += ["<h4>Gradients of parameters</h4>", _table(
            (_link(f"node:{node.id}", (node.leaf or "").removeprefix(f"{path}.")), _norm(node.gradient_norm))
            for node in leaves[:_MAX_ROWS]
        )]  # fmt: skip
    largest = sorted((node for node in nodes if node.saved), key=lambda node: -node.saved_bytes)[:_MAX_ROWS]
    if largest:
        parts += ["<h4>Saved tensors</h4>", _table(
            (_link(f"node:{node.id}", node.name), _saved_names(node.saved)) for node in largest
        )]  # fmt: skip
    return "".join(parts)


def _graph_text(shown: ShownGraph) -> str:
    graph = shown.snapshot.graph
    largest = [graph.nodes[id] for id in shown.largest]
    parts = ["<h3>Backward pass</h3>", _table([
        ("Nodes", number_format.count(len(graph.nodes))),
        ("Saved", f"{number_format.size(graph.saved_bytes)}, shared memory counted once"),
    ])]  # fmt: skip
    if largest:
        parts += ["<h4>Largest</h4>", _table(
            (_link(f"node:{node.id}", _label(shown, node)), number_format.size(node.saved_bytes)) for node in largest
        )]  # fmt: skip
    parts += [_cut_text(shown, index, cut) for index, cut in enumerate(graph.cuts[:8])]
    return "".join(parts)


def _cut_text(shown: ShownGraph, index: int, cut: GraphCut) -> str:
    place = (shown.snapshot.cut_places or {}).get(index)
    at = f" in {_link(f'canvas:{place}', place)}" if place else "" if cut.where is None else f", {_line(cut.where)}"
    behind = _node_links(shown, cut.upstream) or ", ".join(map(html.escape, cut.upstream_names[:3]))
    user = "" if cut.node is None else f" of {_node_links(shown, [cut.node])}"
    return (
        f"<p><b>No gradient</b> flows through input {cut.input}{user}: it was {_CUTS.get(cut.kind, cut.kind)}"
        f" ({html.escape(cut.op)}){at}. Behind it: {behind or 'nothing'}.</p>"
    )


def _changed_text(saved: SavedTensor) -> str:
    return (
        f"<p><b>Changed in place:</b> {html.escape(saved.name)} has version {saved.current_version}, but version "
        f"{saved.version} was saved. backward() refuses it.</p>"
    )


def _saved_table(saved: Sequence[SavedTensor]) -> str:
    rows = [
        (
            html.escape(each.name),
            html.escape(str(each.spec)),
            "packed" if each.version is None else number_format.size(each.nbytes),
            "" if each.version is None else f"version {each.version}",
        )
        for each in saved
    ]
    return _table(rows)


def _saved_names(saved: Sequence[SavedTensor]) -> str:
    return ", ".join(f"{html.escape(each.name)} {number_format.size(each.nbytes)}" for each in saved)


def _node_links(shown: ShownGraph, ids: Iterable[int]) -> str:
    nodes = shown.snapshot.graph.nodes
    return ", ".join(_link(f"node:{id}", _label(shown, nodes[id])) for id in list(dict.fromkeys(ids))[:8])


def _label(shown: ShownGraph, node: GraphNode) -> str:
    if node.leaf:
        return node.leaf
    owner = shown.snapshot.nodes.get(node.id)
    return f"{node.name} of {owner}" if owner else node.name


def _title(node: GraphNode) -> str:
    return f"{node.name} of {node.leaf}" if node.leaf else node.name


def _line(where: tuple[str, int]) -> str:
    return f"line {where[1]}" if where[0].startswith("<") else f"{where[0]}:{where[1]}"


def _norm(norm: float | None) -> str:
    return "not computed" if norm is None else f"norm {number_format.norm(norm)}"


def _link(target: str, text: str) -> str:
    return f'<a href="{html.escape(target)}">{html.escape(text)}</a>'


def _table(rows: Iterable[tuple[str, ...]]) -> str:
    lines = "".join(f"<tr>{''.join(f'<td>{cell}</td>' for cell in row)}</tr>" for row in rows)
    return f'<table cellspacing="0" cellpadding="2">{lines}</table>'

"""Tooltips of nodes, ports and wires as rich text, and the accessible description of the selection."""

from __future__ import annotations

import html
from collections.abc import Callable
from typing import TypeAlias

from PySide6.QtCore import QPointF

from studio.document.model import Endpoint
from studio.lowering.analysis.block_types import known_type
from studio.lowering.report import Report
from studio.nodes.types import Role
from studio.ui import number_format
from studio.ui.canvas.canvas_scene import CanvasScene
from studio.ui.canvas.frames.frame_actions import described
from studio.ui.canvas.hit_testing import Hit
from studio.ui.project.scope_store import ScopeStore

TooltipSource: TypeAlias = Callable[[Hit, QPointF], str]
"""Returns the rich text for what is at a scene position; empty if there is nothing to say."""


def tooltip(store: ScopeStore, scene: CanvasScene, hit: Hit) -> str:
    if hit.end is not None:
        return _port(store.report, scene, hit)
    if hit.node is not None:
        return _node(store, scene, hit.node)
    if hit.frame is not None:
        frame = store.document.frames[hit.frame]
        return _joined(f"<b>{html.escape(frame.title)}</b>" if frame.title else "", _escaped(frame.text))
    if hit.wire is None:
        return ""
    item = scene.wires[hit.wire]
    return _joined(f"<b>{html.escape(str(hit.wire))}</b> · {item.role}", _mono(item.label), _error(item.error))


def selection_description(store: ScopeStore, scene: CanvasScene) -> str:
    """Description of the selection for screen readers."""
    names = [name for name in scene.nodes if name in store.selection]
    if scene.frames.selected and not names:
        return f"{described(store.document, scene.frames.selected)} selected"
    if len(names) != 1:
        return f"{len(names)} of {len(scene.nodes)} nodes selected" if names else f"{len(scene.nodes)} nodes"
    content = scene.nodes[names[0]].content
    kind = known_type(store.document, store.catalogue, names[0])
    parts = (names[0], kind.title if kind else "unknown type", content.summary, content.error, content.warning)
    return ", ".join(part for part in parts if part)


def _node(store: ScopeStore, scene: CanvasScene, name: str) -> str:
    node, content = store.document.nodes[name], scene.nodes[name].content
    kind = known_type(store.document, store.catalogue, name)
    title = kind.title if kind else node.type
    return _joined(
        f"<b>{html.escape(name)}</b> · {html.escape(title)}",
        html.escape(kind.summary) if kind else "This version of Gradwire does not support this node type.",
        _mono(content.summary),
        "Muted: passes its input through." if content.muted else "",
        "Frozen: its parameters are not trained." if content.frozen else "",
        "Recomputed: its activations are recomputed in the backward pass to save memory." if content.recomputed else "",
        _block_hint(store, name) if kind and kind.role is Role.BLOCK else "",
        f"Uses the weights of <b>{html.escape(content.shares)}</b>." if content.shares else "",
        _error(content.error),
        _warning(content.warning),
    )


def _block_hint(store: ScopeStore, name: str) -> str:
    info = store.report.nodes.get(name)
    figures = f"{number_format.macs(info.macs)} per sample" if info is not None and info.macs else ""
    return _joined(figures, "Double-click to edit the block.")


def _port(report: Report, scene: CanvasScene, hit: Hit) -> str:
    assert hit.node is not None
    assert hit.port is not None
    port = scene.nodes[hit.node].content.port(hit.port, is_input=hit.side == "input")
    if port is None:
        return ""
    about = f"{port.type}, optional" if port.optional else str(port.type)
    return _joined(
        f"<b>{html.escape(port.name)}</b> · {about}", html.escape(port.help), _mono(shape_at(report, scene, hit))
    )


def shape_at(report: Report, scene: CanvasScene, hit: Hit) -> str:
    """The shape at a port."""
    end = hit.end or Endpoint("", "")
    if hit.side == "input":
        return next((report.wires.get(wire, "") for wire in scene.graph.incoming(end.node) if wire.target == end), "")
    info = report.nodes.get(end.node)
    spec = info.outputs.get(end.port) if info else None
    if spec is None:  # samples have their shape at the wire
        return next(
            (report.wires.get(wire, "") for wire in scene.graph.outgoing(end.node) if wire.source == end),
            "",
        )
    return str(spec)


def _joined(*lines: str) -> str:
    return "<br>".join(line for line in lines if line)


def _mono(text: str) -> str:
    return f"<code>{html.escape(text)}</code>" if text else ""


def _error(text: str) -> str:
    return f"Error: {_escaped(text)}" if text else ""


def _warning(text: str) -> str:
    return f"Warning: {_escaped(text)}" if text else ""


def _escaped(text: str) -> str:
    return html.escape(text).replace("\n", "<br>")

"""What the tooltip of a compared node says: how it differs, with old and new values."""

from __future__ import annotations

import html

from studio.document.graph_comparison import MISSING, Change, Value, text_of
from studio.nodes.types import NodeType

_MAX_LINES = 12
_MAX_CHARACTERS = 60
_TITLES = {
    "added": "Added",
    "removed": "Removed",
    "changed": "Changed",
    "renamed": "Renamed",
    "block changed": "Changed inside the block",
    "rewired": "Other wires",
}


def change_tooltip(change: Change, old_type: NodeType | None, new_type: NodeType | None) -> str:
    """The difference of a node as rich text; `old_type` and `new_type` declare the defaults of its parameters."""
    lines = [_value(value, old_type, new_type) for value in change.values]
    lines += [f"Wire removed: {html.escape(str(wire))}" for wire in change.wires_removed]
    lines += [f"Wire added: {html.escape(str(wire))}" for wire in change.wires_added]
    if len(lines) > _MAX_LINES:
        lines[_MAX_LINES - 1 :] = [f"and {len(lines) - _MAX_LINES + 1} more"]
    title = _TITLES[change.kind]
    if change.old and change.new and change.old != change.new:
        title = f"{title}, formerly {html.escape(change.old)}"
    elif change.new is None:
        kind = "" if old_type is None else f" · {html.escape(old_type.title)}"
        title = f"<b>{html.escape(change.old or '')}</b>{kind} · {title.lower()}"
    return "<br>".join([f"<b>{title}</b>" if change.new is not None else title, *lines])


def _value(value: Value, old_type: NodeType | None, new_type: NodeType | None) -> str:
    old, new = _text(value.name, value.old, old_type), _text(value.name, value.new, new_type)
    return f"{html.escape(value.name)}: <code>{old}</code> → <code>{new}</code>"


def _text(name: str, value: object, node_type: NodeType | None) -> str:
    """A value; for a parameter that is not set, its default."""
    declared = None if node_type is None else node_type.param(name)
    if value != MISSING or declared is None or declared.required:
        return html.escape(_shortened(text_of(value)))
    if declared.from_input is not None:
        return "from the input"
    return f"{html.escape(_shortened(text_of(declared.default)))} (default)"


def _shortened(text: str) -> str:
    return text if len(text) <= _MAX_CHARACTERS else f"{text[: _MAX_CHARACTERS - 1]}…"


__all__ = ["change_tooltip"]

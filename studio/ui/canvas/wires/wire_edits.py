"""Connect and disconnect ports of the shown graph, each as one edit. Mouse and keyboard share them."""

from __future__ import annotations

from collections.abc import Sequence

from studio.document import edits
from studio.document.model import Document, Wire
from studio.ui.canvas.wires.pending_wire import PendingWire
from studio.ui.project.scope_store import ScopeStore


def connect(store: ScopeStore, pending: PendingWire, wire: Wire) -> None:
    """Add a wire, in place of the one that `pending` has detached and of the one at its input."""
    detached = pending.detached
    if wire == detached:
        return

    def change(document: Document) -> Document:
        if detached is not None:
            document = edits.disconnect(document, [detached])
        return edits.connect(document, wire)

    verb = "Reconnect" if detached is not None else "Connect"
    store.edit(f"{verb} {wire.source} to {wire.target}", change)


def disconnect(store: ScopeStore, wires: Sequence[Wire]) -> None:
    """Remove wires."""
    what = str(wires[0].target) if len(wires) == 1 else f"{len(wires)} wires"
    store.edit(f"Disconnect {what}", lambda document: edits.disconnect(document, wires))

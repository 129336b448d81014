"""Which nodes have parameters that can be frozen."""

from __future__ import annotations

from studio.lowering.analysis.block_types import known_type
from studio.nodes.types import Role
from studio.ui.project.scope_store import ScopeStore


def can_freeze(store: ScopeStore, name: str) -> bool:
    """Whether a node has parameters to freeze or is frozen. A layer without known shapes may have some."""
    node, info = store.document.nodes.get(name), store.report.nodes.get(name)
    if node is None:
        return False  # the selection follows the document a moment later
    if node.frozen or (info is not None and info.parameters > 0):
        return True
    if info is not None and info.outputs:
        return False
    kind = known_type(store.document, store.catalogue, name)
    return kind is not None and (kind.category == "layer" or kind.role is Role.BLOCK)

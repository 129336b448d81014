"""Form row of an instance: how its block relates to a library, with buttons to save or update it."""

from __future__ import annotations

from PySide6.QtWidgets import QHBoxLayout, QVBoxLayout, QWidget

from studio.document.blocks.library_copies import CopyState, LibraryUpdate
from studio.lowering.analysis.library_types import GROUPS
from studio.nodes.types import NodeType, Role
from studio.ui.project.block_library_actions import BlockLibraryActions
from studio.ui.project.scope_store import ScopeStore
from studio.ui.widgets import buttons
from studio.ui.widgets.labels import label

_SHOWN = 6
"""Number of changes that are listed."""


class BlockLibraryRow(QWidget):
    """One or two lines of text and the buttons."""

    def __init__(self, actions: BlockLibraryActions, store: ScopeStore, block: str) -> None:
        super().__init__()
        self._actions, self._store, self.block = actions, store, block
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(6)
        self.text = label("", "small", wrap=True, selectable=True)
        self.losses = label("", "warning", wrap=True, selectable=True)
        column.addWidget(self.text)
        column.addWidget(self.losses)
        row = QHBoxLayout()
        row.setSpacing(8)
        self.update_button = buttons.text_button("Update", lambda: actions.update(self.block), icon="reset")
        self.update_button.setAccessibleName(f"Update {block} from its library")
        self.save_button = buttons.text_button("Save to library", lambda: actions.save(self.block), icon="save")
        self.save_button.setToolTip("Save this block to your library, to add it to other projects from the palette")
        row.addWidget(self.update_button)
        row.addWidget(self.save_button)
        row.addStretch(1)
        column.addLayout(row)
        actions.libraries.changed.connect(self.refresh)
        store.document_changed.connect(self.refresh)
        self.refresh()

    def refresh(self, *_: object) -> None:
        """Show the current document and libraries."""
        block = self._store.project.document.blocks.get(self.block)
        if block is None:
            return
        state, preview = self._actions.state(self.block), self._actions.preview(self.block)
        library = GROUPS[block.origin.library].lower() if block.origin is not None else ""
        text = _text(state, "your library" if library == "your library" else "the shipped blocks", preview)
        self.text.setText(text)
        self.text.setVisible(bool(text))
        losses = ", ".join(preview.losses) if preview is not None and preview.losses else ""
        self.losses.setText(f"Updating removes: {losses}.")
        self.losses.setVisible(bool(losses))
        self.update_button.setVisible(preview is not None)
        self.update_button.setText("Update" if state is CopyState.OUTDATED else "Discard changes and update")
        self.update_button.setToolTip(text)
        self.save_button.setVisible(state not in (CopyState.EQUAL, CopyState.OUTDATED))


def _text(state: CopyState | None, library: str, preview: LibraryUpdate | None) -> str:
    changes = preview.changes if preview is not None else ()
    listed = ", ".join(changes[:_SHOWN]) + (f" and {len(changes) - _SHOWN} more" if len(changes) > _SHOWN else "")
    match state:
        case None:
            return ""
        case CopyState.EQUAL:
            return f"Same as in {library}."
        case CopyState.OUTDATED:
            return f"The library has a newer version, which {listed or 'differs'}."
        case CopyState.MODIFIED:
            return f"Changed since it was copied from {library}. The library's version {listed or 'differs'}."
        case CopyState.DIVERGED:
            return f"Changed here, and the library has a newer version, which {listed or 'differs'}."
        case CopyState.MISSING:
            return f"No longer in {library}."


def block_library_row(
    actions: BlockLibraryActions, store: ScopeStore, node: str, kind: NodeType
) -> BlockLibraryRow | None:
    """The row for an instance of a block, else None."""
    return BlockLibraryRow(actions, store, kind.key.partition(".")[2]) if kind.role is Role.BLOCK else None


__all__ = ["BlockLibraryRow", "block_library_row"]

"""Actions between a project and the libraries of blocks: save a block, update it, manage the user's library."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path

from msgspec.structs import replace
from PySide6.QtCore import QObject, Signal

from studio.document.blocks import block_nodes
from studio.document.blocks.block_library import LibraryBlock, read_block
from studio.document.blocks.library_copies import CopyState, LibraryUpdate, copy_state, find_origin, linked, update
from studio.document.document_errors import DocumentError
from studio.document.files import project_files
from studio.document.model import BlockOrigin, Document
from studio.ui.project.block_libraries import BlockLibraries
from studio.ui.project.scope_store import ScopeStore


class BlockLibraryActions(QObject):
    """Actions for one project. Changes of files can be undone from their notifications."""

    notified = Signal(str, object)
    """A text, and the function that undoes what it describes; None if there is nothing to undo."""
    failed = Signal(str)
    """Why an action was not possible."""

    def __init__(self, store: ScopeStore, libraries: BlockLibraries, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._store = store
        self.libraries = libraries

    # -- reading

    @property
    def block(self) -> str:
        """The block of the selected instance, or the shown one if nothing is selected; empty if there is none."""
        if not self._store.selection:
            return self._store.block
        if len(self._store.selection) > 1:
            return ""
        node = self._store.document.nodes.get(next(iter(self._store.selection)))
        name = block_nodes.name_of(node) if node is not None else None
        return name if name in self._document.blocks else ""

    def state(self, block: str) -> CopyState | None:
        """How a block of the project relates to its library; None for one that is from no library."""
        if block not in self._document.blocks or (self.libraries.is_reading and not self.libraries.blocks):
            return None
        return copy_state(self._document, block, self.libraries.blocks)

    def can_update(self, block: str) -> bool:
        """Whether a block of the project differs from its library's."""
        return self.state(block) in (CopyState.OUTDATED, CopyState.MODIFIED, CopyState.DIVERGED)

    def preview(self, block: str) -> LibraryUpdate | None:
        """What an update of a block would change; None if it equals its library's."""
        if not self.can_update(block):
            return None
        entry = find_origin(self._document.blocks[block], self.libraries.blocks)
        return None if entry is None else update(self._document, block, entry)

    # -- between project and library

    def save(self, block: str) -> None:
        """Save a block to the user's library, under the name that it has there."""
        origin = self._document.blocks[block].origin
        name = origin.name if origin is not None and origin.library == "user" else block

        def store() -> None:
            before = self.libraries.user.content(name)
            entry = self.libraries.user.save(self._document, block, name)
            self._store.project.edit(f"Save {block} to your library", partial(linked, name=block, entry=entry))
            verb = "Saved" if before is None else "Replaced"
            self._changed(f"{verb} {name} in your library.", partial(self._undo_save, name, before, block, origin))

        self._try(store)

    def update(self, block: str) -> None:
        """Replace a block of the project by the library's version."""
        preview = self.preview(block)
        if preview is None:
            return
        entry = find_origin(self._document.blocks[block], self.libraries.blocks)
        if entry is None:
            return
        self._store.project.edit(
            f"Update {block} from its library", lambda document: update(document, block, entry).document
        )
        lost = f" Removed: {', '.join(preview.losses)}." if preview.losses else ""
        self.notified.emit(f"Updated {block}: {', '.join(preview.changes) or 'changes the layout'}.{lost}", None)

    # -- the user's library

    def delete(self, name: str) -> None:
        """Delete a block of the user's library."""

        def remove() -> None:
            before = self.libraries.user.content(name)
            self.libraries.user.restore(name, None)
            self._changed(f"Deleted {name} from your library.", partial(self._restore, {name: before}))

        self._try(remove)

    def rename(self, old: str, new: str) -> None:
        """Rename a block of the user's library."""
        if old == new:
            return

        def move() -> None:
            before = self.libraries.user.content(old)
            self.libraries.user.rename(old, new)
            self._changed(f"Renamed {old} to {new} in your library.", partial(self._restore, {old: before, new: None}))

        self._try(move)

    def import_file(self, path: Path) -> None:
        """Copy the block of a project file to the user's library."""

        def copy() -> None:
            name = read_block(path, "user", any_name=True).name
            before = self.libraries.user.content(name)
            self.libraries.user.import_file(path)
            verb = "Imported" if before is None else "Imported and replaced"
            self._changed(f"{verb} {name} in your library.", partial(self._restore, {name: before}))

        self._try(copy)

    def export(self, entry: LibraryBlock, path: Path) -> None:
        """Write a block of a library to a project file."""

        def write() -> None:
            project_files.save(entry.exported, path)
            self.notified.emit(f"Exported {entry.name} to {path.name}.", None)

        self._try(write)

    # -- undoing

    def _undo_save(self, name: str, before: bytes | None, block: str, origin: BlockOrigin | None) -> None:
        self._restore({name: before})

        def unlink(document: Document) -> Document:
            if block not in document.blocks:
                return document
            return replace(document, blocks={**document.blocks, block: replace(document.blocks[block], origin=origin)})

        self._store.project.edit(f"Undo saving {block} to your library", unlink)

    def _restore(self, contents: dict[str, bytes | None]) -> None:
        def restore() -> None:
            for name, content in contents.items():
                self.libraries.user.restore(name, content)
            self.libraries.refresh()

        self._try(restore)

    def _try(self, action: Callable[[], None]) -> None:
        try:
            action()
        except DocumentError as error:
            self.failed.emit(str(error))

    def _changed(self, text: str, undo: Callable[[], None]) -> None:
        self.libraries.refresh()
        self.notified.emit(text, undo)

    @property
    def _document(self) -> Document:
        return self._store.project.document

"""The state of the graph that the canvas shows: that of the project, or of a block that was entered."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, Signal

from studio.document.blocks import block_nodes
from studio.document.blocks.block_edits import edit_graph, view
from studio.document.blocks.block_locations import (
    Location,
    Renaming,
    Step,
    block_at,
    changed_location,
    copy_count,
    nearest,
    prefix_of,
)
from studio.document.model import Block, Document
from studio.lowering.analysis.addable_types import addable_types
from studio.lowering.problems.problem import Fix
from studio.lowering.report import Report
from studio.lowering.scope_report import report_at
from studio.ui.project.project_store import ProjectStore

if TYPE_CHECKING:
    from studio.nodes.catalogue import Catalogue
    from studio.nodes.types import NodeType

_REMEMBERED = 32
"""Number of locations that an undo prefers, those shown last."""


class ScopeStore(QObject):
    """Reads and edits one graph of a project. Canvas, inspector and palette observe it.

    Names are those in the graph. The project's store has paths in their place, and the history of all graphs.
    """

    document_changed = Signal(object, object)
    """The old and the new Document of the shown graph."""
    report_changed = Signal(object)
    selection_changed = Signal(object)
    """Frozenset of the selected nodes' names in the shown graph."""
    location_changed = Signal(object)
    """The Location of the shown graph, after a block was entered or left."""

    def __init__(self, project: ProjectStore, parent: QObject | None = None) -> None:
        super().__init__(parent or project)
        self.project = project
        self.catalogue: Catalogue = project.catalogue
        self._location: Location = ()
        self._shown: list[Location] = []
        """Earlier locations, the latest first."""
        self._types: tuple[tuple[Mapping[str, Block], str], tuple[NodeType, ...]] | None = None
        self._document = project.document
        self._report = project.report
        self._selection = project.selection
        project.document_changed.connect(self._on_document_changed)
        project.report_changed.connect(self._on_report_changed)
        project.selection_changed.connect(self._on_selection_changed)
        project.restored.connect(self._on_restored)

    # -- reading

    @property
    def document(self) -> Document:
        """The shown graph, with the definitions of the project."""
        return self._document

    @property
    def report(self) -> Report:
        """The part of the report for the shown graph, with names in place of paths."""
        return self._report

    @property
    def selection(self) -> frozenset[str]:
        return self._selection

    @property
    def location(self) -> Location:
        return self._location

    @property
    def block(self) -> str:
        """Name of the shown definition; empty for the canvas of the project."""
        return block_at(self.project.document, self._location)

    @property
    def copies(self) -> int:
        """How many copies the instance stands for through which the shown graph was entered."""
        return copy_count(self.project.document, self._location)

    @property
    def prefix(self) -> str:
        """Beginning of the paths of the nodes in the shown graph."""
        return prefix_of(self.project.document, self._location)

    @property
    def node_types(self) -> tuple[NodeType, ...]:
        """The node types that can be added to the shown graph."""
        key = (self.project.document.blocks, self.block)
        if self._types is None or self._types[0][0] is not key[0] or self._types[0][1] != key[1]:
            self._types = key, tuple(addable_types(self.project.document, self.catalogue, self.block))
        return self._types[1]

    def node_type(self, key: str) -> NodeType | None:
        """An addable node type by its key."""
        return next((kind for kind in self.node_types if kind.key == key), None)

    def is_locked(self, name: str) -> bool:
        """Whether edits cannot change a node of the shown graph."""
        locked = self.project.locked
        return bool(locked) and self.prefix + name in locked

    def names_of(self, paths: Iterable[str]) -> frozenset[str]:
        """The nodes of the shown graph that have these paths or contain nodes with them."""
        prefix = self.prefix
        return frozenset(path[len(prefix) :].partition(".")[0] for path in paths if path.startswith(prefix))

    # -- changing

    def edit(self, title: str, function: Callable[[Document], Document], *, merge: str | None = None) -> bool:
        """Apply an undoable edit to the shown graph, as `ProjectStore.edit`."""
        return self.project.edit(title, partial(edit_graph, block=self.block, edit=function), merge=merge)

    def extend_last_edit(self, function: Callable[[Document], Document]) -> bool:
        """Extend the last edit, so that one undo reverts both."""
        return self.project.extend_last_edit(partial(edit_graph, block=self.block, edit=function))

    def apply_fix(self, fix: Fix, node: str | None = None) -> None:
        """Apply a quick fix, which may change any graph of the project, for a problem of a node of the shown graph."""
        self.project.apply_fix(fix, None if node is None else self.prefix + node)

    def end_gesture(self) -> None:
        self.project.end_gesture()

    def revert_gesture(self, merge: str) -> None:
        self.project.revert_gesture(merge)

    def select(self, names: Iterable[str]) -> None:
        """Select nodes of the shown graph."""
        prefix = self.prefix
        self.project.select([prefix + name for name in names])

    # -- going to another graph

    def enter(self, instance: str, copy: int = 0) -> bool:
        """Show the graph of an instance. False if the node is not an instance of a known block."""
        node = self._document.nodes.get(instance)
        if node is None or block_nodes.name_of(node) not in self._document.blocks:
            return False
        self.go((*self._location, Step(instance, copy)))
        return True

    def leave(self) -> bool:
        """Show the graph around the shown one, and select the instance. False on the canvas of the project."""
        if not self._location:
            return False
        instance = self._location[-1].instance
        self.go(self._location[:-1])
        self.select([instance])
        return True

    def show_copy(self, copy: int) -> None:
        """Show another copy of the instance, with the same nodes selected."""
        if self._location and 0 <= copy < self.copies and copy != self._location[-1].copy:
            selection = self._selection
            self.go((*self._location[:-1], Step(self._location[-1].instance, copy)))
            self.select(selection)

    def reveal(self, path: str) -> str | None:
        """Show the graph of a node and select it. Returns its name there, or that of the nearest instance around it."""
        found = nearest(self.project.document, path)
        if found is None:
            return None
        location, name = found
        self.go(location)
        self.select([name])
        return name

    def go(self, location: Location) -> None:
        """Show the graph at a location, with nothing selected."""
        if location == self._location:
            return
        self.project.end_gesture()
        self._show(location)
        self.project.select(())

    # -- changes of the project

    def _show(self, location: Location) -> None:
        """Show another graph. The old one is removed first, because the two have nothing in common."""
        old, empty = self._document, Document()
        self._shown = [self._location, *(each for each in self._shown if each != self._location)][:_REMEMBERED]
        self._location = location
        self._document = empty
        self.document_changed.emit(old, empty)
        if self._selection:
            self._selection = frozenset()
            self.selection_changed.emit(self._selection)
        self._document = self._view()
        self._update_report()  # before the nodes, so that none of them becomes wider afterwards
        self.document_changed.emit(empty, self._document)
        self._update_report()
        self.location_changed.emit(location)

    def _on_document_changed(self, old: Document, new: Document) -> None:
        location = Renaming(old, new).location(self._location)
        if len(location) < len(self._location):
            self._show(location)
            return
        before, previous = self._document, self._location
        self._location = location
        if not (location and _is_same(old, new, block_at(new, location))):
            self._document = self._view()
        if self._document is not before:
            self.document_changed.emit(before, self._document)
        if location != previous:
            self.location_changed.emit(location)

    def _on_report_changed(self, _: Report) -> None:
        self._update_report()

    def _on_selection_changed(self, paths: frozenset[str]) -> None:
        prefix = self.prefix
        names = {path[len(prefix) :] for path in paths if path.startswith(prefix)} & self._document.nodes.keys()
        if paths and not names:
            found = nearest(self.project.document, min(paths))
            if found is not None and found[0] != self._location:
                self._show(found[0])
                self._on_selection_changed(self.project.selection)
                return
        if names != self._selection:
            self._selection = frozenset(names)
            self.selection_changed.emit(self._selection)

    def _on_restored(self, old: Document, new: Document) -> None:
        """Go to the graph that an undo or redo has changed."""
        location = changed_location(old, new, self._location, self._shown)
        if location is not None:
            self.go(location)

    def _view(self) -> Document:
        block = self.block
        return view(self.project.document, block) if block else self.project.document

    def _update_report(self) -> None:
        self._report = report_at(self.project.report, self._location)
        self.report_changed.emit(self._report)


def _is_same(old: Document, new: Document, block: str) -> bool:
    """Whether the view of a definition is the same in two documents."""
    return old.blocks is new.blocks and old.training is new.training and block in old.blocks

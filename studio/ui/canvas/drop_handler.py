"""Drag and drop onto the canvas: node types from the palette, and data files."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path

from PySide6.QtCore import QPointF
from PySide6.QtGui import QDropEvent

from studio.document.project_format import SUFFIX
from studio.nodes.catalogue import Catalogue
from studio.nodes.types import NodeType
from studio.ui.canvas.canvas_actions import CanvasActions
from studio.ui.canvas.canvas_context import CanvasContext
from studio.ui.canvas.hit_testing import NO_HIT, Hit
from studio.ui.palette.node_type_tree import MIME

_FILE_SPACING = 120
"""Vertical distance between the nodes of several dropped files."""


class DropHandler:
    """Adds nodes for dropped types and files. A type that is dropped on a matching wire is inserted into it."""

    def __init__(
        self,
        context: CanvasContext,
        actions: CanvasActions,
        find_type: Callable[[str], NodeType | None],
        refuse: Callable[[str], object],
    ) -> None:
        """`find_type` returns a type by its key, `refuse` receives a message about files without a data node."""
        self._find_type = find_type
        self._refuse = refuse
        self._context = context
        self._actions = actions

    def accepts(self, event: QDropEvent) -> bool:
        """Whether the canvas handles the drop. Files that include a project are left to the window."""
        files = dropped_data_files(event)
        return event.mimeData().hasFormat(MIME) or (bool(files) and len(files) == len(event.mimeData().urls()))

    def drop_files(self, paths: Iterable[Path], at: QPointF) -> None:
        """Add a node for each file below the previous one, with one edit per file."""
        refused: list[str] = []
        for path in paths:
            found = data_node_for(self._context.store.catalogue, path)
            if found is None:
                refused.append(path.name)
                continue
            kind, parameter = found
            self._actions.add_at(kind, at, {parameter: str(path)})
            at = at + QPointF(0, _FILE_SPACING)
        if refused:
            self._refuse(_refusal(self._context.store.catalogue, refused))

    def hover(self, event: QDropEvent) -> None:
        kind = self._kind(event)
        hit = self._context.scene.hit(self._at(event))
        fits = kind is not None and hit.wire is not None and self._actions.fits_into(kind, hit.wire)
        self._context.scene.set_hovered(Hit(wire=hit.wire) if fits else NO_HIT)

    def leave(self) -> None:
        self._context.scene.set_hovered(NO_HIT)

    def drop(self, event: QDropEvent) -> bool:
        """Handle a drop. Returns whether it was accepted."""
        kind, at = self._kind(event), self._at(event)
        self.leave()
        if files := dropped_data_files(event):
            self.drop_files(files, at)
            return True
        if kind is None:
            return False
        wire = self._context.scene.hit(at).wire
        if wire is None or self._actions.add_into(kind, wire, at) is None:
            self._actions.add_at(kind, at)
        return True

    def _kind(self, event: QDropEvent) -> NodeType | None:
        key = bytes(event.mimeData().data(MIME).data()).decode(errors="replace")
        return self._find_type(key)

    def _at(self, event: QDropEvent) -> QPointF:
        return self._context.camera.to_scene(event.position())


def dropped_data_files(event: QDropEvent) -> list[Path]:
    """The dragged files and folders except projects, which the window opens."""
    paths = [Path(url.toLocalFile()) for url in event.mimeData().urls() if url.isLocalFile()]
    return [path for path in paths if path.suffix != SUFFIX]


def data_node_for(catalogue: Catalogue, path: Path) -> tuple[NodeType, str] | None:
    """The data node for a file suffix, and its path parameter.

    Prefers the node named like the suffix, then the node that lists the suffix first.
    """
    suffix = path.suffix.lower()
    found = [
        (kind.title.lower() != suffix[1:], parameter.path.suffixes.index(suffix), kind.title, kind, parameter.name)
        for kind in catalogue
        for parameter in kind.params[:1]
        if parameter.path is not None and suffix in parameter.path.suffixes and not path.is_dir()
    ]
    return min(found, key=lambda each: each[:3])[3:] if found else None


def _refusal(catalogue: Catalogue, names: list[str]) -> str:
    of_files = {suffix for kind in catalogue for p in kind.params[:1] if p.path for suffix in p.path.suffixes}
    of_folders = [kind.title for kind in catalogue for p in kind.params[:1] if p.path and p.path.kind == "folder"]
    return (
        f"No data node can read {', '.join(names)}. Drop {', '.join(sorted(of_files))} or {SUFFIX} files. "
        f"For a folder, add {', '.join(of_folders[:-1])} or {of_folders[-1]} and set its folder."
    )

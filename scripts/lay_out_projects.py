"""Lay out the graphs of project files and of their blocks, as the key L does in a window of 1440×900, and save them.

    .venv/bin/python scripts/lay_out_projects.py assets/templates/digits-vit.gradwire [--only-blocks]

Nodes are as wide as after a check, with the values that they show.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from screenshots import close, settle, until
from studio.document import edits
from studio.document.blocks import block_nodes
from studio.document.blocks.block_edits import edit_block
from studio.document.blocks.block_locations import Location, Step
from studio.document.files import project_files
from studio.document.model import Block, Document
from studio.ui import app
from studio.ui.canvas.canvas_view import CanvasView
from studio.ui.preferences.declarations import REDUCE_MOTION
from studio.ui.project.project import Project
from studio.ui.settings import Settings
from studio.ui.window.main_window import MainWindow

SIZE = (1440, 900)

Positions = dict[str, tuple[float, float]]


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("files", type=Path, nargs="+")
    parser.add_argument("--only-blocks", action="store_true", help="keep the positions of the graph of the project")
    options = parser.parse_args()
    os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")
    application = app.make_application(sys.argv[:1])
    for path in options.files:
        with tempfile.TemporaryDirectory() as folder:
            settings = Settings(Path(folder) / "settings.ini")
            settings.preferences.set(REDUCE_MOTION, True)
            window = app.make_window(settings, Path(folder) / "state")
            window.resize(*SIZE)
            window.show()
            application.processEvents()
            project_files.save(_laid_out(window, path, only_blocks=options.only_blocks), path)
            close(window)
            print(path)
    return 0


def _laid_out(window: MainWindow, path: Path, *, only_blocks: bool) -> Document:
    """The document of a file with new positions."""
    document = project_files.load(path)
    project = window.files.open(path)
    assert project is not None
    until(lambda: project.store.is_checked)
    settle(window)
    view = window.project_views[project].canvas
    if not only_blocks:
        document = edits.move(document, _positions(window, view, project))
    for name, location in _block_locations(document):
        view.store.go(location)
        settle(window)
        positions = _positions(window, view, project)
        document = edit_block(document, name, lambda scope, positions=positions: edits.move(scope, positions))
    return document


def _block_locations(document: Document) -> Iterator[tuple[str, Location]]:
    """Each definition with the location of one of its instances."""
    found: set[str] = set()
    waiting: list[tuple[Location, Document | Block]] = [((), document)]
    while waiting:
        location, scope = waiting.pop(0)
        for name, node in scope.nodes.items():
            block = block_nodes.name_of(node)
            if block is not None and block not in found:
                found.add(block)
                inner: Location = (*location, Step(name))
                waiting.append((inner, document.blocks[block]))
                yield block, inner


def _positions(window: MainWindow, view: CanvasView, project: Project) -> Positions:
    """Positions of a layout of the shown graph that does not keep its arrangement, from (0, 0)."""
    names = list(view.store.document.nodes)
    view.store.edit("Reset", lambda document: edits.move(document, dict.fromkeys(names, (0.0, 0.0))))
    until(lambda: project.store.is_checked)
    settle(window)
    view.canvas_actions.lay_out_if_unplaced()
    until(lambda: not view.auto_layout.is_busy)
    placed = {name: node.at for name, node in view.store.document.nodes.items()}
    left, top = (min(at[axis] for at in placed.values()) for axis in (0, 1))
    return {name: (x - left, y - top) for name, (x, y) in placed.items()}


if __name__ == "__main__":
    sys.exit(main())

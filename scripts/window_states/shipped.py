"""Each template on the canvas, and each shipped block with its help."""

from __future__ import annotations

from pathlib import Path

from screenshots import open_template, until
from studio.document.blocks.block_library import LibraryBlock, shipped_blocks
from studio.document.files.project_templates import templates
from studio.ui.window.context_help import show_context_help
from studio.ui.window.main_window import MainWindow
from window_states.registry import State, add_state


def _template(name: str) -> State:
    def show(window: MainWindow, folder: Path) -> None:
        open_template(window, name)
        window.canvas.canvas_actions.fit_all(animated=False)  # type: ignore[union-attr]

    return show


def _block(entry: LibraryBlock) -> State:
    def show(window: MainWindow, folder: Path) -> None:
        project = window.open_projects.new()
        project.store.edit("Open", lambda _: entry.document)
        until(lambda: project.store.is_checked)
        window.canvas.canvas_actions.fit_all(animated=False)  # type: ignore[union-attr]
        name = next(key for key, node in entry.document.nodes.items() if node.type == f"block.{entry.name}")
        project.scope.select([name])
        window.canvas.setFocus()  # type: ignore[union-attr]
        show_context_help(window)

    return show


for _each in templates():
    add_state(f"template_{_each.key}", _template(_each.key))
for _entry in shipped_blocks():
    add_state(f"block_{_entry.name}", _block(_entry))

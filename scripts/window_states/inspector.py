"""The inspector of each kind of node, and of blocks."""

from __future__ import annotations

from pathlib import Path

from screenshots import open_template, until
from studio.document import edits
from studio.document.blocks.block_edits import edit_block
from studio.document.blocks.block_grouping import group
from studio.document.model import Document
from studio.ui.window.main_window import MainWindow
from window_states.registry import State, add_state, state


def _selected(template: str, *names: str) -> State:
    def show(window: MainWindow, folder: Path) -> None:
        project = open_template(window, template)
        project.scope.select(names)
        window.docks["inspector"].reveal()

    return show


_NODES = {
    "dataset": ("digits-mlp", "digits"),
    "loader": ("digits-mlp", "batches"),
    "layer": ("digits-mlp", "hidden"),
    "loss": ("digits-mlp", "cross_entropy"),
    "optimizer": ("digits-mlp", "adam"),
    "optimizer_of_blocks": ("digits-resnet18", "adam"),
    "two": ("digits-mlp", "hidden", "relu"),
    "block": ("digits-resnet18", "stage1"),
    "table": ("penguins-classification", "penguins"),
    "gan": ("digits-gan", "discriminator_adam"),
}
for _name, _arguments in _NODES.items():
    add_state(f"inspector_{_name}", _selected(*_arguments), "inspector")


@state("inspector")
def inspector_new_block(window: MainWindow, folder: Path) -> None:
    project = open_template(window, "digits-cnn")
    names = [name for name, node in project.store.document.nodes.items() if node.type.startswith("nn.")][:3]
    project.store.edit("Group", lambda document: group(document, names, "features")[0])
    until(lambda: project.store.is_checked)
    project.scope.select(["features"])


@state()
def inside_block(window: MainWindow, folder: Path) -> None:
    project = open_template(window, "digits-vit")
    blocks = [name for name, node in project.store.document.nodes.items() if node.type.startswith("block.")]
    window.project_views[project].canvas.reveal(f"{blocks[-1]}.{_first_inner(project.store.document, blocks[-1])}")


def _first_inner(document: Document, name: str) -> str:
    block = document.blocks[document.nodes[name].type.removeprefix("block.")]
    return next(inner for inner, node in block.nodes.items() if not node.type.startswith("port."))


@state("inspector")
def inspector_of_block_inside(window: MainWindow, folder: Path) -> None:
    """No node is selected inside a block."""
    inside_block(window, folder)
    assert window.project is not None
    window.project.scope.select([])


@state("inspector")
def inspector_frozen_and_muted(window: MainWindow, folder: Path) -> None:
    project = open_template(window, "digits-cnn")
    project.store.edit("Freeze", lambda document: edits.set_flag(document, ["logits"], frozen=True))
    until(lambda: project.store.is_checked)
    project.scope.select(["logits"])


@state("inspector")
def inspector_error(window: MainWindow, folder: Path) -> None:
    project = open_template(window)
    project.store.edit("Set", lambda document: edits.set_param(document, "logits", "in_features", 100))
    until(lambda: bool(project.store.report.errors))
    project.scope.select(["logits"])


@state("inspector")
def inspector_modified_library_block(window: MainWindow, folder: Path) -> None:
    project = open_template(window, "digits-resnet18")
    name = project.store.document.nodes["stage1"].type.removeprefix("block.")
    inner = next(key for key, node in project.store.document.blocks[name].nodes.items() if node.type == "nn.ReLU")
    project.store.edit("Mute", lambda document: edit_block(document, name, lambda graph: edits.remove(graph, [inner])))
    until(lambda: project.store.is_checked)
    project.scope.select(["stage1"])

"""Long names in several scripts, and huge numbers."""

from __future__ import annotations

from pathlib import Path

from PySide6.QtTest import QTest

from screenshots import open_template, until
from studio.document import edits, frames
from studio.document.model import Document, Frame
from studio.ui.window.main_window import MainWindow
from window_states.registry import ARABIC, CHINESE, EMOJI, LATIN, State, add_state, focused, state


def _long_named(document: Document) -> Document:
    for old, new in zip(
        ("hidden", "relu", "logits", "cross_entropy"), (LATIN, CHINESE, ARABIC, LATIN + "_2"), strict=True
    ):
        if old in document.nodes:
            document = edits.rename(document, old, new)
    document = edits.set_note(document, LATIN, f"{EMOJI} {ARABIC} " * 6)
    document = edits.set_description(document, f"{EMOJI}\n" + f"{LATIN} " * 20)
    at = (document.nodes[LATIN].at[0] - 24.0, document.nodes[LATIN].at[1] - 240.0)
    return frames.add_frame(document, "frame", Frame(EMOJI, f"{ARABIC} {EMOJI} " * 4, "blue", at, (420.0, 200.0)))


def _long(dock: str, selected: str = LATIN) -> State:
    def show(window: MainWindow, folder: Path) -> None:
        project = open_template(window)
        project.store.edit(f"Rename {LATIN}", _long_named)
        until(lambda: project.store.is_checked)
        window.open_projects.save(project, folder / f"{LATIN}.gradwire")
        project.scope.select([selected])
        window.docks[dock].reveal()
        QTest.qWait(1500)

    return show


for _dock in ("code", "history", "data", "autograd", "compile", "profiler"):
    add_state(f"long_{_dock}", _long(_dock), _dock)
add_state("long_arabic", _long("code", ARABIC))
add_state("long_chinese", _long("log", CHINESE))


@state()
def long_unselected(window: MainWindow, folder: Path) -> None:
    _long("history")(window, folder)
    assert window.project is not None
    window.project.scope.select([])


@state()
def long_find(window: MainWindow, folder: Path) -> None:
    _long("history")(window, folder)
    window.commands.run("edit.find")
    QTest.keyClicks(focused(), LATIN + "x")


@state()
def huge_numbers(window: MainWindow, folder: Path) -> None:
    project = open_template(window)

    def change(document: Document) -> Document:
        document = edits.set_param(document, "hidden", "out_features", 2_000_000_000)
        document = edits.set_param(document, "logits", "in_features", 2_000_000_000)
        return edits.set_training(document, epochs=1_000_000_000, seed=2**60)

    project.store.edit("Set", change)
    until(lambda: project.store.is_checked)
    window.show_problems()


@state()
def huge_numbers_of_layer(window: MainWindow, folder: Path) -> None:
    huge_numbers(window, folder)
    assert window.project is not None
    window.project.scope.select(["hidden"])

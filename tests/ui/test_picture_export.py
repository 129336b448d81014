"""Pictures of graphs: File › Export picture."""

from __future__ import annotations

from pathlib import Path

import pytest
from PySide6.QtCore import QRectF
from PySide6.QtGui import QImage
from PySide6.QtSvg import QSvgRenderer

from studio.document.frames import add_frame
from studio.document.model import Frame
from studio.ui import dialogs
from studio.ui.project.project import Project
from studio.ui.theme import theme
from studio.ui.window.main_window import MainWindow


@pytest.fixture
def export(window: MainWindow, project: Project, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    def run(name: str, command: str = "file.export-picture") -> Path:
        monkeypatch.setattr(dialogs, "picture_to_save", lambda *_: tmp_path / name)
        window.commands.run(command)
        return tmp_path / name

    return run


def test_svg_has_the_names_of_the_nodes(export, project: Project) -> None:
    project.store.edit("Frame", lambda document: add_frame(document, "f", Frame("Trunk", at=(0, -300))))
    path = export("graph.svg")
    text = path.read_text(encoding="utf-8")
    for name in (*project.store.document.nodes, "Trunk"):
        assert f">{name}</text>" in text.replace("\n", ""), name
    assert QSvgRenderer(str(path)).isValid()


def test_png_has_the_colors_of_the_light_theme_in_a_dark_window(export, window: MainWindow) -> None:
    window.themes.set_mode("dark")
    image = QImage(str(export("graph.png")))
    window.themes.set_mode("light")
    assert image.width() > 800
    assert image.pixelColor(2, 2) == theme.load("light").color("background")


def test_pdf_has_one_page(export) -> None:
    data = export("graph.pdf").read_bytes()
    assert data.startswith(b"%PDF")
    assert data.count(b"/Type /Page\n") == 1


def test_only_the_selected_nodes_are_drawn(export, project: Project) -> None:
    project.store.select(["relu", "dropout"])
    text = export("part.svg", "file.export-selection").read_text(encoding="utf-8").replace("\n", "")
    assert ">relu</text>" in text
    assert ">hidden</text>" not in text
    part, whole = (
        QRectF(QSvgRenderer(str(export(*arguments))).viewBoxF())
        for arguments in (
            ("part.svg", "file.export-selection"),
            ("graph.svg",),
        )
    )
    assert part.width() < whole.width() / 2


def test_an_unwritable_path_is_explained(export, monkeypatch: pytest.MonkeyPatch) -> None:
    messages: list[str] = []
    monkeypatch.setattr(dialogs, "message", lambda _, *texts: messages.extend(texts))
    for name in ("missing/graph.svg", "missing/graph.png", "missing/graph.pdf", "graph.gif"):
        export(name)
    assert len(messages) == 8
    assert "Use .svg, .png or .pdf." in messages[-1]

"""Blocks of libraries in the window: adding, saving, updating and managing them."""

from __future__ import annotations

from pathlib import Path

import pytest
from PySide6.QtCore import QByteArray, QModelIndex, QPoint, Qt
from PySide6.QtGui import QHelpEvent, QImage
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QLineEdit, QMenu, QPushButton, QToolTip
from pytestqt.qtbot import QtBot

from studio.document import edits
from studio.document.blocks.block_edits import edit_block
from studio.document.blocks.block_grouping import group
from studio.document.blocks.block_library import UserLibrary, shipped_blocks
from studio.document.files.project_files import load, save
from studio.document.model import Document, Node
from studio.ui import dialogs
from studio.ui.canvas.canvas_view import CanvasView
from studio.ui.palette import PalettePanel
from studio.ui.panels.inspector.block_library_row import BlockLibraryRow
from studio.ui.panels.inspector.node_form import NodeForm
from studio.ui.project.project import Project
from studio.ui.window.main_window import MainWindow
from studio.ui.window.notification_bar import NotificationBar

Key = Qt.Key


@pytest.fixture
def library(window: MainWindow) -> UserLibrary:
    return window.open_projects.libraries.user


@pytest.fixture
def blocks_project(project: Project, window: MainWindow, qtbot: QtBot) -> Project:
    """The digits template with the block `dense`, and the shipped blocks read."""
    project.store.edit("Group", lambda document: group(document, ["hidden", "relu"], "dense")[0])
    qtbot.waitUntil(lambda: bool(window.open_projects.libraries.blocks))
    return project


def canvas_of(window: MainWindow) -> CanvasView:
    assert window.canvas is not None
    window.canvas.setFocus()
    return window.canvas


def panel_of(window: MainWindow, project: Project) -> PalettePanel:
    panel = window.project_views[project].panels["palette"]
    assert isinstance(panel, PalettePanel)
    return panel


def row(panel: PalettePanel, title: str, group: str) -> QModelIndex:
    for leaf in panel.model.leaves():
        kind = panel.model.kind(leaf)
        if kind is not None and (kind.title, kind.group) == (title, group):
            return leaf
    pytest.fail(f"the palette has no row {title} of {group}")


def has_row(panel: PalettePanel, title: str, group: str) -> bool:
    kinds = [panel.model.kind(leaf) for leaf in panel.model.leaves()]
    return any(kind is not None and (kind.title, kind.group) == (title, group) for kind in kinds)


def notifications(window: MainWindow) -> list[NotificationBar]:
    return [each for each in window.findChildren(NotificationBar) if each.isVisible()]


def notice(window: MainWindow, qtbot: QtBot, text: str) -> NotificationBar:
    """The visible notification whose text begins with `text`, when there is one."""

    def found() -> list[NotificationBar]:
        return [each for each in notifications(window) if each.text.text().startswith(text)]

    qtbot.waitUntil(lambda: bool(found()))
    return found()[0]


def press(button: QPushButton) -> None:
    assert button.isVisible()
    QTest.mouseClick(button, Qt.MouseButton.LeftButton)


def inspector_row(window: MainWindow, project: Project) -> BlockLibraryRow:
    form = window.project_views[project].inspector.form
    assert isinstance(form, NodeForm)
    return next(each for each in form.offers if isinstance(each, BlockLibraryRow))


# -- adding


def test_a_shipped_block_is_added_with_its_definition_in_one_step(
    blocks_project: Project, window: MainWindow, qtbot: QtBot
) -> None:
    store, canvas = blocks_project.store, canvas_of(window)
    before = store.document
    store.select(())
    QTest.keyClick(canvas, Key.Key_Tab)
    palette = canvas.overlays.search
    qtbot.waitUntil(palette.field.hasFocus)
    QTest.keyClicks(palette.field, "conv_bn_relu 32 k5")
    QTest.keyClick(palette.field, Key.Key_Return)
    [name] = store.selection
    assert store.document.nodes[name].type == "block.conv_bn_relu"
    assert store.document.nodes[name].params == {"out_channels": 32, "kernel_size": 5}
    origin = store.document.blocks["conv_bn_relu"].origin
    assert origin is not None
    assert (origin.library, origin.name) == ("shipped", "conv_bn_relu")
    store.undo()
    assert store.document == before


def test_a_block_is_added_with_its_number_of_copies(blocks_project: Project, window: MainWindow, qtbot: QtBot) -> None:
    store, canvas = blocks_project.store, canvas_of(window)
    store.select(())
    QTest.keyClick(canvas, Key.Key_Tab)
    palette = canvas.overlays.search
    qtbot.waitUntil(palette.field.hasFocus)
    QTest.keyClicks(palette.field, "conv_bn_relu 32 x3")
    QTest.keyClick(palette.field, Key.Key_Return)
    [name] = store.selection
    assert store.document.nodes[name].params == {"out_channels": 32, "repeat": 3}


def test_every_shipped_block_has_a_row(blocks_project: Project, window: MainWindow, qtbot: QtBot) -> None:
    panel = panel_of(window, blocks_project)
    qtbot.waitUntil(lambda: has_row(panel, "conv_bn_relu", "Shipped"))
    assert all(has_row(panel, entry.name, "Shipped") for entry in shipped_blocks())
    assert has_row(panel, "dense", "This project")


# -- saving and updating


def test_the_tooltip_of_every_shipped_block_has_a_picture(
    blocks_project: Project, window: MainWindow, qtbot: QtBot
) -> None:
    panel = panel_of(window, blocks_project)
    qtbot.waitUntil(lambda: has_row(panel, shipped_blocks()[0].name, "Shipped"))
    pictures: set[bytes] = set()
    for entry in shipped_blocks():
        index = row(panel, entry.name, "Shipped")
        panel.tree.setExpanded(index.parent(), True)
        panel.tree.scrollTo(index)
        at = panel.tree.visualRect(index).center()
        event = QHelpEvent(QHelpEvent.Type.ToolTip, at, panel.tree.viewport().mapToGlobal(at))
        QApplication.sendEvent(panel.tree.viewport(), event)
        assert entry.name in QToolTip.text() and "Inputs" in QToolTip.text()
        encoded = QToolTip.text().partition("base64,")[2].partition('"')[0]
        image = QImage.fromData(QByteArray.fromBase64(encoded.encode()))
        assert not image.isNull(), entry.name
        pictures.add(encoded.encode())
    assert len(pictures) > len(shipped_blocks()) // 2
    QToolTip.hideText()


def test_a_block_is_saved_and_added_to_another_project(
    blocks_project: Project, window: MainWindow, library: UserLibrary, qtbot: QtBot
) -> None:
    blocks_project.store.select(["dense"])
    row_of_block = inspector_row(window, blocks_project)
    assert not row_of_block.text.isVisible()
    press(row_of_block.save_button)
    assert library.find("dense") is not None
    notice(window, qtbot, "Saved dense in your library.")
    qtbot.waitUntil(lambda: "Same as in your library" in row_of_block.text.text())
    other = window.open_projects.new()
    panel = panel_of(window, other)
    qtbot.waitUntil(lambda: has_row(panel, "dense", "Your library"))
    panel.tree.scrollTo(row(panel, "dense", "Your library"))
    place = panel.tree.visualRect(row(panel, "dense", "Your library")).center()
    QTest.mouseClick(panel.tree.viewport(), Qt.MouseButton.LeftButton, pos=place)
    QTest.mouseDClick(panel.tree.viewport(), Qt.MouseButton.LeftButton, pos=place)
    assert list(other.store.document.blocks) == ["dense"]


def test_undo_of_a_notification_restores_the_earlier_version(
    blocks_project: Project, window: MainWindow, library: UserLibrary, qtbot: QtBot
) -> None:
    first = library.save(blocks_project.store.document, "dense")
    blocks_project.store.edit("Edit", changed)
    blocks_project.store.select(["dense"])
    save_block = window.commands.action("library.save")
    assert save_block is not None
    save_block.trigger()
    shown = notice(window, qtbot, "Replaced dense in your library.")
    found = library.find("dense")
    assert found is not None
    assert found.digest != first.digest
    press(shown.choices[0])
    restored = library.find("dense")
    assert restored is not None
    assert restored.digest == first.digest
    assert blocks_project.store.document.blocks["dense"].origin is None


def changed(document: Document) -> Document:
    return edit_block(document, "dense", lambda view: edits.set_param(view, "hidden", "out_features", 99))


def test_the_inspector_offers_a_newer_version(
    blocks_project: Project, window: MainWindow, library: UserLibrary, qtbot: QtBot
) -> None:
    store, libraries = blocks_project.store, window.open_projects.libraries
    store.select(["dense"])
    press(inspector_row(window, blocks_project).save_button)
    library.save(changed(store.document), "dense")
    libraries.refresh()
    shown = inspector_row(window, blocks_project)
    text = "The library has a newer version, which changes node hidden."
    qtbot.waitUntil(lambda: shown.text.text() == text)
    before = store.document
    press(shown.update_button)
    assert store.document.blocks["dense"].nodes["hidden"].params["out_features"] == 99
    notice(window, qtbot, "Updated dense: changes node hidden.")
    qtbot.waitUntil(lambda: inspector_row(window, blocks_project).text.text() == "Same as in your library.")
    store.undo()
    assert store.document == before
    canvas_of(window).block_actions.leave()  # undo shows the block that it changed
    store.select(["dense"])
    store.edit("Edit", lambda document: edit_block(document, "dense", lambda view: edits.remove(view, ["relu"])))
    shown = inspector_row(window, blocks_project)
    assert shown.text.text().startswith("Changed here, and the library has a newer version")
    assert shown.update_button.text() == "Discard changes and update"
    libraries.user.restore("dense", None)
    libraries.refresh()
    qtbot.waitUntil(lambda: inspector_row(window, blocks_project).text.text() == "No longer in your library.")


# -- managing


def menu_entry(panel: PalettePanel, index: QModelIndex, title: str) -> None:
    """Open the context menu of a row and choose an entry with the keyboard."""
    panel.tree.scrollTo(index)
    panel.tree.customContextMenuRequested.emit(panel.tree.visualRect(index).center())
    menu = QApplication.activePopupWidget()
    assert isinstance(menu, QMenu)
    titles = [action.text() for action in menu.actions() if not action.isSeparator()]
    for _ in range(titles.index(title) + 1):
        QTest.keyClick(menu, Key.Key_Down)
    QTest.keyClick(menu, Key.Key_Return)


@pytest.fixture
def saved(blocks_project: Project, window: MainWindow, library: UserLibrary, qtbot: QtBot) -> PalettePanel:
    """The panel with the block `dense` in the user's library."""
    library.save(blocks_project.store.document, "dense")
    window.open_projects.libraries.refresh()
    panel = panel_of(window, blocks_project)
    qtbot.waitUntil(lambda: has_row(panel, "dense", "Your library"))
    return panel


def test_a_block_is_renamed_by_f2(saved: PalettePanel, window: MainWindow, library: UserLibrary, qtbot: QtBot) -> None:
    index = row(saved, "dense", "Your library")
    saved.tree.setFocus()
    saved.tree.setCurrentIndex(index)
    QTest.keyClick(saved.tree, Key.Key_F2)
    editor = saved.tree.findChild(QLineEdit)
    assert editor is not None
    editor.selectAll()
    QTest.keyClicks(editor, "my_dense")
    QTest.keyClick(editor, Key.Key_Return)
    qtbot.waitUntil(lambda: [each.name for each in library.blocks()] == ["my_dense"])
    qtbot.waitUntil(lambda: has_row(saved, "my_dense", "Your library"))
    press(notice(window, qtbot, "Renamed dense to my_dense").choices[0])
    assert [each.name for each in library.blocks()] == ["dense"]


def test_an_invalid_name_is_refused(
    saved: PalettePanel, window: MainWindow, library: UserLibrary, qtbot: QtBot
) -> None:
    saved.tree.setFocus()
    saved.tree.setCurrentIndex(row(saved, "dense", "Your library"))
    QTest.keyClick(saved.tree, Key.Key_F2)
    editor = saved.tree.findChild(QLineEdit)
    assert editor is not None
    editor.selectAll()
    QTest.keyClicks(editor, "../x y")
    QTest.keyClick(editor, Key.Key_Return)
    qtbot.waitUntil(lambda: bool(notifications(window)))
    assert "not a Python identifier" in notifications(window)[0].text.text()
    assert has_row(saved, "dense", "Your library")
    assert [each.name for each in library.blocks()] == ["dense"]


def test_a_block_is_deleted_and_restored(
    saved: PalettePanel, window: MainWindow, library: UserLibrary, qtbot: QtBot
) -> None:
    menu_entry(saved, row(saved, "dense", "Your library"), "Delete from library")
    assert library.blocks() == ()
    qtbot.waitUntil(lambda: not has_row(saved, "dense", "Your library"))
    press(notice(window, qtbot, "Deleted dense").choices[0])
    qtbot.waitUntil(lambda: has_row(saved, "dense", "Your library"))


def test_blocks_of_the_same_name_are_under_the_headings_of_their_libraries(saved: PalettePanel) -> None:
    QTest.keyClicks(saved.field, "dense")
    headings = [saved.model.group(saved.model.index(row, 0)) for row in range(saved.model.rowCount())]
    titles = [heading.title for heading in headings if heading is not None]
    assert {"Blocks · This project", "Blocks · Your library"} <= set(titles)


def test_blocks_are_exported_and_imported(
    saved: PalettePanel, library: UserLibrary, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, qtbot: QtBot
) -> None:
    path = tmp_path / "block.gradwire"
    monkeypatch.setattr(dialogs, "path_to_save", lambda *_: path)
    monkeypatch.setattr(dialogs, "paths_to_open", lambda *_: [path])
    menu_entry(saved, row(saved, "conv_bn_relu", "Shipped"), "Export…")
    assert "conv_bn_relu" in load(path).blocks
    menu_entry(saved, row(saved, "conv_bn_relu", "Shipped"), "Import block to library…")
    assert [each.name for each in library.blocks()] == ["conv_bn_relu", "dense"]
    qtbot.waitUntil(lambda: has_row(saved, "conv_bn_relu", "Your library"))
    menu_entry(saved, row(saved, "dense", "This project"), "Save to library")
    assert library.find("dense") is not None


def test_an_unreadable_file_is_named_and_skipped(
    saved: PalettePanel, window: MainWindow, library: UserLibrary, qtbot: QtBot
) -> None:
    library.path("broken").write_bytes(b"{")
    save(Document({"a": Node("nn.ReLU")}), library.path("foreign"))
    window.open_projects.libraries.refresh()
    qtbot.waitUntil(lambda: len(notifications(window)) == 2)
    texts = sorted(each.text.text() for each in notifications(window))
    assert all(text.startswith("A block of your library was skipped: ") for text in texts)
    assert "broken.gradwire" in texts[0]
    assert "foreign.gradwire has no block 'foreign'" in texts[1]
    assert has_row(saved, "dense", "Your library")


def test_the_menu_of_a_heading_only_imports(saved: PalettePanel) -> None:
    menu = saved.block_menu.menu(saved.tree.indexAt(QPoint(5, 5)))
    assert [action.text() for action in menu.actions()] == ["Import block to library…"]

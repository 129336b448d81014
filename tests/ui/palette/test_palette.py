"""The palette panel and the search palette."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pytest
from PySide6.QtCore import QPoint, Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QWidget
from pytestqt.qtbot import QtBot

from studio.document.model import Document
from studio.lowering.report import Report
from studio.nodes.catalogue import catalogue
from studio.nodes.types import CATEGORIES, NodeType, PortType
from studio.ui.palette import PalettePanel, SearchPalette
from studio.ui.palette.node_groups import by_rank, in_order
from studio.ui.palette.node_type_tree import MIME
from studio.ui.palette.palette_offers import Offer
from studio.ui.project.project_store import ProjectStore
from studio.ui.project.scope_store import ScopeStore
from studio.ui.theme.theme import ThemeManager

Key = Qt.Key
EVERYTHING = Offer(tuple(catalogue()))


@pytest.fixture
def panel(qtbot: QtBot) -> Iterator[PalettePanel]:
    store = ProjectStore(Document(), catalogue(), lambda document, base: Report())
    panel = PalettePanel(ScopeStore(store), ThemeManager("dark"))
    qtbot.addWidget(panel)
    panel.resize(240, 600)
    panel.show()
    panel.activateWindow()
    panel.field.setFocus()
    qtbot.waitUntil(panel.field.hasFocus)
    yield panel
    store.close()


@pytest.fixture
def search(qtbot: QtBot) -> Iterator[SearchPalette]:
    window = QWidget()
    qtbot.addWidget(window)
    window.resize(900, 600)
    window.show()
    window.activateWindow()
    palette = SearchPalette(ThemeManager("dark"), window)
    palette.open_at(QPoint(100, 80), EVERYTHING)
    qtbot.waitUntil(palette.field.hasFocus)
    yield palette
    window.close()


def titles(widget: PalettePanel | SearchPalette) -> list[str]:
    return [leaf.data() for leaf in widget.model.leaves()]


# -- groups


def test_every_type_is_under_exactly_one_heading() -> None:
    groups = in_order(catalogue())
    assert sorted(kind.key for group in groups for kind in group.types) == sorted(kind.key for kind in catalogue())
    order = [group.category for group in groups]
    assert order == sorted(order, key=CATEGORIES.index)
    assert len({group.title for group in groups}) == len(groups)


def test_large_category_is_split_into_groups() -> None:
    linear = catalogue()["nn.Linear"]
    many = [replace(linear, key=f"nn.{n}", group=("Linear", "Convolution", "Pooling")[n % 3]) for n in range(40)]
    groups = in_order(many)
    assert [group.title for group in groups] == ["Layers · Linear", "Layers · Convolution", "Layers · Pooling"]
    assert [group.is_open for group in groups] == [True, False, False]
    assert [len(group.types) for group in in_order(many[:10])] == [10]


def test_most_used_types_come_first() -> None:
    first = [group.types[0].key for group in in_order(catalogue())]
    assert {"nn.Linear", "nn.ReLU", "nn.CrossEntropyLoss", "optim.Adam"} <= set(first)


def test_ranked_groups_start_with_the_best_match() -> None:
    groups = by_rank(catalogue().search("relu"))
    assert groups[0].types[0].title == "ReLU"


def test_summaries_contain_no_docstring_markup() -> None:
    assert not any("`" in kind.summary for kind in catalogue())


# -- the panel


def test_panel_lists_all_types(panel: PalettePanel) -> None:
    assert len(titles(panel)) == len(catalogue())
    assert panel.tree.isExpanded(panel.model.index(0, 0))


def test_typing_searches_and_enter_adds(panel: PalettePanel, qtbot: QtBot) -> None:
    QTest.keyClicks(panel.field, "linear")
    assert titles(panel)[0] == "Linear"
    with qtbot.waitSignal(panel.requested) as requested:
        QTest.keyClick(panel.field, Key.Key_Return)
    assert requested.args[0].kind.key == "nn.Linear"


def test_search_without_matches_shows_a_message(panel: PalettePanel) -> None:
    QTest.keyClicks(panel.field, "zzzz")
    assert panel.empty.isVisible()
    assert not panel.tree.isVisible()
    QTest.keyClick(panel.field, Key.Key_Escape)
    assert panel.tree.isVisible()
    assert len(titles(panel)) == len(catalogue())


def test_double_click_adds_a_node(panel: PalettePanel, qtbot: QtBot) -> None:
    position = panel.tree.visualRect(panel.model.leaves()[1]).center()
    QTest.mouseClick(panel.tree.viewport(), Qt.MouseButton.LeftButton, pos=position)
    with qtbot.waitSignal(panel.requested):
        QTest.mouseDClick(panel.tree.viewport(), Qt.MouseButton.LeftButton, pos=position)


def test_search_expands_collapsed_categories_temporarily(panel: PalettePanel) -> None:
    heading = panel.model.index(0, 0)
    panel.tree.setExpanded(heading, False)
    QTest.keyClicks(panel.field, "digits")
    assert panel.tree.isExpanded(panel.model.index(0, 0))
    panel.field.clear()
    assert not panel.tree.isExpanded(panel.model.index(0, 0))
    others = [panel.model.group(panel.model.index(row, 0)) for row in range(1, panel.model.rowCount())]
    opened = [row for row, group in enumerate(others, start=1) if group is not None and group.is_open]
    assert all(panel.tree.isExpanded(panel.model.index(row, 0)) for row in opened)
    assert opened


def test_click_on_a_heading_toggles_it(panel: PalettePanel) -> None:
    heading = panel.model.index(0, 0)
    position = panel.tree.visualRect(heading).center()
    QTest.mouseClick(panel.tree.viewport(), Qt.MouseButton.LeftButton, pos=position)
    assert not panel.tree.isExpanded(heading)
    QTest.mouseClick(panel.tree.viewport(), Qt.MouseButton.LeftButton, pos=position)
    assert panel.tree.isExpanded(heading)


def test_dragged_row_contains_the_type_key(panel: PalettePanel) -> None:
    leaf = next(leaf for leaf in panel.model.leaves() if leaf.data() == "Linear")
    data = panel.model.mimeData([leaf])
    assert data.formats() == [MIME]
    assert bytes(data.data(MIME).data()) == b"nn.Linear"


def test_tooltip_describes_the_type(panel: PalettePanel) -> None:
    for leaf in panel.model.leaves():
        kind = panel.model.kind(leaf)
        assert kind is not None
        assert kind.key in leaf.data(Qt.ItemDataRole.ToolTipRole)


# -- the search palette


def test_search_opens_at_a_position_with_the_first_row_selected(search: SearchPalette) -> None:
    assert search.pos() == QPoint(100, 80)
    assert search.current == catalogue()[next(iter(in_order(catalogue()))).types[0].key]


def test_search_stays_inside_its_parent(search: SearchPalette) -> None:
    search.close_palette()
    search.open_at(QPoint(5000, 5000), EVERYTHING)
    parent = search.parentWidget()
    assert parent is not None
    assert parent.rect().contains(search.geometry())


def test_arrow_keys_skip_headings_and_wrap_around(search: SearchPalette) -> None:
    kinds = [search.model.kind(leaf) for leaf in search.model.leaves()]
    for expected in (1, 2, 3, 4):
        QTest.keyClick(search.field, Key.Key_Down)
        assert search.current == kinds[expected]
    for _ in range(5):
        QTest.keyClick(search.field, Key.Key_Up)
    assert search.current == kinds[-1]
    QTest.keyClick(search.field, Key.Key_PageUp)
    assert search.current == kinds[-9]


@pytest.mark.parametrize(("text", "key"), [("lin", "nn.Linear"), ("relu", "nn.ReLU"), ("softm", "nn.Softmax")])
def test_enter_chooses_the_best_match(search: SearchPalette, qtbot: QtBot, text: str, key: str) -> None:
    QTest.keyClicks(search.field, text)
    with qtbot.waitSignal(search.chosen) as chosen:
        QTest.keyClick(search.field, Key.Key_Return)
    assert chosen.args[0].kind.key == key
    assert chosen.args[1] is False
    assert not search.isVisible()


def test_search_can_be_limited_to_matching_types(search: SearchPalette) -> None:
    search.close_palette()
    fitting = catalogue().fitting(PortType.LOSS, "input")
    search.open_at(QPoint(10, 10), Offer(fitting))
    kinds: set[NodeType | None] = {search.model.kind(leaf) for leaf in search.model.leaves()}
    assert kinds == set(fitting)
    QTest.keyClicks(search.field, "conv")
    assert search.note.isVisible()
    QTest.keyClick(search.field, Key.Key_Return)
    assert search.isVisible()


@pytest.mark.parametrize("key", [Key.Key_Escape, Key.Key_Tab])
def test_search_closes_without_a_choice(search: SearchPalette, qtbot: QtBot, key: Qt.Key) -> None:
    chosen: list[object] = []
    search.chosen.connect(lambda match, _: chosen.append(match))
    with qtbot.waitSignal(search.closed):
        QTest.keyClick(search.field, key)
    assert chosen == []
    assert not search.isVisible()


@pytest.mark.parametrize("width", [120, 180, 216, 400])
def test_heading_shows_its_count_at_any_width(panel: PalettePanel, width: int) -> None:
    panel.resize(width, 600)
    tree, model = panel.tree, panel.model
    headings = [model.index(row, 0) for row in range(model.rowCount())]
    [index] = [heading for heading in headings if heading.data() == "Transforms · Augmentation"]
    tree.scrollTo(index)
    row = tree.visualRect(index)
    picture = tree.viewport().grab(row).toImage()
    ground = picture.pixelColor(0, picture.height() // 2)
    ratio = picture.devicePixelRatio()
    lines = range(round(8 * ratio), picture.height() - round(4 * ratio))
    inked = [any(picture.pixelColor(x, y) != ground for y in lines) for x in range(picture.width())]
    last = max(x for x, ink in enumerate(inked) if ink)
    assert last < picture.width() - 4 * ratio
    first = next(x for x in range(last, 0, -1) if not any(inked[x - round(5 * ratio) : x]))
    assert 3 * ratio < last - first < 14 * ratio  # a digit with a gap before it
    assert index.data(Qt.ItemDataRole.ToolTipRole) == "Transforms · Augmentation: 7 nodes"

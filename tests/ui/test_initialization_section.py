"""The section of a layer's form with its initial weights, used with the keyboard."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QComboBox
from pytestqt.qtbot import QtBot

from studio.document.model import Document, Node
from studio.lowering.check import check
from studio.nodes.catalogue import catalogue
from studio.ui.panels.inspector.initialization_section import InitializationSection
from studio.ui.panels.inspector.inspector_panel import InspectorPanel
from studio.ui.panels.inspector.node_form import NodeForm
from studio.ui.project.project_store import ProjectStore
from studio.ui.project.scope_store import ScopeStore


@pytest.fixture
def store(qtbot: QtBot) -> Iterator[ProjectStore]:
    nodes = {
        "fc": Node("nn.Linear", {"out_features": 3}),
        "other": Node("nn.Linear", {"out_features": 3, "weight_init": "normal", "init_std": 0.1}),
        "embedding": Node("nn.Embedding", {"num_embeddings": 3, "embedding_dim": 2}),
        "relu": Node("nn.ReLU"),
    }
    store = ProjectStore(Document(nodes), catalogue(), lambda document, base: check(document, catalogue(), base))
    yield store
    store.close()


@pytest.fixture
def panel(qtbot: QtBot, store: ProjectStore) -> InspectorPanel:
    panel = InspectorPanel(ScopeStore(store))
    qtbot.addWidget(panel)
    panel.resize(320, 800)
    panel.show()
    panel.activateWindow()
    qtbot.waitExposed(panel)
    return panel


def form(panel: InspectorPanel) -> NodeForm:
    assert isinstance(panel.form, NodeForm)
    return panel.form


def section(panel: InspectorPanel) -> InitializationSection:
    found = form(panel).initialization
    assert found is not None
    return found


def shown(panel: InspectorPanel) -> list[str]:
    return [row.parameter.name for row in form(panel).rows if row.isVisible()]


def press(key: Qt.Key) -> None:
    focus = QApplication.focusWidget()
    assert focus is not None
    QTest.keyClick(focus, key)


def params(store: ProjectStore, name: str = "fc") -> dict[str, object]:
    return dict(store.document.nodes[name].params)


def test_weights_are_chosen_with_the_keyboard(panel: InspectorPanel, store: ProjectStore) -> None:
    store.select(["fc"])
    assert shown(panel) == ["in_features", "out_features", "bias"]
    bias = next(row for row in form(panel).rows if row.parameter.name == "bias")
    bias.field.editor.setFocus()
    press(Qt.Key.Key_Tab)
    assert QApplication.focusWidget() is section(panel).toggle
    press(Qt.Key.Key_Space)
    assert shown(panel)[3:] == ["weight_init", "bias_init"]
    press(Qt.Key.Key_Tab)
    assert isinstance(QApplication.focusWidget(), QComboBox)
    press(Qt.Key.Key_Down)
    assert params(store) == {"out_features": 3, "weight_init": "kaiming_normal"}
    assert shown(panel)[3:] == ["weight_init", "init_mode", "init_nonlinearity", "bias_init"]
    for _ in range(5):
        press(Qt.Key.Key_Down)
    assert params(store)["weight_init"] == "normal" and shown(panel)[3:] == ["weight_init", "init_std", "bias_init"]
    press(Qt.Key.Key_Tab)
    focus = QApplication.focusWidget()
    assert focus is not None
    QTest.keyClicks(focus, "0.05")
    press(Qt.Key.Key_Tab)
    focus = QApplication.focusWidget()
    assert focus is not None
    QTest.keyClicks(focus, "0")
    assert params(store) == {"out_features": 3, "weight_init": "normal", "init_std": 0.05, "bias_init": 0}
    while store.history.can_undo:
        store.undo()
    assert params(store) == {"out_features": 3} and shown(panel)[3:] == ["weight_init", "bias_init"]


def test_the_section_opens_where_a_value_is_set(panel: InspectorPanel, store: ProjectStore) -> None:
    store.select(["other"])
    assert shown(panel)[3:] == ["weight_init", "init_std", "bias_init"]
    section(panel).toggle.setFocus()
    press(Qt.Key.Key_Space)
    assert shown(panel)[3:] == []
    store.select(["fc"])
    assert not section(panel).is_open
    store.select(["relu"])
    assert form(panel).initialization is None
    store.select(["embedding"])
    section(panel).set_open(is_open=True)
    assert shown(panel)[-1] == "weight_init"


def test_several_layers_are_set_together(panel: InspectorPanel, store: ProjectStore) -> None:
    store.select(["fc", "other"])
    assert section(panel).is_open
    assert {"init_std", "init_gain", "init_mode"} <= set(shown(panel)), "the distributions differ"
    choice = next(row for row in form(panel).rows if row.parameter.name == "weight_init")
    choice.field.editor.setFocus()
    QTest.keyClicks(choice.field.editor, "orth")
    assert params(store, "fc")["weight_init"] == params(store, "other")["weight_init"] == "orthogonal"
    assert shown(panel)[3:] == ["weight_init", "init_gain", "bias_init"]

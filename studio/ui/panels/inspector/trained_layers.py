"""Check boxes for the layers that an optimizer trains."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import partial
from itertools import groupby

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QCheckBox, QHBoxLayout, QToolButton, QVBoxLayout, QWidget

from studio.document import edits
from studio.ui import number_format
from studio.ui.project.scope_store import ScopeStore
from studio.ui.theme import icons
from studio.ui.widgets import buttons
from studio.ui.widgets.labels import label

_ALL_LAYERS = "All layers that its loss depends on"
_INDENT = 20


class TrainedLayersList(QWidget):
    """All layers, or the checked ones. The layers of an instance are folded into one row.

    A removed layer stays in the list until it is unchecked.
    """

    def __init__(self, store: ScopeStore, optimizer: str, parent: QWidget) -> None:
        super().__init__(parent)  # without a parent it would open as a window and take the focus
        self._store = store
        self._optimizer = optimizer
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(4)
        column.addWidget(label("Trained layers", "section"))
        self.all_layers = QCheckBox(_ALL_LAYERS)
        self.all_layers.setToolTip("Includes layers added later. Uncheck to select layers.")
        self.all_layers.clicked.connect(self._choose_all)
        column.addWidget(self.all_layers)
        self._list = QVBoxLayout()
        self._list.setContentsMargins(_INDENT, 0, 0, 0)
        self._list.setSpacing(4)
        column.addLayout(self._list)
        self.boxes: dict[str, QCheckBox] = {}
        """By the path of the layer."""
        self.groups: dict[str, InstanceLayers] = {}
        """By the name of the instance."""
        self.refresh()

    def refresh(self) -> None:
        """Show the current document."""
        node = self._store.document.nodes.get(self._optimizer)
        if node is None:
            return
        trainable = self._store.report.trainable.get(self._optimizer, ())
        names = list(dict.fromkeys((*trainable, *node.trains)))
        if names != list(self.boxes):
            self._rebuild_list(names)
        self.all_layers.setChecked(not node.trains)
        for name, box in self.boxes.items():
            box.setChecked(name in node.trains or not node.trains)
            box.setEnabled(bool(node.trains))
            layer = self._store.document.nodes.get(name)
            if layer is not None:
                box.setText(f"{name} (frozen)" if layer.frozen else name)
            else:  # in an instance, or removed
                box.setText(name if name in trainable else f"{name} (missing)")
        for group in self.groups.values():
            group.refresh()
        self.setVisible(bool(names))

    def _rebuild_list(self, names: Sequence[str]) -> None:
        while (item := self._list.takeAt(0)) is not None:
            if (widget := item.widget()) is not None:
                widget.hide()
                widget.deleteLater()
        opened = {name for name, group in self.groups.items() if group.is_open}
        self.boxes, self.groups = {}, {}
        for instance, grouped in groupby(names, key=lambda name: name.partition(".")[0]):
            layers = list(grouped)
            made = {name: self._box(name) for name in layers}
            self.boxes |= made
            if len(layers) == 1 or instance in self.groups:
                for box in made.values():
                    self._list.addWidget(box)
                continue
            group = InstanceLayers(self._optimizer, instance, list(made.values()))
            group.set_open(instance in opened)
            group.box.clicked.connect(partial(self._choose_instance, layers))
            self._list.addWidget(group)
            self.groups[instance] = group

    def _box(self, name: str) -> QCheckBox:
        box = QCheckBox(name)
        box.setAccessibleName(f"{self._optimizer} trains {name}")
        box.clicked.connect(partial(self._choose, name))
        return box

    def _choose_all(self, all_layers: bool) -> None:
        trainable = self._store.report.trainable.get(self._optimizer, ())
        self._edit(() if all_layers else trainable)

    def _choose(self, name: str, *_: object) -> None:
        self._set([name], trained=self.boxes[name].isChecked())

    def _choose_instance(self, layers: Sequence[str], *_: object) -> None:
        """Train all layers of an instance, or none if it trains all of them."""
        self._set(layers, trained=not set(layers) <= set(self._store.document.nodes[self._optimizer].trains))

    def _set(self, names: Iterable[str], *, trained: bool) -> None:
        chosen = set(self._store.document.nodes[self._optimizer].trains)
        (chosen.update if trained else chosen.difference_update)(names)
        if chosen:
            self._edit(tuple(each for each in self.boxes if each in chosen))
        else:
            self.refresh()  # at least one layer must stay checked

    def _edit(self, layers: tuple[str, ...]) -> None:
        optimizer = self._optimizer
        self._store.edit(
            f"Set trained layers of {optimizer}", lambda document: edits.set_trains(document, optimizer, layers)
        )


class InstanceLayers(QWidget):
    """The layers of an instance: a check box for all of them, and a button that shows one for each."""

    def __init__(self, optimizer: str, instance: str, layers: Sequence[QCheckBox]) -> None:
        super().__init__()
        self._layers = layers
        self.box = QCheckBox(f"{instance} ({number_format.count(len(layers), 'layers')})")
        self.box.setAccessibleName(f"{optimizer} trains all layers of {instance}")
        self.toggle: QToolButton = buttons.icon_button(
            "chevron-right", f"Show the layers of {instance}", lambda: self.set_open(not self.is_open), size=12
        )
        self.toggle.setProperty("kind", "small")
        row = QHBoxLayout()
        row.setSpacing(4)
        row.addWidget(self.box)
        row.addWidget(self.toggle)
        row.addStretch(1)
        self._inner = QWidget()
        inner = QVBoxLayout(self._inner)
        inner.setContentsMargins(_INDENT, 0, 0, 0)
        inner.setSpacing(4)
        for layer in layers:
            inner.addWidget(layer)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(4)
        column.addLayout(row)
        column.addWidget(self._inner)
        self._instance, self.is_open = instance, False
        self._inner.hide()

    def set_open(self, is_open: bool) -> None:
        """Show or hide a check box for each layer."""
        self.is_open = is_open
        self._inner.setVisible(is_open)
        self.toggle.setIcon(icons.themed("chevron-down" if is_open else "chevron-right", "text"))
        self.toggle.setToolTip(f"{'Hide' if is_open else 'Show'} the layers of {self._instance}")

    def refresh(self) -> None:
        """Show whether all, some or none of the layers are checked."""
        checked = sum(layer.isChecked() for layer in self._layers)
        state = Qt.CheckState.PartiallyChecked if checked else Qt.CheckState.Unchecked
        self.box.setCheckState(Qt.CheckState.Checked if checked == len(self._layers) else state)
        self.box.setEnabled(self._layers[0].isEnabled())

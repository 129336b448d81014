"""Check boxes for the layers that an optimizer trains."""

from __future__ import annotations

from functools import partial

from PySide6.QtWidgets import QCheckBox, QVBoxLayout, QWidget

from studio.document import edits
from studio.ui.project.scope_store import ScopeStore
from studio.ui.widgets.labels import label

_ALL_LAYERS = "All layers that its loss depends on"


class TrainedLayersList(QWidget):
    """All layers, or the checked ones. A removed layer stays in the list until it is unchecked."""

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
        self._list.setContentsMargins(20, 0, 0, 0)
        self._list.setSpacing(4)
        column.addLayout(self._list)
        self.boxes: dict[str, QCheckBox] = {}
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
        self.setVisible(bool(names))

    def _rebuild_list(self, names: list[str]) -> None:
        for box in self.boxes.values():
            box.hide()
            box.deleteLater()
        self.boxes = {}
        for name in names:
            box = QCheckBox(name)
            box.setAccessibleName(f"{self._optimizer} trains {name}")
            box.clicked.connect(partial(self._choose, name))
            self._list.addWidget(box)
            self.boxes[name] = box

    def _choose_all(self, all_layers: bool) -> None:
        trainable = self._store.report.trainable.get(self._optimizer, ())
        self._edit(() if all_layers else trainable)

    def _choose(self, name: str, *_: object) -> None:
        chosen = set(self._store.document.nodes[self._optimizer].trains)
        (chosen.add if self.boxes[name].isChecked() else chosen.discard)(name)
        if chosen:
            self._edit(tuple(each for each in self.boxes if each in chosen))
        else:
            self.refresh()  # at least one layer must stay checked

    def _edit(self, layers: tuple[str, ...]) -> None:
        optimizer = self._optimizer
        self._store.edit(
            f"Set trained layers of {optimizer}", lambda document: edits.set_trains(document, optimizer, layers)
        )

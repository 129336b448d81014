"""The choice of the node whose weights a node uses."""

from __future__ import annotations

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QHBoxLayout, QWidget

from studio.document.weight_sharing import can_share, owner_of, share, unshare
from studio.ui.project.scope_store import ScopeStore
from studio.ui.widgets.inputs import ComboBox
from studio.ui.widgets.labels import label

_SEPARATE = "Separate weights"
_TIP = "Use the weights of another node of this type, so that both are one layer that is called twice."


class SharedWeightsRow(QWidget):
    """Lists the nodes that have weights which the node can use. Hidden if there are none."""

    def __init__(self, store: ScopeStore, name: str, parent: QWidget) -> None:
        super().__init__(parent)  # without a parent it would open as a window and take the focus
        self._store = store
        self._name = name
        row = QHBoxLayout(self)
        row.setContentsMargins(0, 0, 0, 0)
        row.setSpacing(8)
        title = label("Weights", "dim")
        title.setToolTip(_TIP)
        row.addWidget(title)
        self.owners = ComboBox()
        self.owners.setAccessibleName(f"Weights of {name}")
        self.owners.setToolTip(_TIP)
        self.owners.activated.connect(self._choose)
        row.addWidget(self.owners, 1, Qt.AlignmentFlag.AlignVCenter)
        self.refresh()

    def refresh(self) -> None:
        """Show the current document."""
        nodes = self._store.document.nodes
        if self._name not in nodes:
            return
        current, candidates = nodes[self._name].shares, self._candidates()
        if current and current not in candidates:
            candidates = [current, *candidates]
        if [self.owners.itemData(index) for index in range(self.owners.count())] != ["", *candidates]:
            self.owners.clear()
            self.owners.addItem(_SEPARATE, "")
            for owner in candidates:
                self.owners.addItem(f"Those of {owner}", owner)
        self.owners.setCurrentIndex(max(self.owners.findData(current), 0))
        self.setVisible(bool(candidates))

    def _candidates(self) -> list[str]:
        """The owners of weights that this node can use."""
        nodes, infos = self._store.document.nodes, self._store.report.nodes
        kind = nodes[self._name].type
        return [
            name
            for name, node in nodes.items()
            if name != self._name
            and not node.shares
            and can_share(kind, node.type)
            and name in infos
            and infos[name].parameters
            and owner_of(nodes, name) == name
        ]

    def _choose(self, index: int) -> None:
        name, owner = self._name, str(self.owners.itemData(index))
        if owner == self._store.document.nodes[name].shares:
            return
        if owner:
            self._store.edit(f"Share weights of {owner} with {name}", lambda document: share(document, [name], owner))
        else:
            self._store.edit(f"Use separate weights for {name}", lambda document: unshare(document, [name]))

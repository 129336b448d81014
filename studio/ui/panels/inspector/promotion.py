"""Promotes a parameter of a node inside a block, so that each instance sets it."""

from __future__ import annotations

from functools import partial

from PySide6.QtCore import QSize
from PySide6.QtWidgets import QHBoxLayout, QToolButton, QWidget

from studio.document import node_names
from studio.document.blocks.block_edits import demote, promote, promoted_as, rename_param
from studio.document.blocks.block_nodes import REPEAT
from studio.document.model import ParamRef
from studio.ui.panels.inspector.name_field import NameField
from studio.ui.panels.inspector.parameter_row import LABEL_WIDTH
from studio.ui.project.scope_store import ScopeStore
from studio.ui.theme import icons
from studio.ui.widgets.labels import label


class Promotion(QWidget):
    """A pin button for the row of the parameter, and a line with its name at instances while it is promoted."""

    def __init__(self, store: ScopeStore, node: str, param: str) -> None:
        super().__init__()
        self._store, self._ref = store, ParamRef(node, param)
        self._block = store.block
        self.pin = QToolButton()
        self.pin.setCheckable(True)
        self.pin.setProperty("kind", "small")
        self.pin.setIconSize(QSize(12, 12))
        self.pin.clicked.connect(self._switch)
        row = QHBoxLayout(self)
        row.setContentsMargins(0, 0, 0, 8)
        row.setSpacing(4)
        self._title = label("", "dim", wrap=True)
        self._title.setFixedWidth(LABEL_WIDTH)
        self.name = NameField("", f"Name of {param} at instances", self._name_problem)
        self.name.renamed.connect(self._rename)
        row.addWidget(self._title)
        row.addWidget(self.name, 1)
        self.refresh()

    @property
    def promoted(self) -> str | None:
        """The name of the parameter at instances; None if it is not promoted."""
        block = self._store.project.document.blocks.get(self._block)
        return None if block is None else promoted_as(block, self._ref)

    def refresh(self) -> None:
        """Show the current document."""
        name = self.promoted
        self.setVisible(name is not None)
        self.pin.setChecked(name is not None)
        self.pin.setIcon(icons.themed("pin", "accent" if name is not None else "text-dim"))
        param = self._ref.param
        tip = f"Stop setting {param} at the instances" if name is not None else f"Promote {param}: set it at instances"
        self.pin.setToolTip(tip)
        self.pin.setAccessibleName(tip)
        if name is not None:
            self.name.show_name(name)
            self._title.setText(f"set at {self._store.location[-1].instance} as" if self._store.location else "")

    def _switch(self, *_: object) -> None:
        name, block, ref = self.promoted, self._block, self._ref
        edit = self._store.project.edit
        if name is None:
            edit(f"Promote {ref} of {block}", partial(promote, name=block, ref=ref))
        else:
            edit(f"Demote {ref} of {block}", partial(demote, name=block, param=name, ref=ref))
        self.refresh()

    def _name_problem(self, name: str) -> str | None:
        block = self._store.project.document.blocks.get(self._block)
        if name == REPEAT or (block is not None and name in block.params):
            return "is already a parameter of the block. Choose another name"
        return node_names.problem(name)

    def _rename(self, old: str, new: str) -> None:
        change = partial(rename_param, name=self._block, old=old, new=new)
        if not self._store.project.edit(f"Rename the parameter {old} of {self._block} to {new}", change):
            self.refresh()

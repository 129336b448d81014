"""Header of a node's form: icon, name, type, toggles."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import QSize, Qt
from PySide6.QtWidgets import QHBoxLayout, QToolButton, QVBoxLayout, QWidget

from studio.document import edits, node_names
from studio.document.model import Document
from studio.lowering.problems.problem import Problem
from studio.nodes.types import NodeType, Role
from studio.ui.canvas.nodes.node_content import is_named_after
from studio.ui.project.freezing import can_freeze
from studio.ui.project.scope_store import ScopeStore
from studio.ui.theme import icons
from studio.ui.widgets import buttons
from studio.ui.widgets.deferred_change import DeferredChange
from studio.ui.widgets.flow_layout import FlowLayout
from studio.ui.widgets.icon_widget import IconWidget
from studio.ui.widgets.inputs import LineEdit
from studio.ui.widgets.labels import label, tip
from studio.ui.widgets.severity import severity_style


class NodeHeader(QWidget):
    """Header of a single node."""

    def __init__(self, store: ScopeStore, name: str, kind: NodeType | None) -> None:
        super().__init__()
        self._store = store
        self._name = name
        self._settle = DeferredChange(self.refresh, self)
        self._discarded = ""
        """Message about an invalid name that was discarded when the field was left."""
        self._is_port = kind is not None and kind.role is Role.PORT
        self._is_of_model = kind is not None and kind.role in (Role.LAYER, Role.OPERATION)
        node = store.document.nodes[name]
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(8)

        top = QHBoxLayout()
        top.setSpacing(8)
        category = kind.category if kind else "unknown"
        top.addWidget(IconWidget(kind.icon if kind else "unknown", size=20, category=category))
        self.name = LineEdit(name)
        self.name.setAccessibleName("Name")
        about = "the name of the port" if self._is_port else "the attribute in the code and the prefix of its weights"
        self.name.setToolTip(f"Node name: {about}")
        self.mark = ProblemButton()
        self.name.textEdited.connect(self._check)
        self.name.editingFinished.connect(self._rename)
        self.name.draft.reverted.connect(self.refresh)
        top.addWidget(self.name, 1)
        top.addWidget(self.mark)
        column.addLayout(top)
        self._problem = label("", "error", wrap=True)
        self._problem.hide()
        column.addWidget(self._problem)
        self._derived = label("", "dim", wrap=True)
        self._derived.hide()
        column.addWidget(self._derived)
        if kind is None:
            column.addWidget(label(f"Unknown type {node.type}", "dim", wrap=True))
        elif kind.role is not Role.BLOCK:  # the section of the block describes it
            about = "" if is_named_after(name, kind.title) else f"{kind.title}: "
            column.addWidget(label(about + kind.summary, "dim", wrap=True))
        column.addWidget(self._switches())
        self.refresh()

    def refresh(self) -> None:
        """Show the current document."""
        node = self._store.document.nodes.get(self._name)
        if node is None:
            return
        for flag, button in self._flags.items():
            button.setChecked(getattr(node, flag))
        self._flags["frozen"].setVisible(can_freeze(self._store, self._name))
        if not self.name.hasFocus():
            self.name.setText(self._name)
            self._check(self._name)
            self._problem.setText(self._discarded)
            self._problem.setVisible(bool(self._discarded))
            self._discarded = ""

    def _switches(self) -> QWidget:
        """Toggle buttons in as many rows as needed."""
        holder = QWidget()
        row = FlowLayout(holder, spacing=4, row_spacing=4)
        self._flags: dict[str, QToolButton] = {}
        switches = [] if self._is_port else [("muted", "mute", "Mute", "Pass the input through unchanged (M)")]
        switches.insert(0, ("frozen", "frozen", "Freeze", "Do not train its parameters (Shift+M)"))
        if self._is_of_model:
            tip = "Recompute activations in the backward pass (checkpointing): less memory, more time"
            switches.append(("recomputed", "recomputed", "Recompute", tip))
        for flag, icon, title, tip in switches:
            button = buttons.toggle_button(title, icon=icon, tip=tip)
            button.clicked.connect(lambda checked, flag=flag: self._switch(flag, checked))
            row.addWidget(button)
            self._flags[flag] = button
        return holder

    def _switch(self, flag: str, on: bool) -> None:
        verbs = {
            "frozen": ("Freeze", "Unfreeze"),
            "muted": ("Mute", "Unmute"),
            "recomputed": ("Recompute", "Do not recompute"),
        }
        verb = verbs[flag][0 if on else 1]
        self._store.edit(f"{verb} {self._name}", lambda document: _flagged(document, self._name, flag, on))

    def _check(self, text: str) -> str | None:
        """Validate a name and show the message, or the identifier that it becomes."""
        new = node_names.name_from_title(text)
        problem = node_names.problem(new)
        if problem is None and new != self._name and new in self._store.document.nodes:
            problem = "is already used. Choose another name"
        self._problem.setText(f"{new!r} {problem}." if problem else "")
        self._problem.setVisible(problem is not None)
        self._derived.setText(f"Stored as {new}.")
        self._derived.setVisible(problem is None and new != text.strip())
        return problem

    def _rename(self) -> None:
        new = node_names.name_from_title(self.name.text())
        if new == self._name:
            self.name.setText(new)
            return
        if (problem := self._check(self.name.text())) is not None:
            if not self.name.hasFocus():
                self._discarded = f"{new!r} was discarded: it {problem}."
                self._settle.run()
            return
        old, self._name = self._name, new
        if not self._store.edit(f"Rename {old} to {new}", lambda document: edits.rename(document, old, new)):
            self._name = old


class MultiSelectionHeader(QWidget):
    """Header of several nodes: their number."""

    def __init__(self, count: int) -> None:
        super().__init__()
        row = QHBoxLayout(self)
        row.setContentsMargins(0, 0, 0, 0)
        row.setSpacing(8)
        row.addWidget(IconWidget("layer", "text-dim", 20))
        row.addWidget(label(f"{count} nodes selected", "heading"), 1)
        self.mark = ProblemButton()
        row.addWidget(self.mark)


class ProblemButton(QToolButton):
    """Button that shows the number of problems and scrolls to them. Keeps its space while hidden."""

    def __init__(self) -> None:
        super().__init__()
        self.setProperty("kind", "small")
        self.setAccessibleName("No problems")
        self.setIconSize(QSize(16, 16))
        self.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        policy = self.sizePolicy()
        policy.setRetainSizeWhenHidden(True)
        self.setSizePolicy(policy)
        self.hide()

    def show_problems(self, problems: Sequence[Problem]) -> None:
        if problems:
            style = severity_style(min(problems, key=lambda each: each.rank).severity)
            self.setIcon(icons.themed(style.icon, style.token))
            self.setToolTip(tip("\n".join(each.message for each in problems)))
            self.setAccessibleName(f"{len(problems)} problems" if len(problems) > 1 else problems[0].message)
        self.setVisible(bool(problems))


def _flagged(document: Document, name: str, flag: str, on: bool) -> Document:
    return edits.set_flag(document, [name], **{flag: on})

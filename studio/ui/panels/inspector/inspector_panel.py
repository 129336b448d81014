"""The Inspector: a form for the selected nodes, or for the project or block when nothing is selected."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QFrame, QScrollArea, QWidget

from studio.ui.panels.inspector.block_form import BlockForm
from studio.ui.panels.inspector.node_form import NodeForm, RowFactory
from studio.ui.panels.inspector.parameter_row import ParameterRow
from studio.ui.panels.inspector.project_form import ProjectForm
from studio.ui.project.scope_store import ScopeStore
from studio.ui.widgets.deferred_change import DeferredChange
from studio.ui.window import keyboard_focus


class InspectorPanel(QScrollArea):
    """Reuses its form while it matches the selection, so that typing is not interrupted."""

    def __init__(
        self,
        store: ScopeStore,
        offers: Sequence[RowFactory] = (),
        parent: QWidget | None = None,
        *,
        several: Callable[[], QWidget] | None = None,
    ) -> None:
        super().__init__(parent)
        self._store, self._offers, self._several = store, offers, several
        self.setAccessibleName("Inspector")
        self.setWidgetResizable(True)
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self._update = DeferredChange(self._refresh, self)
        store.selection_changed.connect(self._update.run)
        store.project.document_changed.connect(self._update.run)  # also for values that instances around a block set
        store.report_changed.connect(self._update.run)
        store.location_changed.connect(self._update.run)
        store.project.path_changed.connect(self._update.run)
        store.project.locked_changed.connect(self._update.run)
        store.project.add_draft_check(self.draft_problem)
        self._refresh()

    @property
    def form(self) -> NodeForm | BlockForm | ProjectForm:
        form = self.widget()
        assert isinstance(form, (NodeForm, BlockForm, ProjectForm))
        return form

    def rename(self) -> None:
        """Focus the name field of the selected node."""
        if isinstance(self.form, NodeForm):
            self.form.focus_name()

    def edit(self) -> None:
        """Focus the first missing parameter, else the first parameter."""
        rows = self._rows
        row = next((row for row in rows if row.is_missing), next(iter(rows), None))
        if row is None:
            keyboard_focus.focus_panel(self)
            return
        row.field.setFocus(Qt.FocusReason.TabFocusReason)
        self.ensureWidgetVisible(row)

    def draft_problem(self) -> str:
        """Message about an invalid field; empty if all fields are valid."""
        return next(filter(None, (row.draft_problem() for row in self._rows)), "")

    def show_draft(self) -> bool:
        """Focus the invalid field and show its message. Returns whether there is one."""
        row = next((row for row in self._rows if row.draft_problem()), None)
        if row is None:
            return False
        row.show_draft()
        self.ensureWidgetVisible(row)
        return True

    @property
    def _rows(self) -> list[ParameterRow]:
        form = self.form
        if isinstance(form, BlockForm):
            return []
        return form.rows if isinstance(form, NodeForm) else list(form.rows.values())

    def _refresh(self) -> None:
        names = [name for name in self._store.document.nodes if name in self._store.selection]
        if len(names) < len(self._store.selection):
            return  # selected nodes were removed, and the new selection follows
        form = self.widget()
        if self._fits(names):
            self.form.refresh()
            return
        if form is not None:
            # setWidget would delete the form immediately, and the change may come from one of its fields.
            self.takeWidget().deleteLater()
        if names:
            form = NodeForm(self._store, names, self._offers, self._several, self.viewport())
            form.reveal_requested.connect(self.ensureWidgetVisible)
            self.setWidget(form)
        else:
            form_type = BlockForm if self._store.location else ProjectForm
            self.setWidget(form_type(self._store, self.viewport()))

    def _fits(self, names: Sequence[str]) -> bool:
        """Whether the form is that of these nodes, in the shown graph."""
        form = self.widget()
        if isinstance(form, NodeForm):
            return form.fits(names)
        if isinstance(form, BlockForm):
            return form.fits() and not names
        return isinstance(form, ProjectForm) and not names and not self._store.location

"""The form of the selected nodes, generated from their types' parameters."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, TypeAlias, cast

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QGridLayout, QHBoxLayout, QVBoxLayout, QWidget

from engine.data.file_access import format_bytes
from engine.registry import REQUIRED, Parameter
from studio.document.blocks import block_nodes
from studio.document.blocks.block_locations import UNSET, value_at
from studio.document.located_edits import clear_at, set_at
from studio.document.model import Document, Endpoint, Json, Node
from studio.document.weight_sharing import layer_of
from studio.lowering.analysis.block_types import known_type
from studio.lowering.problems.problem import Problem
from studio.nodes.initialization import NAMES as INITIALIZATION
from studio.nodes.python_node import PYTHON
from studio.nodes.types import NodeType, Role
from studio.ui import number_format
from studio.ui.panels.fix_button import fix_button
from studio.ui.panels.inspector.initialization_section import InitializationSection
from studio.ui.panels.inspector.learning_rate_plot import LearningRatePlot
from studio.ui.panels.inspector.node_header import MultiSelectionHeader, NodeHeader
from studio.ui.panels.inspector.parameter_row import ParameterEdit, ParameterRow, RowState
from studio.ui.panels.inspector.promotion import Promotion
from studio.ui.panels.inspector.shared_weights import SharedWeightsRow
from studio.ui.panels.inspector.trained_layers import TrainedLayersList
from studio.ui.project.scope_store import ScopeStore
from studio.ui.widgets.icon_widget import IconWidget
from studio.ui.widgets.labels import label, line
from studio.ui.widgets.severity import severity_style

RowFactory: TypeAlias = Callable[[str, NodeType], QWidget | None]
"""Builds an extra form row from a node's name and type; None for no row."""
_NOTHING_COMMON = (
    "The selected nodes have no common parameters. Group them into a block with Ctrl+G, or mute them with M."
)


class NodeForm(QWidget):
    """Header, problems, parameters and figures of one node; the shared parameters of several nodes.

    Args:
        offers: builders of extra rows below the parameters
        several: builder of a row below the header of several nodes
    """

    reveal_requested = Signal(QWidget)
    """A part of the form to scroll into view."""

    def __init__(
        self,
        store: ScopeStore,
        names: Sequence[str],
        offers: Sequence[RowFactory] = (),
        several: Callable[[], QWidget] | None = None,
        parent: QWidget | None = None,
    ) -> None:
        super().__init__(parent)
        self.setObjectName("page")
        self._store = store
        self.names = tuple(names)
        self._location = store.location
        self._kinds = _kinds(store, self.names)
        self._column = QVBoxLayout(self)
        self._column.setContentsMargins(12, 12, 12, 16)
        self._column.setSpacing(12)
        self._header: NodeHeader | None = None
        if len(names) == 1:
            header = self._header = NodeHeader(store, names[0], self._kinds[0])
        else:
            header = MultiSelectionHeader(len(names))
        self._column.addWidget(header)
        self._is_locked = self._has_locked()
        if self._is_locked:
            self._column.addLayout(_lock_notice())
        if several is not None and len(names) > 1:
            self._column.addWidget(several(), 0, Qt.AlignmentFlag.AlignLeft)
        self._mark = header.mark
        self._mark.clicked.connect(self._go_to_problems)
        self.rows = [
            ParameterRow(store.project, parameter, self._setting(parameter.name), parent=self)
            for parameter in _shared(self._kinds)
        ]
        self.promotions = self._promotions()
        self.initialization: InitializationSection | None = None
        self._add_rows()
        # Below the fields, so that these keep their position when problems appear or disappear while typing.
        self._problems = QVBoxLayout()
        self._problems.setSpacing(6)
        self._column.addLayout(self._problems)
        self._shown_problems: tuple[Problem, ...] = ()
        kind = self._kinds[0] if len(names) == 1 else None
        self.offers = [row for offer in offers if kind is not None and (row := offer(names[0], kind)) is not None]
        for row in self.offers:
            self._column.addWidget(row)
        self._trained_layers = self._layer_list()
        self.shared_weights = self._owner_list()
        self._schedule_plot = LearningRatePlot()
        self._figures = QGridLayout()
        self._figures.setHorizontalSpacing(8)
        self._figures.setVerticalSpacing(4)
        if len(names) == 1:
            self._column.addWidget(self._schedule_plot)
            self._column.addWidget(line())
            self._column.addLayout(self._figures)
        self._column.addStretch(1)
        for part in (header, *self.rows, *self.offers, self._trained_layers, self.shared_weights):
            if part is not None and self._is_locked:
                part.setEnabled(False)
        self.refresh()

    def fits(self, names: Sequence[str]) -> bool:
        """Whether this form shows these nodes and their types are unchanged, except for the ports.

        The ports of some types depend on a parameter, whose field must not lose the focus while it is typed into.
        """
        is_same = bool(names) and self.names == tuple(names) and self._location == self._store.location
        is_same = is_same and self._is_locked == self._has_locked()
        return is_same and _without_ports(self._kinds) == _without_ports(_kinds(self._store, self.names))

    def refresh(self) -> None:
        """Show the current document and report."""
        if not all(name in self._store.document.nodes for name in self.names):
            return
        self._kinds = _kinds(self._store, self.names)
        if self._header is not None:
            self._header.refresh()
        values = {row.parameter.name: self._value(row.parameter) for row in self.rows}
        for row in self.rows:
            row.show_value(values[row.parameter.name])
        if self.initialization is not None:
            self.initialization.show_values({name: value for name, value in values.items() if name in INITIALIZATION})
        for promotion in self.promotions.values():
            promotion.refresh()
        self._show_problems()
        self._show_figures()
        if self._trained_layers is not None:
            self._trained_layers.refresh()
        if self.shared_weights is not None:
            self.shared_weights.refresh()
        if len(self.names) == 1:
            plans = self._store.report.learning_rate_plans.values()
            self._schedule_plot.show_schedule(next((each for each in plans if self.names[0] in each.nodes), None))

    def _has_locked(self) -> bool:
        return any(self._store.is_locked(name) for name in self.names)

    def focus_name(self) -> None:
        """Focus the name field."""
        if self._header is not None:
            self._header.name.setFocus()
            self._header.name.selectAll()

    # -- parameters

    def _add_rows(self) -> None:
        if not self.rows:
            if len(self.names) > 1:
                self._column.addWidget(label(_NOTHING_COMMON, "dim", wrap=True))
            return
        form = QVBoxLayout()
        form.setSpacing(6)
        initial: list[tuple[ParameterRow, QWidget | None]] = []
        for row in self.rows:
            promotion = self.promotions.get(row.parameter.name)
            if promotion is not None:
                row.add_button(promotion.pin)
            if row.parameter.name in INITIALIZATION:
                initial.append((row, promotion))
                continue
            form.addWidget(row)
            if promotion is not None:
                form.addWidget(promotion)
        if initial:
            self.initialization = InitializationSection(initial)
            form.addWidget(self.initialization)
        self._column.addLayout(form)

    def _promotions(self) -> dict[str, Promotion]:
        """Inside a block: what promotes each parameter of a single node."""
        if not self._location or len(self.names) != 1:
            return {}
        names = [row.parameter.name for row in self.rows]
        return {name: Promotion(self._store, self.names[0], name) for name in names}

    def _layer_list(self) -> TrainedLayersList | None:
        kind = next(iter(self._kinds), None)
        if len(self.names) != 1 or kind is None or kind.role is not Role.OPTIMIZER:
            return None
        layers = TrainedLayersList(self._store, self.names[0], self)
        self._column.addWidget(layers)
        return layers

    def _owner_list(self) -> SharedWeightsRow | None:
        kind = next(iter(self._kinds), None)
        if len(self.names) != 1 or kind is None or kind.role not in (Role.LAYER, Role.BLOCK):
            return None
        row = SharedWeightsRow(self._store, self.names[0], self)
        self._column.addWidget(row)
        return row

    def _value(self, parameter: Parameter) -> RowState:
        values = [self._one_value(name, parameter) for name in self.names]
        if all(value == values[0] for value in values):
            return values[0]
        return RowState(is_set=any(value.is_set for value in values), is_mixed=True)

    def _one_value(self, name: str, parameter: Parameter) -> RowState:
        layer = layer_of(self._store.document.nodes, name)
        found = value_at(self._store.project.document, self._location, layer, parameter.name)
        if found is not UNSET:
            value = cast("Json", found)
            is_list = parameter.kind in ("bool", "choice") and block_nodes.values_per_copy(value) is not None
            if is_list:
                return RowState(is_set=True, is_mixed=True)
            is_relative = parameter.relative_to is not None and isinstance(value, str)
            return RowState(value, is_set=True, computed=self._argument(name, parameter) if is_relative else None)
        info = self._store.report.nodes.get(name)
        if info is not None and parameter.name in info.inferred:
            return RowState(info.arguments.get(parameter.name), is_inferred=True)
        return RowState(None if parameter.default is REQUIRED else parameter.default)

    def _argument(self, name: str, parameter: Parameter) -> Any:
        """The value that a parameter has in the program; None if it is unknown."""
        info = self._store.report.nodes.get(name)
        return None if info is None else info.arguments.get(parameter.name)

    def _setting(self, parameter: str) -> ParameterEdit:
        location = self._location

        def change(document: Document, value: Any) -> Document:
            for name in self.names:
                document = set_at(document, location, name, parameter, value)
            return document

        def clear(document: Document) -> Document:
            for name in self.names:
                document = clear_at(document, location, name, parameter)
            return document

        subject = self.names[0] if len(self.names) == 1 else f"{len(self.names)} nodes"
        is_block = all(kind is not None and kind.role is Role.BLOCK for kind in self._kinds)
        return ParameterEdit(
            f"{subject}.{parameter}", change, clear, per_copy=is_block and parameter != block_nodes.REPEAT
        )

    # -- check results

    def _show_problems(self) -> None:
        problems = tuple(problem for problem in self._store.report.problems if problem.node_on_canvas in self.names)
        if problems == self._shown_problems:
            return
        self._shown_problems = problems
        _clear_layout(self._problems)
        for problem in problems:
            self._problems.addWidget(_ProblemNotice(self._store, problem))
        self._mark.show_problems(problems)

    def _go_to_problems(self) -> None:
        item = self._problems.itemAt(self._problems.count() - 1)
        if item is not None:
            self.reveal_requested.emit(item.widget())

    def _show_figures(self) -> None:
        if len(self.names) != 1:
            return
        _clear_layout(self._figures)
        for row, (title, text) in enumerate(self._facts(self.names[0])):
            value = label(text, "mono", selectable=True, wrap=True)
            self._figures.addWidget(label(title, "dim"), row, 0)
            self._figures.addWidget(value, row, 1)
        self._figures.setColumnStretch(1, 1)

    def _facts(self, name: str) -> list[tuple[str, str]]:
        report, kind = self._store.report, self._kinds[0]
        input_texts = {wire.target: text for wire, text in report.wires.items()}
        source_texts = {wire.source: text for wire, text in report.wires.items()}
        inputs = [port.name for port in kind.inputs] if kind else []
        outputs = [port.name for port in kind.outputs] if kind else []
        info = report.nodes.get(name)
        output_texts = {} if info is None else {port: str(spec) for port, spec in info.outputs.items()}
        named = _names_its_ports(self._store.document.nodes[name])
        facts = [
            (_port_label(port, outputs, "in", as_written=named), input_texts[Endpoint(name, port)])
            for port in inputs
            if Endpoint(name, port) in input_texts
        ]
        facts += [
            (_port_label(port, inputs, "out", as_written=named), text)
            for port in outputs
            if (text := output_texts.get(port) or source_texts.get(Endpoint(name, port)))
        ]
        if info is not None:
            if info.parameters:
                facts.append(("Parameters", number_format.count(info.parameters)))
            if info.macs:
                facts.append(("Multiply-adds", f"{number_format.macs(info.macs)} per sample"))
            if info.memory:
                facts.append(("Memory", f"{format_bytes(info.memory)} per sample"))
        return facts


def _port_label(port: str, others: Sequence[str], side: str, *, as_written: bool) -> str:
    """Label of a port, with its side if inputs and outputs share the name."""
    title = port if as_written else port.capitalize()
    return f"{title} {side}" if port in others else title


def _names_its_ports(node: Node) -> bool:
    """Whether the names of the ports are the user's: arguments of a function, or ports of a block."""
    return node.type == PYTHON or block_nodes.name_of(node) is not None


class _ProblemNotice(QWidget):
    """A problem of the node with its fix buttons."""

    def __init__(self, store: ScopeStore, problem: Problem) -> None:
        super().__init__()
        row = QHBoxLayout(self)
        row.setContentsMargins(0, 0, 0, 0)
        row.setSpacing(8)
        top = QVBoxLayout()
        style = severity_style(problem.severity)
        top.addWidget(IconWidget(style.icon, style.token))
        top.addStretch(1)
        row.addLayout(top)
        column = QVBoxLayout()
        column.setSpacing(6)
        column.addWidget(label(problem.message, style.role, wrap=True))
        if (fix := store.project.fix_previewer.recommended(problem).fix) is not None:
            button = QHBoxLayout()
            apply = partial(store.apply_fix, fix, problem.node)
            button.addWidget(fix_button(fix, apply, store.project.fix_previewer, wraps=True))
            button.addStretch(1)
            column.addLayout(button)
        row.addLayout(column, 1)


def _kinds(store: ScopeStore, names: Sequence[str]) -> tuple[NodeType | None, ...]:
    """The types of nodes; None for an unknown type."""
    return tuple(known_type(store.document, store.catalogue, name) for name in names)


def _without_ports(kinds: Sequence[NodeType | None]) -> list[NodeType | None]:
    return [None if kind is None else replace(kind, inputs=(), outputs=()) for kind in kinds]


def _shared(kinds: Sequence[NodeType | None]) -> list[Parameter]:
    """Parameters that all types have in common, with equal kind and bounds."""
    first, *others = kinds
    if first is None or None in others:
        return []
    return [
        parameter
        for parameter in first.params
        if all(other is not None and other.param(parameter.name) == parameter for other in others)
    ]


def _lock_notice() -> QHBoxLayout:
    row = QHBoxLayout()
    row.setSpacing(8)
    row.addWidget(IconWidget("lock", "text-dim"), 0, Qt.AlignmentFlag.AlignTop)
    row.addWidget(label("Locked in this lesson. Change other nodes.", "dim", wrap=True), 1)
    return row


def _clear_layout(layout: QVBoxLayout | QGridLayout) -> None:
    while (item := layout.takeAt(0)) is not None:
        if (widget := item.widget()) is not None:
            widget.hide()
            widget.deleteLater()

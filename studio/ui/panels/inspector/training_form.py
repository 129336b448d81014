"""The training settings of a project."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from PySide6.QtWidgets import QVBoxLayout, QWidget

from studio.document import edits
from studio.document.model import Document
from studio.document.training_settings import TRAINING_SETTINGS, TrainingSetting
from studio.lowering.analysis.block_types import known_type
from studio.ui.panels.inspector.parameter_row import ParameterEdit, ParameterRow, RowState
from studio.ui.project.scope_store import ScopeStore
from studio.ui.widgets.labels import label

_GROUPS: dict[str, tuple[str, ...]] = {
    "Training": ("epochs", "steps", "seed", "device", "compile"),
    "Optimizer step": ("accumulate", "clip_norm", "clip_value", "mixed_precision"),
    "Data": ("joint_epoch", "joint_order"),
    "Validation": ("validate_epochs", "validate_steps"),
    "Best weights and early stopping": ("follow", "patience", "min_change"),
    "Checkpoints": ("checkpoint_seconds", "checkpoint_steps", "checkpoints"),
    "Statistics of tensors": ("probe_steps",),
}
"""Headings of the form, with their settings. The tooltip of a setting starts with its name in the project file."""

_NOTES = {
    "Training": (
        "Training is deterministic: the same seed gives identical results with any number of threads or workers."
    ),
    "Best weights and early stopping": "The best weights are saved in addition to the last ones.",
    "Checkpoints": "An interrupted run can be resumed from its last checkpoint with identical results.",
    "Statistics of tensors": "Measuring does not change results. Gradients are measured at a tenth of these steps.",
}


class TrainingForm(QWidget):
    def __init__(self, store: ScopeStore, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._store = store
        self.rows: dict[str, ParameterRow] = {}
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(12)
        for title, names in _GROUPS.items():
            group = QVBoxLayout()
            group.setSpacing(6)
            column.addLayout(group)
            group.addWidget(label(title, "section"))
            for name in names:
                group.addWidget(self._row(TRAINING_SETTINGS[name]))
            if title in _NOTES:
                group.addWidget(label(_NOTES[title], "dim", wrap=True))
        self.refresh()

    def refresh(self) -> None:
        """Show the current document."""
        document = self._store.document
        self._offer_figures(document)
        for name, row in self.rows.items():
            value = getattr(document.training, name)
            row.show_value(RowState(value, is_set=value != row.parameter.default))

    def _row(self, declared: TrainingSetting) -> ParameterRow:
        parameter = declared.parameter
        name = parameter.name
        if name == "follow":
            parameter = replace(parameter, kind="choice", choices=("val_loss",))

        def change(document: Document, value: Any) -> Document:
            return edits.set_training(document, **{name: value})

        setting = ParameterEdit(name, change, lambda document: change(document, parameter.default))
        row = self.rows[name] = ParameterRow(self._store.project, parameter, setting, declared.title, self)
        return row

    def _offer_figures(self, document: Document) -> None:
        """Available metrics: losses and the metrics of the graph."""
        row = self.rows["follow"]
        choices = available_metrics(self._store)
        if document.training.follow not in choices:
            choices = (*choices, document.training.follow)
        if choices != row.parameter.choices:
            row.offer(choices)


def available_metrics(store: ScopeStore) -> tuple[str, ...]:
    nodes = store.document.nodes
    examples = {node.type: name for name, node in nodes.items()}  # thousands of nodes have few types
    kinds = {key: known_type(store.document, store.catalogue, name) for key, name in examples.items()}
    measuring = {key for key, kind in kinds.items() if kind is not None and kind.category == "metric"}
    metrics = [name for name, node in nodes.items() if node.type in measuring]
    return tuple(f"{part}_{name}" for part in ("val", "train") for name in ("loss", *metrics))

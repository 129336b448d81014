"""The training settings of a project."""

from __future__ import annotations

from typing import Any

from msgspec.inspect import FloatType, IntType, StructType, UnionType, type_info
from PySide6.QtWidgets import QVBoxLayout, QWidget

from engine.registry import Parameter, Range
from studio.document import edits
from studio.document.model import Document, Training
from studio.ui.panels.inspector.parameter_row import ParameterRow, Setting, Value
from studio.ui.project.project_store import ProjectStore
from studio.ui.widgets.labels import label

_USUAL = Training()


def _setting(name: str, kind: Any, help: str, **more: Any) -> Parameter:
    default = getattr(_USUAL, name)
    return Parameter(name, kind, default, optional=default is None, range=_bounds(name), help=help, **more)


def _bounds(name: str) -> Range | None:
    """Bounds that the file format declares."""
    info = type_info(Training)
    assert isinstance(info, StructType)
    kind = next(field.type for field in info.fields if field.name == name)
    for each in kind.types if isinstance(kind, UnionType) else (kind,):
        if isinstance(each, (IntType, FloatType)):
            return Range(ge=each.ge, gt=each.gt, le=each.le, lt=each.lt)
    return None


GROUPS: dict[str, tuple[Parameter, ...]] = {
    "Training": (
        _setting("epochs", "int", "Number of passes over the training samples."),
        _setting("steps", "int", "Number of batches to train, instead of epochs. Use it for streams."),
        _setting("seed", "int", "Seed of all random numbers."),
        _setting("device", "choice", "Device to train on.", choices=("auto", "cpu", "cuda")),
        _setting("compile", "bool", "Compile training steps into fused kernels. Results are identical."),
    ),
    "Optimizer step": (
        _setting("accumulate", "int", "Number of batches whose gradients are averaged for one optimizer step."),
        _setting("clip_norm", "float", "Maximum norm of an optimizer's gradients."),
        _setting("clip_value", "float", "Maximum absolute value of a gradient element."),
        _setting(
            "mixed_precision",
            "choice",
            "Data type of matrix products where it is numerically safe. Faster on a GPU, less precise.",
            choices=("off", "bfloat16", "float16"),
        ),
    ),
    "Validation": (
        _setting("validate_epochs", "int", "Validate every N epochs (0: never)."),
        _setting("validate_steps", "int", "Also validate every N batches within an epoch."),
    ),
    "Best weights and early stopping": (
        _setting("follow", "choice", "Metric that selects the best weights.", choices=("val_loss",)),
        _setting(
            "patience",
            "int",
            "Number of validations without improvement before training stops (empty: never).",
        ),
        _setting("min_change", "float", "Minimum change of the metric that counts as an improvement."),
    ),
    "Checkpoints": (
        _setting("checkpoint_seconds", "float", "Minimum seconds between checkpoints."),
        _setting("checkpoint_steps", "int", "Also save a checkpoint every N batches."),
        _setting("checkpoints", "int", "Number of checkpoints to keep."),
    ),
}

_TITLES = {
    "epochs": "Epochs",
    "steps": "Steps",
    "seed": "Random seed",
    "device": "Device",
    "compile": "Compile training steps",
    "accumulate": "Gradient accumulation",
    "clip_norm": "Clip gradient norm",
    "clip_value": "Clip gradient value",
    "mixed_precision": "Mixed precision",
    "validate_epochs": "Every N epochs",
    "validate_steps": "Every N batches",
    "follow": "Metric",
    "patience": "Patience",
    "min_change": "Minimum improvement",
    "checkpoint_seconds": "Every N seconds",
    "checkpoint_steps": "Every N batches",
    "checkpoints": "Number to keep",
}
"""Labels of the settings. The tooltip starts with the setting's name in the project file."""

_NOTES = {
    "Training": (
        "Training is deterministic: the same seed gives identical results with any number of threads or workers."
    ),
    "Best weights and early stopping": "The best weights are saved in addition to the last ones.",
    "Checkpoints": "An interrupted run can be resumed from its last checkpoint with identical results.",
}


class TrainingForm(QWidget):
    def __init__(self, store: ProjectStore) -> None:
        super().__init__()
        self._store = store
        self.rows: dict[str, ParameterRow] = {}
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(12)
        for title, settings in GROUPS.items():
            group = QVBoxLayout()
            group.setSpacing(6)
            group.addWidget(label(title, "section"))
            for setting in settings:
                group.addWidget(self._row(setting))
            if title in _NOTES:
                group.addWidget(label(_NOTES[title], "dim", wrap=True))
            column.addLayout(group)
        self.refresh()

    def refresh(self) -> None:
        """Show the current document."""
        document = self._store.document
        self._offer_figures(document)
        for name, row in self.rows.items():
            value = getattr(document.training, name)
            row.show_value(Value(value, is_set=value != row.parameter.default))

    def _row(self, parameter: Parameter) -> ParameterRow:
        name = parameter.name

        def change(document: Document, value: Any) -> Document:
            return edits.set_training(document, **{name: value})

        setting = Setting(name, change, lambda document: change(document, parameter.default))
        row = self.rows[name] = ParameterRow(self._store, parameter, setting, _TITLES[name])
        return row

    def _offer_figures(self, document: Document) -> None:
        """Available metrics: losses and the metrics of the graph."""
        row = self.rows["follow"]
        choices = figures_to_follow(self._store)
        if document.training.follow not in choices:
            choices = (*choices, document.training.follow)
        if choices != row.parameter.choices:
            row.offer(choices)


def figures_to_follow(store: ProjectStore) -> tuple[str, ...]:
    types = {name: store.catalogue.get(node.type) for name, node in store.document.nodes.items()}
    metrics = [name for name, kind in types.items() if kind is not None and kind.category == "metric"]
    return tuple(f"{part}_{name}" for part in ("val", "train") for name in ("loss", *metrics))

"""How a project is trained: all its settings, by what they are about."""

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
    """Those of the file format."""
    info = type_info(Training)
    assert isinstance(info, StructType)
    kind = next(field.type for field in info.fields if field.name == name)
    for each in kind.types if isinstance(kind, UnionType) else (kind,):
        if isinstance(each, (IntType, FloatType)):
            return Range(ge=each.ge, gt=each.gt, le=each.le, lt=each.lt)
    return None


GROUPS: dict[str, tuple[Parameter, ...]] = {
    "Training": (
        _setting("epochs", "int", "passes over the training samples"),
        _setting("steps", "int", "batches after which training ends, in place of epochs; for streams"),
        _setting("seed", "int", "all random numbers follow from it"),
        _setting("device", "choice", "where the model is trained", choices=("auto", "cpu", "cuda")),
        _setting("compile", "bool", "run training steps as compiled plans, which give the same numbers"),
    ),
    "Step": (
        _setting("accumulate", "int", "batches whose gradients are averaged for one step of the optimizers"),
        _setting("clip_norm", "float", "the largest norm that all gradients of an optimizer together may have"),
        _setting("clip_value", "float", "the largest size that an element of a gradient may have"),
        _setting(
            "mixed_precision",
            "choice",
            "what products are computed in, where that is safe; faster on a GPU, less exact",
            choices=("off", "bfloat16", "float16"),
        ),
    ),
    "Validation": (
        _setting("validate_epochs", "int", "validate at the end of each so many epochs; 0 is never"),
        _setting("validate_steps", "int", "validate after each so many batches of an epoch as well"),
    ),
    "Best weights and early stopping": (
        _setting(
            "follow", "choice", "the figure that says which weights are the best and are kept", choices=("val_loss",)
        ),
        _setting(
            "patience",
            "int",
            "validations without improvement after which training ends; none trains all epochs",
        ),
        _setting("min_change", "float", "by how much a figure must be better than the best to count as improved"),
    ),
    "Checkpoints": (
        _setting("checkpoint_seconds", "float", "seconds from one checkpoint to the next, at least"),
        _setting("checkpoint_steps", "int", "a checkpoint after each so many batches as well"),
        _setting("checkpoints", "int", "how many checkpoints are kept"),
    ),
}

_TITLES = {
    "accumulate": "batches a step",
    "validate_epochs": "each … epochs",
    "validate_steps": "each … batches",
    "checkpoint_seconds": "each … seconds",
    "checkpoint_steps": "each … batches",
    "checkpoints": "kept",
}
"""What stands before a field where it says more than the setting's name; its tooltip tells the name."""

_NOTES = {
    "Training": "Training is deterministic: equal seeds give equal numbers, whatever the number of threads or workers.",
    "Best weights and early stopping": "The best weights are kept beside the last ones.",
    "Checkpoints": "A run that was interrupted goes on from its last checkpoint to the same numbers.",
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
        """Show what the document says now."""
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
        row = self.rows[name] = ParameterRow(self._store, parameter, setting, _TITLES.get(name, ""))
        return row

    def _offer_figures(self, document: Document) -> None:
        """The figures that can be followed: of the losses, and of each metric in the graph."""
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

"""Exported packages in tests: export, import, and training beside the canvas."""

from __future__ import annotations

import contextlib
import importlib
import itertools
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import engine
from engine import fit
from engine.data import DataLoader, Dataset, Loaders
from engine.fit.early_stopping import EarlyStopping
from studio.document.model import Document
from studio.export.package import ExportRequest, Target, export_package
from studio.lowering import check, lower
from studio.lowering.user_code.document_code import allow_code
from studio.nodes import catalogue

MODULES = ("data", "layers", "metrics", "model", "train")


def export(document: Document, folder: Path, target: Target = "pytorch", base: Path | None = None) -> Path:
    """Export a document to a folder that does not exist yet."""
    allow_code(document)
    report = check(document, catalogue(), base)
    export_package(ExportRequest(document, report, "project", target, base), folder)
    return folder


@contextlib.contextmanager
def imported(folder: Path) -> Iterator[ModuleType]:
    """The module `train` of a package. Its modules have the same names as those of other packages."""
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(folder))
        for name in MODULES:
            sys.modules.pop(name, None)
        try:
            yield importlib.import_module("train")
        finally:
            for name in MODULES:
                sys.modules.pop(name, None)


@dataclass
class Training:
    """Losses of each step, and the record of each epoch."""

    losses: list[list[float]]
    epochs: list[dict[str, float]]


class ListedBatches(Dataset):
    """Batches that are made already."""

    def __init__(self, batches: Sequence[list[Any]]) -> None:
        self.batches = batches

    def __len__(self) -> int:
        return len(self.batches)

    def __getitem__(self, index: int) -> list[Any]:
        return [part.clone() for part in self.batches[index]]


def listed(batches: Sequence[list[Any]]) -> DataLoader:
    return DataLoader(ListedBatches(batches), batch_size=1, collate_fn=lambda each: each[0])


def numbers(seed: int, shape: Sequence[int], call: int) -> np.ndarray[Any, Any]:
    """The random numbers that both sides use in place of their own."""
    return np.random.default_rng([seed, call]).standard_normal(shape).astype(np.float32)


def train_canvas(
    document: Document, batches: int, epochs: int, base: Path | None = None, *, double: bool = False
) -> tuple[Training, fit.Task, Sequence[list[Any]], Sequence[list[Any]]]:
    """Train a document on its first batches. Returns the batches too, for training and validation.

    Args:
        double: compute in float64, so that rounding differences do not grow
    """
    task = lower(check(document, catalogue(), base), "project").build(seed=document.training.seed)
    loaders = task.setup()
    first = list(itertools.islice(iter(loaders.train), batches))
    second = [] if loaders.validation is None else list(itertools.islice(iter(loaders.validation), 2))
    if double:
        task.model.double()
        first, second = ([[widened(part) for part in batch] for batch in batches] for batches in (first, second))
    task.batches = Loaders(listed(first), listed(second) if second else None)
    silence(task.model, engine.from_numpy, np.float64 if double else np.float32)
    training = document.training
    patience = training.patience
    events = fit.fit(
        task,
        epochs=epochs,
        validate_epochs=training.validate_epochs,
        validate_steps=training.validate_steps,
        follow=training.follow,
        early_stopping=None if patience is None else EarlyStopping(patience, training.min_change),
        compile=False,
    )
    found = Training([], [])
    for event in events:
        if isinstance(event, fit.Step):
            found.losses.append(list(event.losses.values()))
        elif isinstance(event, fit.Epoch):
            found.epochs.append(record_of(event))
    return found, task, first, second


def widened(part: Any) -> Any:
    return part.double() if part.is_floating_point() else part


def record_of(event: fit.Epoch) -> dict[str, float]:
    record = {"train_loss": event.train_loss}
    record |= {f"train_{name}": value for name, value in event.train_metrics.items()}
    if event.val_loss is not None:
        record["val_loss"] = event.val_loss
    return record | {f"val_{name}": value for name, value in event.val_metrics.items()}


def train_package(
    module: ModuleType, folder: Path, batches: Sequence[list[Any]], validation: Sequence[list[Any]], epochs: int
) -> Training:
    """Train an exported PyTorch package on the same batches, from the weights in its folder."""
    torch = importlib.import_module("torch")
    load_file = importlib.import_module("safetensors.torch").load_file
    [model_class] = [each for name, each in vars(module).items() if isinstance(each, type) and is_module(each, module)]
    [task_class] = [each for name, each in vars(module).items() if name == f"{model_class.__name__}Training"]
    model = model_class()
    model.load_state_dict(load_file(folder / "weights.safetensors"))
    double = any(part.numpy().dtype == np.float64 for part in batches[0])
    silence(model.double() if double else model, torch.from_numpy, np.float64 if double else np.float32)
    trainer = module.Trainer(task_class(model), torch.device("cpu"))
    step, losses = trainer.step, list[list[float]]()

    def recorded(*arguments: Any) -> list[float]:
        losses.append(step(*arguments))
        return losses[-1]

    trainer.step = recorded
    made = [
        [[torch.from_numpy(part.numpy().copy()) for part in batch] for batch in part] for part in (batches, validation)
    ]
    records = trainer.train(made[0], made[1] or None, epochs)
    return Training(losses, [{name: value for name, value in each.items() if name != "epoch"} for each in records])


def is_module(found: type, module: ModuleType) -> bool:
    return found.__module__ == "model" and any(base.__name__ == "Module" for base in found.__mro__)


def silence(model: Any, from_numpy: Any, dtype: Any) -> None:
    """Take the random draws out: no dropout, and the same numbers in Noise layers."""
    for path, layer in model.named_modules():
        kind = type(layer).__name__
        if "Dropout" in kind:
            layer.p = 0.0
        if isinstance(getattr(layer, "dropout", None), float):
            layer.dropout = 0.0
        if kind == "Noise":
            layer.forward = repeatable(len(path), layer.size, lambda array: from_numpy(array.astype(dtype)))


def repeatable(seed: int, size: Sequence[int], from_numpy: Any) -> Any:
    calls = itertools.count()
    return lambda input: from_numpy(numbers(seed, (input.shape[0], *size), next(calls)))


def assert_same(canvas: Training, package: Training, *, rtol: float = 1e-4, atol: float = 1e-6) -> None:
    np.testing.assert_allclose(package.losses, canvas.losses, rtol=rtol, atol=atol)
    assert [each.keys() for each in package.epochs] == [each.keys() for each in canvas.epochs]
    for mine, theirs in zip(package.epochs, canvas.epochs, strict=True):
        compare(mine, theirs, rtol=rtol, atol=atol)


def compare(mine: Mapping[str, float], theirs: Mapping[str, float], *, rtol: float, atol: float) -> None:
    names = list(mine)
    np.testing.assert_allclose([mine[name] for name in names], [theirs[name] for name in names], rtol=rtol, atol=atol)

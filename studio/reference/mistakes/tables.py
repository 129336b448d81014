"""Mistakes with the columns, rows and classes of data, and with splits."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from engine.data.samples import validation_split
from studio.document import edits
from studio.document.model import Document, Node
from studio.reference.mistakes.data import arrays, images, network, points, sample_table, table
from studio.reference.mistakes.mistake import Goal, Mistake, Stage
from studio.reference.mistakes.networks import linear
from studio.reference.mistakes.networks import network as chain
from studio.reference.mistakes.parameters import pictures

_LEARNED = Goal("val_metric", 0.8, epochs=10)
_PICTURES = Goal("val_loss", 0.5, epochs=20, is_highest=True)
_DIGITS = Goal("val_accuracy", 0.8, epochs=6)


# -- rows and columns -------------------------------------------------------------------------


def _half_of_the_incomes(folder: Path) -> Document:
    """A column without a value in half of the rows, which are left out."""
    columns = sample_table()
    income = np.where(columns["age"] > 0, columns["age"].astype(str), "")
    return network(table(folder, {"income": income, **columns}, missing="drop"))


def _none_as_a_category(folder: Path) -> Document:
    columns = sample_table()
    owner = np.where(columns["width"] > 0.5, "NA", np.where(columns["width"] > -0.5, "EU", "AS"))
    return network(table(folder, {**columns, "owner": owner}, categorical="owner", missing="keep"))


def _row_numbers(folder: Path) -> Document:
    columns = sample_table()
    return network(table(folder, {"id": np.arange(len(columns["width"])), **columns}))


def _unseen_category(folder: Path) -> Document:
    """A misspelled place in a row of the validation data."""
    columns = sample_table()
    place = np.where(columns["age"] > 0, "north", "south").astype(object)
    place[validation_split(len(place), 0.2)[1][0]] = "sout"
    return network(table(folder, {**columns, "place": place}, categorical="place"))


def _no_header(folder: Path) -> Document:
    columns = sample_table()
    made = network(table(folder, columns))
    lines = (folder / "table.csv").read_text("utf-8").splitlines()[1:]
    (folder / "table.csv").write_text("\n".join([*lines, ""]), "utf-8")
    return edits.set_param(made, "source", "target", lines[0].split(",")[-1])


def _postal_codes(folder: Path) -> Document:
    columns = sample_table()
    codes = np.where(columns["width"] > 0, "01067", np.where(columns["height"] > 0, "04103", "80331"))
    return network(table(folder, {**columns, "code": codes}))


def _large_numbers(folder: Path) -> Document:
    columns = sample_table()
    codes = np.where(columns["width"] > 0, 100_000_001, np.where(columns["height"] > 0, 100_000_002, 100_000_003))
    return network(table(folder, {**columns, "product": codes}))


def _last_year(folder: Path) -> Document:
    """Standardized with the mean and the spread of the values of another year."""
    inputs, targets = points()
    scale = Node("transforms.Normalize", {"mean": 4.0, "std": 1.0})
    return network(arrays(folder, (inputs + 2).astype(np.float32), targets), scale, outputs=3)


# -- classes ----------------------------------------------------------------------------------


def _one_class(folder: Path) -> Document:
    inputs, targets = points()
    return network(arrays(folder, inputs, np.zeros_like(targets)), outputs=3)


def _damaged_labels(folder: Path) -> Document:
    """A file of CIFAR-10 with a label that is not one of its 10 classes."""
    records = np.random.default_rng(0).integers(0, 256, (200, 3073)).astype(np.uint8)
    records[:, 0] = np.arange(200) % 10
    records[7, 0] = 77
    records.tofile(folder / "data_batch_1.bin")
    records[100:, 0] = np.arange(100) % 10
    records[100:].tofile(folder / "test_batch.bin")
    layers: dict[str, str | Node] = {"flatten": "nn.Flatten", "logits": linear(10)}
    source = Node("data.CIFAR", {"folder": "."})
    return chain(source, layers, "nn.CrossEntropyLoss", transforms={"float": "transforms.ToFloat"})


def _gap_in_the_labels(folder: Path) -> Document:
    """Labels 0, 1 and 3."""
    inputs, targets = points()
    return network(arrays(folder, inputs, np.where(targets == 2, 3, targets)), outputs=4)


def _only_in(seed: int) -> Callable[[Path], Document]:
    """2 samples of a class, which a random split puts into one part."""

    def plant(folder: Path) -> Document:
        inputs, targets = points(rows=300)
        kept = (targets != 2) | (np.cumsum(targets == 2) <= 2)
        split = Node("data.HoldOut", {"seed": seed})
        return network(arrays(folder, inputs[kept], targets[kept], validation=0.0), split, outputs=3)

    return plant


def _rare_class_for_training(folder: Path) -> Document:
    """6 samples of a class, and a source that uses all of them for training."""
    inputs, targets = points(rows=115)
    kept = (targets != 2) | (np.cumsum(targets == 2) <= 6)
    return network(arrays(folder, inputs[kept], targets[kept]), outputs=3)


# -- splits, batches and files ----------------------------------------------------------------


def _too_many_folds(folder: Path) -> Document:
    inputs, targets = points(rows=60)
    split = Node("data.KFold", {"folds": 100})
    return network(arrays(folder, inputs, targets, validation=0.0), split, outputs=3)


def _dropped_batch(folder: Path) -> Document:
    made = network(table(folder, sample_table(rows=100)))
    return edits.set_param(edits.set_param(made, "batches", "batch_size", 128), "batches", "drop_last", True)


def _not_shuffled(_: Path) -> Document:
    return edits.set_param(images(None), "batches", "shuffle", False)


def _of_pictures(source: Node) -> Document:
    layers: dict[str, str | Node] = {"flatten": "nn.Flatten", "logits": linear(2)}
    transforms = {"resize": Node("transforms.Resize", {"size": [6, 6]}), "float": "transforms.ToFloat"}
    return chain(source, layers, "nn.CrossEntropyLoss", transforms=transforms, batch_size=16)


def _damaged_picture(folder: Path, **params: Any) -> Document:
    source = Node("data.ImageFolder", {"folder": pictures(folder), **params})
    (folder / "pictures" / "dark" / "000.png").write_bytes(b"not a picture")
    return _of_pictures(source)


def _planted(
    name: str, code: str, node: str, plant: Callable[[Path], Document], stage: Stage = "data", **more: Any
) -> Mistake:
    return Mistake(name, code, node, plant, stage=stage, **more)


TABLES: tuple[Mistake, ...] = (
    _planted("half_of_the_incomes", "rows-left-out", "source", _half_of_the_incomes, "check", goal=_LEARNED),
    _planted("region_na", "missing-category", "source", _none_as_a_category, "check", goal=_LEARNED),
    _planted("row_numbers", "identifier", "source", _row_numbers, "check", goal=_LEARNED),
    _planted("misspelled_category", "unseen-category", "source", _unseen_category, "check", has_fix=False),
    _planted("table_without_a_header", "header-values", "source", _no_header, "check", goal=_LEARNED),
    _planted("postal_codes", "leading-zeros", "source", _postal_codes, "check", goal=_LEARNED),
    _planted("product_numbers", "merged-numbers", "source", _large_numbers, "check", goal=_LEARNED),
    _planted("statistics_of_another_year", "misfit-normalization", "transform", _last_year, goal=_LEARNED),
    _planted("all_samples_of_one_class", "one-class", "source", _one_class, "check", has_fix=False),
    _planted("damaged_labels", "bad-data", "data", _damaged_labels, has_fix=False),
    _planted("gap_in_the_labels", "missing-class", "source", _gap_in_the_labels, goal=_LEARNED),
    _planted("class_only_in_validation", "rare-class", "transform", _only_in(seed=36), "check", goal=_LEARNED),
    _planted("class_only_in_training", "rare-class", "transform", _only_in(seed=3), "check", goal=_LEARNED),
    _planted("class_that_the_source_does_not_split", "missing-class", "source", _rare_class_for_training),
    _planted("more_folds_than_samples", "bad-division", "transform", _too_many_folds, "check", goal=_LEARNED),
    _planted("only_batch_dropped", "no-batch", "batches", _dropped_batch, "check", goal=_LEARNED),
    _planted("fixed_order", "not-shuffled", "batches", _not_shuffled, "check", goal=_DIGITS),
    _planted("damaged_picture", "unreadable", "data", _damaged_picture, leaves="skipped", goal=_PICTURES),
    _planted(
        "skipped_picture",
        "skipped",
        "data",
        lambda folder: _damaged_picture(folder, on_error="skip"),
        has_fix=False,
    ),
)

__all__ = ["TABLES"]

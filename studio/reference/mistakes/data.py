"""Mistakes with data. Each plants small files in its folder."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from studio.document.edits import set_param, set_training
from studio.document.fit_records import fit_record
from studio.document.model import Document, Json, Node
from studio.reference.mistakes.mistake import Goal, Mistake
from studio.reference.mistakes.networks import chain
from studio.reference.mistakes.projects import digits, document

Array: TypeAlias = NDArray[Any]

_ROWS = 240
_LEARNED = Goal("val_metric", 0.8, epochs=10)
_DIGITS = Goal("val_accuracy", 0.8, epochs=6)
_FITTED = Goal("val_loss", 0.1, epochs=10, is_highest=True)


# -- sound data -------------------------------------------------------------------------------


def sample_table(rows: int = _ROWS) -> dict[str, Array]:
    """Columns of about unit scale, and a class "kind" that depends on two of them with some noise."""
    random = np.random.default_rng(0)
    width, height, age = (random.normal(size=rows).astype(np.float32) for _ in range(3))
    noise = random.normal(scale=0.2, size=rows)
    return {
        "width": width.round(3),
        "height": height.round(3),
        "age": age.round(3),
        "kind": np.array(["low", "high"])[(width + height + noise > 0).astype(int)],
    }


def table(folder: Path, columns: Mapping[str, Any], **params: Json) -> Node:
    """A source that reads columns from a CSV file in a folder."""
    quoted = [[f'"{value}"' if "," in str(value) else str(value) for value in column] for column in columns.values()]
    lines = [",".join(columns), *(",".join(row) for row in zip(*quoted, strict=True))]
    (folder / "table.csv").write_text("\n".join([*lines, ""]), "utf-8")
    return Node("data.CSV", {"path": str(folder / "table.csv"), "target": "kind", **params})


def arrays(folder: Path, inputs: Array, targets: Array, **params: Json) -> Node:
    """A source that reads arrays from an archive in a folder."""
    np.savez(folder / "arrays.npz", x=inputs, y=targets)
    return Node("data.NPY", {"path": str(folder / "arrays.npz"), **params})


def points(classes: int = 3, rows: int = _ROWS) -> tuple[Array, Array]:
    """Points of unit scale around one centre per class, in random order."""
    random = np.random.default_rng(0)
    targets = random.permutation(np.arange(rows) % classes)
    centres = random.normal(size=(classes, 6))
    inputs = centres[targets] + random.normal(scale=0.4, size=(rows, 6))
    return inputs.astype(np.float32), targets.astype(np.int64)


def network(
    source: Node,
    *transforms: Node,
    outputs: int = 2,
    loss: str = "nn.CrossEntropyLoss",
    metric: Node | None = None,
    **more: Node,
) -> Document:
    """A small network that learns from a source: transforms, a loader, two layers, a loss and Adam."""
    names = [f"transform{number or ''}" for number in range(len(transforms))]
    nodes: dict[str, str | Node] = {
        "source": source,
        **dict(zip(names, transforms, strict=True)),
        "batches": Node("data.Batches", {"batch_size": 32}),
        "hidden": Node("nn.Linear", {"out_features": 16}),
        "relu": "nn.ReLU",
        "scores": Node("nn.Linear", {"out_features": outputs}),
        "loss": loss,
        "metric": metric or Node("metrics.Accuracy"),
        "adam": Node("optim.Adam", {"lr": 0.02}),
        **more,
    }
    chain = ["source", *names, "batches"]
    wires = [f"{one}.samples -> {two}.samples" for one, two in pairwise(chain)]
    wires += ["batches.input -> hidden.input", "hidden.output -> relu.input", "relu.output -> scores.input"]
    for reader in ("loss", "metric"):
        wires += [f"scores.output -> {reader}.input", f"batches.target -> {reader}.target"]
    return document(nodes, [*wires, "loss.loss -> adam.loss"])


def images(scale: Node | None, *transforms: Node) -> Document:
    """The digits with transforms between the source and the loader."""
    made = digits(
        {
            "flatten": "nn.Flatten",
            "hidden": Node("nn.Linear", {"out_features": 32}),
            "relu": "nn.ReLU",
            "logits": Node("nn.Linear", {"out_features": 10}),
        },
        adam=Node("optim.Adam", {"lr": 0.01}),
        accuracy="metrics.Accuracy",
        wires=["logits.output -> accuracy.input", "batches.target -> accuracy.target"],
    )
    nodes: dict[str, str | Node] = dict(made.nodes)
    nodes["scale"] = scale or nodes["scale"]
    names = [f"transform{number or ''}" for number in range(len(transforms))]
    nodes |= dict(zip(names, transforms, strict=True))
    wires = [str(wire) for wire in made.wires if wire.target.node != "batches"]
    chain = ["scale", *names, "batches"]
    wires += [f"{one}.samples -> {two}.samples" for one, two in pairwise(chain)]
    return document(nodes, wires)


# -- scaling ----------------------------------------------------------------------------------


def _bytes(folder: Path) -> Document:
    inputs, targets = points()
    return network(arrays(folder, np.clip(128 + 40 * inputs, 0, 255).round(), targets), outputs=3)


def _millions(folder: Path) -> Document:
    columns = sample_table()
    income = (3e6 + 2e6 * columns["width"]).round()
    return network(table(folder, {"income": income, **columns}))


def _different_scales(folder: Path) -> Document:
    columns = sample_table()
    return network(table(folder, {**columns, "width": 4 * columns["width"], "share": columns["height"] / 500}))


def _divided_twice(_: Path) -> Document:
    return images(None, Node("transforms.Normalize", {"std": 255.0}))


def _digits_to_float(_: Path) -> Document:
    return images(Node("transforms.ToFloat"))


def _photos(_: Path) -> Document:
    """Mean and standard deviation of photos as bytes."""
    return images(Node("transforms.Normalize", {"mean": 123.7, "std": 4.0}))


def _fractions(_: Path) -> Document:
    """Mean and standard deviation of fractions for bytes: To float comes too late."""
    return images(Node("transforms.Normalize", {"mean": 0.1307, "std": 0.3081}), Node("transforms.ToFloat"))


def _muted(folder: Path) -> Document:
    inputs, targets = points()
    scale = Node("transforms.Normalize", {"mean": 128.0, "std": 50.0}, muted=True)
    return network(arrays(folder, 128 + 40 * inputs, targets), scale, outputs=3)


# -- targets ----------------------------------------------------------------------------------


def _class_code(folder: Path) -> Document:
    columns = sample_table()
    return network(table(folder, {"code": np.where(columns["kind"] == "low", 0.25, 0.5), **columns}))


def _other_currency(folder: Path) -> Document:
    columns = sample_table()
    price = (columns["width"] + columns["height"]).round(3)
    made = {**columns, "dollars": (1.1 * price + 0.2).round(4), "kind": price}
    metric = Node("metrics.MeanAbsoluteError")
    return network(table(folder, made, task="number"), outputs=1, loss="nn.MSELoss", metric=metric)


def _prices(folder: Path) -> Document:
    columns = sample_table()
    prices = [f"{1500 + 321.7 * value:,.1f}" for value in columns["width"] + columns["height"]]
    return network(table(folder, {**columns, "kind": prices}), outputs=len(set(prices)))


def _identifiers(folder: Path) -> Document:
    columns = sample_table()
    names = [f"P{number:04}" for number in range(_ROWS)]
    return network(table(folder, {**columns, "kind": names}), outputs=_ROWS)


def _from_one(folder: Path, outputs: int) -> Document:
    inputs, targets = points()
    return network(arrays(folder, inputs, targets + 1), outputs=outputs)


def _tens(folder: Path, outputs: int) -> Document:
    inputs, targets = points()
    return network(arrays(folder, inputs, targets * 10 + 10), outputs=outputs)


def _binary(folder: Path, values: tuple[float, float], loss: str) -> Document:
    inputs, targets = points(classes=2)
    found = np.asarray(values, np.float32)[targets][:, np.newaxis]
    return network(arrays(folder, inputs, found), outputs=1, loss=loss, metric=Node("metrics.BinaryAccuracy"))


# -- parts and batches ------------------------------------------------------------------------


def _all_for_training(folder: Path) -> Document:
    return network(table(folder, sample_table(), validation=0.0))


def _patience(folder: Path) -> Document:
    return set_training(_all_for_training(folder), patience=3)


def _two_splits(folder: Path) -> Document:
    return network(table(folder, sample_table()), Node("data.HoldOut"), Node("data.HoldOut", {"validation": 0.3}))


def _fitted_before_split(folder: Path) -> Document:
    inputs, targets = points()
    inputs = (inputs * 2 + 3).astype(np.float32)
    fitted: dict[str, Json] = {
        "mean": [float(value) for value in inputs.mean(0, dtype=np.float64)],
        "std": [float(value) for value in inputs.std(0, dtype=np.float64)],
    }
    split = Node("data.HoldOut", {"validation": 0.3})
    return network(
        arrays(folder, inputs, targets, validation=0.0), Node("transforms.Normalize", fitted), split, outputs=3
    )


def _fitted_to_other_data(folder: Path) -> Document:
    """Normalize with the statistics of a file that was replaced later."""
    inputs, targets = points()
    fitted: dict[str, Json] = {"mean": [40.0] * inputs.shape[1], "std": [3.0] * inputs.shape[1]}
    record = fit_record(fitted, "source", "training", 192, nodes="before", data="")
    normalize = Node("transforms.Normalize", fitted, fitted=record)
    return network(arrays(folder, (inputs * 2 + 3).astype(np.float32), targets), normalize, outputs=3)


def _sorted(folder: Path) -> Document:
    inputs, targets = points()
    order = np.argsort(targets, kind="stable")
    made = network(arrays(folder, inputs[order], targets[order]), outputs=3)
    nodes = {**made.nodes, "batches": Node("data.Batches", {"batch_size": 32, "shuffle": False})}
    return Document(nodes, made.wires)


def _one_batch(folder: Path) -> Document:
    made = network(table(folder, sample_table()))
    return Document({**made.nodes, "batches": Node("data.Batches", {"batch_size": 4096})}, made.wires)


def _duplicates(folder: Path) -> Document:
    inputs, targets = points()
    return network(arrays(folder, np.tile(inputs, (2, 1)), np.tile(targets, 2)), outputs=3)


def _rare(folder: Path) -> Document:
    inputs, targets = points(classes=2, rows=600)
    kept = (targets == 0) | (np.arange(600) % 15 == 0)
    return network(arrays(folder, inputs[kept], targets[kept]))


def _rare_ones(folder: Path) -> Document:
    inputs, targets = points(classes=2, rows=600)
    kept = (targets == 0) | (np.arange(600) % 15 == 0)
    made = targets[kept].astype(np.float32)[:, np.newaxis]
    metric = Node("metrics.BinaryAccuracy")
    return network(arrays(folder, inputs[kept], made), outputs=1, loss="nn.BCEWithLogitsLoss", metric=metric)


def _whole_set(_: Path) -> Document:
    """A batch of exactly all training samples, shuffled."""
    made = images(None)
    return set_training(set_param(made, "batches", "batch_size", 2000), epochs=20)


def _in_grams(folder: Path) -> Document:
    """A regression of quantities in thousands."""
    inputs, _ = points()
    grams = (4000 + 300 * inputs[:, :1] - 200 * inputs[:, 1:2]).astype(np.float32)
    metric = Node("metrics.MeanAbsoluteError")
    return network(arrays(folder, inputs, grams), outputs=1, loss="nn.MSELoss", metric=metric)


def _source_and_split(folder: Path) -> Document:
    """A data source with a fraction for validation, and a split behind it."""
    made = network(arrays(folder, *points()), Node("data.HoldOut", {"validation": 0.1}), outputs=3)
    return set_param(made, "source", "validation", 0.4)


# -- values -----------------------------------------------------------------------------------


def _missing(folder: Path) -> Document:
    inputs, targets = points()
    inputs[[3, 50, 99], 2] = np.nan
    return network(arrays(folder, inputs, targets), outputs=3)


def _infinite(folder: Path) -> Document:
    inputs, targets = points()
    inputs[[3, 50], 2] = np.inf
    return network(arrays(folder, inputs, targets), outputs=3)


def _constant(folder: Path) -> Document:
    return network(table(folder, {"unit": np.full(_ROWS, 1.5), **sample_table()}))


def _flips(_: Path) -> Document:
    return images(None, Node("transforms.RandomHorizontalFlip"))


def _turned(_: Path) -> Document:
    return images(None, Node("transforms.RandomAffine", {"degrees": 180.0}))


def _erased(_: Path) -> Document:
    return images(None, Node("transforms.RandomErasing", {"p": 1.0, "scale": [0.85, 1.0]}))


def _centered_photos(_: Path) -> Document:
    """Digits from 0 to 16, scaled as bytes to -1 to 1."""
    return images(Node("transforms.Normalize", {"mean": 127.5, "std": 127.5}))


def _numbered_rows(folder: Path) -> Document:
    return network(table(folder, {"customer": np.arange(100_000, 100_000 + _ROWS), **sample_table()}))


def _file_of_sequences(folder: Path) -> Document:
    """Sequences in a file with the next elements as targets, at a layer that reads them from both ends."""
    steps = np.random.default_rng(0).integers(0, 4, size=(_ROWS, 13)).cumsum(1) % 8
    layers: dict[str, str | Node] = {
        "tokens": Node("nn.Embedding", {"num_embeddings": 8, "embedding_dim": 8}),
        "gru": Node("nn.GRU", {"hidden_size": 16, "bidirectional": True}),
        "scores": Node("nn.Linear", {"out_features": 8}),
        "classes_first": Node("ops.transpose", {"dim0": 1, "dim1": 2}),
    }
    of_layers, last = chain("batches.input", layers)
    return document(
        {
            "source": arrays(folder, steps[:, :-1].astype(np.int64), steps[:, 1:].astype(np.int64)),
            "batches": Node("data.Batches", {"batch_size": 32}),
            **layers,
            "loss": "nn.CrossEntropyLoss",
            "adam": Node("optim.Adam", {"lr": 0.01}),
        },
        [
            "source.samples -> batches.samples",
            *of_layers,
            f"{last} -> loss.input",
            "batches.target -> loss.target",
            "loss.loss -> adam.loss",
        ],
    )


def _planted(name: str, code: str, node: str, plant: Callable[[Path], Document], **more: Any) -> Mistake:
    return Mistake(name, code, node, plant, stage="data", **more)


DATA = (
    _planted("bytes_as_inputs", "unscaled-inputs", "batches", _bytes, goal=_LEARNED),
    _planted("column_in_millions", "unscaled-inputs", "batches", _millions, goal=_LEARNED),
    _planted("columns_of_different_scales", "unscaled-inputs", "batches", _different_scales, goal=_LEARNED),
    _planted("statistics_of_fractions_for_bytes", "unscaled-inputs", "scale", _fractions, goal=_DIGITS),
    _planted("digits_divided_twice", "narrow", "transform", _divided_twice, goal=_DIGITS),
    _planted("digits_to_float", "narrow", "scale", _digits_to_float, goal=_DIGITS),
    _planted("statistics_of_photos_for_digits", "unscaled-inputs", "scale", _photos, goal=_DIGITS),
    _planted("muted_normalize", "unscaled-inputs", "transform", _muted, goal=_LEARNED),
    _planted("class_code_among_inputs", "target-among-inputs", "source", _class_code, goal=_LEARNED),
    _planted("price_in_another_currency", "target-among-inputs", "source", _other_currency),
    _planted("prices_as_classes", "numbers-as-classes", "source", _prices, leaves="unscaled-targets"),
    _planted("identifiers_as_classes", "identifier-as-target", "source", _identifiers, has_fix=False),
    _planted("labels_with_gaps", "labels-with-gaps", "source", partial(_tens, outputs=31), goal=_LEARNED),
    _planted("labels_with_gaps_and_few_scores", "labels-with-gaps", "source", partial(_tens, outputs=3), goal=_LEARNED),
    _planted("labels_from_one", "labels-from-one", "source", partial(_from_one, outputs=4), goal=_LEARNED),
    _planted(
        "signs_at_binary_cross_entropy",
        "target-convention",
        "loss",
        partial(_binary, values=(-1.0, 1.0), loss="nn.BCEWithLogitsLoss"),
        goal=_LEARNED,
    ),
    _planted(
        "one_and_two_at_binary_cross_entropy",
        "target-convention",
        "loss",
        partial(_binary, values=(1.0, 2.0), loss="nn.BCEWithLogitsLoss"),
        goal=_LEARNED,
    ),
    _planted(
        "zeros_at_soft_margin",
        "target-convention",
        "loss",
        partial(_binary, values=(0.0, 1.0), loss="nn.SoftMarginLoss"),
    ),
    _planted("no_validation_samples", "no-validation", "source", _all_for_training, goal=_LEARNED),
    _planted("patience_without_validation", "no-validation", "source", _patience),
    _planted("two_splits", "split-twice", "transform", _two_splits),
    _planted("statistics_before_the_split", "fitted-to-validation", "transform", _fitted_before_split),
    _planted("statistics_of_replaced_data", "stale-statistics", "transform", _fitted_to_other_data, goal=_LEARNED),
    _planted("sorted_classes", "sorted-samples", "batches", _sorted, goal=_LEARNED),
    _planted("batch_larger_than_the_data", "single-batch", "batches", _one_batch, goal=_LEARNED),
    _planted("batch_of_all_samples", "single-batch", "batches", _whole_set, goal=_DIGITS),
    _planted("targets_in_grams", "unscaled-targets", "batches", _in_grams, goal=_FITTED),
    _planted("source_and_split", "split-twice", "transform", _source_and_split),
    _planted("bytes_statistics_for_digits", "misfit-normalization", "scale", _centered_photos, goal=_DIGITS),
    _planted("erased_digits", "label-changed", "transform", _erased),
    _planted("numbered_rows", "identifier", "source", _numbered_rows, goal=_LEARNED),
    _planted("next_elements_in_a_file", "next-element-visible", "gru", _file_of_sequences),
    _planted("duplicated_samples", "overlap", "source", _duplicates, has_fix=False),
    _planted("rare_class", "imbalance", "loss", _rare),
    _planted("rare_ones", "imbalance", "loss", _rare_ones),
    _planted("missing_values", "missing", "source", _missing, goal=_LEARNED),
    _planted("infinite_values", "infinite", "source", _infinite, goal=_LEARNED),
    _planted("constant_column", "constant", "source", _constant),
    _planted("flipped_digits", "label-changed", "transform", _flips),
    _planted("digits_turned_around", "label-changed", "transform", _turned),
)

__all__ = ["DATA", "arrays", "images", "network", "points", "sample_table", "table"]

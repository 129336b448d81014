"""Sound data and graphs that look like mistakes are left in peace."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from msgspec.structs import replace

from studio.document.edits import set_param, set_training
from studio.document.model import Document, Endpoint, Node, Wire
from studio.lowering.check import check
from studio.lowering.problems.problem import Problem
from studio.nodes.catalogue import catalogue
from studio.reference.mistakes.data import arrays, images, network, points, sample_table, table
from studio.training.data.data_inspector import DataInspector
from tests.studio.lowering.graphs import document


def problems(made: Document) -> list[Problem]:
    report = check(made, catalogue())
    return list(DataInspector().inspect(report).joined(report).problems)


def codes(made: Document) -> list[str]:
    return [problem.code for problem in problems(made)]


def _normalized_first(folder: Path) -> Document:
    """Bytes that the first layer normalizes."""
    inputs, targets = points()
    made = network(arrays(folder, 128 + 40 * inputs, targets), outputs=3, norm=Node("nn.BatchNorm1d"))
    wires = [wire for wire in made.wires if wire.target != Endpoint("hidden", "input")]
    wires += [Wire(Endpoint("batches", "input"), Endpoint("norm", "input"))]
    wires += [Wire(Endpoint("norm", "output"), Endpoint("hidden", "input"))]
    return replace(made, wires=tuple(sorted(wires)))


def _minus_one_to_one(_: Path) -> Document:
    return images(Node("transforms.Normalize", {"mean": 8.0, "std": 8.0}))


def _linear_in_one_column(folder: Path) -> Document:
    """A regression line through points without noise."""
    width = np.linspace(-1, 1, 200).round(4)
    order = np.random.default_rng(0).permutation(200)
    made = {"width": width[order], "kind": (2 * width + 1)[order].round(4)}
    metric = Node("metrics.MeanAbsoluteError")
    return network(table(folder, made, task="number"), outputs=1, loss="nn.MSELoss", metric=metric)


def _indicators(folder: Path) -> Document:
    """Rare categories beside a column of larger spread."""
    columns = sample_table()
    columns["region"] = np.array(["north"] * 235 + ["south"] * 5)[np.random.default_rng(1).permutation(240)]
    return network(table(folder, columns, categorical="region"))


def _whole_table(folder: Path) -> Document:
    """A full batch on purpose."""
    made = network(table(folder, sample_table()))
    return set_param(set_param(made, "batches", "batch_size", 192), "batches", "shuffle", value=False)


def _sorted_but_shuffled(folder: Path) -> Document:
    inputs, targets = points()
    order = np.argsort(targets, kind="stable")
    return network(arrays(folder, inputs[order], targets[order]), outputs=3)


def _weighted(folder: Path) -> Document:
    inputs, targets = points(classes=2, rows=600)
    kept = (targets == 0) | (np.arange(600) % 15 == 0)
    return set_param(network(arrays(folder, inputs[kept], targets[kept])), "loss", "weight", [0.5, 7.0])


def _judged_by_f1(folder: Path) -> Document:
    inputs, targets = points(classes=2, rows=600)
    kept = (targets == 0) | (np.arange(600) % 15 == 0)
    return network(arrays(folder, inputs[kept], targets[kept]), metric=Node("metrics.F1"))


def _few_samples(folder: Path) -> Document:
    """The four samples of exclusive or."""
    inputs = np.array([[0, 0], [0, 1], [1, 0], [1, 1]], np.float32)
    made = network(arrays(folder, inputs, np.array([0, 1, 1, 0]), validation=0.0))
    return document(
        {name: node for name, node in made.nodes.items() if name != "metric"},
        [str(wire) for wire in made.wires if wire.target.node != "metric"],
    )


def _probabilities(folder: Path) -> Document:
    """Soft targets between 0 and 1."""
    inputs, targets = points(classes=2)
    soft = np.where(targets, 0.9, 0.1).astype(np.float32)[:, np.newaxis]
    metric = Node("metrics.MeanAbsoluteError")
    return network(arrays(folder, inputs, soft), outputs=1, loss="nn.BCEWithLogitsLoss", metric=metric)


def _ratings(folder: Path) -> Document:
    columns = sample_table()
    columns["kind"] = np.clip((2 * columns["width"]).round() / 2, -1, 1) + 2
    columns["width"] = columns["width"] + np.random.default_rng(3).normal(scale=0.3, size=240).round(3)
    return network(table(folder, columns), outputs=5)


def _small_rotation(_: Path) -> Document:
    return images(None, Node("transforms.RandomAffine", {"degrees": 12.0, "translate": 0.1}))


def _fitted_to_training(folder: Path) -> Document:
    inputs, targets = points()
    return network(
        arrays(folder, 3 + 2 * inputs, targets), Node("transforms.Normalize", {"mean": 3.0, "std": 2.0}), outputs=3
    )


SOUND: tuple[Callable[[Path], Document], ...] = (
    _normalized_first,
    _minus_one_to_one,
    _linear_in_one_column,
    _indicators,
    _whole_table,
    _sorted_but_shuffled,
    _weighted,
    _judged_by_f1,
    _few_samples,
    _probabilities,
    _ratings,
    _small_rotation,
    _fitted_to_training,
)


@pytest.mark.parametrize("plant", SOUND, ids=lambda plant: plant.__name__)
def test_sound_look_alikes_are_left_in_peace(plant: Callable[[Path], Document], tmp_path: Path) -> None:
    assert problems(plant(tmp_path)) == []


@pytest.mark.parametrize("source", ["Blobs", "Moons", "Circles", "Spirals"])
def test_bundled_data_are_left_in_peace(source: str) -> None:
    made = network(Node(f"data.{source}"), outputs=3 if source == "Blobs" else 2)
    assert codes(made) == []


def test_quantities_of_penguins_need_normalize() -> None:
    made = network(Node("data.Penguins"), outputs=3)
    [problem] = problems(made)
    assert problem.code == "unscaled-inputs" and "body_mass_g" in problem.message
    assert problem.fix is not None
    fixed = problem.fix.edit(made)
    assert codes(fixed) == []
    std = fixed.nodes["normalize"].params["std"]
    assert isinstance(std, list) and std[4:] == [1.0] * 5, "indicators keep their values"


def test_a_fix_of_the_scaling_is_fitted_to_the_samples(tmp_path: Path) -> None:
    inputs, targets = points()
    made = network(arrays(tmp_path, 100 + 10 * inputs, targets, validation=0.0), outputs=3)
    found = {problem.code: problem for problem in problems(made)}
    assert found["unscaled-inputs"].evidence["low"] < 100 and found["unscaled-inputs"].port == "samples"
    fix = found["unscaled-inputs"].fix
    assert fix is not None
    fixed: Any = fix.edit(made).nodes["normalize"].params
    np.testing.assert_allclose(fixed["mean"], (100 + 10 * inputs).mean(0), rtol=1e-5)
    np.testing.assert_allclose(fixed["std"], (100 + 10 * inputs).std(0), rtol=1e-5)


def test_inputs_that_are_targets_of_a_loss_stay_between_zero_and_one(tmp_path: Path) -> None:
    """Bytes of an autoencoder with binary cross entropy."""
    inputs = np.random.default_rng(0).integers(0, 256, (200, 8)).astype(np.float32)
    nodes: dict[str, str | Node] = {
        "source": arrays(tmp_path, inputs, np.zeros(200, np.int64)),
        "batches": "data.Batches",
        "encoder": Node("nn.Linear", {"out_features": 4}),
        "relu": "nn.ReLU",
        "decoder": Node("nn.Linear", {"out_features": 8}),
        "loss": "nn.BCEWithLogitsLoss",
        "adam": "optim.Adam",
    }
    wires = [
        "source.samples -> batches.samples",
        "batches.input -> encoder.input",
        "encoder.output -> relu.input",
        "relu.output -> decoder.input",
        "decoder.output -> loss.input",
        "batches.input -> loss.target",
        "loss.loss -> adam.loss",
    ]
    made = document(nodes, wires)
    found = problems(made)
    assert {each.code for each in found} <= {"unscaled-inputs", "target-convention", "one-class"}
    fix = next(each.fix for each in found if each.code in ("unscaled-inputs", "target-convention"))
    assert fix is not None
    assert not {"unscaled-inputs", "target-convention"} & set(codes(fix.edit(made)))


def test_missing_validation_is_a_hint_without_a_setting_that_needs_it(tmp_path: Path) -> None:
    made = network(table(tmp_path, sample_table(), validation=0.0))
    bare = document(
        {name: node for name, node in made.nodes.items() if name != "metric"},
        [str(wire) for wire in made.wires if wire.target.node != "metric"],
    )
    assert [(each.severity, each.code) for each in problems(bare)] == [("hint", "no-validation")]
    assert [each.severity for each in problems(set_training(bare, patience=2))] == ["warning"]
    assert problems(set_training(bare, follow="train_loss")) == []


def test_text_prices_are_read_with_their_signs(tmp_path: Path) -> None:
    columns = sample_table()
    prices = [f"€{1500 + 321.7 * value:,.2f}" for value in columns["width"] + columns["height"]]
    made = network(table(tmp_path, {**columns, "kind": prices}), outputs=len(set(prices)))
    [problem] = problems(made)
    assert problem.code == "numbers-as-classes" and problem.fix is not None
    fixed = problem.fix.edit(made)
    assert fixed.nodes["source"].params["formatted"] == "kind"
    assert fixed.nodes["loss"].type == "nn.MSELoss" and codes(fixed) == ["unscaled-targets"]

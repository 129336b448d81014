"""Graphs with what templates do not have train alike as PyTorch programs."""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from msgspec.structs import replace

from studio.document import edits
from studio.document.model import Document, Endpoint, Node, TrainingSettings, Wire
from studio.nodes.python_node import PYTHON
from tests.studio.code import GATE, SCALE
from tests.studio.export.exported import assert_same, export, imported, train_canvas, train_package
from tests.studio.lowering.graphs import changed, digits, document, mlp
from tests.studio.lowering.test_carried_states import cell, layer
from tests.studio.lowering.test_several_loaders import two_inputs, two_losses
from tests.studio.lowering.test_shared_weights import language_model, siamese

pytestmark = pytest.mark.skipif(importlib.util.find_spec("torch") is None, reason="PyTorch is not installed")

HIDDEN = Node("nn.Linear", {"out_features": 16})
LOGITS = Node("nn.Linear", {"out_features": 10})
FLAT: dict[str, str | Node] = {"flatten": "nn.Flatten", "hidden": HIDDEN, "relu": "nn.ReLU", "logits": LOGITS}


@dataclass
class Case:
    make: Callable[[], Document]
    rtol: float = 1e-4
    double: bool = False


def with_training(document: Document, **settings: Any) -> Document:
    return replace(document, training=TrainingSettings(**settings))


def scheduled(*kinds: str | Node) -> Document:
    """Schedules in a chain behind Adam."""
    nodes = {f"schedule{index}": kind for index, kind in enumerate(kinds)}
    names = ["adam", *nodes]
    wires = [f"{before}.optimizer -> {after}.optimizer" for before, after in zip(names, nodes, strict=False)]
    return digits(FLAT, wires=wires, **nodes)


def two_optimizers() -> Document:
    """One optimizer for the first layer, another for the last."""
    made = digits(
        FLAT,
        sgd=Node("optim.SGD", {"lr": 0.05, "momentum": 0.9}, trains=("logits",)),
        wires=["cross_entropy.loss -> sgd.loss"],
    )
    return changed(made, "adam", trains=("hidden",))


def initialized() -> Document:
    weights = {"out_features": 16, "weight_init": "kaiming_normal", "bias_init": 0.1}
    return digits({**FLAT, "hidden": Node("nn.Linear", weights)})


def measured() -> Document:
    """All metrics of classes, in two epochs."""
    kinds = ("Accuracy", "TopKAccuracy", "Precision", "Recall", "F1", "ConfusionMatrix", "Perplexity")
    made = {f"metric{index}": f"metrics.{kind}" for index, kind in enumerate(kinds)}
    made["weighted"] = Node("metrics.F1", {"average": "weighted"})
    made["micro"] = Node("metrics.Precision", {"average": "micro"})
    wires = [
        f"{source} -> {name}.{port}"
        for name in made
        for source, port in (("logits.output", "input"), ("batches.target", "target"))
    ]
    return digits(FLAT, wires=wires, **made)


def binary() -> Document:
    """Two classes: metrics of scores."""
    kinds = ("BinaryAccuracy", "AUC", "F1", "R2", "MeanAbsoluteError", "RootMeanSquaredError")
    nodes: dict[str, str | Node] = {
        "moons": Node("data.Moons", {"samples": 200}),
        "numbers": Node("transforms.OneHot", {"size": 2, "on": "targets"}),
        "batches": Node("data.Batches", {"batch_size": 20}),
        "hidden": HIDDEN,
        "tanh": "nn.Tanh",
        "scores": Node("nn.Linear", {"out_features": 2}),
        "loss": "nn.BCEWithLogitsLoss",
        "adam": "optim.Adam",
        **{f"metric{index}": f"metrics.{kind}" for index, kind in enumerate(kinds) if kind != "F1"},
    }
    wires = [
        "moons.samples -> numbers.samples",
        "numbers.samples -> batches.samples",
        "batches.input -> hidden.input",
        "hidden.output -> tanh.input",
        "tanh.output -> scores.input",
        "scores.output -> loss.input",
        "batches.target -> loss.target",
        "loss.loss -> adam.loss",
        *(f"scores.output -> {name}.input" for name in nodes if name.startswith("metric")),
        *(f"batches.target -> {name}.target" for name in nodes if name.startswith("metric")),
    ]
    return document(nodes, wires)


def sequences() -> Document:
    """Masks, positions, constants, a running average, and operations of each syntax."""
    nodes: dict[str, str | Node] = {
        "text": Node("data.Shakespeare", {"length": 12}),
        "batches": Node("data.Batches", {"batch_size": 16}),
        "tokens": Node("nn.Embedding", {"embedding_dim": 8, "num_embeddings": 62}),
        "waves": "nn.SinusoidalPositions",
        "padding": Node("nn.PaddingMask", {"padding_idx": 3}),
        "causal": "nn.CausalMask",
        "attention": Node("nn.MultiheadAttention", {"num_heads": 2, "batch_first": True}),
        "average": "nn.RunningAverage",
        "centered": "ops.sub",
        "scale": Node("nn.ConstantTensor", {"size": [8], "values": 1.5}),
        "bias": Node("nn.LearnedTensor", {"size": [8]}),
        "mixed": Node("studio.Formula", {"expression": "x * y + tanh(z)"}),
        "scores": Node("nn.Linear", {"out_features": 62}),
        "classes_first": Node("ops.transpose", {"dim0": 1, "dim1": 2}),
        "cross_entropy": "nn.CrossEntropyLoss",
        "adam": "optim.Adam",
    }
    wires = [
        "text.samples -> batches.samples",
        "batches.input -> tokens.input",
        "batches.input -> padding.input",
        "tokens.output -> waves.input",
        "tokens.output -> causal.input",
        "waves.output -> attention.query",
        "waves.output -> attention.key",
        "waves.output -> attention.value",
        "causal.output -> attention.attn_mask",
        "attention.output -> average.input",
        "attention.output -> centered.x",
        "average.output -> centered.y",
        "centered.output -> mixed.x",
        "scale.output -> mixed.y",
        "bias.output -> mixed.z",
        "mixed.output -> scores.input",
        "scores.output -> classes_first.x",
        "classes_first.output -> cross_entropy.input",
        "batches.target -> cross_entropy.target",
        "cross_entropy.loss -> adam.loss",
    ]
    return document(nodes, wires)


def recomputed(*names: str) -> Document:
    layers: dict[str, str | Node] = {**FLAT, "norm": "nn.BatchNorm1d" if "norm" in names else "nn.LayerNorm"}
    order = ["flatten", "hidden", "norm", "relu", "logits"]
    return edits.set_flag(digits({name: layers[name] for name in order}), ["hidden", "norm", "relu"], recomputed=True)


def python_nodes() -> Document:
    made = digits(
        {
            "flatten": "nn.Flatten",
            "gate": Node(PYTHON, {"source": GATE, "width": 16}),
            "scaled": Node(PYTHON, {"source": SCALE, "factor": 0.5}),
            "logits": LOGITS,
        }
    )
    return replace(made, wires=tuple(x_port(each) for each in made.wires))


def x_port(wire: Wire) -> Wire:
    """The inputs of the Python nodes are named x."""
    return Wire(wire.source, Endpoint(wire.target.node, "x")) if wire.target.node in ("gate", "scaled") else wire


CASES: dict[str, Case] = {
    "mlp": Case(mlp),
    "two inputs": Case(two_inputs),
    "two losses of two loaders": Case(two_losses),
    "shared weights": Case(siamese),
    "tied matrix": Case(language_model),
    "frozen layer": Case(lambda: changed(digits(FLAT), "hidden", frozen=True)),
    "two optimizers": Case(two_optimizers),
    "initial weights": Case(initialized),
    "warmup by steps": Case(
        lambda: scheduled(
            Node("lr_scheduler.LinearLR", {"per": "step", "total_iters": 4}),
            Node("lr_scheduler.CosineAnnealingLR", {"per": "step", "T_max": 30}),
        )
    ),
    "schedules by epochs": Case(lambda: scheduled(Node("lr_scheduler.StepLR", {"step_size": 1, "gamma": 0.5}))),
    "plateau": Case(lambda: scheduled(Node("lr_scheduler.ReduceLROnPlateau", {"patience": 0, "threshold": 0.9}))),
    "one cycle": Case(lambda: scheduled(Node("lr_scheduler.OneCycleLR", {"max_lr": 0.02}))),
    "accumulation and clipping": Case(
        lambda: with_training(mlp(), epochs=4, accumulate=2, clip_norm=0.5, clip_value=0.05)
    ),
    "accumulation with two optimizers": Case(lambda: with_training(two_optimizers(), epochs=4, accumulate=3)),
    "mixed precision": Case(lambda: with_training(mlp(), epochs=4, mixed_precision="bfloat16"), rtol=0.02),
    "early stopping": Case(lambda: with_training(mlp(), epochs=4, patience=0, min_change=10.0)),
    "rare validation": Case(lambda: with_training(mlp(), epochs=4, validate_epochs=3, validate_steps=2)),
    "no validation": Case(lambda: with_training(mlp(), epochs=4, validate_epochs=0)),
    "line search": Case(
        lambda: changed(mlp(), "adam", type="optim.LBFGS", params={"max_iter": 4, "line_search_fn": "strong_wolfe"}),
        double=True,
    ),
    "carried state": Case(cell),
    "recurrent layer with carried state": Case(layer),
    "recomputed": Case(recomputed),
    "recomputed batch norm": Case(lambda: recomputed("norm"), double=True),
    "sequences": Case(sequences),
    "metrics of classes": Case(measured),
    "metrics of scores": Case(binary),
    "Python nodes": Case(python_nodes),
}
"""Float32 within 1e-4, except: bfloat16, whose autocast rounds other intermediate results than PyTorch's; and the line
search in float64, because a rounding difference changes the number of its evaluations."""


@pytest.mark.parametrize("name", CASES)
def test_a_graph_trains_alike(name: str, tmp_path: Path) -> None:
    case = CASES[name]
    document = case.make()
    epochs = 4
    folder = export(document, tmp_path / "package")
    canvas, _, batches, validation = train_canvas(document, 5, epochs, double=case.double)
    with imported(folder) as train:
        package = train_package(train, folder, batches, validation, epochs)
    assert canvas.losses
    assert_same(canvas, package, rtol=case.rtol)


def test_the_program_runs_and_resumes(tmp_path: Path) -> None:
    """`python train.py` in a process of its own, which finds neither Gradwire nor the tests."""
    folder = export(mlp(), tmp_path / "package")
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "PYTHONPATH": ""}
    for arguments in (["--epochs", "1"], ["--epochs", "2", "--resume"]):
        command = [sys.executable, "train.py", "--device", "cpu", *arguments]
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, env=environment, check=False)
        assert done.returncode == 0, done.stderr
    history = json.loads((folder / "checkpoints" / "history.json").read_text(encoding="utf-8"))
    assert [each["epoch"] for each in history] == [1, 2]
    assert history[1]["val_loss"] < history[0]["val_loss"]
    files = {path.name for path in (folder / "checkpoints").iterdir()}
    assert files == {"best.safetensors", "history.json", "last.pt", "last.safetensors"}


def test_the_samples_of_a_package_are_those_of_the_canvas(tmp_path: Path) -> None:
    """Inputs and targets of the validation loader, in order, after all transforms."""
    document = two_losses()
    folder = export(document, tmp_path / "package")
    _, task, _, _ = train_canvas(document, 1, 1)
    loaders = task.data()
    with imported(folder) as train:
        _, validation = train.data.loaders()
        for mine, theirs in zip(validation, loaders.validation, strict=True):
            for part, other in zip(mine, theirs, strict=True):
                np.testing.assert_array_equal(part.numpy(), other.numpy())

"""What usually follows a node: by convention, shape, and the wires of projects."""

from __future__ import annotations

import pytest

from engine.dtypes import float32, int64
from engine.shape import Dim, Spec
from studio.document.model import Document, Node
from studio.lowering.analysis.successors import Successors, fits_dimensions
from studio.nodes import catalogue
from tests.studio.lowering.graphs import wire

N = Dim("N")
IMAGES, SEQUENCES, ROWS = (Spec((N, *sizes), float32) for sizes in ((3, 32, 32), (20, 8), (64,)))
INDICES, CLASSES = Spec((N, 64), int64), Spec((N,), int64)


def first(key: str, port: str, spec: Spec | None, *documents: Document, count: int = 3) -> list[str]:
    weights = Successors(documents).weights(catalogue()[key], port, "output", spec)
    assert all(0 < weight <= 1 for weight in weights.values())
    return sorted(weights, key=lambda each: -weights[each])[:count]


@pytest.mark.parametrize(
    ("key", "port", "spec", "follows"),
    [
        ("data.Batches", "input", IMAGES, "nn.Conv2d"),
        ("data.Batches", "input", ROWS, "nn.Linear"),
        ("data.Batches", "input", SEQUENCES, "nn.LSTM"),
        ("data.Batches", "input", INDICES, "nn.Embedding"),
        ("data.Batches", "target", CLASSES, "nn.CrossEntropyLoss"),
        ("nn.Conv2d", "output", IMAGES, "nn.BatchNorm2d"),
        ("nn.Conv1d", "output", SEQUENCES, "nn.BatchNorm1d"),
        ("nn.BatchNorm2d", "output", IMAGES, "nn.ReLU"),
        ("nn.Flatten", "output", ROWS, "nn.Linear"),
        ("nn.Linear", "output", ROWS, "nn.ReLU"),
        ("nn.CrossEntropyLoss", "loss", None, "optim.Adam"),
        ("optim.Adam", "optimizer", None, "lr_scheduler.CosineAnnealingLR"),
        ("data.Digits", "samples", None, "transforms.Normalize"),
        ("transforms.Normalize", "samples", None, "data.Batches"),
    ],
)
def test_conventions(key: str, port: str, spec: Spec | None, follows: str) -> None:
    assert follows in first(key, port, spec, count=1)


def test_every_convention_is_a_node_type() -> None:
    for kind in catalogue():
        for port in kind.outputs:
            for spec in (None, IMAGES, SEQUENCES, ROWS):
                for key in Successors(()).weights(kind, port.name, "output", spec):
                    assert key in catalogue() or key.startswith("block."), (kind.key, key)


def test_wires_of_the_project_count() -> None:
    nodes = {"a": Node("nn.Conv2d"), **{f"n{index}": Node("nn.GroupNorm") for index in range(9)}}
    document = Document(nodes, tuple(wire(f"a.output -> n{index}.input") for index in range(9)))
    assert first("nn.Conv2d", "output", IMAGES, document)[0] == "nn.GroupNorm"
    before = Successors([document]).weights(catalogue()["nn.GroupNorm"], "input", "input")
    assert max(before, key=lambda key: before[key]) == "nn.Conv2d"


def test_types_of_other_dimensions_do_not_fit() -> None:
    assert fits_dimensions("nn.Conv2d", IMAGES)
    assert not fits_dimensions("nn.Conv1d", IMAGES)
    assert fits_dimensions("nn.BatchNorm1d", ROWS)
    assert fits_dimensions("nn.ReLU", IMAGES)
    assert fits_dimensions("nn.Conv1d", None)

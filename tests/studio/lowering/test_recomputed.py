"""Layers whose tensors are computed again in the backward pass: the same numbers in less memory."""

from __future__ import annotations

import tracemalloc
from typing import Any

import numpy as np
import pytest
from msgspec.structs import replace

from engine import fit
from studio.document import edits
from studio.document.files.project_format import dumps, loads
from studio.document.model import Document, Node
from studio.lowering import lower
from studio.lowering.check import check
from studio.nodes import catalogue
from tests.studio.lowering.graphs import codes, digits

WIDE: dict[str, str | Node] = {
    "flatten": "nn.Flatten",
    "a": Node("nn.Linear", {"out_features": 64, "bias": False}),
    "norm": "nn.BatchNorm1d",
    "gelu": "nn.GELU",
    "dropout": "nn.Dropout",
    "b": Node("nn.Linear", {"out_features": 64}),
    "tanh": "nn.Tanh",
    "logits": Node("nn.Linear", {"out_features": 10}),
}
BLOCK = ["a", "norm", "gelu", "dropout", "b", "tanh"]


def network(*recomputed: str) -> Document:
    return edits.set_flag(digits(WIDE), recomputed, recomputed=True)


def trained(document: Document, *, compile: bool = False) -> tuple[list[float], dict[str, Any]]:
    """Losses of some steps, and the weights and running averages after them."""
    task = lower(check(document, catalogue())).build(seed=1)
    events = fit.fit(task, steps=12, compile=compile)
    losses = [event.loss for event in events if isinstance(event, fit.Step)]
    return losses, {name: value.numpy() for name, value in task.model.state_dict().items()}


def test_consecutive_layers_form_one_block() -> None:
    source = lower(check(network(*BLOCK), catalogue())).source
    assert "tanh = checkpoint.checkpoint(self.a_block, flatten)" in source
    assert "def a_block(self, flatten):" in source
    assert "from engine.utils import checkpoint" in source
    assert source.count("checkpoint.checkpoint(") == 1
    two = lower(check(network("a", "norm", "b"), catalogue())).source
    assert "norm = checkpoint.checkpoint(self.a_block, flatten)" in two
    assert "b = checkpoint.checkpoint(self.b_block, dropout)" in two
    assert "checkpoint" not in lower(check(network(), catalogue())).source


@pytest.mark.parametrize("compile", [False, True])
def test_checkpointing_keeps_results(compile: bool) -> None:
    """Dropout draws what it drew, and batch norm counts a batch once."""
    losses, weights = trained(network(), compile=compile)
    again, others = trained(network(*BLOCK), compile=compile)
    np.testing.assert_allclose(again, losses, rtol=1e-5)
    for name, value in weights.items():
        np.testing.assert_allclose(others[name], value, rtol=1e-3, atol=1e-6, err_msg=name)
    assert weights["norm.num_batches_tracked"] == others["norm.num_batches_tracked"] == 12


def test_eager_results_are_bit_identical() -> None:
    losses, weights = trained(network())
    again, others = trained(network(*BLOCK))
    assert again == losses
    for name, value in weights.items():
        np.testing.assert_array_equal(others[name], value, err_msg=name)


def test_checkpointing_reduces_memory() -> None:
    def held(document: Document) -> int:
        task = lower(check(edits.set_param(document, "batches", "batch_size", 512), catalogue())).build()
        batch = next(iter(task.setup().train))
        task.losses(batch)
        tracemalloc.start()
        losses = task.losses(batch)
        size = tracemalloc.get_traced_memory()[0]
        tracemalloc.stop()
        assert losses
        return size

    assert held(network(*BLOCK)) < 0.5 * held(network())


def test_block_with_an_intermediate_output() -> None:
    layers: dict[str, str | Node] = {
        "flatten": "nn.Flatten",
        "a": Node("nn.Linear", {"out_features": 10}),
        "tanh": "nn.Tanh",
        "logits": Node("nn.Linear", {"out_features": 10}),
    }
    sums = ["a.output -> sum.x", "logits.output -> sum.y", "sum.output -> cross_entropy.input"]
    document = digits(layers, last="logits", sum="ops.add", wires=sums)
    kept = tuple(wire for wire in document.wires if str(wire) != "logits.output -> cross_entropy.input")
    document = replace(document, wires=kept)
    recomputed = edits.set_flag(document, ["a", "tanh"], recomputed=True)
    assert "a, tanh = checkpoint.checkpoint(self.a_block, flatten)" in lower(check(recomputed, catalogue())).source
    assert trained(recomputed)[0] == trained(document)[0]


def test_files_keep_the_flag() -> None:
    document = network("a")
    assert loads(dumps(document)) == document
    assert '"recomputed": true' in dumps(document)
    assert codes(document) == []


def test_block_names_are_unique() -> None:
    document = edits.rename(network("a"), "gelu", "a_block")
    assert "self.a_block_, flatten" in lower(check(document, catalogue())).source
    assert len(trained(document)[0]) == 12

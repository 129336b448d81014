"""Frozen layers: their weights do not change in training."""

from __future__ import annotations

import numpy as np
import pytest

from engine import fit
from studio.document import edits
from studio.document.model import Document, Node
from studio.lowering import lower
from studio.lowering.check import check
from studio.nodes import catalogue
from tests.studio.lowering.graphs import digits


def network() -> Document:
    return digits(
        {
            "flatten": "nn.Flatten",
            "hidden": Node("nn.Linear", {"out_features": 16}),
            "norm": "nn.BatchNorm1d",
            "relu": "nn.ReLU",
            "logits": Node("nn.Linear", {"out_features": 10}),
        }
    )


@pytest.mark.parametrize("compile", [False, True])
@pytest.mark.parametrize("optimizer", ["optim.Adam", "optim.AdamW"])
def test_weights_of_frozen_layers_keep_every_bit(compile: bool, optimizer: str) -> None:
    """Also where an optimizer decays weights."""
    frozen = edits.retype(network(), "adam", optimizer, {"weight_decay": 0.1})
    frozen = edits.set_flag(frozen, ["hidden", "norm"], frozen=True)
    task = lower(check(frozen, catalogue())).build()
    task.setup()
    before = {name: value.numpy().copy() for name, value in task.model.state_dict().items()}
    [*_] = fit.fit(task, epochs=1, compile=compile)
    after = {name: value.numpy() for name, value in task.model.state_dict().items()}
    changed = {name for name, value in after.items() if not np.array_equal(value, before[name])}
    assert changed == {
        "logits.weight",
        "logits.bias",
        "norm.running_mean",  # what describes the data goes on
        "norm.running_var",
        "norm.num_batches_tracked",
    }

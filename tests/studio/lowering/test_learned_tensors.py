"""Learned parameters and constants as nodes: a vision transformer's class token and positions, a temperature."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from engine import fit
from studio.document import edits
from studio.document.model import Document, Json, Node
from studio.lowering import lower
from studio.lowering.check import check
from studio.nodes import catalogue
from tests.studio.lowering.graphs import codes, digits, report

TOKENS: dict[str, str | Node] = {
    "rows": Node("nn.Flatten", {"end_dim": 2}),
    "tokens": Node("nn.Linear", {"out_features": 16}),
}
END: dict[str, str | Node] = {
    "encoder": Node("nn.GRU", {"hidden_size": 16}),
    "flatten": "nn.Flatten",
    "logits": Node("nn.Linear", {"out_features": 10}),
}


def short() -> Document:
    """With a node that prepends the token and one that adds the positions."""
    return digits({**TOKENS, "class_token": "nn.ClassToken", "positions": "nn.LearnedPositions", **END})


def long() -> Document:
    """With learned parameters that are concatenated and added, and scores divided by a temperature."""
    scale: dict[str, str | Node] = {"calibrated": "ops.mul"}
    return digits(
        {**TOKENS},
        last="calibrated",
        class_token=Node("nn.LearnedTensor", {"size": [1, 16]}),
        joined=Node("ops.cat", {"dim": 1}),
        positions=Node("nn.LearnedTensor", {"size": [9, 16]}),
        added="ops.add",
        **END,
        temperature=Node("nn.LearnedTensor", {"size": [1], "initialization": "ones"}),
        **scale,
        wires=[
            "tokens.output -> class_token.batch",
            "class_token.output -> joined.a",
            "tokens.output -> joined.b",
            "joined.output -> added.x",
            "positions.output -> added.y",
            "added.output -> encoder.input",
            "encoder.output -> flatten.input",
            "flatten.output -> logits.input",
            "logits.output -> calibrated.x",
            "temperature.output -> calibrated.y",
        ],
    )


def trained(document: Document, *, compile: bool) -> dict[str, Any]:
    task = lower(check(document, catalogue())).build(seed=3)
    [*_] = fit.fit(task, steps=4, compile=compile)
    return {name: value.numpy() for name, value in task.model.state_dict().items()}


@pytest.mark.parametrize("document", [short(), long()], ids=["layers", "parameters"])
def test_learned_tensors_are_checked_counted_and_saved_under_their_names(document: Document) -> None:
    assert codes(document) == []
    found = report(document)
    assert found.nodes["class_token"].parameters == 16
    assert found.nodes["positions"].parameters == 9 * 16
    assert {"class_token", "positions"} <= set(found.trained["adam"])
    wires = {str(wire): label for wire, label in found.wires.items() if "encoder.output" in str(wire)}
    assert wires == {"encoder.output -> flatten.input": "N×9×16 float32"}
    assert {"class_token.weight", "positions.weight"} <= trained(document, compile=False).keys()


def test_the_output_of_a_learned_tensor_has_a_batch_only_if_one_is_wired() -> None:
    labels = {str(wire): label for wire, label in report(long()).wires.items()}
    assert labels["positions.output -> added.y"] == "9×16 float32"
    assert labels["class_token.output -> joined.a"] == "N×1×16 float32"


@pytest.mark.parametrize("document", [short(), long()], ids=["layers", "parameters"])
def test_compiled_steps_match_eager_steps(document: Document) -> None:
    eager, compiled = trained(document, compile=False), trained(document, compile=True)
    assert eager.keys() == compiled.keys()
    for name, value in eager.items():
        np.testing.assert_allclose(compiled[name], value, rtol=1e-4, atol=1e-6, err_msg=name)


def test_frozen_tensors_and_constants_keep_every_bit() -> None:
    document = edits.set_flag(long(), ["positions"], frozen=True)
    values: Json = [number / 16 for number in range(16)]
    document = edits.retype(document, "class_token", "nn.ConstantTensor", {"size": [1, 16], "values": values})
    task = lower(check(document, catalogue())).build(seed=3)
    task.setup()
    before = {name: value.numpy().copy() for name, value in task.model.state_dict().items()}
    [*_] = fit.fit(task, steps=3, compile=True)
    same = {name for name, value in task.model.state_dict().items() if np.array_equal(value.numpy(), before[name])}
    assert same == {"class_token.weight", "positions.weight"}
    np.testing.assert_allclose(before["class_token.weight"][0], np.array(values, np.float32))


def test_the_code_makes_the_tensor_and_calls_it_without_a_batch() -> None:
    source = lower(check(long(), catalogue())).source
    assert "self.temperature = nn.LearnedTensor(size=(1,), initialization='ones')" in source
    assert "temperature = self.temperature()" in source
    assert "class_token = self.class_token(tokens)" in source


def test_a_learned_tensor_without_readers_is_reported() -> None:
    document = edits.add(short(), "query", Node("nn.LearnedTensor", {"size": [4]}))
    assert [problem.node for problem in report(document).problems] == ["query"]

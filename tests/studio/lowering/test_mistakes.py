from __future__ import annotations

import pytest

from studio.document import edits
from studio.document.model import Document, Node
from studio.nodes.catalogue import catalogue
from studio.nodes.types import Role
from tests.studio.lowering.graphs import changed, codes, digits, fixed, mlp, only, report, wire

FLATTEN = {"flatten": "nn.Flatten"}
LOGITS = {"logits": Node("nn.Linear", {"out_features": 10})}

MISTAKES: dict[str, Document] = {
    "squashed-scores": digits({**FLATTEN, **LOGITS, "softmax": "nn.Softmax"}),
    "relu-on-scores": digits({**FLATTEN, **LOGITS, "relu": "nn.ReLU"}),
    "dropout-on-scores": digits({**FLATTEN, **LOGITS, "dropout": "nn.Dropout"}),
    "no-activation": digits(
        {**FLATTEN, "hidden": Node("nn.Linear", {"out_features": 32}), "drop": "nn.Dropout", **LOGITS}
    ),
    "too-many-classes": digits({**FLATTEN, "logits": Node("nn.Linear", {"out_features": 12})}),
    "too-few-classes": digits({**FLATTEN, "logits": Node("nn.Linear", {"out_features": 2})}),
    "learning-rate-too-high": changed(mlp(), "adam", params={"lr": 0.5}),
    "not-shuffled": changed(mlp(), "batches", params={"shuffle": False}),
    "batch-norm-single": digits(
        {**FLATTEN, "norm": "nn.BatchNorm1d", **LOGITS}, batches=Node("data.Batches", {"batch_size": 1})
    ),
    "sequence-along-batch": digits(
        {
            "rows": Node("nn.Flatten", {"end_dim": 2}),
            "lstm": Node("nn.LSTM", {"hidden_size": 4, "batch_first": False}),
            **FLATTEN,
            **LOGITS,
        }
    ),
    "in-place-shared": digits(
        {**FLATTEN, "hidden": Node("nn.Linear", {"out_features": 32}), "relu": Node("nn.ReLU", {"inplace": True})},
        last="logits",
        add="ops.add",
        **LOGITS,
        wires=["hidden.output -> add.x", "relu.output -> add.y", "add.output -> logits.input"],
    ),
}


@pytest.mark.parametrize("code", MISTAKES)
def test_each_mistake_is_reported_once_and_its_fix_leaves_none(code: str) -> None:
    problem = only(MISTAKES[code])
    assert problem.code == code
    assert report(fixed(MISTAKES[code], problem)).problems == ()


def test_a_fixed_order_is_accepted_if_one_batch_has_all_samples() -> None:
    whole = changed(mlp(), "batches", params={"shuffle": False, "batch_size": 1797})
    assert codes(changed(whole, "adam", type="optim.LBFGS", params={"line_search_fn": "strong_wolfe"})) == []
    assert codes(changed(whole, "batches", params={"shuffle": False, "batch_size": 1000})) == ["not-shuffled"]


def test_a_depthwise_and_a_pointwise_convolution_need_no_activation_between() -> None:
    def pair(groups: int) -> Document:
        depthwise = Node("nn.Conv2d", {"out_channels": 4, "kernel_size": 3, "groups": groups})
        first = Node("nn.Conv2d", {"out_channels": 4, "kernel_size": 1})
        pointwise = Node("nn.Conv2d", {"out_channels": 8, "kernel_size": 1})
        chain = {"first": first, "relu": "nn.ReLU", "depthwise": depthwise, "pointwise": pointwise, "tanh": "nn.Tanh"}
        return digits({**chain, **FLATTEN, **LOGITS})

    assert codes(pair(4)) == []
    assert codes(pair(1)) == ["no-activation"]


def test_a_linear_layer_that_several_layers_read_needs_no_activation() -> None:
    chain = {**FLATTEN, "embed": Node("nn.Linear", {"out_features": 8}), "left": Node("nn.Linear", {"out_features": 4})}
    document = digits({**chain, "relu": "nn.ReLU", **LOGITS})
    assert codes(document) == ["no-activation"]
    document = edits.add_all(document, {"right": Node("nn.Linear", {"out_features": 4}), "add": Node("ops.add")})
    wires = ["embed.output -> right.input", "left.output -> add.x", "right.output -> add.y", "add.output -> relu.input"]
    for each in wires:
        document = edits.connect(document, wire(each))
    assert codes(document) == []


def test_joined_tensors_are_no_linear_map_of_one_layer() -> None:
    chain = {**FLATTEN, "fc": Node("nn.Linear", {"out_features": 8}), **LOGITS}
    document = edits.disconnect(digits(chain), [wire("fc.output -> logits.input")])
    document = edits.add(document, "join", Node("ops.cat", {"dim": 1}))
    for each in ("fc.output -> join.a", "flatten.output -> join.b", "join.output -> logits.input"):
        document = edits.connect(document, wire(each))
    assert codes(document) == []


def test_message_contains_the_values() -> None:
    assert only(MISTAKES["too-many-classes"]).message == (
        "The data has 10 classes but logits outputs scores for 12; the additional ones are never a target. "
        "Set out_features of logits to 10."
    )
    assert "learning rate of 0.5" in only(MISTAKES["learning-rate-too-high"]).message
    assert only(MISTAKES["too-few-classes"]).severity == "error"


def test_the_usual_rate_of_an_optimizer_is_accepted() -> None:
    for kind in catalogue():
        if kind.role is Role.OPTIMIZER:
            assert "learning-rate-too-high" not in codes(changed(mlp(), "adam", type=kind.key, params={}))
    assert "learning-rate-too-high" in codes(changed(mlp(), "adam", type="optim.Adadelta", params={"lr": 5.0}))


def test_sigmoid_before_a_loss_with_sigmoid() -> None:
    document = digits({**FLATTEN, "score": Node("nn.Linear", {"out_features": 1}), "sigmoid": "nn.Sigmoid"})
    document = changed(document, "cross_entropy", type="nn.BCEWithLogitsLoss")
    assert "squashed-scores" in codes(document)


def test_muted_activation_is_ignored() -> None:
    assert codes(changed(mlp(), "relu", muted=True)) == ["no-activation"]
    assert report(changed(MISTAKES["squashed-scores"], "softmax", muted=True)).problems == ()


def test_class_count_is_not_checked_without_a_classification_loss() -> None:
    regression = edits.remove(mlp(), ["cross_entropy"])
    assert "too-many-classes" not in codes(regression)

from __future__ import annotations

import pytest

from studio.document import edits
from studio.document.model import Document, Node
from studio.nodes.catalogue import catalogue
from studio.nodes.types import Role
from tests.studio.lowering.graphs import changed, codes, digits, fixed, mlp, only, report

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
    "learning-rate-high": changed(mlp(), "adam", params={"lr": 0.5}),
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


def test_message_contains_the_values() -> None:
    assert only(MISTAKES["too-many-classes"]).message == (
        "The data has 10 classes but logits outputs scores for 12; the additional ones are never a target. "
        "Set out_features of logits to 10."
    )
    assert "learning rate of 0.5" in only(MISTAKES["learning-rate-high"]).message
    assert only(MISTAKES["too-few-classes"]).severity == "error"


def test_the_usual_rate_of_an_optimizer_is_accepted() -> None:
    for kind in catalogue():
        if kind.role is Role.OPTIMIZER:
            assert "learning-rate-high" not in codes(changed(mlp(), "adam", type=kind.key, params={}))
    assert "learning-rate-high" in codes(changed(mlp(), "adam", type="optim.Adadelta", params={"lr": 5.0}))


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

from __future__ import annotations

from studio.document import edits
from studio.document.model import Node
from tests.studio.lowering.graphs import changed, coded, codes, digits, fixed, mlp, only, report, wire, without

TWO_HEADS = {
    "flatten": "nn.Flatten",
    "hidden": Node("nn.Linear", {"out_features": 32}),
    "relu": "nn.ReLU",
    "logits": Node("nn.Linear", {"out_features": 10}),
}


def test_without_an_optimizer_one_can_be_added() -> None:
    broken = edits.remove(mlp(), ["adam"])
    problem = coded(broken, "no-optimizer")
    assert report(fixed(broken, problem)).problems == ()


def test_an_optimizer_without_a_loss_can_be_wired() -> None:
    broken = without(mlp(), "cross_entropy.loss -> adam.loss")
    problem = coded(broken, "missing-wire")
    assert (problem.severity, problem.node) == ("error", "adam")
    assert fixed(broken, problem) == mlp()


def test_missing_parts_are_named() -> None:
    assert "no-loss" in codes(edits.remove(mlp(), ["cross_entropy"]))
    assert "no-loader" in codes(edits.remove(mlp(), ["batches"]))
    assert "no-data" in codes(edits.remove(mlp(), ["digits"]))


def test_a_network_is_completed_by_fixes_alone() -> None:
    """From a data source with a transform, and layers without a loss."""
    broken = edits.remove(mlp(), ["batches"])
    assert fixed(broken, coded(broken, "no-loader")).nodes["batches"].type == "data.Batches"
    made = edits.remove(mlp(), ["cross_entropy"])
    assert coded(made, "no-loss").fix is not None
    for _ in range(3):
        offered = next((problem for problem in report(made).problems if problem.fix is not None), None)
        made = made if offered is None else fixed(made, offered)
    assert report(made).problems == ()
    assert sorted(node.type for node in made.nodes.values()) == sorted(node.type for node in mlp().nodes.values())


def test_targets_of_a_second_loader_belong_to_other_samples() -> None:
    broken = edits.add(mlp(), "other", Node("data.Batches"))
    broken = edits.connect(broken, wire("scale.samples -> other.samples"))
    broken = edits.connect(broken, wire("other.target -> cross_entropy.target"))
    problem = coded(broken, "several-loaders")
    assert problem.node == "cross_entropy" and "targets from other" in problem.message
    assert "several-loaders" not in codes(fixed(broken, problem))


def test_a_loss_per_sample_cannot_be_minimized() -> None:
    broken = edits.set_param(mlp(), "cross_entropy", "reduction", "none")
    problem = coded(broken, "loss-not-scalar")
    assert problem.message.startswith("cross_entropy outputs N float32 but an optimizer minimizes a single value.")
    assert report(fixed(broken, problem)).problems == ()


def test_when_everything_is_frozen_nothing_is_trained() -> None:
    broken = changed(changed(mlp(), "hidden", frozen=True), "logits", frozen=True)
    problem = coded(broken, "nothing-to-train")
    assert problem.severity == "error"
    assert fixed(broken, problem) == mlp()


def test_without_parameters_nothing_is_trained() -> None:
    assert "nothing-to-train" in codes(digits({"flatten": "nn.Flatten", "relu": "nn.Tanh"}))


def test_followed_metric_must_exist() -> None:
    broken = edits.set_training(mlp(), follow="val_acuracy")
    problem = only(broken)
    assert problem.code == "unknown-figure" and "val_loss" in problem.message
    assert codes(fixed(broken, problem)) == []
    metric = edits.add(mlp(), "accuracy", Node("metrics.Accuracy"))
    metric = edits.connect(metric, wire("logits.output -> accuracy.input"))
    metric = edits.connect(metric, wire("batches.target -> accuracy.target"))
    assert codes(edits.set_training(metric, follow="val_accuracy")) == []
    assert "Select them by val_accuracy." in only(edits.set_training(metric, follow="val_acuracy")).message


def test_a_layer_belongs_to_one_optimizer() -> None:
    broken = edits.add(mlp(), "sgd", Node("optim.SGD"))
    broken = edits.connect(broken, wire("cross_entropy.loss -> sgd.loss"))
    problem = coded(broken, "shared-layers")
    assert problem.message == (
        "sgd and adam both train hidden. Choose the layers of each optimizer in the inspector, "
        "or add the losses with Combine losses and connect the sum to one optimizer."
    )


def test_two_optimizers_may_train_different_layers() -> None:
    both = digits(
        TWO_HEADS,
        other=Node("nn.Linear", {"out_features": 10}),
        other_loss="nn.CrossEntropyLoss",
        sgd="optim.SGD",
        wires=[
            "flatten.output -> other.input",
            "other.output -> other_loss.input",
            "batches.target -> other_loss.target",
            "other_loss.loss -> sgd.loss",
        ],
    )
    assert report(both).problems == ()

from __future__ import annotations

from studio.document.model import Node
from tests.studio.lowering.graphs import changed, coded, digits, fixed, mlp, report, wire

CONVOLUTIONS: dict[str, str | Node] = {
    "conv1": Node("nn.Conv2d", {"out_channels": 4, "kernel_size": 3}),
    "relu1": "nn.ReLU",
    "pool": Node("nn.MaxPool2d", {"kernel_size": 2}),
    "conv2": Node("nn.Conv2d", {"out_channels": 8, "kernel_size": 3}),
    "relu2": "nn.ReLU",
    "flatten": "nn.Flatten",
    "logits": Node("nn.Linear", {"out_features": 10}),
}


def test_wires_carry_shapes_with_a_symbolic_batch() -> None:
    found = report(digits(CONVOLUTIONS)).wires
    assert found[wire("digits.samples -> scale.samples")] == "1×8×8 uint8 → scalar int64"
    assert found[wire("batches.input -> conv1.input")] == "N×1×8×8 float32"
    assert found[wire("pool.output -> conv2.input")] == "N×4×3×3 float32"
    assert found[wire("flatten.output -> logits.input")] == "N×8 float32"
    assert found[wire("batches.target -> cross_entropy.target")] == "N int64"
    assert found[wire("cross_entropy.loss -> adam.loss")] == "scalar float32"


def test_nodes_have_statistics() -> None:
    found = report(digits(CONVOLUTIONS))
    conv2 = found.nodes["conv2"]
    assert (conv2.arguments["in_channels"], conv2.inferred) == (4, {"in_channels"})
    assert conv2.parameters == 4 * 8 * 9 + 8
    assert conv2.macs == 4 * 8 * 9  # one position of a 3×3 input
    assert conv2.summary == "4 → 8 · 3×3"
    assert found.parameters == sum(info.parameters for info in found.nodes.values()) == (9 + 1) * 4 + 296 + 90
    assert found.nodes["flatten"].summary == "8×1×1 → 8"
    assert found.nodes["digits"].summary == "1×8×8 · 10 classes"
    assert found.nodes["scale"].summary == "mean 0 · std 16"
    assert found.nodes["adam"].summary == "lr = 0.001"


def test_wrong_explicit_size_names_the_cause() -> None:
    broken = changed(digits(CONVOLUTIONS), "conv2", params={"in_channels": 3, "out_channels": 8, "kernel_size": 3})
    problem = coded(broken, "shape-mismatch")
    # relu1 and pool only pass the channels on
    assert problem.message == "conv2 expects 3 channels but conv1 provides 4. Set in_channels to 4, or leave it empty."
    assert (problem.node, problem.port) == ("conv2", "input")
    assert report(fixed(broken, problem)).problems == ()


def test_size_set_by_the_data_names_the_source() -> None:
    broken = changed(digits(CONVOLUTIONS), "conv1", params={"in_channels": 3, "out_channels": 4, "kernel_size": 3})
    assert coded(broken, "shape-mismatch").message.startswith("conv1 expects 3 channels but digits provides 1.")


def test_layer_with_equal_sizes_is_the_cause() -> None:
    square = digits(
        {
            "flatten": "nn.Flatten",
            "square": Node("nn.Linear", {"out_features": 64}),
            "relu": "nn.ReLU",
            "logits": Node("nn.Linear", {"in_features": 63, "out_features": 10}),
        }
    )
    assert "square provides 64" in coded(square, "shape-mismatch").message


def test_missing_flatten_is_inserted() -> None:
    broken = digits(
        {
            "hidden": Node("nn.Linear", {"out_features": 32}),
            "relu": "nn.ReLU",
            "logits": Node("nn.Linear", {"out_features": 10}),
        }
    )
    problem = coded(broken, "shape-mismatch")
    assert problem.message == (
        "cross_entropy expects one prediction per sample but gets N×1×8×10, because hidden applies to the last "
        "dimension of an unflattened input. Insert Flatten before hidden."
    )
    repaired = fixed(broken, problem)
    assert report(repaired).problems == ()
    assert wire("batches.input -> flatten.input") in repaired.wires


def test_extra_column_is_dropped() -> None:
    broken = digits({"value": Node("nn.Linear", {"out_features": 1})}, digits="data.Moons", scale="transforms.ToFloat")
    broken = changed(broken, "cross_entropy", type="nn.BCEWithLogitsLoss")
    problem = coded(broken, "shape-mismatch")
    assert problem.message.endswith(
        "gets N×1 from value and targets of N, which would broadcast to N×N. Insert Flatten(start_dim=0) before "
        "cross_entropy.input."
    )
    assert report(fixed(broken, problem)).errors == ()


def test_branches_of_different_sizes_name_the_cause() -> None:
    broken = digits(
        {
            "flatten": "nn.Flatten",
            "left": Node("nn.Linear", {"out_features": 32}),
            "relu": "nn.ReLU",
            "logits": Node("nn.Linear", {"out_features": 10}),
        },
        right=Node("nn.Linear", {"out_features": 16}),
        join="ops.add",
        wires=["flatten.output -> right.input", "relu.output -> join.x", "right.output -> join.y"],
    )
    problem = next(
        each for each in report(broken).problems if each.affected == "join" and each.code == "shape-mismatch"
    )
    assert problem.message == (
        "join cannot combine N×32 at join.x with N×16 at join.y, because out_features of left is 32. "
        "Set out_features of left to 16."
    )
    assert problem.node == "left"


def test_a_window_larger_than_its_input_names_the_size_and_a_value_that_fits() -> None:
    broken = changed(digits(CONVOLUTIONS), "conv2", params={"out_channels": 8, "kernel_size": 5})
    problem = coded(broken, "window-too-large")
    assert problem.message.startswith("conv2 needs at least 5×5 values in each channel but gets 3×3 from pool.")
    assert problem.evidence == {"window": [5, 5], "size": [3, 3]}


def test_a_flattened_image_names_the_flatten() -> None:
    broken = digits(
        {
            "flatten": "nn.Flatten",
            "relu": "nn.Tanh",
            "conv": Node("nn.Conv2d", {"out_channels": 8, "kernel_size": 3}),
            "logits": Node("nn.Linear", {"out_features": 10}),
        }
    )
    assert coded(broken, "shape-mismatch").message == (
        "conv expects images but gets N×64, because flatten flattens them (N×1×8×8). Move conv before flatten."
    )


def test_nodes_after_a_problem_are_not_reported() -> None:
    broken = changed(mlp(), "hidden", params={"in_features": 63, "out_features": 32})
    assert [problem.node for problem in report(broken).problems] == ["hidden"]


def test_metric_of_another_kind_is_replaced() -> None:
    broken = digits(
        {"flatten": "nn.Flatten", "logits": Node("nn.Linear", {"out_features": 10})},
        mae="metrics.MeanAbsoluteError",
        wires=["logits.output -> mae.input", "batches.target -> mae.target"],
    )
    problem = coded(broken, "wrong-metric")
    assert problem.message == "mae expects numbers but gets scores of 10 classes. Use Accuracy."
    assert report(fixed(broken, problem)).problems == ()

from __future__ import annotations

from typing import Any

import pytest

from studio.document import edits
from studio.document.model import Node
from studio.lowering import lower
from tests.studio.lowering.graphs import changed, coded, digits, document, fixed, mlp, only, report, wire


def test_missing_parameter_names_the_next_step() -> None:
    problem = only(changed(mlp(), "hidden", params={}))
    assert problem.message == (
        "hidden needs out_features: size of the last dimension of the output (≥ 1). Set it in the inspector."
    )
    assert problem.option == "hidden.out_features=VALUE"


def test_a_missing_folder_is_one_problem_and_names_the_option() -> None:
    folder = changed(mlp(), "digits", type="data.IDX")
    assert only(folder).option == "digits.folder=PATH"


def test_missing_folder_path_is_named() -> None:
    folder = changed(mlp(), "digits", type="data.IDX", params={"folder": "nowhere/at all"})
    problem = only(folder)
    assert (problem.code, problem.node) == ("bad-data", "digits")
    assert "nowhere/at all" in problem.message


def test_an_unknown_parameter_can_be_removed() -> None:
    broken = changed(mlp(), "logits", params={"out_features": 10, "in_feature": 3})
    problem = only(broken)
    assert problem.message == (
        "logits has no parameter 'in_feature'; it has in_features, out_features, bias, weight_init, init_mode, "
        "init_nonlinearity, init_gain, init_std, bias_init. Remove the value. Did you mean in_features?"
    )
    assert report(fixed(broken, problem)).problems == ()


@pytest.mark.parametrize(
    ("name", "param", "value"),
    [
        ("logits", "out_features", 0),
        ("logits", "out_features", 2.5),
        ("logits", "out_features", "10"),
        ("logits", "out_features", None),
        ("logits", "out_features", [10, 10]),
        ("logits", "bias", 1),
        ("adam", "lr", -1),
        ("adam", "lr", "1e-3); import os"),
        ("scale", "mean", ["a"]),
        ("scale", "std", 0),
        ("cross_entropy", "reduction", "median"),
    ],
)
def test_a_value_out_of_range_names_parameter_and_value(name: str, param: str, value: Any) -> None:
    node = mlp().nodes[name]
    problem = coded(changed(mlp(), name, params={**node.params, param: value}), "bad-parameter")
    assert problem.node == name
    assert problem.message.startswith(f"{name}: {param} must be ")


def test_a_default_can_be_restored() -> None:
    broken = changed(mlp(), "adam", params={"lr": -1})
    assert report(fixed(broken, only(broken))).problems == ()


def test_long_values_are_shortened() -> None:
    assert len(only(changed(mlp(), "adam", params={"lr": "x" * 50_000})).message) < 300


def test_arguments_rejected_by_the_layer() -> None:
    conv = Node("nn.Conv2d", {"out_channels": 8, "kernel_size": 3, "groups": 3})
    broken = digits({"conv": conv, "flatten": "nn.Flatten", "logits": Node("nn.Linear", {"out_features": 10})})
    problem = coded(broken, "bad-arguments")
    assert (problem.severity, problem.node) == ("error", "conv")
    assert problem.message.startswith("conv cannot be created: ")


def test_one_value_for_several_dimensions() -> None:
    conv = Node("nn.Conv2d", {"out_channels": 8, "kernel_size": [3, 1], "stride": 2})
    sound = digits({"conv": conv, "flatten": "nn.Flatten", "logits": Node("nn.Linear", {"out_features": 10})})
    assert report(sound).nodes["conv"].summary == "1 → 8 · 3×1 · stride 2"


def test_shapes_with_another_batch_dimension_are_complete() -> None:
    flat = digits({"flatten": Node("nn.Flatten", {"start_dim": 0})})
    assert report(flat).nodes["flatten"].summary == "N×1×8×8 → 64·N"


def test_shapes_without_a_batch_dimension_are_complete() -> None:
    table = Node("nn.ConstantTensor", {"size": [2], "values": [1, 2]})
    column = document({"table": table, "column": Node("ops.unsqueeze", {"dim": 1})}, ["table.output -> column.x"])
    assert report(column).nodes["column"].summary == "2 → 2×1"


def test_invalid_sizes_are_listed() -> None:
    info = report(document({"adam": Node("optim.Adam", {"betas": [0.8, 0.99]})})).nodes["adam"]
    assert info.summary == "lr = 0.001 · betas 0.8, 0.99"


def test_whole_numbers_that_are_no_sizes_are_listed() -> None:
    constant = Node("nn.ConstantTensor", {"size": [2, 2], "values": [1, 2, 3, 4]})
    assert report(document({"table": constant})).nodes["table"].summary == "size 2×2 · values 1, 2, 3, 4"


def test_unconnected_node_shows_its_arguments() -> None:
    info = report(document({"conv": Node("nn.Conv2d", {"out_channels": 8, "kernel_size": 3})})).nodes["conv"]
    assert info.arguments["stride"] == 1
    assert "in_channels" not in info.arguments
    assert info.summary == "? → 8 · 3×3"


def test_relative_sizes_follow_the_input() -> None:
    found = report(changed(mlp(), "hidden", params={"out_features": "input / 2"}))
    assert found.problems == ()
    assert found.nodes["hidden"].outputs["output"].shape[-1] == 32
    assert "nn.Linear(in_features=64, out_features=32)" in lower(found).source


def test_a_relative_size_of_an_unknown_input_is_unknown() -> None:
    unwired = edits.disconnect(mlp(), [wire("flatten.output -> hidden.input")])
    relative = edits.set_param(unwired, "hidden", "out_features", "2 * input")
    assert [problem.code for problem in report(relative).errors] == ["missing-wire"]


def test_a_relative_size_of_an_input_without_the_dimension_is_reported() -> None:
    hidden = Node("nn.Linear", {"in_features": 64, "out_features": "2 * input"})
    document = digits({"total": Node("studio.Formula", {"expression": "sum(input)"}), "hidden": hidden})
    [problem] = [problem for problem in report(document).errors if problem.node == "hidden"]
    assert problem.message.startswith("hidden infers out_features from dimension -1 of its input but gets scalar")


@pytest.mark.parametrize("expression", ["input & 1", "~input", "1 ^ input"])
def test_bits_of_floats_are_refused_before_a_run(expression: str) -> None:
    bits = digits({"bits": Node("studio.Formula", {"expression": expression})})
    [problem] = [problem for problem in report(bits).errors if problem.node == "bits"]
    assert "bitwise ops need integers or booleans, not float32" in problem.message


def test_a_wrong_relative_size_is_named() -> None:
    wrong = only(changed(mlp(), "hidden", params={"out_features": "4 * outputs"}))
    assert "out_features must be a whole number or a size such as '4 * input', not '4 * outputs'" in wrong.message

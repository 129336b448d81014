"""Slices, formulas, shapes with N, and ports that depend on parameters."""

from __future__ import annotations

import ast
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine import fit
from studio.document import edits
from studio.document.model import Document, Node
from studio.lowering import Report, check, lower
from studio.lowering.analysis.block_types import known_type
from studio.nodes import catalogue
from studio.nodes.formula_text import MAX_DEPTH, MAX_LENGTH, formula_problem, parse_formula
from studio.nodes.slice_text import parse_slice, slice_problem
from tests.studio.lowering.graphs import digits

FIRST = {"flat": "nn.Flatten", "first": Node("nn.Linear", {"out_features": 12})}


def after(node: Node, *wires: str, **more: Any) -> Document:
    """A node behind a linear layer with 12 features; `more` nodes lead to 10 scores."""
    port = "a" if node.type == "ops.einsum" else "x"
    joined = wires or (f"first.output -> it.{port}", "it.output -> scores.input")
    nodes = {"it": node, "scores": Node("nn.Linear", {"out_features": 10}), **more}
    return digits(FIRST, last="scores", **nodes, wires=list(joined))


def checked(document: Document) -> Report:
    report = check(document, catalogue())
    assert [problem.message for problem in report.errors] == []
    return report


def code(document: Document, name: str = "it") -> str:
    program = lower(checked(document))
    [step] = [event for event in fit.fit(program.build(), steps=1) if isinstance(event, fit.Step)]
    assert step.finite
    lines = [line.strip() for line in program.source.splitlines()]
    return next(line for line in lines if line.startswith((f"{name} =", f"{name}_out0")))


def errors(document: Document) -> list[str]:
    return [problem.message for problem in check(document, catalogue()).errors]


# -- slices -----------------------------------------------------------------------------------


@pytest.mark.parametrize("text", [":, -1", "..., 1:-1", ": , 2:9:3", ":,0", "0", ":", "::2", "-3:, :"])
def test_a_slice_means_what_it_means_in_python(text: str) -> None:
    tree = ast.parse(f"x[{text}]", mode="eval").body
    assert isinstance(tree, ast.Subscript)
    assert ast.dump(parse_slice(text)) == ast.dump(tree.slice)


@pytest.mark.parametrize(
    "text", ["", "a", "1.5", ":, x", "__import__('os')", "..., ...", "::-1", "1,,2", ":" * 4, "[1, 2]", "9" * 30]
)
def test_other_slices_are_refused(text: str) -> None:
    assert slice_problem(text) is not None


@given(st.text(max_size=20))
def test_no_text_raises_anything_else(text: str) -> None:
    if slice_problem(text) is None:
        ast.unparse(ast.Subscript(ast.Name("x", ast.Load()), parse_slice(text), ast.Load()))
    if formula_problem(text) is None:
        ast.unparse(parse_formula(text).tree)


def test_the_last_step_of_a_recurrent_layer() -> None:
    document = digits(
        {
            "rows": Node("nn.Flatten", {"start_dim": 1, "end_dim": 2}),
            "lstm": Node("nn.LSTM", {"hidden_size": 6, "batch_first": True}),
        },
        last="scores",
        it=Node("studio.Slice", {"index": ":, -1"}),
        scores=Node("nn.Linear", {"out_features": 10}),
        wires=["lstm.output -> it.x", "it.output -> scores.input"],
    )
    assert str(checked(document).nodes["it"].outputs["output"]) == "N×6 float32"
    assert code(document) == "it = lstm_output[:, -1]"


# -- formulas ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "inputs"),
    [
        ("a * x + sin(y)", ("a", "x", "y")),
        ("b - a", ("b", "a")),
        ("2 * pi * x", ("x",)),
        ("mean(x, dim=-1, keepdim=True) ** 2", ("x",)),
        ("where(x > 0, x, -x) + sum(x, dim=(0, 1))", ("x",)),
        ("~(a == b) & (a >= 1e-3)", ("a", "b")),
    ],
)
def test_names_are_inputs(text: str, inputs: tuple[str, ...]) -> None:
    assert formula_problem(text) is None
    assert parse_formula(text).inputs == inputs


@pytest.mark.parametrize(
    ("text", "part"),
    [
        ("a +", "column"),
        ("a * foo(x)", "column 5: 'foo' is not a function here"),
        ("a * x.data", "column 5: use numbers, inputs"),
        ("x[0]", "column 1: use numbers"),
        ("sin", "column 1: sin is a function; write sin(x)"),
        ("lambda: x", "column 1"),
        ("x if y else z", "column 1"),
        ("'x' * x", "column 1"),
        ("a < b < c", "column 1"),
        ("x + 9 ** 9 ** 9", "column 5: 9 ** 9 ** 9 is not a number between"),
        ("x + (-8) ** 0.5", "column 5: (-8) ** 0.5 is not a number between"),
        ("x % (2 - 2)", "column 1: x % (2 - 2) divides by 0"),
        ("x + 1 / (2 - 2)", "column 5: 1 / (2 - 2) divides by 0"),
        ("x + (1 < 2)", "column 6: a comparison must contain an input"),
        ("x + ~3", "column 5: ~3 must contain an input"),
        ("round(x, decimals=-400)", "column 19: decimals of round must be ≥ -30 and ≤ 30, not -400"),
        ("mean(x, 1.5)", "column 9: dim of mean must be whole numbers, not 1.5"),
        ("sin(x, out=1)", "column 12: sin has no setting out; it has no settings"),
        ("sum(x, dtype=1)", "column 14: sum has no setting dtype; its settings are dim, keepdim"),
        ("sin(x, x)", "column 1: sin takes x, not 2 arguments"),
        ("softmax(x)", "column 1: softmax needs dim, as in softmax(x, dim=-1)"),
        ("x + sin(2)", "column 5: sin needs an input, such as sin(x)"),
        ("matmul(x, 2)", "column 1: matmul needs an input as y"),
        ("x @ 2", "column 1: both sides of @ must contain an input"),
        ("x + (1 | pi)", "column 6: 1 | pi must contain an input"),
        ("2 ** x", None),
        ("2 ** 0.5 * x", None),
        ("x + 1e99", "column 5: a number must be between"),
        ("1 + 2", "must use at least one input"),
        ("mean(x, dim=y)", "column 13: dim of mean must be a number"),
        ("_x + 1", "column 1: '_x' must begin with a letter"),
        ("x; y", "must be"),
        ("x := 1", "column"),
        ("(" * (MAX_DEPTH + 2) + "-x" + ")" * (MAX_DEPTH + 2), None),
        ("-" * (MAX_DEPTH + 2) + "x", "levels of parentheses"),
        ("x" * (MAX_LENGTH + 1), "characters"),
        ("", "must be one line"),
        ("__import__('os')", "column 1"),
    ],
)
def test_errors_name_the_column_and_what_is_allowed(text: str, part: str | None) -> None:
    problem = formula_problem(text)
    assert (problem is None) == (part is None)
    assert part is None or part in str(problem)


def test_a_formula_is_the_line_of_its_node() -> None:
    document = after(
        Node("studio.Formula", {"expression": "a * tanh(b) - pi / 2 + mean(b, dim=-1, keepdim=True)"}),
        *("first.output -> it.a", "other.output -> it.b", "flat.output -> other.input", "it.output -> scores.input"),
        other=Node("nn.Linear", {"out_features": 12}),
    )
    assert code(document) == (
        "it = first * engine.tanh(other) - 3.141592653589793 / 2 + engine.mean(other, dim=-1, keepdim=True)"
    )


def test_an_invalid_formula_keeps_its_wires_and_names_the_column() -> None:
    document = after(Node("studio.Formula", {"expression": "2 * x + foo(x)"}))
    [message] = errors(document)
    assert message.startswith("it: expression must be a formula; column 9: 'foo' is not a function here")
    kind = known_type(document, catalogue(), "it")
    assert kind is not None
    assert [port.name for port in kind.inputs] == ["x"]


# -- shapes and counts ------------------------------------------------------------------------


def test_n_is_the_size_of_the_batch() -> None:
    document = after(
        Node("ops.reshape", {"shape": ["N", 3, -1]}),
        *("first.output -> it.x", "it.output -> joined.input", "joined.output -> scores.input"),
        joined="nn.Flatten",
    )
    assert str(checked(document).nodes["it"].outputs["output"]) == "N×3×4 float32"
    assert code(document) == "it = engine.reshape(first, (first.shape[0], 3, -1))"


def test_expand_takes_the_batch_size_from_another_tensor() -> None:
    document = after(
        Node("Tensor.expand", {"size": ["N", 12]}),
        *("token.output -> it.x", "first.output -> it.batch", "it.output -> sum.x", "first.output -> sum.y"),
        "sum.output -> scores.input",
        token=Node("nn.LearnedTensor", {"size": [1, 12]}),
        sum="ops.add",
    )
    assert code(document) == "it = token.expand((first.shape[0], 12))"


def test_a_literal_batch_size_is_reported_with_a_fix() -> None:
    document = after(Node("ops.reshape", {"shape": [64, 12]}))
    report = check(document, catalogue())
    [problem] = [each for each in report.problems if each.code == "literal-batch"]
    assert "begins with 64, but dimension 0 of its input (N×12 float32) is the size of the batch" in problem.message
    assert problem.fix is not None
    fixed = problem.fix.edit(document)
    assert fixed.nodes["it"].params == {"shape": ["N", 12]}
    assert errors(fixed) == []


@pytest.mark.parametrize(
    ("node", "outputs"),
    [
        (Node("ops.chunk", {"chunks": 3}), 3),
        (Node("ops.split_with_sizes", {"split_sizes": [2, 4, 4, 2]}), 4),
        (Node("ops.unbind", {"outputs": 12}), 12),
    ],
)
def test_outputs_follow_a_parameter(node: Node, outputs: int) -> None:
    extra = {"wide": Node("ops.unsqueeze", {"dim": 1})} if node.type == "ops.unbind" else {}
    wires = ["it.out0 -> wide.x", "wide.output -> scores.input"] if extra else ["it.out0 -> scores.input"]
    document = after(node, "first.output -> it.x", *wires, **extra)
    kind = known_type(document, catalogue(), "it")
    assert kind is not None
    assert [port.name for port in kind.outputs] == [f"out{index}" for index in range(outputs)]
    assert code(document).count("it_out") == outputs


def test_a_wrong_count_is_reported_with_a_fix() -> None:
    document = after(Node("ops.chunk", {"chunks": 8}), "first.output -> it.x", "it.out0 -> scores.input")
    report = check(document, catalogue())
    [problem] = [each for each in report.errors if each.node == "it"]
    assert problem.message == "it has 8 outputs, but dimension 1 of N×12 float32 gives 6 tensors. Set chunks to 6."
    assert problem.fix is not None
    assert errors(problem.fix.edit(document)) == []


def test_einsum_has_an_input_for_each_term() -> None:
    document = after(
        Node("ops.einsum", {"equation": "ni,ij->nj"}),
        *("first.output -> it.a", "matrix.output -> it.b", "it.output -> scores.input"),
        matrix=Node("nn.LearnedTensor", {"size": [12, 5]}),
    )
    assert code(document) == "it = engine.einsum('ni,ij->nj', first, matrix)"
    assert errors(edits.set_param(document, "it", "equation", "n!"))[0].startswith("it: equation must be letters")


# -- gradients --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("node", "reason", "remedy"),
    [
        (Node("ops.detach"), "stops gradients", "Remove it, or freeze first."),
        (Node("ops.round"), "is constant between its steps", "Remove it, or freeze first."),
        (Node("ops.mul", {"y": 0}), "multiplies by 0", "Set y to 1, or freeze first."),
        (
            Node("ops.gt", {"y": 0}),
            "outputs bool, which has no gradient",
            "Freeze first, or connect it to the loss without it.",
        ),
    ],
)
def test_layers_without_a_gradient_are_named(node: Node, reason: str, remedy: str) -> None:
    port = catalogue()[node.type].inputs[0].name
    document = after(
        node,
        *(f"first.output -> it.{port}", "it.output -> cast.x", "cast.output -> scores.input"),
        cast=Node("Tensor.to", {"dtype": "float32"}),
    )
    [problem] = [each for each in check(document, catalogue()).problems if each.code == "no-gradient"]
    assert problem.severity == "warning"
    assert problem.node == "it"
    assert problem.message == f"first gets no gradient from adam, because it {reason}. {remedy}"
    assert problem.fix is not None
    codes = [each.code for each in check(problem.fix.edit(document), catalogue()).problems]
    assert "no-gradient" not in codes


def test_a_gradient_on_another_path_is_enough() -> None:
    document = after(
        Node("ops.detach"),
        *("first.output -> it.input", "it.output -> sum.x", "first.output -> sum.y", "sum.output -> scores.input"),
        sum="ops.add",
    )
    assert "no-gradient" not in [each.code for each in check(document, catalogue()).problems]

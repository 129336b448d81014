"""Operations: compiled equals eager bit for bit, PyTorch gives the same, and a graph equals the same calls by hand."""

from __future__ import annotations

import ast
import os
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import engine
from studio.document.files import project_format
from studio.document.model import Document, Node
from studio.lowering import check, lower
from studio.nodes import NodeType, Role, catalogue
from studio.nodes.operation_nodes import function_of
from tests.studio.lowering.graphs import digits
from tests.studio.lowering.test_every_type import PARAMS, operation

EXAMPLES = int(os.environ.get("GRADWIRE_OPERATION_GRAPHS", "8"))
"""Number of random graphs."""

OPERATIONS = [each for each in catalogue() if each.role is Role.OPERATION]
EXACT = {"Comparison", "Shape", "Indexing", "Creation", "Gradient and dtype"}
"""Groups without functions, such as exp, whose last bits differ in compiled kernels."""

RANDOM = {"ops.rand_like", "ops.randn_like"}


NOT_IN_TORCH = RANDOM | {"ops.floor_divide"}
"""Operations with random values, or that have no gradient in PyTorch."""


def assert_equal(found: Any, expected: Any, *, exact: bool, scale: float = 0.0) -> None:
    """`scale`: what rounding is relative to, if it is larger than the expected values."""
    scale = 1.0 if exact else max(float(np.abs(expected).max()), scale) or 1.0
    np.testing.assert_allclose(found / scale, expected / scale, rtol=0, atol=0 if exact else 1e-5)


def built(document: Document) -> tuple[Any, Any, str]:
    """The model of a document, a batch of inputs, and the source of its class."""
    report = check(document, catalogue())
    assert [problem.message for problem in report.errors] == []
    program = lower(report, "net")
    task = program.build()
    inputs = next(iter(task.setup().train))[0][:6]
    return task.model, inputs, program.source


def results(model: Any, inputs: Any) -> tuple[Any, list[Any]]:
    """Scores and gradients."""
    for parameter in model.parameters():
        parameter.grad = None
    scores = model(inputs)
    scores.square().sum().backward()
    gradients = [None if each.grad is None else each.grad.numpy().copy() for each in model.parameters()]
    return scores.detach().numpy().copy(), gradients


@pytest.mark.parametrize("node_type", OPERATIONS, ids=lambda node_type: node_type.key)
def test_compiled_equals_eager_without_a_graph_break(node_type: NodeType) -> None:
    model, inputs, _ = built(operation(Node(node_type.key, PARAMS.get(node_type.key, {}))))
    engine.manual_seed(0)
    scores, gradients = results(model, inputs)
    compiled = engine.compile(model, fullgraph=True)
    for _ in range(2):
        engine.manual_seed(0)
        again = compiled(inputs)
        assert_equal(again.detach().numpy(), scores, exact=node_type.group in EXACT)
    for parameter in model.parameters():
        parameter.grad = None
    again.square().sum().backward()
    # A gradient that is 0 but for rounding, as of the bias of keys, is compared with the others.
    largest = max((float(np.abs(each).max()) for each in gradients if each is not None), default=0.0)
    for parameter, gradient in zip(model.parameters(), gradients, strict=True):
        assert (parameter.grad is None) == (gradient is None)
        if gradient is not None:
            assert_equal(parameter.grad.numpy(), gradient, exact=False, scale=largest)


@pytest.mark.parametrize(
    "node_type", [each for each in OPERATIONS if each.key not in NOT_IN_TORCH], ids=lambda node_type: node_type.key
)
def test_the_generated_class_gives_the_same_with_torch(node_type: NodeType) -> None:
    torch = pytest.importorskip("torch")
    model, inputs, source = built(operation(Node(node_type.key, PARAMS.get(node_type.key, {}))))
    body = ast.parse(source).body
    definition = next(each for each in body if isinstance(each, ast.ClassDef))
    functions = [each for each in body if isinstance(each, ast.FunctionDef)]
    names = {"engine": torch, "nn": torch.nn, "functional": torch.nn.functional, "linalg": torch.linalg}
    names |= {"Tensor": torch.Tensor}
    exec(compile(ast.Module([*functions, definition], []), "torch", "exec"), names)
    other = names[definition.name]()
    other.load_state_dict({name: torch.tensor(value.numpy()) for name, value in model.state_dict().items()})
    scores, gradients = results(model, inputs)
    expected = other(torch.tensor(inputs.numpy()))
    np.testing.assert_allclose(scores, expected.detach().numpy(), rtol=2e-3, atol=2e-4)
    if not expected.requires_grad:
        return
    expected.square().sum().backward()
    for gradient, parameter in zip(gradients, other.parameters(), strict=True):
        if gradient is not None and parameter.grad is not None:
            scale = max(1.0, float(np.abs(gradient).max()))
            np.testing.assert_allclose(gradient / scale, parameter.grad.numpy() / scale, rtol=5e-3, atol=5e-4)


# -- random graphs ----------------------------------------------------------------------------

UNARY = (
    "sin",
    "cos",
    "atan",
    "abs",
    "square",
    "neg",
    "erf",
    "exp",
    "asinh",
    "detach",
    "sign",
    "cumsum",
    "flip",
    "roll",
)
BINARY = ("add", "sub", "mul", "maximum", "minimum", "hypot", "atan2", "where")
SETTINGS: dict[str, dict[str, Any]] = {"cumsum": {"dim": 1}, "flip": {"dims": [1]}, "roll": {"shifts": 1, "dims": 1}}
FORMULAS = (
    "x * tanh(y) + 1",
    "where(x > y, x, -y)",
    "x - mean(y, dim=-1, keepdim=True)",
    "(x + 2) ** 2 / (1 + abs(y))",
)


@st.composite
def graphs(draw: st.DrawFn) -> tuple[Document, list[tuple[str, str, list[str]]]]:
    """A graph of operations on N×12 tensors, and its steps: variable, operation or formula, inputs."""
    nodes: dict[str, str | Node] = {}
    wires: list[str] = []
    steps: list[tuple[str, str, list[str]]] = []
    free = ["first"]
    for index in range(draw(st.integers(1, 8))):
        name = f"n{index}"
        kind = draw(st.sampled_from((*UNARY, *BINARY, *FORMULAS)))
        count = 1 if kind in UNARY else 3 if kind == "where" else 2
        chosen = [draw(st.sampled_from(free[-3:])) for _ in range(count)]
        if kind in FORMULAS:
            nodes[name], ports = Node("studio.Formula", {"expression": kind}), ["x", "y"]
        else:
            node_type = catalogue()[f"ops.{kind}"]
            nodes[name], ports = Node(node_type.key, SETTINGS.get(kind, {})), [port.name for port in node_type.inputs]
        if kind == "where":
            nodes[f"{name}_mask"] = Node("ops.gt", {"y": 0})
            wires.append(f"{chosen[0]}.output -> {name}_mask.x")
            wires.append(f"{name}_mask.output -> {name}.condition")
            wires += [f"{source}.output -> {name}.{port}" for source, port in zip(chosen[1:], ports[1:], strict=True)]
        else:
            wires += [f"{source}.output -> {name}.{port}" for source, port in zip(chosen, ports, strict=False)]
        steps.append((name, kind, chosen))
        free.append(name)
    wires.append(f"{free[-1]}.output -> scores.input")
    first = {"flat": "nn.Flatten", "first": Node("nn.Linear", {"out_features": 12})}
    nodes["scores"] = Node("nn.Linear", {"out_features": 10})
    return digits(first, last="scores", **nodes, wires=wires), steps


def by_hand(model: Any, inputs: Any, steps: list[tuple[str, str, list[str]]]) -> Any:
    found = {"first": model.first(model.flat(inputs))}
    for name, kind, sources in steps:
        tensors = [found[source] for source in sources]
        if kind in FORMULAS:
            functions = {each: getattr(engine, each) for each in ("tanh", "where", "mean", "abs")}
            found[name] = eval(kind, functions, dict(zip("xy", tensors, strict=True)))
        elif kind == "where":
            found[name] = engine.where(tensors[0] > 0, *tensors[1:])
        else:
            given = SETTINGS.get(kind, {}).items()
            arguments = {key: tuple(value) if isinstance(value, list) else value for key, value in given}
            found[name] = function_of(f"ops.{kind}")(*tensors, **arguments)
    return model.scores(found[steps[-1][0]])


@settings(max_examples=EXAMPLES, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(graphs())
def test_a_graph_equals_the_same_calls_by_hand(graph: tuple[Document, list[tuple[str, str, list[str]]]]) -> None:
    document, steps = graph
    assert project_format.loads(project_format.dumps(document)) == document
    model, inputs, _ = built(document)
    scores, gradients = results(model, inputs)
    if not np.isfinite(scores).all():
        return
    for parameter in model.parameters():
        parameter.grad = None
    again = by_hand(model, inputs, steps)
    again.square().sum().backward()
    np.testing.assert_array_equal(again.detach().numpy(), scores)
    for parameter, gradient in zip(model.parameters(), gradients, strict=True):
        assert (parameter.grad is None) == (gradient is None)
        if gradient is not None:
            np.testing.assert_array_equal(parameter.grad.numpy(), gradient)
    compiled = engine.compile(model, fullgraph=True)
    assert_equal(compiled(inputs).detach().numpy(), scores, exact=False)


def test_a_single_counted_output_is_a_tensor() -> None:
    model, inputs, source = built(operation(Node("ops.chunk", {"chunks": 1})))
    assert "it, = engine.chunk(" in source
    assert np.isfinite(results(model, inputs)[0]).all()

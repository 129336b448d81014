"""Ports and parameters of Python nodes, from source that is parsed and never executed."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.registry import FromInput
from studio.document.model import Node
from studio.nodes import catalogue
from studio.nodes.python_node import DEFAULT_SOURCE, PYTHON
from studio.nodes.python_source import MAX_CHARACTERS, CodeError, code_error, read_code
from studio.nodes.types import NodeType, Role
from tests.studio.lowering.graphs import document, report

CLASS = """
class Gate(nn.Module):
    '''Gated unit.'''

    def __init__(self, in_features: int, width: int = 8, slope=0.1, mode: Literal["a", "b"] = "a", bias: bool = True):
        super().__init__()

    def forward(self, x, mask: Tensor | None = None):
        return x
"""


def adapted(source: str) -> NodeType:
    plain = catalogue()[PYTHON]
    assert plain.adapt is not None
    return plain.adapt(plain, {"source": source}, frozenset())


def ports(source: str) -> tuple[list[str], list[str]]:
    found = adapted(source)
    return [port.name for port in found.inputs], [port.name for port in found.outputs]


def test_a_new_node_has_the_ports_of_its_default_source() -> None:
    plain = catalogue()[PYTHON]
    assert adapted(DEFAULT_SOURCE).params == plain.params
    assert ports(DEFAULT_SOURCE) == (["x"], ["output"])
    assert [(each.name, each.kind, each.default) for each in plain.params[1:]] == [("scale", "float", 1.0)]


def test_a_class_is_a_layer_with_the_arguments_of_its_constructor() -> None:
    found = adapted(CLASS)
    assert found.role is Role.LAYER
    assert [(port.name, port.optional) for port in found.inputs] == [("x", False), ("mask", True)]
    assert [(each.name, each.kind) for each in found.params] == [
        ("source", "str"),
        ("in_features", "int"),
        ("width", "int"),
        ("slope", "float"),
        ("mode", "choice"),
        ("bias", "bool"),
    ]
    assert found.params[1].from_input == FromInput(-1)
    assert found.params[1].required
    assert found.params[4].choices == ("a", "b")


def test_equal_sources_have_one_type() -> None:
    assert adapted(CLASS) is adapted(CLASS)


@pytest.mark.parametrize(
    ("source", "outputs"),
    [
        ("def f(x) -> Tensor: return x", ["output"]),
        ("def f(x): return x", ["output"]),
        ("def f(x): return x, 2 * x", ["out0", "out1"]),
        ("def f(x):\n    low = high = x\n    return low, high", ["low", "high"]),
        ("def f(x) -> tuple[Tensor, Tensor]:\n    low = high = x\n    return low, high", ["low", "high"]),
        ("def f(x) -> tuple[Tensor, Tensor, Tensor]: return g(x)", ["out0", "out1", "out2"]),
        ("def f(x) -> tuple[Tensor]: return (x,)", ["x"]),
        ("def f(x):\n    if x: return x, y\n    return y, x", ["out0", "out1"]),
        ("def f(x):\n    def g(y): return 1, 2, 3\n    return g(x)", ["output"]),
        ("def f(x): return x, x", ["out0", "out1"]),
    ],
)
def test_outputs_are_those_of_the_result(source: str, outputs: list[str]) -> None:
    assert ports(source)[1] == outputs


@pytest.mark.parametrize(
    ("argument", "kind", "default"),
    [
        ("k=2", "int", 2),
        ("k=2.5", "float", 2.5),
        ("k: float = 2", "float", 2.0),
        ("k=True", "bool", True),
        ("k='a'", "str", "a"),
        ("k=-1", "int", -1),
        ("k=(1, 2)", "ints", (1, 2)),
        ("k=[1, 2.5]", "floats", (1, 2.5)),
        ("k: int | None = None", "int", None),
        ("k: 'Optional[float]' = 3", "float", 3.0),
        ("*, k: int = 3", "int", 3),
        ("k: Literal['x', 'y'] = 'y'", "choice", "y"),
    ],
)
def test_arguments_with_a_literal_default_are_parameters(argument: str, kind: str, default: Any) -> None:
    found = adapted(f"def f(x, {argument}): return x")
    [parameter] = found.params[1:]
    assert (parameter.name, parameter.kind, parameter.default) == ("k", kind, default)
    assert type(parameter.default) is type(default)
    assert parameter.problem(default) is None


@pytest.mark.parametrize(
    ("source", "line", "column", "reason"),
    [
        ("", 1, 1, "the code has no function and no class"),
        ("x = 1", 1, 1, "the code has no function and no class"),
        ("def f(x:\n    return x", 1, 6, "'(' was never closed"),
        ("def f(x):\n  return 1\n return 2", 3, 10, "unindent does not match"),
        ("class A(nn.Module):\n    pass", 1, 1, "A has no method forward"),
        ("class A:\n    pass", 1, 1, "A is not a module. Write class A(nn.Module)"),
        ("async def f(x):\n    return x", 1, 1, "f is asynchronous"),
        ("def f(*xs):\n    return xs", 1, 8, "f takes any number of arguments (xs)"),
        ("def f(x, **more):\n    return x", 1, 12, "f takes any number of arguments (more)"),
        ("def f(x, /):\n    return x", 1, 7, "f has arguments before /"),
        ("def f():\n    return 1", 1, 1, "f takes no tensor"),
        ("def f(x, k=g()):\n    return x", 1, 12, "the default of k must be a number"),
        ("def f(x, k: int = 'a'):\n    return x", 1, 19, "the default of k must be a whole number"),
        ("def f(x, k: list[str] = None):\n    return x", 1, 10, "k needs an annotation of Tensor, int, float"),
        ("def f(x, source):\n    return x", 1, 10, "an argument cannot be named source"),
        ("def f(x):\n    pass", 1, 1, "f returns nothing"),
        ("def f(x):\n    yield x", 2, 5, "f is a generator"),
        ("def f(x) -> tuple[Tensor, ...]:\n    return x", 1, 13, "the number of outputs must be fixed"),
        ("class A(nn.Module):\n    def __init__(self, n): pass\n    def forward(self, x): return x", 2, 24, "n needs"),
        ("class A(nn.Module):\n    def forward(): return 1", 2, 5, "the first argument of forward must be self"),
        ("def f(х):\n    return х", 1, 7, "the name 'х' must begin with a letter and use only a-z"),
        ("def f(x):\n    return '\u202e'", 2, 13, "the invisible character U+202E is not allowed"),
        ("def f(x):\0\n    return x", 1, 10, "the invisible character U+0000 is not allowed"),
        ("def f(x): return '\ud800'", 1, 19, "the invisible character U+D800 is not allowed"),
    ],
)
def test_a_source_that_cannot_be_used_names_line_column_and_fix(
    source: str, line: int, column: int, reason: str
) -> None:
    found = code_error(source)
    assert found is not None
    assert (found.line, found.column) == (line, column)
    assert found.reason.startswith(reason), found.reason


@pytest.mark.parametrize(
    "source",
    [
        "x = 1\n" * MAX_CHARACTERS,
        "(" * 5000,
        "def f(x): return " + "-" * 50_000 + "x",
        "def f(x): return " + "(" * 150 + "x" + ")" * 150,
        "def f(x): return x" + "[0]" * 20_000,
        "def f(x): return " + "+".join(["x"] * 30_000),
        "def f(x):\n" + "".join(f"{' ' * depth}if x:\n" for depth in range(1, 99)) + " " * 99 + "return x",
    ],
)
def test_large_and_deep_sources_are_read_or_rejected(source: str) -> None:
    try:
        read_code(source)
    except CodeError as error:
        assert 0 < len(error.reason) < 200


@pytest.mark.parametrize("ends", ["\n", "\r\n", "\r"])
def test_all_line_ends_and_tabs_are_read(ends: str) -> None:
    assert ports(f"def f(x):{ends}\ty = x{ends}\treturn y, x{ends}") == (["x"], ["y", "x"])


def test_wires_stay_while_a_source_is_being_corrected() -> None:
    broken = document(
        {"a": "nn.ReLU", "code": Node(PYTHON, {"source": "def f(x, y:"}), "b": "nn.ReLU"},
        ["a.output -> code.second", "code.low -> b.input"],
    )
    found = report(broken)
    assert "stray-wire" not in [problem.code for problem in found.problems]
    [problem] = [each for each in found.problems if each.node == "code"]
    assert problem.code == "bad-parameter"
    assert problem.message.startswith("code: source cannot be used; line 1, column 6: '(' was never closed")
    assert problem.fix is None  # a reset would delete the code


@given(st.text(max_size=200))
def test_any_text_is_read_or_rejected(text: str) -> None:
    code_error(text)
    code_error(f"def f(x, k={text}):\n    return x")
    code_error(f"def f(x: {text}) -> {text}:\n    return x, {text}")


@given(st.data())
def test_damaged_sources_are_read_or_rejected(data: st.DataObject) -> None:
    source = data.draw(st.sampled_from([CLASS, DEFAULT_SOURCE]))
    at = data.draw(st.integers(0, len(source)))
    piece = data.draw(st.text(alphabet="():=,*|\n \t'\"\\abx0_.[]{}@", max_size=4))
    error = code_error(source[:at] + piece + source[at + data.draw(st.integers(0, 5)) :])
    assert error is None or (error.line >= 1 and error.column >= 0)

"""Nothing that stands in a project file becomes code."""

from __future__ import annotations

import ast
from types import SimpleNamespace
from typing import Any

import pytest

from studio.document.model import Document, Endpoint, Node, TrainingSettings, Wire
from studio.lowering import LoweringError, check, lower
from studio.lowering.codegen import syntax_trees
from studio.lowering.codegen.safe_identifiers import class_name
from studio.nodes import catalogue
from tests.studio.lowering.graphs import changed, digits, mlp

EVIL = "__import__('os').system('echo owned')"
TEXTS = [
    EVIL,
    f"1); {EVIL}; (2",
    f"'{EVIL}'",
    f'"""\n{EVIL}\n"""',
    f"\n{EVIL}",
    "\\",
    "{0}",
    "\x00",
    "\ud800",
    "a" * 100_000,
]


@pytest.mark.parametrize("text", TEXTS)
def test_names_never_become_code(text: str) -> None:
    base = mlp()
    nodes = {text if name == "hidden" else name: node for name, node in base.nodes.items()}
    wires = [
        Wire(*(Endpoint(text if end.node == "hidden" else end.node, end.port) for end in (wire.source, wire.target)))
        for wire in base.wires
    ]
    with pytest.raises(LoweringError) as caught:
        lower(check(Document(nodes=nodes, wires=tuple(sorted(wires))), catalogue()))
    assert "bad-name" in {problem.code for problem in caught.value.problems}


@pytest.mark.parametrize("text", TEXTS)
@pytest.mark.parametrize("where", ["type", "param", "port"])
def test_types_parameters_and_ports_never_become_code(text: str, where: str) -> None:
    base = mlp()
    if where == "type":
        base = changed(base, "relu", type=text)
    elif where == "param":
        base = changed(base, "relu", params={text: 1})
    else:
        base = Document(
            nodes=base.nodes, wires=(*base.wires, Wire(Endpoint("hidden", "output"), Endpoint("relu", text)))
        )
    with pytest.raises(LoweringError):
        lower(check(base, catalogue()))


@pytest.mark.parametrize("text", TEXTS)
def test_texts_enter_as_literals(text: str) -> None:
    """A path is the one parameter that may be any text."""
    written = ast.unparse(ast.fix_missing_locations(ast.Expression(syntax_trees.literal(text))))
    assert ast.literal_eval(written) == text
    report = check(changed(mlp(), "digits", type="data.IDX", params={"folder": text}), catalogue())
    assert [problem.node for problem in report.errors] == ["digits"]


@pytest.mark.parametrize("value", [float("nan"), float("inf"), -float("inf"), {"a": 1}, object(), b"x", {1}, 1j, type])
def test_only_plain_data_has_a_literal(value: Any) -> None:
    with pytest.raises(TypeError):
        syntax_trees.literal(value)


@pytest.mark.parametrize("text", TEXTS)
def test_project_names_and_notes_never_become_code(text: str) -> None:
    noted = changed(mlp(), "hidden", note=text)
    base = Document(nodes=noted.nodes, wires=noted.wires, description=text)
    program = lower(check(base, catalogue()), name=text)
    assert program.source == lower(check(mlp(), catalogue()), name=text).source
    assert program.model_class == class_name(text)
    tree = ast.parse(program.source)
    called = {ast.unparse(node.func) for node in ast.walk(tree) if isinstance(node, ast.Call)}
    assert not {name for name in called if "import" in name or "system" in name}


@pytest.mark.parametrize(
    "params",
    [
        {"out_features": 10**18},
        {"out_features": 2**63},
        {"out_features": 10, "in_features": 10**30},
        {"out_features": -(10**30)},
        {"out_features": [[[[]]]]},
        {"out_features": True},
    ],
)
def test_absurd_sizes_are_checked_without_memory(params: dict[str, Any]) -> None:
    report = check(changed(mlp(), "hidden", params=params), catalogue())
    assert report.nodes["hidden"].arguments is not None


def test_out_of_memory_names_the_node(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("psutil.virtual_memory", lambda: SimpleNamespace(total=2**34, available=2**33))
    document = digits(
        {
            "flatten": "nn.Flatten",
            "hidden": Node("nn.Linear", {"out_features": 2**31 - 1}),
            "relu": "nn.ReLU",
            "logits": Node("nn.Linear", {"out_features": 10}),
        }
    )
    with pytest.raises(LoweringError) as caught:
        lower(check(document, catalogue()))
    assert [(problem.code, problem.node) for problem in caught.value.problems] == [("too-large", "hidden")]


def test_other_settings_do_not_change_the_source() -> None:
    base = mlp()
    other = Document(nodes=base.nodes, wires=base.wires, training=TrainingSettings(epochs=1, seed=9))
    assert lower(check(other, catalogue())).source == lower(check(base, catalogue())).source

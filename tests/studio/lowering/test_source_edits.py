"""Edited source of a program becomes edits of its graph: code → graph → code, and what is refused."""

from __future__ import annotations

import os
from typing import Any

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from studio.document import edits
from studio.document.blocks import block_nodes
from studio.document.blocks.block_edits import promote
from studio.document.blocks.block_grouping import group
from studio.document.document_errors import EditError
from studio.document.model import Document, Endpoint, Node, ParamRef, Wire
from studio.lowering import check, lower
from studio.lowering.program import Program
from studio.lowering.source_import.edits.source_edits import apply_source
from studio.lowering.source_import.reading.source_errors import SourceError
from studio.lowering.user_code.document_code import allow_code
from studio.nodes import catalogue
from studio.nodes.python_node import DEFAULT_SOURCE, PYTHON
from tests.studio.code import GATE, SCALE
from tests.studio.lowering.graphs import digits, mlp
from tests.studio.lowering.test_random_graphs import networks

EXAMPLES = int(os.environ.get("ROUND_TRIPS", "15"))
"""Random pairs of graphs per law; 400 by hand."""


COMPOUND = ("studio.Formula", "studio.Slice")
"""Types whose code is that of several operations, which is read as such in another graph."""


def program(document: Document) -> Program:
    allow_code(document)
    report = check(document, catalogue())
    assert not report.errors, report.errors
    return lower(report, "net")


def edited(document: Document, *replacements: tuple[str, str]) -> Document:
    """The document after replacements in its source."""
    before = program(document)
    text = before.source
    for old, new in replacements:
        assert old in text, text
        text = text.replace(old, new)
    return apply_source(document, before, text, catalogue())


def refusal(document: Document, *replacements: tuple[str, str]) -> tuple[int, str]:
    with pytest.raises(SourceError) as caught:
        edited(document, *replacements)
    return caught.value.line, caught.value.message


def grouped(document: Document, *names: str, block: str = "dense") -> Document:
    return group(document, names, block)[0]


def without_layout(document: Document) -> tuple[Any, ...]:
    nodes = {name: replace(node, at=(0.0, 0.0)) for name, node in document.nodes.items()}
    return nodes, document.wires, document.training


# -- laws -------------------------------------------------------------------------------------


def runnable(document: Document) -> Document:
    """A random network without nodes that the run does not use."""
    allow_code(document)
    report = check(document, catalogue())
    assume(not report.errors)
    assume(all(node.type not in COMPOUND for node in document.nodes.values()))
    needed = report.checked.graph.needed
    unused = [name for name, node in document.nodes.items() if name not in needed and not node.muted]
    document = edits.remove(document, unused)
    muted = [name for name, node in document.nodes.items() if node.muted]
    reaches = [name for name in muted if any(wire.source.node == name for wire in document.wires)]
    return edits.remove(document, [name for name in muted if name not in reaches])


SHIFT = "def scale(x, other=None, *, shift: float = 0.5):\n    return x + shift if other is None else x + other"
SOURCES = [(DEFAULT_SOURCE, {"scale": 3.0}), (SCALE, {"factor": 0.5}), (SHIFT, {}), (GATE, {"width": 8})]
"""Two of them define the same name."""


@st.composite
def coded(draw: st.DrawFn) -> Document:
    """A random network; some of its nodes are Python nodes with one input."""
    document = draw(networks())
    wires, nodes = list(document.wires), dict(document.nodes)
    for name in [each for each in nodes if each[0] == "n" and not nodes[each].muted]:
        chosen = draw(st.sampled_from([None, None, *SOURCES]))
        if chosen is None:
            continue
        source, params = chosen
        given = [wire for wire in wires if wire.target.node == name]
        nodes[name] = Node(PYTHON, {"source": source, **params} if source != DEFAULT_SOURCE else params)
        wires = [wire for wire in wires if wire not in given]
        wires += [Wire(wire.source, Endpoint(name, "x")) for wire in given[:1]]
    return replace(document, nodes=nodes, wires=tuple(sorted(wires)))


@settings(max_examples=EXAMPLES)
@given(coded())
def test_unchanged_source_changes_nothing(document: Document) -> None:
    document = runnable(document)
    before = program(document)
    assert apply_source(document, before, f"{before.source}\n\n", catalogue()) is document


@settings(max_examples=EXAMPLES)
@given(coded(), coded(), st.data())
def test_the_source_of_any_other_network_makes_it(first: Document, second: Document, data: st.DataObject) -> None:
    """From any graph to any other one by its code alone: the same code, and the same graph up to layout."""
    first, second = runnable(first), runnable(second)
    if data.draw(st.booleans()):
        second = edits.rename(second, "scores", "logits")
    wanted = program(second)
    assume(not muted(first) & names(second))
    result = apply_source(first, program(first), wanted.source, catalogue())
    assert program(result).source.splitlines() == wanted.source.splitlines()
    assert apply_source(second, wanted, program(result).source, catalogue()) is second


@settings(max_examples=EXAMPLES)
@given(coded(), coded(), st.data())
def test_blocks_come_from_source_too(first: Document, second: Document, data: st.DataObject) -> None:
    made = [grouped_at_random(runnable(each), data) for each in (first, second)]
    wanted = program(made[1])
    assume(not muted(made[0]))  # ports that show them are kept, and source does not show these ports
    result = apply_source(made[0], program(made[0]), wanted.source, catalogue())
    assert program(result).source.splitlines() == wanted.source.splitlines()


def muted(document: Document) -> set[str]:
    """Names of muted nodes, which source does not show."""
    graphs = (document, *document.blocks.values())
    return {name for graph in graphs for name, node in graph.nodes.items() if node.muted}


def names(document: Document) -> set[str]:
    return {name for graph in (document, *document.blocks.values()) for name in graph.nodes}


def grouped_at_random(document: Document, data: st.DataObject) -> Document:
    for block in ("Inner", "Outer")[: data.draw(st.integers(0, 2))]:
        layers = [
            name
            for name, node in document.nodes.items()
            if name[0] == "n" or name in ("first", "flat", "scores") or block_nodes.name_of(node) is not None
        ]
        chosen = data.draw(st.sets(st.sampled_from(layers), min_size=1))
        try:
            document, _ = group(document, chosen, block)
        except EditError:
            assume(False)
    allow_code(document)
    assume(not check(document, catalogue()).errors)
    return document


RELU = "relu = self.relu(hidden)"

# -- what source can say ----------------------------------------------------------------------


def test_a_changed_argument_is_a_parameter() -> None:
    result = edited(mlp(), ("out_features=32", "out_features=48"))
    assert result == edits.set_param(mlp(), "hidden", "out_features", 48)


def test_a_renamed_attribute_is_the_same_node() -> None:
    document = mlp()
    result = edited(document, ("hidden", "first"))
    assert result.nodes["first"] is document.nodes["hidden"]
    assert result == edits.rename(document, "hidden", "first")


def test_swapped_names_swap() -> None:
    document = edits.set_param(mlp(), "hidden", "bias", False)
    result = edited(document, ("hidden", "x1"), ("logits", "hidden"), ("x1", "logits"))
    assert program(result).source == program(document).source.replace("hidden", "x1").replace(
        "logits", "hidden"
    ).replace("x1", "logits")


def test_a_new_layer_is_placed_behind_its_input() -> None:
    document = edits.move(mlp(), {"relu": (400.0, 80.0)})
    result = edited(
        document,
        ("self.relu = nn.ReLU()\n", "self.relu = nn.ReLU()\n        self.drop = nn.Dropout(0.25)\n"),
        ("self.logits(relu)", "self.logits(self.drop(relu))"),
    )
    assert result.nodes["drop"] == Node("nn.Dropout", {"p": 0.25}, at=(632.0, 80.0))
    assert [str(wire) for wire in result.wires if "drop" in str(wire)] == [
        "drop.output -> logits.input",
        "relu.output -> drop.input",
    ]


def test_operators_and_functions_are_nodes() -> None:
    result = edited(
        mlp(),
        ("        self.relu = nn.ReLU()\n", ""),
        (
            "relu = self.relu(hidden)",
            "x = F.gelu(hidden) * hidden\n        x += hidden\n        relu = torch.cat([x, hidden], 1)",
        ),
    )
    types = {name: node.type for name, node in result.nodes.items() if name not in mlp().nodes or name == "relu"}
    assert types == {"gelu": "nn.GELU", "mul": "ops.mul", "add": "ops.add", "relu": "ops.cat"}
    assert "relu = engine.cat([add, hidden], dim=1)" in program(result).source


def test_a_sum_of_several_tensors_is_one_node() -> None:
    result = edited(mlp(), (RELU, "x = self.relu(hidden)\n        relu = x + hidden + x + hidden"))
    assert [node.type for node in result.nodes.values()].count("ops.add") == 1
    assert "engine.add(engine.add(engine.add(relu, hidden), relu), hidden)" in program(result).source
    fewer = edited(result, ("engine.add(engine.add(engine.add(relu, hidden), relu), hidden)", "relu + hidden"))
    assert "engine.add(relu, hidden)" in program(fewer).source


def test_numbers_comparisons_selections_and_methods_are_nodes() -> None:
    result = edited(
        mlp(),
        ("        self.relu = nn.ReLU()\n", ""),
        (RELU, "gate = (2 * hidden + 1) > -0.5\n        relu = -hidden.masked_fill(gate, 0.0).clamp(min=0)"),
        ("flatten = self.flatten(images)", "flatten = self.flatten(images)[:, -1].reshape(64, 1).to(torch.float32)"),
    )
    text = "\n".join(f"{name} {node.type} {node.params}" for name, node in result.nodes.items())
    assert "mul ops.mul {'y': 2}" in text
    assert "gate ops.gt {'y': -0.5}" in text
    assert "masked_fill ops.masked_fill {'value': 0.0}" in text
    assert "clamp ops.clamp {'min': 0}" in text
    assert "studio.Slice {'index': ':, -1'}" in text
    assert "reshape ops.reshape {'shape': [64, 1]}" in text


def test_a_second_call_of_a_layer_shares_its_weights() -> None:
    document = digits({"flatten": "nn.Flatten", "square": Node("nn.Linear", {"out_features": 64}), "logits": "nn.ReLU"})
    result = edited(document, ("square = self.square(flatten)", "square = self.square(self.square(flatten))"))
    shared = next(name for name, node in result.nodes.items() if node.shares)
    assert result.nodes[shared].shares == "square"
    assert program(result).source.count("self.square(") == 2
    assert apply_source(result, program(result), program(document).source, catalogue()) == document


def test_a_variable_that_is_assigned_twice_names_no_node() -> None:
    result = edited(mlp(), (RELU, "relu = self.relu(hidden)\n        relu = relu + hidden"))
    assert {"relu", "add"} < result.nodes.keys()
    assert not any(node.shares for node in result.nodes.values())


def test_nodes_of_several_calls_stay_as_long_as_their_statement_does() -> None:
    document = digits(
        {
            "flatten": "nn.Flatten",
            "mix": Node("studio.Formula", {"expression": "2 * x + sin(x) ** 2"}),
            "rows": Node("ops.reshape", {"shape": ["N", 64]}),
            "logits": Node("nn.Linear", {"out_features": 10}),
        }
    )
    document = replace(document, wires=tuple(sorted(_port(wire) for wire in document.wires)))
    made = "self.flatten = nn.Flatten()"
    result = edited(
        document,
        ("mix", "blend"),
        ("self.flatten(images)", "self.relu(self.flatten(images))"),
        (made, f"{made}\n        self.relu = nn.ReLU()"),
    )
    assert result.nodes["blend"] is document.nodes["mix"]
    assert result.nodes["rows"] == document.nodes["rows"]
    assert "relu.output -> blend.x" in map(str, result.wires)
    changed = edited(document, ("2 * flatten", "3 * flatten"))
    assert "ops.pow" in {node.type for node in changed.nodes.values()}


def _port(wire: Wire) -> Wire:
    is_formula = wire.target.node in ("mix", "rows")
    return Wire(wire.source, Endpoint(wire.target.node, "x")) if is_formula else wire


def test_parameters_of_the_training_are_set() -> None:
    result = edited(mlp(), ("optim.Adam(self.model.parameters())", "optim.Adam(self.model.parameters(), lr=0.5)"))
    assert result == edits.set_param(mlp(), "adam", "lr", 0.5)
    assert edited(mlp(), ("std=16.0", "std=8.0")).nodes["scale"].params == {"std": 8.0}


def test_layers_are_frozen_by_a_line() -> None:
    line = "self.hidden = nn.Linear(in_features=64, out_features=32)\n"
    freeze = "        self.hidden.requires_grad_(False)\n"
    frozen = edited(mlp(), (line, line + freeze))
    assert frozen.nodes["hidden"].frozen
    assert edited(frozen, (freeze, "")) == mlp()


def test_lines_in_another_order_order_the_nodes() -> None:
    document = digits({"flatten": "nn.Flatten", "a": Node("nn.Linear", {"out_features": 10}), "b": "nn.ReLU"})
    document = edits.add(document, "sum", Node("ops.add"))
    text = program(document).source
    assert text.index("self.a") < text.index("self.b")


# -- blocks -----------------------------------------------------------------------------------


def test_a_new_class_is_a_block() -> None:
    more = (
        "class More(nn.Module):\n"
        "    def __init__(self, width):\n"
        "        super().__init__()\n"
        "        self.fc = nn.Linear(64, width)\n\n"
        "    def forward(self, x):\n"
        "        return self.fc(x)\n\n\n"
    )
    result = edited(
        mlp(),
        ("class Net(", f"{more}class Net("),
        ("self.hidden = nn.Linear(in_features=64, out_features=32)", "self.hidden = More(32)"),
    )
    assert result.nodes["hidden"].type == "block.More"
    assert result.nodes["hidden"].params == {"width": 32}
    assert result.blocks["More"].params == {"width": (ParamRef("fc", "out_features"),)}
    assert list(result.blocks["More"].nodes) == ["x", "fc", "output"]


def test_a_block_is_repeated_by_a_loop() -> None:
    document = promote(grouped(mlp(), "hidden", "relu"), "dense", ParamRef("hidden", "out_features"), "width")
    document = edits.set_param(document, "dense", "width", 64)
    result = edited(
        document,
        ("self.dense = Dense()", "self.dense = nn.ModuleList([Dense() for _ in range(3)])"),
        (
            "dense = self.dense(flatten)",
            "dense = flatten\n        for layer in self.dense:\n            dense = layer(dense)",
        ),
    )
    assert result == edits.set_param(document, "dense", block_nodes.REPEAT, 3)


def test_values_per_copy_follow_the_tuple() -> None:
    document = promote(grouped(mlp(), "hidden", "relu"), "dense", ParamRef("hidden", "out_features"), "width")
    document = edits.set_param(document, "dense", "width", {"each": [32, 16]})
    document = edits.set_param(document, "dense", block_nodes.REPEAT, 2)
    result = edited(document, ("(32, 16)", "(48, 24)"))
    assert result.nodes["dense"].params["width"] == {"each": [48, 24]}


def test_a_literal_in_a_class_changes_all_instances_and_stays_promoted() -> None:
    document = promote(grouped(mlp(), "hidden", "relu"), "dense", ParamRef("hidden", "out_features"), "width")
    document = edits.set_param(document, "dense", "width", 64)
    result = edited(document, ("out_features=64", "out_features=48"))
    assert result.blocks["dense"].params == document.blocks["dense"].params
    assert result.blocks["dense"].nodes["hidden"].params == {"out_features": 48}
    assert result.nodes["dense"].params == {}


def test_a_new_argument_of_forward_is_a_port() -> None:
    document = grouped(mlp(), "hidden", "relu")
    result = edited(
        document,
        ("def forward(self, input):", "def forward(self, input, skip):"),
        ("hidden = self.hidden(input)", "hidden = self.hidden(engine.add(input, skip))"),
        ("self.dense(flatten)", "self.dense(flatten, flatten)"),
    )
    assert block_nodes.input_ports(result.blocks["dense"].nodes) == ["input", "skip"]
    assert "flatten.output -> dense.skip" in map(str, result.wires)


def test_a_renamed_class_is_a_renamed_block() -> None:
    result = edited(grouped(mlp(), "hidden", "relu"), ("class Dense", "class Wide"), ("= Dense(", "= Wide("))
    assert list(result.blocks) == ["Wide"]
    assert result.nodes["dense"].type == "block.Wide"


# -- what it cannot say -----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("old", "new", "line", "message"),
    [
        (RELU, "relu = 2 - hidden", 16, "2 is not a tensor"),
        (RELU, "relu = hidden[::-1]", 16, "steps of at least 1"),
        (RELU, "relu = hidden if True else flatten", 16, "has no node"),
        (RELU, "if True:\n            relu = hidden", 16, "A graph has no if"),
        (RELU, "for i in range(3):\n            relu = self.relu(hidden)", 16, "A loop calls the copies"),
        (RELU, "relu = print(hidden)", 16, "print has no node"),
        (RELU, "relu = self.tanh(hidden)", 16, "does not set self.tanh"),
        (RELU, "relu = self.relu(missing)", 16, "missing is not defined"),
        (RELU, "relu = hidden  # linear", 16, "has no comments"),
        (RELU, "relu = (hidden", 16, "Syntax error"),
        (RELU, "relu = hidden[:, gate]", 16, "has no node"),
        (RELU, "x = self.relu(hidden)\n        relu = hidden", 16, "Nothing that forward returns depends on self.relu"),
        ("nn.ReLU()", "nn.ReLU(slope=1)", 10, "has no parameter slope"),
        ("nn.ReLU()", "open('secrets')", 10, "neither a layer of the engine nor a class"),
        ("nn.ReLU()", "nn.ReLU(inplace=1 > 0)", 10, "is not a constant"),
        ("self.relu = nn.ReLU()", "relu = nn.ReLU()", 10, "is not a constant"),
        ("= nn.ReLU()", "= nn.ReLU()\n        self.tanh = nn.Tanh()", 11, "does not call self.tanh"),
        ("return logits", "return logits, hidden", 18, "which losses and metrics read"),
        ("return logits", "print(logits)", 18, "must return a tensor"),
        ("def __init__(self):", "def __init__(self, *args):", 6, "plain arguments"),
        ("class Net(", "x = 1\nclass Net(", 5, "imports and classes only"),
        ("class Net(nn", "class Other(nn", 1, "The class Net is missing"),
        ("from engine.data import transforms", "import os", 2, "os is not part of the engine"),
        ("data.Digits()", "data.Iris()", 23, "cannot be applied"),
    ],
)
def test_what_no_graph_can_say_is_refused_with_its_line(old: str, new: str, line: int, message: str) -> None:
    found_line, found = refusal(mlp(), (old, new))
    assert message in found
    assert found_line == line


def test_names_of_other_nodes_are_refused() -> None:
    _, message = refusal(mlp(), ("hidden", "digits"))
    assert message == "There is already a node digits in the project. Choose another name."


def test_shapes_slices_and_counted_outputs_stay_the_same_nodes() -> None:
    nodes: dict[str, Any] = {
        "heads": Node("ops.reshape", {"shape": ["N", 4, 16]}),
        "token": Node("nn.LearnedTensor", {"size": [1, 16]}),
        "wide": Node("Tensor.expand", {"size": ["N", 16]}),
        "ends": Node("studio.Slice", {"index": "..., -1, 2:-2"}),
        "parts": Node("ops.unbind", {"outputs": 4}),
        "mixed": Node("ops.einsum", {"equation": "ni,nj->nij"}),
        "flat": "nn.Flatten",
        "join": Node("ops.cat", {"dim": 1}),
        "scores": Node("nn.Linear", {"out_features": 10}),
    }
    wires = ["rows.output -> heads.x", "token.output -> wide.x", "heads.output -> wide.batch", "heads.output -> ends.x"]
    wires += [
        "heads.output -> parts.x",
        "parts.out0 -> mixed.a",
        "wide.output -> mixed.b",
        "mixed.output -> flat.input",
    ]
    wires += ["flat.output -> join.a", "ends.output -> join.b", "parts.out3 -> join.c", "join.output -> scores.input"]
    document = digits({"rows": "nn.Flatten"}, last="scores", **nodes, wires=wires)
    result = edited(document, ("out_features=10", "out_features=12"))
    assert result.nodes["scores"].params == {"out_features": 12}
    assert {name: node.params for name, node in result.nodes.items() if name != "scores"} == {
        name: node.params for name, node in document.nodes.items() if name != "scores"
    }
    assert result.wires == document.wires

"""Blocks in checks and programs: an instance computes what its nodes would compute on the canvas."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

import engine
from engine import fit, nn
from engine.errors import ShapeError
from studio.document import edits
from studio.document.blocks import block_nodes
from studio.document.blocks.block_edits import demote, describe_block, edit_block, promote, rename_param
from studio.document.blocks.block_expansion import Expansion
from studio.document.blocks.block_grouping import group, unpack
from studio.document.document_errors import EditError
from studio.document.files.project_format import dumps, loads
from studio.document.files.project_templates import template
from studio.document.model import Block, Document, Endpoint, Node, ParamRef
from studio.lowering import check, lower
from studio.lowering.analysis.block_types import known_type
from studio.lowering.report import Report
from studio.nodes import catalogue
from tests.studio.lowering.graphs import digits, mlp, wire
from tests.studio.lowering.test_random_graphs import networks

RANDOM = ("Dropout", "RReLU", "FeatureAlpha")
"""Parts of the names of layers that draw random numbers, which depend on the order of the layers."""


def grouped(document: Document, *names: str, block: str = "dense") -> Document:
    return group(document, names, block)[0]


def checked(document: Document) -> Report:
    return check(document, catalogue())


def source(document: Document) -> str:
    report = checked(document)
    assert not report.errors, report.errors
    program = lower(report, "net")
    program.build()
    return program.source


def losses(document: Document, steps: int = 3, *, compile: bool = False) -> list[Any]:
    task = lower(checked(document)).build(seed=1)
    return [event.loss for event in fit.fit(task, steps=steps, compile=compile) if isinstance(event, fit.Step)]


def test_a_block_is_a_class() -> None:
    text = source(grouped(mlp(), "hidden", "relu"))
    assert (
        "class Dense(nn.Module):\n"
        "    def __init__(self):\n"
        "        super().__init__()\n"
        "        self.hidden = nn.Linear(in_features=64, out_features=32)\n"
        "        self.relu = nn.ReLU()\n\n"
        "    def forward(self, input):\n"
        "        hidden = self.hidden(input)\n"
        "        relu = self.relu(hidden)\n"
        "        return relu\n"
    ) in text
    assert "        self.dense = Dense()\n" in text
    assert "        dense = self.dense(flatten)\n        logits = self.logits(dense)\n" in text


def test_a_block_without_description_lists_its_contents() -> None:
    document = grouped(mlp(), "hidden", "relu")
    kind = known_type(document, catalogue(), "dense")
    assert kind is not None and kind.summary == "Contains Linear, ReLU."
    described = describe_block(document, "dense", "A layer.\nWith details.")
    kind = known_type(described, catalogue(), "dense")
    assert kind is not None and (kind.summary, kind.help) == ("A layer.", "With details.")


def test_figures_are_shown_inside_and_summed_on_the_instance() -> None:
    flat, document = checked(mlp()), checked(grouped(mlp(), "hidden", "relu"))
    assert document.problems == flat.problems == ()
    assert document.nodes["dense.hidden"] == flat.nodes["hidden"]
    assert document.nodes["dense"].parameters == flat.nodes["hidden"].parameters
    assert (document.parameters, document.macs) == (flat.parameters, flat.macs)
    assert document.nodes["dense"].summary == "2 nodes · 2,080 parameters"
    assert document.wires[wire("dense.output -> logits.input")] == "N×32 float32"


def repeated(values: Any, copies: int) -> Document:
    document = promote(grouped(mlp(), "hidden", "relu"), "dense", ParamRef("hidden", "out_features"), "width")
    document = edits.set_param(document, "dense", "width", values)
    return document if copies == 1 else edits.set_param(document, "dense", block_nodes.REPEAT, copies)


def test_copies_follow_each_other_with_values_of_their_own() -> None:
    document = repeated({"each": [32, 16, 16]}, 3)
    assert "for in_features, width in zip((64, 32, 16), (32, 16, 16))" in source(document)
    assert "        dense = flatten\n        for layer in self.dense:\n            dense = layer(dense)\n" in source(
        document
    )
    report = checked(document)
    assert report.nodes["dense"].summary == "3 × 2 nodes · 2,880 parameters"
    task = lower(report).build()
    task.setup()
    names = [name for name, _ in task.model.named_parameters()]
    assert names[:2] == ["dense.0.hidden.weight", "dense.0.hidden.bias"]
    assert [tuple(each.shape) for each in task.model.dense.parameters()][::2] == [(32, 64), (16, 32), (16, 16)]


def test_equal_copies_are_made_in_a_range() -> None:
    document = edits.set_param(repeated(64, 4), "dense", "width", 64)
    assert "nn.ModuleList([Dense() for _ in range(4)])" in source(document)


def test_instances_that_differ_are_arguments() -> None:
    document = repeated(32, 1)
    text = source(
        replace(
            document,
            nodes={**document.nodes, "more": Node("block.dense", {"width": 8})},
            wires=tuple(
                sorted(
                    each
                    for each in (
                        *document.wires,
                        wire("dense.output -> more.input"),
                        wire("more.output -> logits.input"),
                    )
                    if each != wire("dense.output -> logits.input")
                )
            ),
        )
    )
    assert "def __init__(self, in_features, width):" in text
    assert "self.more = Dense(in_features=32, width=8)" in text


@pytest.mark.parametrize("compile", [False, True], ids=["eager", "compiled"])
def test_a_block_trains_as_its_nodes_do(compile: bool) -> None:
    flat = digits(
        {
            "flatten": "nn.Flatten",
            "hidden": Node("nn.Linear", {"out_features": 32}),
            "norm": "nn.BatchNorm1d",
            "drop": Node("nn.Dropout", {"p": 0.5}),
            "logits": Node("nn.Linear", {"out_features": 10}),
        }
    )
    document = grouped(grouped(flat, "norm", "drop", block="inner"), "hidden", "inner", block="outer")
    assert block_nodes.reachable_blocks(document.blocks, document.nodes) == ["outer", "inner"]
    assert losses(document, compile=compile) == losses(flat, compile=compile)


@settings(max_examples=25)
@given(networks(), st.data())
def test_an_instance_equals_its_nodes_bit_for_bit(document: Document, data: st.DataObject) -> None:
    layers = [name for name in document.nodes if name[0] == "n" or name in ("first", "flat", "scores")]
    chosen = data.draw(st.sets(st.sampled_from(layers), min_size=1))
    assume(not any(part in document.nodes[name].type for name in layers for part in RANDOM))
    assume(not checked(document).errors)
    try:
        blocked, instance = group(document, chosen, "made")
    except EditError:
        assume(False)
        raise
    expected, result = (gradients(each, instance, data) for each in (document, blocked))
    assert expected.keys() == result.keys()
    for name, value in expected.items():
        assert np.array_equal(value, result[name], equal_nan=True), name


def gradients(document: Document, instance: str, data: st.DataObject) -> dict[str, np.ndarray]:
    """The loss and the gradients of a step, by the parameters' names without that of the instance."""
    task = lower(checked(document)).build()
    task.setup()
    for index, (_, parameter) in enumerate(sorted(named(task.model, instance).items())):
        generator = np.random.default_rng(index)
        with engine.no_grad():
            parameter.copy_(engine.tensor(generator.normal(size=parameter.shape).astype(np.float32)))
    assert task.batches is not None
    batch = next(iter(task.batches.train))
    [loss] = task.losses(batch).values()
    loss.backward()
    found = {name: parameter.grad for name, parameter in named(task.model, instance).items()}
    arrays = {name: np.asarray(value.numpy()) for name, value in found.items() if value is not None}
    return {**arrays, "loss": np.asarray(loss.detach().numpy())}


def named(model: Any, instance: str) -> dict[str, Any]:
    return {name.removeprefix(f"{instance}."): parameter for name, parameter in model.named_parameters()}


@settings(max_examples=60)
@given(networks(), st.data())
def test_unpacking_restores_what_was_grouped(document: Document, data: st.DataObject) -> None:
    chosen = data.draw(st.sets(st.sampled_from(list(document.nodes)), min_size=1))
    try:
        blocked, instance = group(document, chosen, "made")
    except EditError:
        assume(False)
        raise
    restored, names = unpack(blocked, instance)
    assert set(names) == chosen
    assert restored.wires == document.wires
    assert restored.blocks == {}
    at = {name: document.nodes[name].at for name in document.nodes}
    assert {name: replace(node, at=at[name]) for name, node in restored.nodes.items()} == document.nodes


def test_lines_of_a_block_belong_to_its_first_instance() -> None:
    program = lower(checked(repeated({"each": [32, 16, 16]}, 3)))
    owners = {owner: program.source.splitlines()[line - 1].strip() for line, owner in program.lines.items()}
    assert owners["dense.hidden"] == "hidden = self.hidden(input)"
    assert owners["dense"] == "dense = layer(dense)"


def test_an_exception_is_blamed_on_the_copy_that_raised_it() -> None:
    program = lower(checked(repeated({"each": [32, 16, 16]}, 3)))
    task = program.build()
    task.setup()
    task.model.dense[2].hidden.weight = nn.Parameter(engine.zeros(16, 5))
    with pytest.raises(ShapeError) as caught:
        task.model(engine.zeros(2, 1, 8, 8))
    assert program.node_of(caught.value) == "dense.2.hidden"


def test_an_optimizer_trains_an_instance_or_layers_in_it() -> None:
    document = grouped(edits.set_trains(mlp(), "adam", ["hidden", "logits"]), "hidden", "relu")
    assert document.nodes["adam"].trains == ("dense.hidden", "logits")
    for layers in (("dense.hidden",), ("dense",)):
        only = edits.set_trains(document, "adam", layers)
        report = checked(only)
        assert report.trained["adam"] == ("dense.hidden",) and not report.errors
        assert "[*self.model.dense.hidden.parameters()]" in lower(report).source
        assert "self.logits.requires_grad_(False)" in lower(report).source
        lower(report).build()
    missing = edits.set_trains(document, "adam", ["dense.gone"])
    assert "unknown-layer" in codes(missing)


def test_promoted_through_two_levels() -> None:
    document = grouped(mlp(), "hidden", "relu", block="inner")
    document = promote(document, "inner", ParamRef("hidden", "out_features"), "width")
    document = grouped(document, "inner", "logits", block="outer")
    document = promote(document, "outer", ParamRef("inner", "width"), "size")
    document = edits.set_param(document, "outer", "size", 48)
    assert checked(document).nodes["outer.inner.hidden"].arguments["out_features"] == 48
    assert checked(document).nodes["outer"].arguments["size"] == 48


def test_promoted_parameters_stay_promoted_when_their_nodes_are_grouped_and_unpacked() -> None:
    document = repeated(48, 1)
    inner, instance = group(document, ["hidden"], "inner", inside="dense")
    assert inner.blocks["dense"].params == {"width": (ParamRef(instance, "width"),)}
    assert checked(inner).nodes["dense.inner.hidden"].arguments["out_features"] == 48
    restored, _ = unpack(inner, instance, inside="dense")
    assert restored.blocks["dense"].params == document.blocks["dense"].params
    assert checked(restored).nodes["dense.hidden"].arguments["out_features"] == 48


def test_a_renamed_parameter_is_renamed_where_it_is_promoted_again() -> None:
    document = promote(
        grouped(mlp(), "hidden", "relu", block="inner"), "inner", ParamRef("hidden", "out_features"), "a"
    )
    document = promote(grouped(document, "inner", "logits", block="outer"), "outer", ParamRef("inner", "a"), "b")
    document = edits.set_param(document, "outer", "b", 48)
    renamed = rename_param(document, "inner", "a", "c")
    assert checked(renamed).nodes["outer.inner.hidden"].arguments["out_features"] == 48
    removed = demote(document, "inner", "a")
    assert removed.blocks["outer"].params == {} and removed.nodes["outer"].params == {}


# -- problems ---------------------------------------------------------------------------------


def codes(document: Document) -> dict[str, str | None]:
    return {problem.code: problem.node for problem in checked(document).errors}


def test_a_problem_inside_is_at_the_node_inside_with_a_fix_of_the_definition() -> None:
    document = grouped(mlp(), "hidden", "relu")
    document = edit_block(document, "dense", lambda view: edits.set_param(view, "hidden", "in_features", 100))
    [problem] = checked(document).errors
    assert problem.node == "dense.hidden" and "dense.hidden" in problem.message
    assert problem.fix is not None
    after = problem.fix.edit(document)
    assert not checked(after).errors
    assert after.blocks["dense"].nodes["hidden"].params.get("in_features") in (None, 64)


def test_a_fix_of_a_promoted_parameter_is_set_at_the_instance() -> None:
    document = promote(grouped(mlp(), "hidden", "relu"), "dense", ParamRef("hidden", "in_features"))
    document = edits.set_param(document, "dense", "in_features", 100)
    [problem] = checked(document).errors
    assert problem.fix is not None
    after = problem.fix.edit(document)
    assert not checked(after).errors
    assert after.blocks is document.blocks or after.blocks == document.blocks


def test_an_input_without_a_wire_is_a_problem_of_the_instance() -> None:
    document = edits.disconnect(grouped(mlp(), "hidden", "relu"), [wire("flatten.output -> dense.input")])
    [problem] = [problem for problem in checked(document).errors if problem.code == "missing-wire"]
    assert (problem.node, problem.port) == ("dense", "input")
    assert problem.message == "dense needs a wire at input. Connect an output to it."


def test_an_instance_that_the_run_does_not_use_prevents_nothing() -> None:
    document = edits.add(grouped(mlp(), "hidden", "relu"), "spare", Node("block.dense"))
    report = checked(document)
    assert not report.errors
    assert [(problem.code, problem.node) for problem in report.warnings] == [("missing-wire", "spare")]
    assert len(losses(document, 1)) == 1


@pytest.mark.parametrize(
    ("change", "code", "node"),
    [
        (lambda d: edits.set_param(d, "dense", "repeat", 0), "bad-parameter", "dense"),
        (lambda d: edits.set_param(d, "dense", "wdth", 3), "unknown-parameter", "dense"),
        (lambda d: edits.set_param(d, "dense", "width", {"each": [1, 2]}), "bad-parameter", "dense"),
        (lambda d: edits.set_param(d, "dense", "width", -1), "bad-parameter", "dense.hidden"),
        (lambda d: replace(d, blocks={}), "unknown-block", "dense"),
        (lambda d: inside(d, "again", "block.dense"), "recursive-block", "dense.again"),
        (lambda d: inside(d, "loss", "nn.MSELoss"), "misplaced-node", "dense.loss"),
        (lambda d: inside(d, "second", block_nodes.OUTPUT), "missing-wire", "dense.second"),
        (lambda d: edits.add(d, "port", Node(block_nodes.INPUT)), "misplaced-node", "port"),
    ],
)
def test_problems_of_blocks(change: Any, code: str, node: str) -> None:
    document = change(repeated(32, 1))
    report = checked(document)
    [problem] = [problem for problem in report.problems if problem.code == code]
    assert problem.node == node
    assert problem.help
    if problem.fix is not None:
        assert code not in codes(problem.fix.edit(document))


def inside(document: Document, name: str, key: str) -> Document:
    block = document.blocks["dense"]
    return replace(document, blocks={"dense": replace(block, nodes={**block.nodes, name: Node(key)})})


def test_definitions_that_double_each_other_end() -> None:
    levels = {
        "b0": Block({"x": Node(block_nodes.INPUT), "y": Node(block_nodes.OUTPUT)}, (wire("x.output -> y.input"),))
    }
    for level in range(1, 40):
        nodes = {"x": Node(block_nodes.INPUT), "p": Node(f"block.b{level - 1}"), "q": Node(f"block.b{level - 1}")}
        levels[f"b{level}"] = Block(nodes)
    document = Document({"top": Node("block.b39")}, blocks=levels)
    assert Expansion(document).is_truncated
    assert codes(document)["too-many-nodes"] is None


def test_definitions_that_promote_through_each_other_end() -> None:
    levels = {"b0": Block({"x": Node("nn.Linear")}, params={"p": (ParamRef("x", "out_features"),)})}
    for level in range(1, 2000):
        levels[f"b{level}"] = Block({"x": Node(f"block.b{level - 1}")}, params={"p": (ParamRef("x", "p"),)})
    document = Document({"top": Node("block.b1999", {"p": 3})}, blocks=levels)
    assert codes(document)["too-many-nodes"] is None
    assert loads(dumps(document)) == document


def test_a_loop_of_blocks_that_pass_their_input_on_is_a_cycle() -> None:
    through = Block({"x": Node(block_nodes.INPUT), "y": Node(block_nodes.OUTPUT)}, (wire("x.output -> y.input"),))
    document = Document(
        {"a": Node("block.same"), "b": Node("block.same")},
        (wire("a.y -> b.x"), wire("b.y -> a.x")),
        blocks={"same": through},
    )
    assert Expansion(document).source(Expansion(document).root, Endpoint("a", "y")) is None
    assert codes(document)["cycle"] in ("a", "b")


def test_an_optional_input_is_connected_in_all_instances_or_in_none() -> None:
    document = digits({"flatten": "nn.Flatten", "one": "nn.ReLU", "logits": Node("nn.Linear", {"out_features": 10})})
    document = edits.add(document, "join", Node("ops.cat", {"dim": 1}))
    document = edits.connect(document, wire("flatten.output -> join.b"))
    document = edits.connect(document, wire("one.output -> join.a"))
    document = edits.connect(document, wire("join.output -> logits.input"))
    document = edits.add(document, "tanh", Node("nn.Tanh"))
    document = edits.connect(document, wire("flatten.output -> tanh.input"))
    document = edits.connect(document, wire("tanh.output -> join.c"))
    document = grouped(document, "join", block="joined")
    document = edits.add(document, "again", Node("block.joined"))
    ports = block_nodes.input_ports(document.blocks["joined"].nodes)
    for port in ports[:2]:
        document = edits.connect(document, wire(f"joined.output -> again.{port}"))
    document = edits.connect(document, wire("again.output -> logits.input"))
    [problem] = [problem for problem in checked(document).errors if problem.code == "missing-wire"]
    assert (problem.node, problem.port) == ("again", ports[2])
    document = edits.connect(document, wire(f"tanh.output -> again.{ports[2]}"))
    assert not checked(document).errors
    assert len(losses(document, 1)) == 1


def passed_on(nodes: dict[str, Node], wires: list[str]) -> Document:
    """Images that reach the scores through instances of blocks that only pass their input on."""
    document = edits.disconnect(
        digits({"flatten": "nn.Flatten", "logits": Node("nn.Linear", {"out_features": 10})}),
        [wire("flatten.output -> logits.input")],
    )
    for name, node in nodes.items():
        document = edits.add(document, name, node)
    through = ("input.output -> inner.input", "inner.output -> output.input")
    ports = {"input": Node(block_nodes.INPUT), "output": Node(block_nodes.OUTPUT)}
    kinds = {"muted": Node("nn.GELU", muted=True), "nested": Node("block.muted")}
    made = {key: Block({**ports, "inner": node}, tuple(sorted(map(wire, through)))) for key, node in kinds.items()}
    document = replace(document, blocks=made)
    for each in wires:
        document = edits.connect(document, wire(each))
    return document


@pytest.mark.parametrize(
    "nodes",
    [
        {"a": Node("block.nested")},
        {"a": Node("block.nested", {block_nodes.REPEAT: 2})},
        {"unused": Node("block.muted"), "a": Node("block.muted")},
        {"unused": Node("block.nested"), "a": Node("block.nested")},
        {"unused": Node("block.muted"), "a": Node("block.muted", shares="unused")},
    ],
    ids=["nested", "repeated", "beside an unconnected one", "nested beside an unconnected one", "shared"],
)
def test_instances_without_layers_pass_their_input_on(nodes: dict[str, Node]) -> None:
    document = passed_on(nodes, ["flatten.output -> a.input", "a.output -> logits.input"])
    plain = digits({"flatten": "nn.Flatten", "logits": Node("nn.Linear", {"out_features": 10})})
    assert losses(document) == losses(plain)


def test_an_output_that_no_instance_makes_is_left_out() -> None:
    document = passed_on({"a": Node("block.nested")}, ["flatten.output -> a.input", "a.output -> logits.input"])
    inner, outer = document.blocks["muted"], document.blocks["nested"]
    inner = replace(
        inner,
        nodes={**inner.nodes, "more": Node(block_nodes.OUTPUT), "fc": Node("nn.Linear", {"out_features": 8})},
        wires=tuple(sorted((*inner.wires, wire("input.output -> fc.input"), wire("fc.output -> more.input")))),
    )
    outer = replace(
        outer,
        nodes={**outer.nodes, "more": Node(block_nodes.OUTPUT)},
        wires=tuple(sorted((*outer.wires, wire("inner.more -> more.input")))),
    )
    document = replace(document, blocks={"muted": inner, "nested": outer})
    assert len(losses(document, 1)) == 1


def test_what_one_instance_needs_is_needed_in_instances_that_only_pass_values_on() -> None:
    inner = {
        "i1": Node("port.Input"),
        "i2": Node("port.Input"),
        "fc": Node("nn.Linear", {"out_features": 64}),
        "o1": Node("port.Output"),
        "o2": Node("port.Output"),
    }
    wires = (wire("fc.output -> o1.input"), wire("i1.output -> fc.input"), wire("i2.output -> o2.input"))
    document = edits.disconnect(mlp(), [wire("flatten.output -> hidden.input")])
    document = replace(document, blocks={"x": Block(inner, wires)})
    document = edits.add_all(document, {"a": Node("block.x"), "b": Node("block.x")})
    for each in ("flatten.output -> a.i1", "a.o1 -> b.i2", "b.o2 -> hidden.input"):
        document = edits.connect(document, wire(each))
    assert [(problem.code, problem.node) for problem in checked(document).errors] == [("missing-wire", "b")]


def test_a_fix_that_adds_a_node_inside_a_block_changes_its_definition() -> None:
    document = edits.set_flag(template("digits-mlp").document, ["relu"], muted=True)
    [outside] = [problem for problem in checked(document).problems if problem.code == "no-activation"]
    assert outside.fix is not None and outside.message.endswith("Insert ReLU before logits.")
    document = grouped(document, "relu", "dropout", "logits", block="tail")
    [inside] = [problem for problem in checked(document).problems if problem.code == "no-activation"]
    assert inside.fix is not None and inside.fix.title == "Insert ReLU before logits in the block tail"
    mended = inside.fix.edit(document)
    assert [node.type for node in mended.blocks["tail"].nodes.values()].count("nn.ReLU") == 2
    assert checked(mended).problems == ()

"""A graph with an error shows every shape that the error does not affect."""

from __future__ import annotations

import itertools

import msgspec
from hypothesis import given, settings
from hypothesis import strategies as st

from studio.document import edits
from studio.document.blocks import block_nodes
from studio.document.model import Block, Document, Endpoint, Node, Wire
from studio.lowering.check import check
from studio.nodes.catalogue import catalogue
from tests.studio.lowering.graphs import document

KINDS = ("nn.ReLU", "nn.Linear", "nn.Tanh", "ops.add")

SOURCE = document(
    {
        "digits": "data.Digits",
        "scale": Node("transforms.Normalize", {"std": 16.0}),
        "batches": "data.Batches",
        "flatten": "nn.Flatten",
    },
    ["digits.samples -> scale.samples", "scale.samples -> batches.samples", "batches.input -> flatten.input"],
)


@st.composite
def networks(draw: st.DrawFn) -> Document:
    """Layers after flattened digits; each takes the output of an earlier one, an addition of two of equal width."""
    nodes = {
        "digits": Node("data.Digits"),
        "scale": Node("transforms.Normalize", {"std": 16.0}),
        "batches": Node("data.Batches"),
        "flatten": Node("nn.Flatten"),
    }
    wires = [_wire("digits", "samples", "scale", "samples"), _wire("scale", "samples", "batches", "samples")]
    wires.append(_wire("batches", "input", "flatten", "input"))
    widths = {"flatten": 64}
    for index in range(draw(st.integers(2, 12))):
        kind, name = draw(st.sampled_from(KINDS)), f"layer_{index}"
        source = draw(st.sampled_from(sorted(widths)))
        widths[name] = draw(st.integers(1, 9)) if kind == "nn.Linear" else widths[source]
        nodes[name] = Node(kind, {"out_features": widths[name]} if kind == "nn.Linear" else {})
        wires.append(_wire(source, "output", name, "x" if kind == "ops.add" else "input"))
        if kind == "ops.add":
            equal = sorted(each for each in widths if each != name and widths[each] == widths[source])
            wires.append(_wire(draw(st.sampled_from(equal)), "output", name, "y"))
    return Document(nodes, tuple(sorted(wires)))


def _wire(source: str, output: str, target: str, port: str) -> Wire:
    return Wire(Endpoint(source, output), Endpoint(target, port))


def downstream(document: Document, name: str) -> set[str]:
    found = {name}
    while more := {wire.target.node for wire in document.wires if wire.source.node in found} - found:
        found |= more
    return found


@settings(max_examples=40, deadline=None)
@given(networks(), st.data())
def test_shapes_before_and_beside_an_error_are_shown(document: Document, data: st.DataObject) -> None:
    before = check(document, catalogue())
    layers = sorted(name for name, node in document.nodes.items() if node.type in ("nn.ReLU", "nn.Linear", "nn.Tanh"))
    if not layers:
        return
    name = data.draw(st.sampled_from(layers))
    faulty = edits.add(edits.remove(document, [name]), name, Node("nn.Linear", {"in_features": 999, "out_features": 3}))
    for wire in document.wires:
        if name in (wire.source.node, wire.target.node):
            faulty = edits.connect(faulty, wire)
    report, affected = check(faulty, catalogue()), downstream(faulty, name)
    known = {(problem.node, problem.code) for problem in before.errors}
    new = {problem.node for problem in report.errors if (problem.node, problem.code) not in known}
    assert new
    assert new <= affected
    for wire in faulty.wires:
        if wire.source.node not in affected:
            assert report.wires.get(wire) == before.wires.get(wire) is not None, wire


def labels(made: Document) -> dict[str, str]:
    """The labels of the wires by the node at their start."""
    return {wire.source.node: label for wire, label in check(made, catalogue()).wires.items()}


def test_shapes_after_a_wrong_dtype_are_shown() -> None:
    layers: dict[str, str | Node] = {
        "flatten": "nn.Flatten",
        "hidden": Node("nn.Linear", {"out_features": 7}),
        "relu": "nn.ReLU",
        "words": Node("nn.Embedding", {"num_embeddings": 5, "embedding_dim": 3}),
        "sizes": Node("nn.Linear", {"in_features": 99, "out_features": 4}),
        "last": "nn.ReLU",
    }
    chain = [f"{a}.output -> {b}.input" for a, b in itertools.pairwise(layers)]
    made = document(
        {"digits": "data.Digits", "batches": "data.Batches", **layers},
        ["digits.samples -> batches.samples", "batches.input -> flatten.input", *chain],
    )
    found = labels(made)
    assert (found["flatten"], found["hidden"], found["relu"]) == ("N×64 uint8", "N×7 float32", "N×7 float32")
    assert found["words"] == "N×7×3 float32", "an embedding of floating-point numbers"
    assert found["sizes"] == "N×7×4 float32"


def test_an_error_in_one_branch_leaves_the_shapes_of_the_other_one() -> None:
    nodes: dict[str, str | Node] = {
        "input": block_nodes.INPUT,
        "good": Node("nn.Linear", {"out_features": 64}),
        "bad": Node("nn.Conv2d", {"out_channels": 64, "kernel_size": 3}),
        "sum": "ops.add",
        "output": block_nodes.OUTPUT,
    }
    wires = ["input.output -> good.input", "input.output -> bad.input", "good.output -> sum.x", "bad.output -> sum.y"]
    inside = document(nodes, [*wires, "sum.output -> output.input"])
    outside = document(
        {
            **SOURCE.nodes,
            "twice": Node("block.two", {"repeat": 2}),
            "after": "nn.ReLU",
            "beside": Node("nn.Linear", {"out_features": 3}),
            "tail": "nn.ReLU",
        },
        [
            *(f"{wire.source} -> {wire.target}" for wire in SOURCE.wires),
            "flatten.output -> twice.input",
            "twice.output -> after.input",
            "flatten.output -> beside.input",
            "beside.output -> tail.input",
        ],
    )
    made = msgspec.structs.replace(outside, blocks={"two": Block(inside.nodes, inside.wires)})
    report = check(made, catalogue())
    outputs = {name: [str(each) for each in info.outputs.values()] for name, info in report.nodes.items()}
    assert outputs["twice.0.good"] == ["N×64 float32"]
    assert outputs["twice.0.sum"] == outputs["twice.1.good"] == outputs["twice"] == outputs["after"] == []
    assert outputs["beside"] == outputs["tail"] == ["N×3 float32"]
    assert [problem.node for problem in report.errors if problem.node] == ["twice.0.bad"], "the cause only"

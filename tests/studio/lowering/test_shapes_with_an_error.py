"""A graph with an error shows every shape that the error does not affect."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from studio.document import edits
from studio.document.model import Document, Endpoint, Node, Wire
from studio.lowering.check import check
from studio.nodes.catalogue import catalogue

KINDS = ("nn.ReLU", "nn.Linear", "nn.Tanh", "ops.add")


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

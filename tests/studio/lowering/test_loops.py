"""Cycles anywhere in a graph: each traversal ends, and the cycle is reported."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest
from msgspec.structs import replace

from studio.document.files.project_templates import templates
from studio.document.graph_walk import walk
from studio.document.model import Document, Endpoint, Node, Wire
from studio.lowering import check
from studio.lowering.analysis.node_graph import NodeGraph, bypass_input
from studio.lowering.check import Checker
from studio.lowering.problems import quick_fixes
from studio.nodes import catalogue
from studio.training.data.data_chain import data_node_for_selection
from tests.call_count import calls
from tests.studio.lowering.graphs import codes, document, mlp

pytestmark = pytest.mark.timeout(100)

PASSING = [each for each in catalogue() if each.outputs and bypass_input(each, each.outputs[0].name) is not None]
"""Types that hand on what they get: two of them can feed each other."""
KINDS = {(each.role, each.group, each.inputs, each.outputs): each.key for each in PASSING}.values()
"""One of them for each kind of node."""
BEHIND = {(each.role, each.group): each for each in catalogue() if each.inputs}.values()
"""One type of each kind, to stand behind a loop."""
LARGE = 2000


def looped(base: Document) -> Iterator[Document]:
    """With one input wired to something that depends on it, in every way that port types allow."""
    graph = NodeGraph(base, catalogue())
    for wire in base.wires:
        kind = next(port.type for port in graph.types[wire.source.node].outputs if port.name == wire.source.port)
        for name in walk(
            [wire.target.node], lambda name: [each.target.node for each in graph.outgoing_wires.get(name, ())]
        ):
            for port in graph.types[name].outputs:
                if port.type is kind:
                    closing = Wire(Endpoint(name, port.name), wire.target)
                    yield replace(base, wires=tuple(sorted({*base.wires, closing} - {wire})))


def muted(base: Document) -> Document:
    return replace(base, nodes={name: replace(node, muted=True) for name, node in base.nodes.items()})


def ring(count: int, key: str = "nn.Dropout") -> Document:
    """Nodes that feed each other in a circle, and a Linear that one of them feeds."""
    nodes = {f"n{index}": Node(key) for index in range(count)}
    wires = [f"n{index}.output -> n{(index + 1) % count}.input" for index in range(count)]
    return document({**nodes, "linear": Node("nn.Linear", {"out_features": 3})}, [*wires, "n0.output -> linear.input"])


@pytest.mark.parametrize("template", [each.key for each in templates()])
def test_cycle_anywhere_in_a_template_is_reported(template: str) -> None:
    base = next(each.document for each in templates() if each.key == template)
    for broken in looped(base):
        assert "cycle" in codes(broken)
        check(muted(broken), catalogue())
        data_node_for_selection(NodeGraph(muted(broken), catalogue()), [next(iter(broken.nodes))])


@pytest.mark.parametrize("key", KINDS)
def test_cycle_of_two_nodes_of_one_type_is_reported(key: str) -> None:
    kind = catalogue()[key]
    input_port, output_port = str(bypass_input(kind, kind.outputs[0].name)), kind.outputs[0]
    behind = [(each, port) for each in BEHIND for port in each.inputs if port.type is output_port.type]
    nodes = {"a": Node(key), "b": Node(key), **{f"n{index}": Node(each.key) for index, (each, _) in enumerate(behind)}}
    wires = [f"a.{output_port.name} -> b.{input_port}", f"b.{output_port.name} -> a.{input_port}"]
    wires += [f"a.{output_port.name} -> n{index}.{port.name}" for index, (_, port) in enumerate(behind)]
    broken = document({**mlp().nodes, **nodes}, wires)
    broken = replace(broken, wires=tuple(sorted({*broken.wires, *mlp().wires})))
    assert "cycle" in codes(broken)
    assert "cycle" in codes(muted(broken))
    for problem in check(broken, catalogue()).problems:
        if problem.fix is not None:
            check(problem.fix.edit(broken), catalogue())


@pytest.mark.parametrize("make", [ring, lambda count: muted(ring(count))], ids=["ring", "muted"])
def test_work_grows_with_the_length_of_a_cycle(make: Callable[[int], Document]) -> None:
    def check_and_edit(broken: Document) -> None:
        report = Checker().check(broken, catalogue())
        assert [problem.code for problem in report.errors if problem.code == "cycle"] == ["cycle"]
        quick_fixes.insert(Endpoint("linear", "input"), Node("nn.Flatten"), title="").edit(broken)

    whole, half = make(LARGE), make(LARGE // 2)
    assert calls(lambda: check_and_edit(whole)) < 2.2 * calls(lambda: check_and_edit(half))


def test_a_chain_of_muted_nodes_is_followed_once() -> None:
    def muted_chain(size: int) -> Document:
        circle = muted(ring(size))
        return replace(circle, wires=tuple(wire for wire in circle.wires if wire.target.node != "n0"))

    chain, half = muted_chain(LARGE), muted_chain(LARGE // 2)
    assert calls(lambda: Checker().check(chain, catalogue())) < 2.2 * calls(lambda: Checker().check(half, catalogue()))
    graph = NodeGraph(chain, catalogue())
    assert graph.source("linear", "input") is None

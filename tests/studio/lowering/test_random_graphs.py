"""Laws that hold for every graph, however odd."""

from __future__ import annotations

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from engine import fit
from studio.document import edits
from studio.document.blocks.block_expansion import Expansion
from studio.document.model import Document, Endpoint, Node, Wire
from studio.lowering import LoweringError, check, lower, refusal
from studio.lowering.check import Checker
from studio.nodes import NodeType, Role, catalogue
from tests.studio.document.strategies import documents, json_values
from tests.studio.lowering.graphs import digits

KEYS = [node_type.key for node_type in catalogue()]
DEPEND_ON_VALUES = {
    *("nn.Embedding", "nn.Unflatten", "ops.gather", "ops.take_along_dim", "ops.index_select", "ops.scatter_add"),
    *("functional.one_hot", "ops.inverse", "linalg.solve", "linalg.cholesky", "ops.logdet"),
}
"""Types that raise an error for some values, such as an index that is out of range or a singular matrix."""

LAYERS = [
    each for each in catalogue() if each.role in (Role.LAYER, Role.OPERATION) and each.key not in DEPEND_ON_VALUES
]
SIZES: dict[str, Any] = {
    "out_features": 7,
    "out_channels": 3,
    "kernel_size": 2,
    "output_size": 2,
    "dim": 1,
    "normalized_shape": 8,
}


@st.composite
def wild(draw: st.DrawFn) -> Document:
    """Known types with any parameters, and wires between any of their ports."""
    keys = draw(st.lists(st.sampled_from([*KEYS, "gone.Layer"]), max_size=12))
    names = [f"n{index}" for index in range(len(keys))]
    nodes: dict[str, Node] = {}
    for name, key in zip(names, keys, strict=True):
        known = catalogue().get(key)
        params = [param.name for param in known.params] if known is not None else ["x"]
        values = draw(st.dictionaries(st.sampled_from([*params, "odd"]), json_values, max_size=3))
        nodes[name] = Node(key, values, muted=draw(st.booleans()), frozen=draw(st.booleans()))
    ports = st.sampled_from(["input", "target", "output", "loss", "samples", "x", "y", "a", "b"])
    ends = st.builds(Endpoint, st.sampled_from(names or ["n"]), ports)
    wires = draw(st.lists(st.builds(Wire, ends, ends), max_size=20, unique=True)) if names else []
    return Document(nodes=nodes, wires=tuple(sorted(wires)))


def tensor(free: list[str]) -> st.SearchStrategy[str]:
    """Often one of the last, so that graphs become deep."""
    return st.one_of(st.just(free[-1]), st.sampled_from(free[-3:]), st.sampled_from(free))


@st.composite
def networks(draw: st.DrawFn) -> Document:
    """Layers wired to any tensor before them, then scores and a loss for one of these tensors."""
    nodes: dict[str, str | Node] = {}
    wires: list[str] = []
    free = ["first.output"]
    for index in range(draw(st.integers(0, 8))):
        node_type: NodeType = draw(st.sampled_from(LAYERS))
        name = f"n{index}"
        params = {each.name: SIZES[each.name] for each in node_type.params if each.name in SIZES}
        muted, frozen = draw(st.booleans()) and draw(st.booleans()), draw(st.booleans())
        nodes[name] = Node(node_type.key, params, muted=muted, frozen=frozen)
        needed = [port for port in node_type.inputs if not port.optional]
        wires += [f"{draw(tensor(free))} -> {name}.{port.name}" for port in needed]
        free.append(f"{name}.output")
    last = draw(tensor(free)).partition(".")[0]
    scores = {"flat": "nn.Flatten", "scores": Node("nn.Linear", {"out_features": 10})}
    wires += [f"{last}.output -> flat.input", "flat.output -> scores.input"]
    first = draw(st.sampled_from([Node("nn.Identity"), Node("nn.Flatten"), Node("nn.Linear", {"out_features": 8})]))
    return digits({"first": first}, last="scores", **nodes, **scores, wires=wires)


@given(st.one_of(documents(), wild()))
def test_check_never_raises(document: Document) -> None:
    report = check(document, catalogue())
    assert report.problems  # none of these can be run
    nodes = {scope.prefix + name for scope in Expansion(document).root.with_inner() for name in scope.nodes}
    assert set(report.nodes) <= nodes
    for problem in report.problems:
        assert problem.message.strip()
        assert problem.node is None or problem.node in nodes
        assert problem.node_on_canvas is None or problem.node_on_canvas in document.nodes


@given(wild())
def test_each_fix_can_be_applied(document: Document) -> None:
    for problem in check(document, catalogue()).problems:
        if problem.fix is not None:
            after = problem.fix.edit(document)
            assert after != document
            check(after, catalogue())


@settings(max_examples=60)
@given(networks())
def test_documents_without_errors_train(document: Document) -> None:
    report = check(document, catalogue())
    try:
        program = lower(check(document, catalogue()))
    except LoweringError as error:
        assert error.problems == report.errors != ()
        return
    assert report.errors == ()
    assert program.source == lower(check(document, catalogue())).source
    steps = [event for event in fit.fit(program.build(), steps=1) if isinstance(event, fit.Step)]
    assert len(steps) == 1


@given(networks(), st.data())
def test_a_check_after_an_edit_equals_a_check_from_scratch(document: Document, data: st.DataObject) -> None:
    checker = Checker()
    checker.check(document, catalogue())
    name = data.draw(st.sampled_from(list(document.nodes)))
    edited = data.draw(
        st.sampled_from(
            [
                edits.remove(document, [name]),
                edits.set_flag(document, [name], muted=True),
                edits.set_flag(document, [name], frozen=True),
                edits.set_param(document, name, "out_features", 9),
                edits.disconnect(document, document.wires[:1]),
            ]
        )
    )
    warm = checker.check(edited, catalogue())
    fresh = Document(nodes={name: replace(node) for name, node in edited.nodes.items()}, wires=edited.wires)
    cold = check(fresh, catalogue())
    assert warm == cold


@given(wild(), st.data())
def test_accepted_wires_can_be_added(document: Document, data: st.DataObject) -> None:
    """A wire that may be drawn has equal types at both ends and closes no loop."""
    document = Document(nodes=document.nodes)
    for _ in range(8 if document.nodes else 0):
        names = st.sampled_from(list(document.nodes))
        ports = st.sampled_from(["input", "target", "output", "loss", "samples", "x", "y"])
        wire = Wire(data.draw(st.builds(Endpoint, names, ports)), data.draw(st.builds(Endpoint, names, ports)))
        if refusal(document, catalogue(), wire) is None:
            document = edits.connect(document, wire)
    codes = {problem.code for problem in check(document, catalogue()).problems}
    assert not codes & {"stray-wire", "cycle"}

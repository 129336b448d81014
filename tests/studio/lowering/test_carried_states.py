"""Carried states in projects: checks and their fixes, code, blocks, copies, and resumed runs."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from engine import fit
from engine.nn.utils import carried_states
from studio.document.blocks.block_grouping import group
from studio.document.files.project_format import dumps, loads
from studio.document.model import Document, Json, Node
from studio.lowering import check, lower
from studio.lowering.source_import.edits.source_edits import apply_source
from studio.nodes import catalogue
from tests.studio.lowering.graphs import changed, coded, codes, document, fixed, report, wire

LAYER: dict[str, str | Node] = {"lstm": Node("nn.LSTM", {"hidden_size": 8, "carry_state": True})}
CELL: dict[str, str | Node] = {
    "last": Node("ops.select", {"dim": 1, "index": -1}),
    "memory": Node("nn.CarriedState", {"size": 8}),
    "cell": Node("nn.GRUCell", {"hidden_size": 8}),
    "keep": Node("nn.CarriedState", shares="memory"),
    "added": "ops.add",
    "spread": Node("ops.unsqueeze", {"dim": 1}),
}
CELL_WIRES = [
    "tokens.output -> last.x",
    "last.output -> memory.batch",
    "last.output -> cell.input",
    "memory.output -> cell.hx",
    "cell.output -> keep.value",
    "keep.output -> spread.x",
    "tokens.output -> added.x",
    "spread.output -> added.y",
    "added.output -> scores.input",
]


def text(layers: dict[str, str | Node], wires: list[str], **loader: Json) -> Document:
    nodes: dict[str, str | Node] = {
        "text": Node("data.Shakespeare", {"length": 16}),
        "batches": Node("data.Batches", {"batch_size": 32, "contiguous": True, **loader}),
        "tokens": Node("nn.Embedding", {"embedding_dim": 8, "num_embeddings": 62}),
        **layers,
        "scores": Node("nn.Linear", {"out_features": 62}),
        "classes_first": Node("ops.transpose", {"dim0": 1, "dim1": 2}),
        "cross_entropy": "nn.CrossEntropyLoss",
        "adam": "optim.Adam",
    }
    rest = [
        "text.samples -> batches.samples",
        "batches.input -> tokens.input",
        "scores.output -> classes_first.x",
        "classes_first.output -> cross_entropy.input",
        "batches.target -> cross_entropy.target",
        "cross_entropy.loss -> adam.loss",
    ]
    return document(nodes, [*rest, *wires])


def layer(**loader: Json) -> Document:
    return text(LAYER, ["tokens.output -> lstm.input", "lstm.output -> scores.input"], **loader)


def cell(**loader: Json) -> Document:
    return text(CELL, CELL_WIRES, **loader)


def losses(made: Document, *, compile: bool = False) -> list[float]:
    task = lower(report(made)).build(seed=1)
    return [event.loss for event in fit.fit(task, steps=6, compile=compile) if isinstance(event, fit.Step)]


@pytest.mark.parametrize("made", [layer(), cell()], ids=["layer", "cell"])
def test_a_carried_state_is_checked_generated_and_trained(made: Document) -> None:
    assert codes(made) == []
    assert losses(made) == pytest.approx(losses(made, compile=True), rel=1e-4)
    assert loads(dumps(made)) == made


def test_the_code_reads_and_keeps_the_state() -> None:
    source = lower(report(cell())).source
    assert "self.memory = nn.CarriedState(size=(8,))" in source or "self.memory = nn.CarriedState(size=8)" in source
    assert "memory = self.memory(last)" in source
    assert "keep = self.memory(value=cell)" in source
    assert source.count("CarriedState") == 1
    assert "carry_state=True" in lower(report(layer())).source
    assert "carry_state" not in lower(report(changed(layer(), "lstm", params={"hidden_size": 8}))).source


@pytest.mark.parametrize("made", [layer(), cell()], ids=["layer", "cell"])
def test_edited_code_keeps_the_state(made: Document) -> None:
    program = lower(report(made), "net")
    result = apply_source(made, program, program.source.replace("embedding_dim=8", "embedding_dim=12"), catalogue())
    assert result.nodes["tokens"].params["embedding_dim"] == 12
    assert result.wires == made.wires
    for name in ("lstm", "memory", "keep"):
        if name in made.nodes:
            assert (result.nodes[name].params, result.nodes[name].shares) == (
                made.nodes[name].params,
                made.nodes[name].shares,
            )


@pytest.mark.parametrize("made", [layer, cell], ids=["layer", "cell"])
def test_a_loader_that_shuffles_is_reported_and_its_fix_leaves_no_problem(made: Callable[..., Document]) -> None:
    shuffled = made(contiguous=False)
    problem = coded(shuffled, "state-order")
    assert problem.severity == "warning" and problem.node == "batches"
    assert "puts other samples there. Turn contiguous on." in problem.message
    assert problem.fix is not None and problem.fix.settings == ("batches.contiguous=true",)
    assert codes(fixed(shuffled, problem)) == []


def test_without_a_state_no_order_is_required() -> None:
    assert codes(changed(layer(contiguous=False), "lstm", params={"hidden_size": 8})) == []
    assert codes(layer(shuffle=False)) == []


def test_overlapping_windows_are_reported_and_fixed() -> None:
    overlapping = changed(layer(), "text", params={"length": 16, "stride": 4})
    problem = coded(overlapping, "state-gaps")
    assert problem.node == "text" and "windows of 16 tokens start every 4 tokens. Clear stride." in problem.message
    assert codes(fixed(overlapping, problem)) == []


def test_samples_split_at_random_are_reported() -> None:
    made = layer()
    nodes = {**made.nodes, "split": Node("data.HoldOut")}
    wires = (*made.wires, wire("text.samples -> split.samples"), wire("split.samples -> batches.samples"))
    split = Document(nodes=nodes, wires=tuple(each for each in wires if str(each) != "text.samples -> batches.samples"))
    assert coded(split, "state-gaps").node == "split"


def test_a_state_that_two_nodes_keep_is_an_error() -> None:
    nodes: dict[str, str | Node] = {**LAYER, "again": Node("nn.LSTM", shares="lstm")}
    made = text(nodes, ["tokens.output -> lstm.input", "lstm.output -> again.input", "again.output -> scores.input"])
    problem = coded(made, "state-shared")
    assert problem.severity == "error" and problem.node == "again"
    assert codes(fixed(made, problem)) == []


def test_a_state_that_no_node_keeps_or_reads_is_reported() -> None:
    unkept = [each for each in CELL_WIRES if "keep" not in each]
    made = text({name: node for name, node in CELL.items() if name != "keep"}, [*unkept, "cell.output -> spread.x"])
    assert coded(made, "state-unused").message.startswith("No node keeps a value for memory")
    unread = [each for each in CELL_WIRES if "memory" not in each]
    made = text({name: node for name, node in CELL.items() if name != "memory"}, unread)
    made = changed(made, "keep", shares="", params={"size": 8})
    assert coded(made, "state-unused").message.startswith("No node reads the state that keep keeps")


def test_a_wrong_size_names_the_size() -> None:
    assert "must be N×9, not N×8" in report(changed(cell(), "memory", params={"size": 9})).errors[0].message or (
        "hidden state must be" in report(changed(cell(), "memory", params={"size": 9})).errors[0].message
    )


def test_each_copy_of_a_block_has_its_own_state() -> None:
    made = cell()
    block = ["last", "memory", "cell", "keep", "added", "spread"]
    grouped, _ = group(made, block, "step")
    assert codes(grouped) == []
    assert losses(grouped) == losses(made)
    [instance] = [name for name, node in grouped.nodes.items() if node.type == "block.step"]
    copies = changed(grouped, instance, params={**grouped.nodes[instance].params, "repeat": 3})
    assert codes(copies) == []
    task = lower(report(copies)).build(seed=1)
    [*_] = fit.fit(task, steps=3)
    states = dict(carried_states(task.model))
    assert len(states) == 3 and len({id(state) for state in states.values()}) == 3
    assert all(state.kept is not None and state.kept.any() for state in states.values())


def test_instances_that_share_weights_cannot_carry_a_state() -> None:
    grouped, _ = group(layer(), ["lstm"], "memory")
    [instance] = [name for name, node in grouped.nodes.items() if node.type == "block.memory"]
    nodes = {**grouped.nodes, "again": Node("block.memory", shares=instance)}
    old = next(str(each) for each in grouped.wires if str(each).endswith("scores.input"))
    port = old.partition(" ")[0].partition(".")[2]
    entry = next(str(each.target.port) for each in grouped.wires if each.target.node == instance)
    wires = [each for each in grouped.wires if str(each) != old]
    wires += [wire(f"{instance}.{port} -> again.{entry}"), wire(f"again.{port} -> scores.input")]
    made = Document(nodes=nodes, wires=tuple(wires), blocks=grouped.blocks)
    assert [problem.code for problem in check(made, catalogue()).errors] == ["state-shared"]

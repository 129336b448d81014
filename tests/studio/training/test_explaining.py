"""Explaining on a copy of the model, and where the explanation lies on the canvas."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from msgspec.structs import replace

from engine import nn
from engine.compiler import Explanation
from studio.document import edits
from studio.document.blocks.block_edits import edit_block
from studio.document.blocks.block_grouping import group
from studio.document.blocks.block_locations import shared_prefixes
from studio.document.files.project_templates import template
from studio.document.model import Document
from studio.lowering.check import check
from studio.lowering.program import LoweringError
from studio.nodes.catalogue import catalogue
from studio.training.regions import map_to_canvas
from studio.training.staged_explanation import Stage, explain_in_stages, is_same_step
from tests.studio.training import looking
from tests.studio.training.looking import break_adam, break_relu


@pytest.fixture(scope="module")
def digits() -> Document:
    return template("digits-mlp").document


def explained(document: Document) -> Explanation:
    found = [item for item in explain_in_stages(lambda: check(document, catalogue())) if isinstance(item, Explanation)]
    return found[-1]


def test_stages_come_before_what_is_found(digits: Document) -> None:
    items = list(explain_in_stages(lambda: check(digits, catalogue())))
    stages = [item.what for item in items if isinstance(item, Stage)]
    assert stages[:2] == ["preparing", "recording"]
    assert set(stages[2:-1]) <= {"compiling"}
    assert stages[-1] == "timing"
    first, last = (item for item in items if isinstance(item, Explanation))
    assert first is items[2]
    assert last is items[-1]
    assert not any(kernel.note for kernel in last.segments[0].kernels if kernel.kind == "kernel")
    [recompile] = last.recompiles
    assert recompile.differences[-1] == "input 1 is 30×1×8×8, was 32×1×8×8"


def test_who_does_not_go_on_ends_it(digits: Document) -> None:
    items = explain_in_stages(lambda: check(digits, catalogue()))
    assert next(items) == Stage("preparing")
    items.close()
    assert list(items) == []


def test_graphs_with_errors_are_refused(digits: Document) -> None:
    broken = edits.set_param(digits, "logits", "in_features", 100)
    with pytest.raises(LoweringError, match="logits"):
        list(explain_in_stages(lambda: check(broken, catalogue())))


@pytest.mark.parametrize(
    ("edit", "same"),
    [
        (lambda d: edits.move(d, {"relu": (320, 0)}), True),
        (lambda d: edits.set_note(d, "relu", "why?"), True),
        (lambda d: edits.set_description(d, "why?"), True),
        (lambda d: edits.set_training(d, epochs=99), True),
        (lambda d: edits.set_training(d, device="cuda"), False),
        (lambda d: edits.set_param(d, "hidden", "out_features", 12), False),
        (lambda d: edits.set_flag(d, ["relu"], muted=True), False),
        (lambda d: edits.set_flag(d, ["hidden"], frozen=True), False),
        (lambda d: edits.remove(d, ["accuracy"]), False),
        (lambda d: edits.rename(d, "relu", "bend"), False),
    ],
)
def test_what_makes_it_another_step(digits: Document, edit: Callable[[Document], Document], same: bool) -> None:
    assert is_same_step(digits, edit(digits)) is same


def test_edits_inside_a_block_make_another_step(digits: Document) -> None:
    document, _ = group(digits, ["hidden", "relu"], "dense")
    moved = edit_block(document, "dense", lambda view: edits.move(view, {"relu": (320, 0)}))
    changed = edit_block(document, "dense", lambda view: edits.set_param(view, "hidden", "out_features", 12))
    assert is_same_step(document, moved) and not is_same_step(document, changed)


def test_a_region_holds_the_instance_of_a_block(digits: Document) -> None:
    document, _ = group(digits, ["hidden", "relu"], "dense")
    [region] = map_to_canvas(explained(document), document.nodes, document.wires).regions
    assert region.nodes == {"flatten", "dense", "dropout", "logits", "cross_entropy", "accuracy", "adam"}


def test_all_instances_of_a_block_are_in_its_region(digits: Document) -> None:
    document, _ = group(digits, ["hidden", "relu"], "dense")
    twins = replace(document, nodes={**document.nodes, "twin": document.nodes["dense"]})
    shared = shared_prefixes(twins, twins)
    assert shared == {"dense": "dense.", "twin": "dense."}
    [region] = map_to_canvas(explained(document), twins.nodes, document.wires, shared=shared).regions
    assert {"dense", "twin"} <= region.nodes
    assert not any("twin" in kernel.nodes for kernel in region.groups), "kernels are those of the first instance"


def test_one_region_holds_all_that_is_trained(digits: Document) -> None:
    found = map_to_canvas(explained(digits), digits.nodes, digits.wires)
    [region] = found.regions
    assert region.nodes == {"flatten", "hidden", "relu", "dropout", "logits", "cross_entropy", "accuracy", "adam"}
    assert found.breaks == ()
    groups = {name: group for group in region.groups for name in group.nodes}
    assert groups["hidden"] is groups["relu"], "bias and ReLU are one kernel"
    assert len([name for group in region.groups for name in group.nodes]) == len(groups), "a node in two kernels"


def test_a_break_parts_two_regions(digits: Document, monkeypatch: pytest.MonkeyPatch) -> None:
    break_relu(monkeypatch)
    explanation = explained(digits)
    [one] = explanation.breaks
    assert (one.reason, one.line.node if one.line else None, one.count) == ("bool", "relu", 1)
    found = map_to_canvas(explanation, digits.nodes, digits.wires)
    first, second = found.regions
    assert first.nodes == {"flatten", "hidden", "relu"}
    assert {"dropout", "logits", "adam"} <= second.nodes
    [region_break] = found.breaks
    assert (region_break.title, region_break.node, region_break.index) == ("Branch on tensor values", "relu", 0)
    assert {str(wire) for wire in region_break.wires} == {"relu.output -> dropout.input"}


def test_a_break_in_a_file_of_ones_own_is_at_its_line(digits: Document, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(nn.ReLU, "forward", looking.look)
    explanation = explained(digits)
    [one] = explanation.breaks
    assert one.line is not None
    assert (one.line.file, one.line.node) == (looking.__file__, None)
    assert one.line.code == "if not input.is_meta and input.mean() > -1000:"
    assert "engine.where(" in one.rewrite
    [region_break] = map_to_canvas(explanation, digits.nodes, digits.wires).breaks
    assert region_break.node is None
    assert region_break.wires, "what follows is another region, wherever the line is"


def test_a_break_inside_a_node_crosses_no_wire(digits: Document, monkeypatch: pytest.MonkeyPatch) -> None:
    break_adam(monkeypatch)
    explanation = explained(digits)
    found = map_to_canvas(explanation, digits.nodes, digits.wires)
    assert len(explanation.segments) > len(found.regions) == 1
    [region_break] = found.breaks
    assert (region_break.node, region_break.wires) == ("adam", frozenset())
    assert region_break.count > 1


def test_what_is_not_on_the_canvas_is_left_out(digits: Document) -> None:
    explanation = explained(digits)
    found = map_to_canvas(explanation, ["relu"], ())
    assert [region.nodes for region in found.regions] == [{"relu"}]
    assert map_to_canvas(explanation, (), ()).regions == ()

"""Fixes that are offered side by side, and problems that are shown as one."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from studio.document import edits
from studio.document.model import Document, Endpoint, Node, Wire
from studio.lowering.problems import quick_fixes
from studio.lowering.problems.fix_conflicts import deduplicate_problems
from studio.lowering.problems.problem import Fix, Problem
from studio.lowering.problems.problem_groups import grouped
from tests.studio.lowering.graphs import coded, digits, fixed, report, without

END = Endpoint("logits", "input")


def graph() -> Document:
    return digits({"flatten": "nn.Flatten", "drop": "nn.Dropout", "logits": Node("nn.Linear", {"out_features": 10})})


def problems(*offers: Fix) -> list[Problem]:
    return [Problem("error", f"code-{number}", f"Wrong {number}.", fix=fix) for number, fix in enumerate(offers)]


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (quick_fixes.assign("logits", "out_features", 10), quick_fixes.assign("logits", "out_features", 12)),
        (quick_fixes.assign("logits", "out_features", 12), quick_fixes.clear("logits", "out_features")),
        (quick_fixes.bypass("drop", "input"), quick_fixes.assign("drop", "p", 0.1)),
        (quick_fixes.assign("drop", "p", 0.1), quick_fixes.bypass("drop", "input")),
        (quick_fixes.retype("drop", "nn.ReLU"), quick_fixes.retype("drop", "nn.Tanh")),
        (quick_fixes.retype("drop", "nn.ReLU"), quick_fixes.assign("drop", "p", 0.1)),
        (
            quick_fixes.unwire(Wire(Endpoint("drop", "output"), END)),
            quick_fixes.insert(END, Node("nn.ReLU"), title="Insert ReLU"),
        ),
        (
            quick_fixes.unwire(Wire(Endpoint("drop", "output"), END)),
            quick_fixes.wire_up(Endpoint("flatten", "output"), END),
        ),
        (quick_fixes.follow("val_accuracy"), quick_fixes.follow("train_loss")),
    ],
    ids=lambda fix: fix.title,
)
def test_first_of_two_conflicting_fixes_is_offered(one: Fix, other: Fix) -> None:
    document = graph()
    if one.title == "Set out_features to 10":
        document = edits.set_param(document, "logits", "out_features", 5)
    first, second = deduplicate_problems(problems(one, other), document)
    assert first.fix == one
    assert second.fix is None
    assert second.message == f'Wrong 1. Do either this or "{one.title}", not both.'


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (quick_fixes.assign("logits", "out_features", 12), quick_fixes.assign("drop", "p", 0.1)),
        (
            quick_fixes.assign("logits", "out_features", 12),
            quick_fixes.assign_all({"logits": {"out_features": 12}}, "Set all"),
        ),
        (quick_fixes.assign("logits", "out_features", 12), quick_fixes.assign("logits", "bias", False)),
        (
            quick_fixes.insert(END, Node("nn.ReLU"), title="ReLU"),
            quick_fixes.insert(END, Node("nn.Tanh"), title="Tanh"),
        ),
        (quick_fixes.bypass("drop", "input"), quick_fixes.assign("logits", "bias", False)),
    ],
    ids=lambda fix: fix.title,
)
def test_compatible_fixes_are_all_offered(one: Fix, other: Fix) -> None:
    assert [problem.fix for problem in deduplicate_problems(problems(one, other), graph())] == [one, other]


def test_connecting_and_removing_a_node_conflict() -> None:
    layers = {"flatten": "nn.Flatten", "logits": Node("nn.Linear", {"out_features": 10}), "drop": "nn.Dropout"}
    document = without(digits(layers), "logits.output -> drop.input")
    wired, removed = coded(document, "missing-wire"), coded(document, "dropout-on-scores")
    assert wired.fix is not None and wired.fix.title == "Connect logits.output"
    assert removed.fix is None
    assert removed.message.endswith('Do either this or "Connect logits.output", not both.')
    after = coded(fixed(document, wired), "dropout-on-scores")
    assert after.fix is not None and after.fix.title == "Remove drop"


def test_number_of_tried_fixes_depends_on_document_size() -> None:
    tried: list[str] = []

    def counting(name: str) -> Callable[[Document], Document]:
        def edit(document: Document) -> Document:
            tried.append(name)
            return edits.set_param(document, name, "bias", False)

        return edit

    nodes = {f"layer_{number}": Node("nn.Linear") for number in range(300)}
    found = [Problem("warning", "odd", "Odd.", node=name, fix=Fix(f"Mend {name}", counting(name))) for name in nodes]
    assert deduplicate_problems(found, Document(nodes)) == found
    assert len(tried) == 40
    few = {name: nodes[name] for name in list(nodes)[:30]}
    tried.clear()
    deduplicate_problems(found[:30], Document(few))
    assert len(tried) == 30


# -- equal problems


def dead_ends(count: int) -> Document:
    """A chain with layers that feed nothing beside it."""
    names = [f"dead_{number}" for number in range(count)]
    wires = [f"flatten.output -> {name}.input" for name in names]
    return digits(
        {"flatten": "nn.Flatten", "logits": Node("nn.Linear", {"out_features": 10})},
        **dict.fromkeys(names, "nn.ReLU"),
        wires=wires,
    )


def test_equal_warnings_are_merged() -> None:
    found = report(dead_ends(12)).problems
    assert len(found) == 12
    [one] = grouped(found, ())
    assert one.message == (
        "dead_0 has an unconnected output, so it is not part of the run. Connect its output, or remove it. "
        "This also applies to dead_1, dead_2, dead_3, dead_4 and 7 more."
    )
    assert (one.node, one.also) == ("dead_0", tuple(f"dead_{number}" for number in range(1, 12)))
    two = report(dead_ends(2)).problems
    assert grouped(two, ()) == list(two)


def test_merged_fix_applies_all_fixes() -> None:
    chain = {"flatten": "nn.Flatten", **{f"layer_{n}": Node("nn.Linear", {"out_features": 10}) for n in range(5)}}
    document = digits(chain)
    [one] = grouped(report(document).problems, document.nodes)
    assert one.fix is not None and one.fix.title == "Insert ReLU before layer_1, and 3 more"
    assert report(one.fix.edit(document)).problems == ()


def test_problems_with_different_values_or_severities_are_separate() -> None:
    made = [Problem("warning", "odd", f"{name} has {len(name)}.", node=name) for name in ("a", "bb", "ccc")]
    assert grouped(made, ()) == made
    mixed = [Problem("error" if name == "b" else "warning", "odd", f"{name} is odd.", node=name) for name in "abc"]
    assert grouped(mixed, ()) == mixed
    plain = [Problem("error", "empty", "Nothing.")] * 2 + [Problem("error", "other", "Nothing.")]
    assert grouped(plain, ()) == plain

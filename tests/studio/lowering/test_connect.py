from __future__ import annotations

from itertools import pairwise

import pytest

from studio.document.model import Document, Endpoint, Node, Wire
from studio.lowering import refusal
from studio.nodes import catalogue
from tests.call_count import calls
from tests.studio.lowering.graphs import document, mlp, wire


def refused(base: Document, text: str) -> str | None:
    return refusal(base, catalogue(), wire(text))


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("hidden.output -> hidden.input", "hidden cannot be connected to itself."),
        ("ghost.output -> hidden.input", "The project has no node ghost."),
        ("hidden.loss -> relu.input", "hidden has no output loss; it has output."),
        ("hidden.output -> relu.output", "relu.output is an output. Wires go from an output to an input."),
        ("hidden.input -> relu.input", "hidden.input is an input. Wires go from an output to an input."),
        ("hidden.output -> digits.input", "digits has no inputs."),
        (
            "scale.samples -> hidden.input",
            (
                "scale.samples provides samples but hidden.input expects a tensor. "
                "Insert a loader between them to make batches."
            ),
        ),
        (
            "logits.output -> adam.loss",
            "logits.output provides a tensor but adam.loss expects a loss. Insert a loss between them.",
        ),
        ("logits.output -> hidden.input", "hidden already feeds logits, so this wire would close a cycle."),
    ],
)
def test_refusal_states_the_reason(text: str, reason: str) -> None:
    assert refused(mlp(), text) == reason


def test_valid_wire_may_replace_another() -> None:
    assert refused(mlp(), "flatten.output -> logits.input") is None
    assert refused(mlp(), "hidden.output -> relu.input") is None


def test_unknown_types_keep_wires_but_accept_no_new_ones() -> None:
    base = document({"a": "nn.ReLU", "odd": "gone.Layer", "b": "nn.ReLU"}, ["a.output -> odd.in_port"])
    assert refused(base, "a.output -> odd.in_port") is None
    assert (
        refused(base, "b.output -> odd.other")
        == "odd has an unknown type. Its wires are kept, but no new ones can be added."
    )


def test_refusal_takes_no_more_work_in_a_larger_graph() -> None:
    """A wire that is dragged asks for every port of the graph."""

    def answers(size: int) -> list[str | None]:
        names = [f"n{i}" for i in range(size)]
        wires = tuple(sorted(Wire(Endpoint(a, "output"), Endpoint(b, "input")) for a, b in pairwise(names)))
        base = Document(nodes=dict.fromkeys(names, Node("nn.ReLU")), wires=wires)
        source = Endpoint("n500", "output")
        return [refusal(base, catalogue(), Wire(source, Endpoint(name, "input"))) for name in names]

    assert sum(answer is None for answer in answers(2000)) == 1499
    assert calls(lambda: answers(2000)) < 2.2 * calls(lambda: answers(1000))

from __future__ import annotations

import time
from itertools import pairwise

import pytest

from studio.document.model import Document, Endpoint, Node, Wire
from studio.lowering import refusal
from studio.nodes import catalogue
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


def test_refusal_of_all_ports_of_a_large_graph_is_fast() -> None:
    names = [f"n{i}" for i in range(2000)]
    nodes = dict.fromkeys(names, Node("nn.ReLU"))
    wires = tuple(sorted(Wire(Endpoint(a, "output"), Endpoint(b, "input")) for a, b in pairwise(names)))
    base = Document(nodes=nodes, wires=wires)
    began = time.process_time()
    answers = [refusal(base, catalogue(), Wire(Endpoint("n1000", "output"), Endpoint(name, "input"))) for name in names]
    assert time.process_time() - began < 0.5
    assert sum(answer is None for answer in answers) == 999

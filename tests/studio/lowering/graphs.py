"""Documents for tests, written in few lines."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import pairwise
from typing import Any

from msgspec.structs import replace

from studio.document.model import Document, Endpoint, Node, Wire
from studio.lowering import check
from studio.lowering.problems.problem import Problem
from studio.lowering.report import Report
from studio.nodes import catalogue


def end(text: str) -> Endpoint:
    return Endpoint(*text.split("."))


def wire(text: str) -> Wire:
    """From "a.output -> b.input"."""
    source, target = text.split(" -> ")
    return Wire(end(source), end(target))


def document(nodes: dict[str, str | Node], wires: Iterable[str] = ()) -> Document:
    """Nodes by name; a text stands for a node of that type."""
    made = {name: Node(node) if isinstance(node, str) else node for name, node in nodes.items()}
    return Document(nodes=made, wires=tuple(sorted(map(wire, wires))))


def digits(
    layers: dict[str, str | Node], *, last: str | None = None, wires: Iterable[str] = (), **more: str | Node
) -> Document:
    """The digits, a chain of layers behind them, cross entropy and Adam; `more` nodes and `wires` on top."""
    names = list(layers)
    nodes: dict[str, str | Node] = {
        "digits": "data.Digits",
        "scale": Node("transforms.Normalize", {"std": 16.0}),
        "batches": "data.Batches",
        **layers,
        "cross_entropy": "nn.CrossEntropyLoss",
        "adam": "optim.Adam",
        **more,
    }
    chain = [
        "digits.samples -> scale.samples",
        "scale.samples -> batches.samples",
        f"batches.input -> {names[0]}.input",
        *(f"{a}.output -> {b}.input" for a, b in pairwise(names)),
        f"{last or names[-1]}.output -> cross_entropy.input",
        "batches.target -> cross_entropy.target",
        "cross_entropy.loss -> adam.loss",
    ]
    return document(nodes, [*chain, *wires])


def mlp() -> Document:
    """A network without any problem."""
    return digits(
        {
            "flatten": "nn.Flatten",
            "hidden": Node("nn.Linear", {"out_features": 32}),
            "relu": "nn.ReLU",
            "logits": Node("nn.Linear", {"out_features": 10}),
        }
    )


def without(document: Document, *wires: str) -> Document:
    gone = set(map(wire, wires))
    assert gone <= set(document.wires)
    return replace(document, wires=tuple(each for each in document.wires if each not in gone))


def changed(document: Document, name: str, **fields: Any) -> Document:
    """With other fields of one node."""
    return replace(document, nodes={**document.nodes, name: replace(document.nodes[name], **fields)})


def report(document: Document) -> Report:
    return check(document, catalogue())


def only(document: Document) -> Problem:
    """The one problem that a document has."""
    [problem] = report(document).problems
    return problem


def coded(document: Document, code: str) -> Problem:
    """The one problem with this code."""
    [problem] = [each for each in report(document).problems if each.code == code]
    return problem


def fixed(document: Document, problem: Problem) -> Document:
    assert problem.fix is not None, problem
    return problem.fix.edit(document)


def codes(document: Document) -> list[str]:
    return [problem.code for problem in report(document).problems]

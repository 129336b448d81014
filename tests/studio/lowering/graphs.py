"""Documents for tests, written in few lines."""

from __future__ import annotations

from typing import Any

from msgspec.structs import replace

from studio.document.model import Document, Node
from studio.lowering import check
from studio.lowering.problems.problem import Problem
from studio.lowering.report import Report
from studio.nodes import catalogue
from studio.reference.mistakes.projects import digits, document, end, wire


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


__all__ = [
    "changed",
    "codes",
    "coded",
    "digits",
    "document",
    "end",
    "fixed",
    "mlp",
    "only",
    "report",
    "wire",
    "without",
]

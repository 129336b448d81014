"""Problems that another one causes, such as a free output beside an input without a wire."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from studio.lowering.analysis.node_graph import NodeGraph
from studio.lowering.problems.problem import Problem
from studio.nodes.types import PortType, Role

_CUTS = frozenset({"cycle", "missing-wire", "muted-source", "no-data", "no-loader", "no-loss", "stray-wire"})
"""Codes of errors that leave outputs of a sound graph without a reader."""
_MISSING_PART = {
    "no-data": Role.SOURCE,
    "no-loader": Role.LOADER,
    "no-loss": Role.LOSS,
    "no-optimizer": Role.OPTIMIZER,
}
_FED_BY = {"no-data": PortType.SAMPLES, "no-loader": PortType.TENSOR, "no-loss": PortType.LOSS}
"""The type of the inputs that a missing part leaves without a wire."""


def without_consequences(problems: Iterable[Problem], graph: NodeGraph) -> list[Problem]:
    """The problems without those that others cause."""
    found = list(problems)
    errors = {problem.code for problem in found if problem.severity == "error"}
    muted = {problem.node for problem in found if problem.code == "muted-source"}
    muted_parts = {graph.types[name].role for name in muted if name in graph.types}
    misplaced = {problem.node for problem in found if problem.code == "misplaced-node"}
    unfed = {_FED_BY[code] for code in errors & _FED_BY.keys()}

    def follows(problem: Problem) -> bool:
        match problem.code:
            case "unused":
                return bool(errors & _CUTS)
            case "not-wired" if problem.node in misplaced:
                return True
            case "missing-wire" | "not-wired":
                return problem.fix is None and _input_type(graph, problem) in unfed
            case code if code in _MISSING_PART:
                return _MISSING_PART[code] in muted_parts
            case _:
                return False

    return [problem for problem in found if not follows(problem)]


def without_needless_removals(problems: Iterable[Problem]) -> list[Problem]:
    """No fix removes a node without wires whose other problem a fix solves: it is probably still to be wired."""
    found = list(problems)
    mendable = {problem.node for problem in found if problem.fix is not None and problem.code != "not-wired"}
    return [replace(each, fix=None) if each.code == "not-wired" and each.node in mendable else each for each in found]


def _input_type(graph: NodeGraph, problem: Problem) -> PortType | None:
    node_type = graph.types.get(problem.node or "")
    inputs = () if node_type is None else node_type.inputs
    ports = [port for port in inputs if problem.port in (None, port.name)]
    return ports[0].type if ports else None


__all__ = ["without_consequences", "without_needless_removals"]

"""Searches a rewrite of the code of one node, tried on batches of the project and on special values."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from studio.lowering.report import Report
from studio.lowering.user_code.code_loader import is_trusted
from studio.lowering.user_code.graph_breaks.mended_code import MendedCode, Unmended, mend
from studio.nodes.python_node import PYTHON, SOURCE, source_of
from studio.training.data.data_chain import ChainOpener
from studio.training.probing.node_probe import NodeProbe, ProbeError


def find_rewrite(report: Report, path: str, advance: Callable[[], None] = lambda: None) -> MendedCode | Unmended:
    """A rewrite of the Python node with a path, or why there is none.

    Args:
        advance: called between trials; it cancels by raising an exception
    """
    facts = report.checked.facts.get(path)
    if facts is None or facts.type.key != PYTHON:
        return Unmended(f"{path} is no Python node, so its code cannot be changed here.")
    source = source_of(facts.node.params)
    if not is_trusted(source):
        return Unmended(f"The code of {path} is not trusted, so it is not run. Trust it with File › Trust Python code.")
    inputs = {port.name: spec for port in facts.type.inputs if (spec := facts.spec(port.name)) is not None}
    required = [port.name for port in facts.type.inputs if not port.optional]
    if missing := [name for name in required if name not in inputs]:
        return Unmended(f"The shape of {path}.{missing[0]} is unknown. Connect it first.")
    declared = {name: value for name, value in facts.arguments.values.items() if name != SOURCE}
    arguments = {name: value for name, value in declared.items() if facts.type.param(name) is not None}
    advance()
    real = _real_inputs(report, path)
    return mend(source, arguments, inputs, [] if real is None else [real], advance)


def _real_inputs(report: Report, path: str) -> Mapping[str, Any] | None:
    """The inputs of a node for the first training batch; None if they cannot be computed."""
    probe = NodeProbe(report.checked, ChainOpener())
    try:
        for name, _, computation in probe.run([path]):
            if name == path and computation is not None:
                return {port: np.array(each.detach().cpu().numpy()) for port, each in computation.inputs.items()}
    except ProbeError:
        return None
    return None


__all__ = ["find_rewrite"]

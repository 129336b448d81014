"""Error texts of anomaly mode: the forward call whose backward failed."""

from __future__ import annotations

import linecache
from collections.abc import Sequence
from typing import Any

from engine.errors import AutogradError
from engine.graph.node import Node


def explain(node: Node) -> str:
    """Return a description of the forward call of a node, with its source line if recorded."""
    text = f"the backward pass of {node.label}()"
    if node.where is None:
        return text
    file, line = node.where
    code = linecache.getline(file, line).strip()
    return f"{text}, called at {file}:{line}" + (f": {code}" if code else "")


def check_finite(node: Node, grads: Sequence[Any]) -> None:
    """Raise AutogradError if a gradient computed by `node` contains NaN."""
    for index, gradient in enumerate(grads):
        if gradient is not None and not gradient.is_meta and _has_nan(gradient._numbers()):
            raise AutogradError(
                f"Function {node.name()!r} returned nan values in its {index}th output, in {explain(node)}"
            )


def _has_nan(array: Any) -> bool:
    return bool((array != array).any())

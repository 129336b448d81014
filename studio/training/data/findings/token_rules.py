"""Numbers of words or items in files, which a layer takes as quantities."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from studio.document.model import Endpoint, Node
from studio.lowering.checks.sequences.token_checks import FEATURES, needless_nodes
from studio.lowering.checks.value_paths import value_readers, values_at
from studio.lowering.problems import quick_fixes
from studio.lowering.problems.problem import Fix, Problem
from studio.nodes.types import Role
from studio.training.data.findings.data_context import DataContext
from studio.training.data.findings.sample_reading import inputs_at, measured

MIN_POSITIONS, MIN_TOKENS, MIN_SAMPLES = 4, 30, 100
MIN_USED = 0.8
"""Share of the numbers up to the highest one that occur: vocabularies are numbered without gaps."""
MAX_CORRELATION = 0.15
"""Mean correlation of neighbors, which pixels and measurements exceed."""
SAME_RANGE = 0.9
"""Ratio of the highest number of a position to that of all: each position has the whole vocabulary."""
_GROUPS = frozenset({"Linear", "Convolution", "Recurrent"})


def token_problems(data: DataContext) -> Iterator[Problem]:
    flow, loader = data.flow, data.loader
    if flow is None or loader is None or data.training.is_stream:
        return
    tokens = measured(data.preview, "tokens", lambda: _token_count(inputs_at(data, 0)))
    readers = [] if tokens is None else value_readers(flow.graph, Endpoint(loader, "input"))
    reader = next((each for each in readers if flow.graph.types[each.node].group in _GROUPS), None)
    is_target = any(flow.graph.types[each.node].role is Role.LOSS for each in readers)  # an autoencoder's quantities
    if tokens is None or reader is None or is_target:
        return
    name = reader.node
    message = (
        f"The inputs of {name} are whole numbers from 0 to {tokens - 1:,} without an order: each position has all of "
        f"them, and neighbors are not related. {name} takes them as quantities. Insert Embedding before {name}."
    )
    evidence = {"tokens": tokens}
    fix = _fix(data, reader, tokens)
    yield Problem("warning", "tokens-as-numbers", message, node=name, port=reader.port, fix=fix, evidence=evidence)


def _token_count(inputs: NDArray[Any] | None) -> int | None:
    """The size of a vocabulary; None if the inputs are other numbers than those of words."""
    if inputs is None or inputs.ndim != 2 or inputs.dtype.kind not in "iuf" or inputs.shape[1] < MIN_POSITIONS:
        return None
    if len(inputs) < MIN_SAMPLES or not np.all(np.isfinite(inputs)) or not np.all(inputs == np.round(inputs)):
        return None
    low, high = int(inputs.min()), int(inputs.max())
    if low not in (0, 1, 2, 3) or high < MIN_TOKENS or inputs.max(axis=0).min() < SAME_RANGE * high:
        return None
    used = len(np.unique(inputs)) / (high + 1 - low)
    return high + 1 if used >= MIN_USED and _correlation(inputs) <= MAX_CORRELATION else None


def _correlation(inputs: NDArray[Any]) -> float:
    """Mean absolute correlation between neighboring positions."""
    values = inputs.astype(np.float64)
    values = values - values.mean(axis=0)
    spreads = np.sqrt((values**2).mean(axis=0))
    if not spreads.all():
        return 1.0
    products = (values[:, 1:] * values[:, :-1]).mean(axis=0)
    return float(np.abs(products / (spreads[1:] * spreads[:-1])).mean())


def _fix(data: DataContext, reader: Endpoint, tokens: int) -> Fix | None:
    """An embedding before the layer; flattened for a linear layer of all positions."""
    flow, loader = data.flow, data.loader
    if flow is None or loader is None:
        return None
    facts = flow.facts[reader.node]
    spec = facts.spec(reader.port)
    path = values_at(flow.graph, reader.node, reader.port)
    is_flat = spec is not None and spec.ndim == 2
    if (is_flat and "in_features" in facts.arguments.explicit) or "." in reader.node:
        return None
    title = f"Insert Embedding before {reader.node}"
    embedding = Node("nn.Embedding", {"num_embeddings": tokens, "embedding_dim": FEATURES})
    parts = [quick_fixes.insert(reader, embedding, title=title)]
    if is_flat and facts.type.group == "Linear":
        parts.append(quick_fixes.insert(reader, Node("nn.Flatten"), title=""))
    parts += [quick_fixes.bypass(name, port) for name, port in needless_nodes(flow, path, loader)]
    return quick_fixes.all_of(parts, title)


__all__ = ["token_problems"]

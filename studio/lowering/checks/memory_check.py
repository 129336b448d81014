"""Parameters and outputs that do not fit into the memory of this machine."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any, cast

import psutil

from engine.data.file_access import format_bytes
from engine.shape import Spec
from studio.lowering.analysis.activation_memory import batch_bytes
from studio.lowering.analysis.dataflow import Dataflow
from studio.lowering.analysis.node_evaluation import SampleSpec
from studio.lowering.analysis.node_facts import NodeFacts
from studio.lowering.problems import quick_fixes
from studio.lowering.problems.problem import Fix, Problem
from studio.nodes.types import Role

_BYTES_PER_PARAMETER = 4
_SMALL_SHARE = 0.0002
"""Share of the memory that a node takes at most after its fix. Gradients and optimizers take several times as much."""


def memory_problems(flow: Dataflow) -> Iterator[Problem]:
    """Report parameters or outputs that exceed the memory: of one node, or all parameters together.

    Only the first such node is reported, because it is usually the cause for later nodes.
    """
    memory = psutil.virtual_memory().total
    batch = _batch_size(flow)
    unmuted = {name: facts for name, facts in flow.facts.items() if name not in flow.graph.muted}
    weights = {name: facts.outcome.parameters * _BYTES_PER_PARAMETER for name, facts in unmuted.items()}
    for name, facts in unmuted.items():
        outputs = max((_bytes(value, batch) for value in facts.outputs.values()), default=0)
        if max(weights[name], outputs) > memory:
            needed, kind = max((weights[name], "parameters"), (outputs, "outputs"))
            yield _too_large(name, facts, f"The {kind} of {name} take {format_bytes(needed)}", memory, needed)
            return
    total = sum(weights.values())
    if total > memory:
        name = max(weights, key=lambda name: weights[name])
        statement = f"The parameters of the network take {format_bytes(total)}"
        yield _too_large(name, unmuted[name], statement, memory, total)


def _too_large(name: str, facts: NodeFacts, statement: str, memory: int, needed: float) -> Problem:
    values = {param: _largest(facts.arguments.values[param]) for param in facts.arguments.explicit}
    cause = max(values, key=lambda param: values[param], default=None)
    remedy = "Reduce its input size." if cause is None else f"Reduce {cause}."
    message = f"{statement}, but this machine has {format_bytes(memory)} of memory. {remedy}"
    fix = None if cause is None else _smaller(name, cause, facts.arguments.values[cause], needed / memory)
    return Problem("error", "too-large", message, node=name, fix=fix)


def _smaller(name: str, param: str, value: Any, ratio: float) -> Fix | None:
    """A fix that divides an integer by the power of 10 with which the node takes a small share of the memory."""
    divisor = 10 ** math.ceil(math.log10(ratio / _SMALL_SHARE))
    is_size = isinstance(value, int) and not isinstance(value, bool) and value >= divisor
    return quick_fixes.assign(name, param, value // divisor) if is_size else None


def _largest(value: Any) -> float:
    items = cast("tuple[Any, ...]", value) if isinstance(value, tuple) else (value,)
    return max((float(item) for item in items if isinstance(item, (int, float))), default=0.0)


def _batch_size(flow: Dataflow) -> int:
    sizes = (
        facts.arguments.values.get("batch_size") for facts in flow.facts.values() if facts.type.role is Role.LOADER
    )
    return next((size for size in sizes if isinstance(size, int)), 1)


def _bytes(value: object, batch: int) -> int:
    """Size of a batch, or of one sample, in bytes."""
    if isinstance(value, SampleSpec):
        return max(_bytes(value.input, 1), _bytes(value.target, 1))
    return batch_bytes(value, batch) if isinstance(value, Spec) else 0

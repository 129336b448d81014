"""Shape errors explained by the first parameter, here or upstream, with whose other value the node works."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain, islice

from engine.shape import Spec, format_shape
from studio.document.graph_walk import walk
from studio.document.model import Endpoint, Node
from studio.lowering.analysis.dataflow import Dataflow
from studio.lowering.analysis.node_facts import NodeFacts
from studio.lowering.checks.parameters.parameter_trials import (
    Trial,
    axis_trials,
    divisor_trials,
    first_that_works,
    own_trials,
    padding_trial,
    patch_trials,
    rounding_trials,
    shown,
    size_trials,
    upsampling_trials,
    window_trials,
)
from studio.lowering.problems import quick_fixes
from studio.lowering.problems.problem import Problem
from studio.nodes.types import Role

_MAX_NODES = 32
"""Nodes before the failing one whose parameters are tried, the nearest first."""
_TRANSPOSING = frozenset({"ops.transpose", "ops.permute", "ops.movedim", "ops.swapaxes"})


@dataclass(frozen=True, slots=True)
class Conflict:
    """Two inputs whose sizes differ in a dimension, given as a negative index."""

    axis: int
    ports: tuple[str, str]
    specs: tuple[Spec, Spec]

    def is_solved(self, facts: NodeFacts) -> bool:
        """Whether the two inputs combine without repeating one of them along the dimension."""
        specs = [facts.spec(port) for port in self.ports]
        ones = [spec is None or (-spec.ndim <= self.axis and spec.shape[self.axis] == 1) for spec in specs]
        return not any(ones) or all(ones)


def parameter_of_branch(flow: Dataflow, name: str, conflict: Conflict, message: str) -> Problem | None:
    """The parameter that gives two branches different sizes."""
    facts = flow.facts[name]
    upstream = [_before(flow, name, port) for port in conflict.ports]
    branches = [
        [node for node in islice(nodes, _MAX_NODES) if node not in others]
        for nodes, others in (upstream, reversed(upstream))
    ]
    trials = chain(axis_trials(facts, name), _branch_trials(flow, conflict, branches))
    trial = first_that_works(flow, name, trials, conflict.is_solved)
    return None if trial is None else _problem(flow, name, trial, message)


def _branch_trials(flow: Dataflow, conflict: Conflict, branches: list[list[str]]) -> Iterator[Trial]:
    """Changes of the branches: of windows, sizes, patches, upsampling, dimensions and rounding, in this order."""
    specs = conflict.specs
    members = [(node, index) for index, branch in enumerate(branches) for node in branch]
    for node, _ in members:
        yield from window_trials(flow.facts[node], node)
    for branch in branches:
        yield from padding_trial({node: flow.facts[node] for node in reversed(branch)})
    for node, index in members:
        found, wanted = (specs[each].shape[conflict.axis] for each in (index, 1 - index))
        if isinstance(found, int) and isinstance(wanted, int):
            yield from size_trials(flow.facts[node], node, wanted, found)
    for node, index in members:
        yield from upsampling_trials(flow.facts[node], node, specs[1 - index].shape[2:])
    for make in (patch_trials, axis_trials, rounding_trials):
        for node, _ in members:
            yield from make(flow.facts[node], node)


def parameter_of_axis(flow: Dataflow, name: str, facts: NodeFacts, message: str) -> Problem | None:
    """The parameter that moves the explicit size of a layer to another dimension."""
    before = islice(_before(flow, name, facts.type.inputs[0].name), _MAX_NODES)
    operations = [node for node in before if flow.facts[node].type.role is Role.OPERATION]
    trials = (trial for node in operations for trial in axis_trials(flow.facts[node], node))
    trial = first_that_works(flow, name, trials)
    return None if trial is None else _problem(flow, name, trial, message)


def needless_transpose(flow: Dataflow, name: str, facts: NodeFacts, axis: int, expected: object) -> Problem | None:
    """A layer that would accept the input of the node before it, which moves dimensions."""
    port = facts.type.inputs[0].name
    spec, end = facts.spec(port), flow.graph.source(name, port)
    if spec is None or end is None:
        return None
    source = flow.facts[end.node]
    before = next((value for value in source.inputs.values() if isinstance(value, Spec)), None)
    if source.type.key not in _TRANSPOSING or before is None:
        return None
    if not flow.accepts(name, {**facts.inputs, port: before}):
        return None
    message = (
        f"{name} expects {expected} in dimension {axis} but gets {format_shape(spec.shape)} from {end.node}, "
        f"which moves this dimension. Remove {end.node}."
    )
    fix = quick_fixes.bypass(end.node, source.type.inputs[0].name)
    return Problem("error", "shape-mismatch", message, node=end.node, fix=fix)


def missing_transpose(flow: Dataflow, name: str, facts: NodeFacts, axis: int, expected: object) -> Problem | None:
    """A layer whose explicit size is that of another dimension of its input."""
    port = facts.type.inputs[0].name
    spec, end = facts.spec(port), flow.graph.source(name, port)
    if spec is None or end is None:
        return None
    others = [each for each in range(1, spec.ndim) if each != axis and spec.shape[each] == expected]
    if len(others) != 1 or (spec.ndim > 3 and others != [spec.ndim - 1]):  # of an image only channels can be misplaced
        return None
    other = others[0]
    sizes = list(spec.shape)
    sizes[axis], sizes[other] = sizes[other], sizes[axis]
    if not flow.accepts(name, {**facts.inputs, port: spec.with_shape(tuple(sizes))}):
        return None
    message = (
        f"{name} expects {expected} in dimension {axis} but gets {format_shape(spec.shape)} from {end.node}, "
        f"where it is dimension {other}. Insert Transpose before {name}."
    )
    node = Node("ops.transpose", {"dim0": min(axis, other), "dim1": max(axis, other)})
    fix = quick_fixes.insert(Endpoint(name, port), node, title=f"Insert Transpose before {name}", input_port="x")
    return Problem("error", "shape-mismatch", message, node=name, port=port, fix=fix)


def own_parameter(flow: Dataflow, name: str, facts: NodeFacts) -> Trial | None:
    """The value of a parameter of the node itself with which it accepts its inputs."""
    has_parameters = facts.type.role in (Role.LAYER, Role.OPERATION)
    return first_that_works(flow, name, own_trials(facts, name)) if has_parameters else None


def fitting_divisor(flow: Dataflow, name: str, facts: NodeFacts) -> Trial | None:
    """The nearest number of heads or groups that divides the size."""
    return first_that_works(flow, name, divisor_trials(facts, name)) if facts.type.role is Role.LAYER else None


def shrinking(flow: Dataflow, name: str, facts: NodeFacts) -> str:
    """How windows before a node made its input smaller: "8 (digits) → 4 (pool1) → 1 (pool2)"; empty if few did."""
    port = facts.type.inputs[0].name if facts.type.inputs else ""
    spec = facts.spec(port)
    if "kernel_size" not in facts.arguments.values or spec is None or spec.ndim < 3:
        return ""
    steps: list[str] = []
    last: object = None
    for node in reversed(list(islice(_chain(flow, name), _MAX_NODES))):
        output = next((value for value in flow.facts[node].outputs.values() if isinstance(value, Spec)), None)
        if output is not None and output.ndim == spec.ndim and output.shape[-1] != last:
            last = output.shape[-1]
            steps.append(f"{last} ({node})")
    return " → ".join(steps) if len(steps) > 2 else ""


def _chain(flow: Dataflow, name: str) -> Iterator[str]:
    """The nodes before a node along first inputs, the nearest first."""

    def source(node: str) -> list[str]:
        inputs = flow.facts[node].type.inputs
        end = flow.graph.source(node, inputs[0].name) if inputs else None
        return [] if end is None or end.node not in flow.facts else [end.node]

    yield from islice(walk([name], source), 1, None)


def _before(flow: Dataflow, name: str, port: str) -> dict[str, None]:
    """Layers and operations before an input, the nearest first."""
    end = flow.graph.source(name, port)
    if end is None:
        return {}

    def sources(node: str) -> list[str]:
        return [each.node for each in flow.graph.sources(node).values()]

    roles = (Role.LAYER, Role.OPERATION)
    return {
        node: None for node in walk([end.node], sources) if node in flow.facts and flow.facts[node].type.role in roles
    }


def _problem(flow: Dataflow, name: str, trial: Trial, message: str) -> Problem:
    reason = " and ".join(
        f"{param} of {node} is {shown(flow.facts[node].arguments.values.get(param))}"
        for node, values in trial.changes.items()
        for param in values
    )
    return Problem(
        "error", "shape-mismatch", f"{message}, because {reason}. {trial.advice}", node=trial.node, fix=trial.fix
    )


__all__ = [
    "Conflict",
    "fitting_divisor",
    "missing_transpose",
    "needless_transpose",
    "own_parameter",
    "parameter_of_axis",
    "parameter_of_branch",
    "shrinking",
]

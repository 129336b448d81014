"""Shape errors, with the expected and actual shape, the upstream cause, and a fix."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from engine.dtypes import float32
from engine.shape import Dim, Spec, format_shape
from studio.document.graph_walk import walk
from studio.document.model import Endpoint, Node
from studio.lowering.analysis.dataflow import Dataflow
from studio.lowering.analysis.node_arguments import resolve_arguments
from studio.lowering.analysis.node_evaluation import NodeEvaluator, SampleSpec
from studio.lowering.analysis.node_facts import NodeFacts
from studio.lowering.checks.miswired_inputs import (
    encoded_images,
    images_as_steps,
    inputs_as_targets,
    joined_by_flatten,
    other_width,
    several_scores,
    swapped_ends,
    targets_as_inputs,
)
from studio.lowering.checks.size_origins import origin_of_rank, origin_of_size
from studio.lowering.checks.upstream_causes import (
    encoded_inputs,
    encoded_targets,
    joined_samples,
    main_source,
    missing_column,
)
from studio.lowering.problems import quick_fixes
from studio.lowering.problems.problem import Fix, Problem
from studio.nodes.types import Role


def shape_problems(flow: Dataflow) -> Iterator[Problem]:
    for name, facts in flow.facts.items():
        if facts.type.role is Role.SCHEDULER:
            continue
        if facts.outcome.fails_on == "inputs":
            yield _explained(flow, name, facts)
        elif facts.arguments.waiting and facts.inputs and facts.type.inputs[0].name in facts.inputs:
            yield joined_by_flatten(flow, name, facts) or _no_dimension(flow, name, facts)


def _explained(flow: Dataflow, name: str, facts: NodeFacts) -> Problem:
    found = (explain(flow, name, facts) for explain in EXPLAINERS)
    return next(problem for problem in found if problem is not None)


# -- one explanation each ---------------------------------------------------------------------


def _override(flow: Dataflow, name: str, facts: NodeFacts) -> Problem | None:
    """An explicit size contradicts the wire."""
    port = facts.type.inputs[0].name
    spec = facts.spec(port)
    for parameter in facts.type.params:
        if spec is None or parameter.from_input is None or parameter.name not in facts.arguments.explicit:
            continue
        axis, wanted = parameter.from_input.axis, facts.arguments.values[parameter.name]
        if not -spec.ndim <= axis < spec.ndim or spec.shape[axis] == wanted:
            continue
        found, cause = spec.shape[axis], _cause(flow, name, port, axis % spec.ndim)
        message = (
            f"{name} expects {wanted} {_noun(parameter.name)} but {cause} provides {found}. "
            f"Set {parameter.name} to {found}, or leave it empty."
        )
        fix = quick_fixes.clear(name, parameter.name, f"Infer {parameter.name} from the wire")
        return Problem("error", "shape-mismatch", message, node=name, port=port, fix=fix)
    return None


def _unflattened_scores(flow: Dataflow, name: str, facts: NodeFacts) -> Problem | None:
    """A loss or metric gets scores per pixel because an upstream linear layer gets an unflattened image."""
    spec, target = facts.spec("input"), facts.spec("target")
    if (
        facts.type.role not in (Role.LOSS, Role.METRIC)
        or spec is None
        or target is None
        or spec.ndim <= target.ndim + 1
    ):
        return None
    first: str | None = None
    for before in walk([name], lambda one: main_source(flow, one)):
        layer = flow.facts[before]
        entering = layer.spec(layer.type.inputs[0].name) if layer.type.inputs else None
        if layer.type.group == "Linear" and entering is not None and entering.ndim > target.ndim + 1:
            first = before
    if first is None:
        return None
    message = (
        f"{name} expects one prediction per sample but gets {format_shape(spec.shape)}: {first} applies to the last "
        f"dimension of an unflattened input. Insert Flatten before {first}."
    )
    way_in = Endpoint(first, flow.facts[first].type.inputs[0].name)
    fix = quick_fixes.insert(way_in, Node("nn.Flatten"), title=f"Insert Flatten before {first}")
    return Problem("error", "shape-mismatch", message, node=name, port="input", fix=fix)


def _lone_column(flow: Dataflow, name: str, facts: NodeFacts) -> Problem | None:
    """The network outputs N×1 where the targets are N."""
    spec, target = facts.spec("input"), facts.spec("target")
    if facts.type.role not in (Role.LOSS, Role.METRIC) or spec is None or target is None:
        return None
    if spec.shape != (*target.shape, 1):
        return None
    cause = _cause(flow, name, "input", spec.ndim - 1)
    message = (
        f"{name} gets {format_shape(spec.shape)} from {cause}, but its targets are {format_shape(target.shape)}. "
        "Insert Flatten(start_dim=0) to drop the last dimension."
    )
    fix = quick_fixes.insert(
        Endpoint(name, "input"), Node("nn.Flatten", {"start_dim": target.ndim - 1}), title="Insert Flatten"
    )
    return Problem("error", "shape-mismatch", message, node=name, port="input", fix=fix)


def _wrong_dtype(flow: Dataflow, name: str, facts: NodeFacts) -> Problem | None:
    """A layer gets a dtype other than float32, such as image bytes or float64."""
    port = facts.type.inputs[0].name
    spec, end = facts.spec(port), flow.graph.source(name, port)
    if facts.type.role is not Role.LAYER or spec is None or end is None or spec.dtype == float32:
        return None
    wished = {each: Spec(value.shape, float32) for each, value in facts.inputs.items() if isinstance(value, Spec)}
    if NodeEvaluator().evaluate(facts.type, facts.arguments.values, wished).failure:
        return None
    message = f"{name} expects float32 but gets {spec} from {end.node}."
    loaders = flow.graph.with_role(Role.LOADER)
    if len(loaders) != 1:
        return Problem("error", "wrong-dtype", f"{message} Convert the values before it.", node=name, port=port)
    title, transform = f"Insert To float before {loaders[0]}", Node("transforms.ToFloat")
    scale = flow.scale(loaders[0])
    if scale is not None and not scale.suits_to_float(spec.dtype):
        message = f"{message} The values of {scale.samples:,} samples range from {scale.low:g} to {scale.high:g}."
        title = f"Insert Normalize from data before {loaders[0]}"
        transform = Node("transforms.Normalize", dict(scale.normalize))
    way_in = Endpoint(loaders[0], flow.facts[loaders[0]].type.inputs[0].name)
    fix = quick_fixes.insert(way_in, transform, title=title, way_in="samples", way_out="samples")
    return Problem("error", "wrong-dtype", f"{message} {title}.", node=name, port=port, fix=fix)


def _open_sizes(flow: Dataflow, name: str, facts: NodeFacts) -> Problem | None:
    """A loader gets images whose sizes may differ."""
    port = facts.type.inputs[0].name
    samples, end = facts.inputs.get(port), flow.graph.source(name, port)
    if facts.type.role is not Role.LOADER or not isinstance(samples, SampleSpec) or end is None:
        return None
    if not samples.input.is_open or samples.input.ndim not in (2, 3):
        return None
    sizes = " and ".join(str(size) for size in samples.input.shape if isinstance(size, Dim))
    message = (
        f"{name} requires samples of one size but {sizes} of those from {end.node} ({samples.input}) may "
        f"vary. Insert Resize or a crop before {name}."
    )
    resize = Node("transforms.Resize")
    fix = quick_fixes.insert(Endpoint(name, port), resize, title="Insert Resize", way_in="samples", way_out="samples")
    return Problem("error", "open-sizes", message, node=name, port=port, fix=fix)


def _wrong_goal(flow: Dataflow, name: str, facts: NodeFacts) -> Problem | None:
    """A classification loss gets numeric targets, or a regression loss gets classes."""
    spec, target = facts.spec("input"), facts.spec("target")
    source = flow.graph.source(name, "target")
    if spec is None or target is None or source is None:
        return None
    numbers = target.dtype.is_floating_point
    if facts.type.learns == "classes" and numbers and target.shape[1:] in ((), (1,)) and spec.shape != target.shape:
        message = (
            f"{name} expects class targets but {source.node} provides numeric targets, {target}. "
            "Use a regression loss such as MSELoss, or set the source to provide classes."
        )
        return Problem("error", "wrong-target", message, node=name, port="target")
    if facts.type.learns in ("numbers", "answers") and not numbers and target.ndim == 1 and spec.shape != target.shape:
        expected = "numeric" if facts.type.learns == "numbers" else "yes-or-no"
        message = (
            f"{name} expects {expected} targets but {source.node} provides class indices, {target}. "
            "Use CrossEntropyLoss, or set the source to provide numeric targets."
        )
        return Problem(
            "error", "wrong-target", message, node=name, port="target", fix=_learn_numbers(flow, source.node)
        )
    return None


def _learn_numbers(flow: Dataflow, name: str) -> Fix | None:
    """A fix that sets the source to provide numeric targets, if it can."""
    *_, source = walk([name], lambda one: main_source(flow, one))
    task = flow.facts[source].type.param("task")
    numbers = [] if task is None else [choice for choice in task.choices if choice.startswith("number")]
    return quick_fixes.assign(source, "task", numbers[0]) if numbers else None


def _branches(flow: Dataflow, name: str, facts: NodeFacts) -> Problem | None:
    """Branches to combine have different sizes."""
    specs = {port: spec for port in facts.inputs if (spec := facts.spec(port)) is not None}
    if facts.type.role is not Role.OPERATION or len(specs) < 2:
        return None
    for (left, a), (right, b) in zip(list(specs.items()), list(specs.items())[1:], strict=False):
        axis = _first_conflict(facts, a, b)
        if axis is None:
            continue
        sizes = [(a, left, a.ndim + axis), (b, right, b.ndim + axis)]
        first, second = (f"{spec.shape[at]} from {_cause(flow, name, port, at)}" for spec, port, at in sizes)
        message = (
            f"{name} cannot join {format_shape(a.shape)} at {left} and {format_shape(b.shape)} at {right}: "
            f"dimension {axis} is {first}, but {second}. Make both sizes equal."
        )
        return Problem("error", "shape-mismatch", message, node=name, port=right)
    return None


def _flattened_image(flow: Dataflow, name: str, facts: NodeFacts) -> Problem | None:
    """An image layer comes after the layer that flattens images."""
    port = facts.type.inputs[0].name
    spec, end = facts.spec(port), flow.graph.source(name, port)
    if facts.type.role is not Role.LAYER or spec is None or end is None:
        return None
    cause = origin_of_rank(flow, end)
    image = flow.facts[cause].spec("input")
    if flow.facts[cause].type.key != "nn.Flatten" or image is None or image.ndim <= spec.ndim:
        return None
    before = resolve_arguments(facts.type, facts.node.params, image)
    if before.waiting or NodeEvaluator().evaluate(facts.type, before.values, {**facts.inputs, port: image}).failure:
        return None
    message = (
        f"{name} cannot take {format_shape(spec.shape)}: {cause} has flattened images "
        f"({format_shape(image.shape)}). Put {name} before {cause}."
    )
    return Problem("error", "shape-mismatch", message, node=name, port=port)


def _general(flow: Dataflow, name: str, facts: NodeFacts) -> Problem:
    """The engine's error, with the inputs and the nodes that they come from."""
    given: list[str] = []
    for port in facts.type.inputs:
        end = flow.graph.source(name, port.name)
        if end is not None and port.name in facts.inputs:
            given.append(f"{facts.inputs[port.name]} from {end.node}")
    text = facts.outcome.failure.rstrip(".")
    message = f"{name} cannot take {' and '.join(given)}: {text}." if given else f"{name}: {text}."
    return Problem("error", "shape-mismatch", message, node=name)


EXPLAINERS: tuple[Callable[[Dataflow, str, NodeFacts], Problem | None], ...] = (
    joined_samples,
    swapped_ends,
    inputs_as_targets,
    targets_as_inputs,
    encoded_images,
    encoded_inputs,
    encoded_targets,
    _override,
    _unflattened_scores,
    _wrong_dtype,
    _open_sizes,
    _lone_column,
    missing_column,
    _wrong_goal,
    several_scores,
    other_width,
    images_as_steps,
    _branches,
    _flattened_image,
    _general,
)
"""Tried in order; the last one always returns a problem."""


def _no_dimension(flow: Dataflow, name: str, facts: NodeFacts) -> Problem:
    """An argument is inferred from a dimension that the input lacks or whose size is not fixed."""
    port = facts.type.inputs[0].name
    parameter = next(p for p in facts.type.params if p.from_input is not None and p.name not in facts.arguments.values)
    axis = 0 if parameter.from_input is None else parameter.from_input.axis
    value = facts.inputs[port]
    spec = value.input if isinstance(value, SampleSpec) else value
    assert isinstance(spec, Spec)
    end = flow.graph.source(name, port)
    source = "" if end is None else f" from {end.node}"
    found = (
        "which has no such dimension"
        if not -spec.ndim <= axis < spec.ndim
        else f"whose size {spec.shape[axis]} is not fixed"
    )
    message = f"{name} infers {parameter.name} from dimension {axis} of its input but gets {spec}{source}, {found}."
    return Problem(
        "error", "shape-mismatch", f"{message} Change the wire, or set {parameter.name}.", node=name, port=port
    )


# -- words ------------------------------------------------------------------------------------


def _cause(flow: Dataflow, name: str, port: str, axis: int) -> str:
    end = flow.graph.source(name, port)
    return "its input" if end is None else origin_of_size(flow, end, axis)


def _noun(parameter: str) -> str:
    return "channels" if parameter.endswith("channels") else "features"


def _first_conflict(facts: NodeFacts, a: Spec, b: Spec) -> int | None:
    """The last dimension, as a negative index, in which two branches differ."""
    if facts.type.key == "ops.matmul":
        return None
    joined = facts.arguments.values.get("dim") if facts.type.key == "ops.cat" else None
    for axis in range(-1, -min(a.ndim, b.ndim) - 1, -1):
        left, right = a.shape[axis], b.shape[axis]
        spread = facts.type.key != "ops.cat" and 1 in (left, right)
        if left != right and not spread and joined not in (axis, a.ndim + axis):
            return axis
    return None

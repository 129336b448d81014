"""Shape errors, with the expected and actual shape, the upstream cause, and a fix."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

from engine.dtypes import float32
from engine.shape import Dim, Spec, format_shape
from studio.document.graph_walk import walk
from studio.document.model import Endpoint, Node
from studio.lowering.analysis.dataflow import Dataflow
from studio.lowering.analysis.node_arguments import resolve_arguments
from studio.lowering.analysis.node_evaluation import NodeEvaluator, SampleSpec
from studio.lowering.analysis.node_facts import NodeFacts
from studio.lowering.checks.data.batch_reductions import class_numbers, reduced_batch
from studio.lowering.checks.data.batch_size_check import different_batch_sizes
from studio.lowering.checks.layers.window_checks import window_beyond_input
from studio.lowering.checks.losses.broadcasts import broadcast_loss, broadcasts, would_broadcast
from studio.lowering.checks.losses.class_counts import class_weights
from studio.lowering.checks.losses.metric_checks import numbers_metric_of_classes
from studio.lowering.checks.losses.target_checks import class_targets, encoded_as_numbers, learn_numbers
from studio.lowering.checks.miswired_inputs import (
    batch_flattened,
    class_scores_in_binary_metric,
    classes_last,
    different_width,
    encoder_on_inputs,
    images_as_steps,
    inputs_as_targets,
    swapped_inputs,
    targets_as_inputs,
)
from studio.lowering.checks.operation_checks import literal_batch, wrong_output_count
from studio.lowering.checks.parameters.parameter_causes import (
    Conflict,
    missing_transpose,
    needless_transpose,
    own_parameter,
    parameter_of_axis,
    parameter_of_branch,
    shrinking,
)
from studio.lowering.checks.parameters.size_origins import origin_of_rank, origin_of_size
from studio.lowering.checks.parameters.upstream_causes import (
    encoded_inputs,
    encoded_targets,
    joined_samples,
    main_source,
    missing_column,
)
from studio.lowering.checks.sequences.time_step_checks import missing_step_selection
from studio.lowering.checks.sequences.token_checks import tokens_as_numbers
from studio.lowering.checks.sharing_checks import shared_shape
from studio.lowering.problems import quick_fixes
from studio.lowering.problems.problem import Problem
from studio.nodes.operation_nodes import is_elementwise
from studio.nodes.types import Role


def shape_problems(flow: Dataflow) -> Iterator[Problem]:
    for name, facts in flow.facts.items():
        if facts.type.role is Role.SCHEDULER:
            continue
        if facts.outcome.fails_on == "inputs" or broadcasts(facts):
            problem = shared_shape(flow, name, facts) or _explain(flow, name, facts)
        elif facts.arguments.is_incomplete and facts.inputs and facts.type.inputs[0].name in facts.inputs:
            problem = batch_flattened(flow, name, facts) or _missing_dimension(flow, name, facts)
        else:
            continue
        if problem is None:
            continue
        yield problem if problem.node == name else replace(problem, affected=name)


def _explain(flow: Dataflow, name: str, facts: NodeFacts) -> Problem:
    found = (explain(flow, name, facts) for explain in EXPLAINERS)
    return next(problem for problem in found if problem is not None)


# -- explanations -----------------------------------------------------------------------------


def _explicit_size(flow: Dataflow, name: str, facts: NodeFacts) -> Problem | None:
    """An explicit size contradicts the wire."""
    port = facts.type.inputs[0].name
    spec = facts.spec(port)
    for parameter in facts.type.params:
        if spec is None or parameter.from_input is None or parameter.name not in facts.arguments.explicit:
            continue
        axis, expected = parameter.from_input.axis, facts.arguments.values[parameter.name]
        if not -spec.ndim <= axis < spec.ndim or spec.shape[axis] == expected:
            continue
        found, cause = spec.shape[axis], _origin(flow, name, port, axis % spec.ndim)
        start = f"{name} expects {expected} {_size_noun(parameter.name)}"
        other = (
            needless_transpose(flow, name, facts, axis % spec.ndim, expected)
            or parameter_of_axis(flow, name, facts, f"{start} but gets {format_shape(spec.shape)}")
            or missing_transpose(flow, name, facts, axis % spec.ndim, expected)
        )
        if other is not None:
            return other
        message = f"{start} but {cause} provides {found}. Set {parameter.name} to {found}, or leave it empty."
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
    for before in walk([name], lambda node: main_source(flow, node)):
        layer = flow.facts[before]
        layer_input = layer.spec(layer.type.inputs[0].name) if layer.type.inputs else None
        if layer.type.group == "Linear" and layer_input is not None and layer_input.ndim > target.ndim + 1:
            first = before
    if first is None:
        return None
    message = (
        f"{name} expects one prediction per sample but gets {format_shape(spec.shape)}, because {first} "
        f"applies to the last dimension of an unflattened input. Insert Flatten before {first}."
    )
    input_port = Endpoint(first, flow.facts[first].type.inputs[0].name)
    fix = quick_fixes.insert(input_port, Node("nn.Flatten"), title=f"Insert Flatten before {first}")
    return Problem("error", "shape-mismatch", message, node=first, port=input_port.port, fix=fix)


def _extra_column(flow: Dataflow, name: str, facts: NodeFacts) -> Problem | None:
    """The network outputs N×1 but the targets are N."""
    spec, target = facts.spec("input"), facts.spec("target")
    if facts.type.role not in (Role.LOSS, Role.METRIC) or spec is None or target is None:
        return None
    if spec.shape != (*target.shape, 1):
        return None
    cause = _origin(flow, name, "input", spec.ndim - 1)
    message = (
        f"{name} expects input and target of one shape but gets {format_shape(spec.shape)} from {cause} and targets "
        f"of {format_shape(target.shape)}{would_broadcast(spec, target)}. "
        f"Insert Flatten(start_dim={target.ndim - 1}) before {name}.input."
    )
    fix = quick_fixes.insert(
        Endpoint(name, "input"),
        Node("nn.Flatten", {"start_dim": target.ndim - 1}),
        title=f"Insert Flatten before {name}.input",
    )
    return Problem("error", "shape-mismatch", message, node=name, port="input", fix=fix)


def _wrong_dtype(flow: Dataflow, name: str, facts: NodeFacts) -> Problem | None:
    """A layer gets a dtype other than float32, such as image bytes or float64."""
    port = facts.type.inputs[0].name
    spec, end = facts.spec(port), flow.graph.source(name, port)
    if facts.type.role is not Role.LAYER or spec is None or end is None or spec.dtype == float32:
        return None
    as_float32 = {each: Spec(value.shape, float32) for each, value in facts.inputs.items() if isinstance(value, Spec)}
    if NodeEvaluator().evaluate(facts.type, facts.arguments.values, as_float32).failure:
        return None
    message = f"{name} expects float32 but gets {spec} from {end.node}."
    upstream = flow.graph.upstream([name])
    loaders = [loader for loader in flow.graph.with_role(Role.LOADER) if loader in upstream]
    if len(loaders) != 1:
        return Problem("error", "wrong-dtype", f"{message} Convert the values before {name}.", node=name, port=port)
    title, transform = f"Insert To float before {loaders[0]}", Node("transforms.ToFloat")
    scale = flow.scale(loaders[0])
    if scale is not None and not scale.suits_to_float(spec.dtype):
        message = f"{message} The values of {scale.samples:,} samples range from {scale.low:g} to {scale.high:g}."
        title = f"Insert Normalize from data before {loaders[0]}"
        transform = Node("transforms.Normalize", dict(scale.normalize))
    input_port = Endpoint(loaders[0], flow.facts[loaders[0]].type.inputs[0].name)
    fix = quick_fixes.insert(input_port, transform, title=title, input_port="samples", output_port="samples")
    return Problem("error", "wrong-dtype", f"{message} {title}.", node=loaders[0], port=input_port.port, fix=fix)


def _varying_sizes(flow: Dataflow, name: str, facts: NodeFacts) -> Problem | None:
    """A loader gets images whose sizes may differ."""
    port = facts.type.inputs[0].name
    samples, end = facts.inputs.get(port), flow.graph.source(name, port)
    if facts.type.role is not Role.LOADER or not isinstance(samples, SampleSpec) or end is None:
        return None
    if not samples.input.is_open or samples.input.ndim not in (2, 3):
        return None
    sizes = " and ".join(str(size) for size in samples.input.shape if isinstance(size, Dim))
    message = (
        f"{name} expects samples of one size but {sizes} of the samples from {end.node} ({samples.input}) may vary. "
        f"Insert Resize or a crop before {name}."
    )
    resize = Node("transforms.Resize")
    fix = quick_fixes.insert(
        Endpoint(name, port), resize, title=f"Insert Resize before {name}", input_port="samples", output_port="samples"
    )
    return Problem("error", "open-sizes", message, node=name, port=port, fix=fix)


def _wrong_targets(flow: Dataflow, name: str, facts: NodeFacts) -> Problem | None:
    """A classification loss gets numeric targets, or a regression loss gets classes."""
    spec, target = facts.spec("input"), facts.spec("target")
    source = flow.graph.source(name, "target")
    if spec is None or target is None or source is None:
        return None
    numbers = target.dtype.is_floating_point
    if facts.type.learns == "classes" and numbers and target.shape[1:] in ((), (1,)) and spec.shape != target.shape:
        message = (
            f"{name} expects class targets but {source.node} provides numeric targets, {target}. "
            "Use a regression loss such as MSELoss, or set the data source to provide classes."
        )
        return Problem("error", "wrong-target", message, node=name, port="target")
    if facts.type.learns in ("numbers", "answers") and not numbers and target.ndim == 1 and spec.shape != target.shape:
        expected = "numeric" if facts.type.learns == "numbers" else "yes-or-no"
        message = f"{name} expects {expected} targets but {source.node} provides class indices, {target}."
        learner, fix = learn_numbers(flow, source.node)
        if fix is None:
            return Problem("error", "wrong-target", f"{message} Use CrossEntropyLoss.", node=name, port="target")
        message = f"{message} {fix.title.replace(' to ', f' of {learner} to ', 1)}, or use CrossEntropyLoss."
        return Problem("error", "wrong-target", message, node=learner, fix=fix)
    return None


def _conflicting_branches(flow: Dataflow, name: str, facts: NodeFacts) -> Problem | None:
    """Branches to combine have different sizes."""
    specs = {port: spec for port in facts.inputs if (spec := facts.spec(port)) is not None}
    is_joining = facts.type.key == "ops.cat"
    if facts.type.role is not Role.OPERATION or len(specs) < 2 or not (is_joining or is_elementwise(facts.type)):
        return None
    for (first_port, a), (second_port, b) in zip(list(specs.items()), list(specs.items())[1:], strict=False):
        axis = _first_conflict(facts, a, b)
        if axis is None:
            continue
        start = (
            f"{name} cannot combine {format_shape(a.shape)} at {name}.{first_port} with {format_shape(b.shape)} at "
            f"{name}.{second_port}"
        )
        conflict = Conflict(axis, (first_port, second_port), (a, b))
        if (cause := parameter_of_branch(flow, name, conflict, start)) is not None:
            return cause
        sizes = [(a, first_port, a.ndim + axis), (b, second_port, b.ndim + axis)]
        first, second = (f"{spec.shape[at]} from {_origin(flow, name, port, at)}" for spec, port, at in sizes)
        message = f"{start}: dimension {axis} is {first}, but {second}. Make both sizes equal."
        return Problem("error", "shape-mismatch", message, node=name, port=second_port)
    return None


def _flattened_image(flow: Dataflow, name: str, facts: NodeFacts) -> Problem | None:
    """An image layer follows a layer that flattens images."""
    port = facts.type.inputs[0].name
    spec, end = facts.spec(port), flow.graph.source(name, port)
    if facts.type.role is not Role.LAYER or spec is None or end is None:
        return None
    cause = origin_of_rank(flow, end)
    image = flow.facts[cause].spec("input")
    if flow.facts[cause].type.key != "nn.Flatten" or image is None or image.ndim <= spec.ndim:
        return None
    before = resolve_arguments(facts.type, facts.node.params, image)
    if (
        before.is_incomplete
        or NodeEvaluator().evaluate(facts.type, before.values, {**facts.inputs, port: image}).failure
    ):
        return None
    message = (
        f"{name} expects images but gets {format_shape(spec.shape)}, because {cause} flattens them "
        f"({format_shape(image.shape)}). Move {name} before {cause}."
    )
    return Problem("error", "shape-mismatch", message, node=name, port=port)


def _engine_error(flow: Dataflow, name: str, facts: NodeFacts) -> Problem:
    """The engine's error, with the inputs and the nodes that they come from."""
    inputs: list[str] = []
    for port in facts.type.inputs:
        end = flow.graph.source(name, port.name)
        if end is not None and port.name in facts.inputs:
            inputs.append(f"{facts.inputs[port.name]} from {end.node}")
    text = facts.outcome.failure.rstrip(".")
    message = f"{name} cannot process {' and '.join(inputs)}: {text}." if inputs else f"{name}: {text}."
    if sizes := shrinking(flow, name, facts):
        message = f"{message} The size changes from {sizes}."
    trial = own_parameter(flow, name, facts)
    if trial is not None:
        return Problem("error", "shape-mismatch", f"{message} {trial.advice}", node=name, fix=trial.fix)
    if facts.type.role is Role.OPERATION and "connect another output" not in message:
        params = [parameter.name for parameter in facts.type.params if facts.type.input(parameter.name) is None]
        change = f"Change {' or '.join(params)}, or connect" if params else "Connect"
        message = f"{message} {change} another output."
    return Problem("error", "shape-mismatch", message, node=name)


EXPLAINERS: tuple[Callable[[Dataflow, str, NodeFacts], Problem | None], ...] = (
    missing_step_selection,
    reduced_batch,
    class_numbers,
    tokens_as_numbers,
    different_batch_sizes,
    joined_samples,
    swapped_inputs,
    inputs_as_targets,
    targets_as_inputs,
    encoder_on_inputs,
    encoded_inputs,
    encoded_targets,
    class_weights,
    class_targets,
    encoded_as_numbers,
    numbers_metric_of_classes,
    literal_batch,
    wrong_output_count,
    _explicit_size,
    classes_last,
    _unflattened_scores,
    _wrong_dtype,
    _varying_sizes,
    _extra_column,
    missing_column,
    broadcast_loss,
    _wrong_targets,
    class_scores_in_binary_metric,
    different_width,
    images_as_steps,
    _conflicting_branches,
    _flattened_image,
    window_beyond_input,
    _engine_error,
)
"""Tried in order; the last one always returns a problem."""


def _missing_dimension(flow: Dataflow, name: str, facts: NodeFacts) -> Problem | None:
    """An argument cannot be inferred, because the input lacks the dimension or its size is not fixed.

    None if the arguments are those of another node of the same layer, whose own problem says what is wrong.
    """
    port = facts.type.inputs[0].name
    missing = [parameter for parameter in facts.type.params if parameter.name not in facts.arguments.values]
    sizes = ((parameter, parameter.from_input or parameter.relative_to) for parameter in missing)
    parameter, rule = next(((parameter, rule) for parameter, rule in sizes if rule is not None), (None, None))
    if parameter is None or rule is None:
        return None
    axis = rule.axis
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
        "error",
        "shape-mismatch",
        f"{message} Set {parameter.name} of {name}, or connect another output.",
        node=name,
        port=port,
    )


# -- helpers ----------------------------------------------------------------------------------


def _origin(flow: Dataflow, name: str, port: str, axis: int) -> str:
    end = flow.graph.source(name, port)
    return "its input" if end is None else origin_of_size(flow, end, axis)


def _size_noun(parameter: str) -> str:
    return "channels" if parameter.endswith("channels") else "features"


def _first_conflict(facts: NodeFacts, a: Spec, b: Spec) -> int | None:
    """The last dimension, as a negative index, in which two branches differ."""
    cat_dim = facts.arguments.values.get("dim") if facts.type.key == "ops.cat" else None
    for axis in range(-1, -min(a.ndim, b.ndim) - 1, -1):
        first, second = a.shape[axis], b.shape[axis]
        is_broadcast = facts.type.key != "ops.cat" and 1 in (first, second)
        if first != second and not is_broadcast and cat_dim not in (axis, a.ndim + axis):
            return axis
    return None

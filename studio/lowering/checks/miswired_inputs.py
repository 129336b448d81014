"""Explanations of shape errors: swapped wires, and transforms or metrics of the wrong kind."""

from __future__ import annotations

from engine.shape import Dim, format_shape
from studio.document.graph_walk import walk
from studio.document.model import Endpoint, Node
from studio.lowering.analysis.dataflow import Dataflow
from studio.lowering.analysis.node_evaluation import SampleSpec
from studio.lowering.analysis.node_facts import NodeFacts
from studio.lowering.checks.parameters.size_origins import origin_of_rank, origin_of_size
from studio.lowering.checks.parameters.upstream_causes import ENCODER, LOSS_OR_METRIC, main_source
from studio.lowering.problems import quick_fixes
from studio.lowering.problems.problem import Problem
from studio.nodes.types import Role

ACCURACY = "metrics.Accuracy"
BINARY_METRICS = frozenset({"metrics.BinaryAccuracy", "metrics.AUC"})
"""Metrics of one yes-or-no answer per sample."""


def swapped_inputs(flow: Dataflow, name: str, facts: NodeFacts) -> Problem | None:
    """Input and target of a loss or metric are swapped."""
    if facts.type.role not in LOSS_OR_METRIC:
        return None
    first, second = flow.graph.source(name, "input"), flow.graph.source(name, "target")
    if first is None or second is None or not _is_loader_output(flow, first, "target"):
        return None
    if _is_loader_output(flow, second, "target"):
        return None
    message = f"{name}.input gets the targets of {first.node} and {name}.target the predictions. Swap the two wires."
    fix = quick_fixes.swap(name, "input", "target")
    return Problem("error", "swapped-wires", message, node=name, port="input", fix=fix)


def inputs_as_targets(flow: Dataflow, name: str, facts: NodeFacts) -> Problem | None:
    """A classification loss or metric gets sample inputs as targets."""
    target = flow.graph.source(name, "target")
    if facts.type.learns != "classes" or target is None or not _is_loader_output(flow, target, "input"):
        return None
    expected = Endpoint(target.node, "target")
    message = (
        f"{name}.target expects classes but gets the inputs of {target.node}, "
        f"{flow.facts[target.node].labels['input']}. Connect {expected} to it."
    )
    fix = quick_fixes.wire_up(expected, Endpoint(name, "target"))
    return Problem("error", "swapped-wires", message, node=name, port="target", fix=fix)


def targets_as_inputs(flow: Dataflow, name: str, facts: NodeFacts) -> Problem | None:
    """A layer gets the targets of the samples."""
    port = facts.type.inputs[0].name if facts.type.inputs else ""
    end = flow.graph.source(name, port)
    if facts.type.role is not Role.LAYER or end is None or not _is_loader_output(flow, end, "target"):
        return None
    expected = Endpoint(end.node, "input")
    message = (
        f"{Endpoint(name, port)} gets the targets of {end.node}, {flow.facts[end.node].labels['target']}. Connect "
        f"{expected} to it, or insert Embedding before {name} if classes are the inputs of the network."
    )
    fix = quick_fixes.wire_up(expected, Endpoint(name, port))
    return Problem("error", "swapped-wires", message, node=name, port=port, fix=fix)


def encoder_on_inputs(flow: Dataflow, name: str, facts: NodeFacts) -> Problem | None:
    """A class encoder gets inputs that are not class indices."""
    samples = next(iter(facts.inputs.values()), None)
    if facts.type.key != ENCODER or not isinstance(samples, SampleSpec):
        return None
    if facts.arguments.values.get("on") != "inputs" or samples.classes is None:
        return None
    message = (
        f"{name} encodes class indices but the inputs are {samples.input}. Set on of {name} to targets, or remove it."
    )
    return Problem("error", "wrong-encoding", message, node=name, fix=quick_fixes.assign(name, "on", "targets"))


def classes_last(flow: Dataflow, name: str, facts: NodeFacts) -> Problem | None:
    """A loss of classes gets scores with the classes in the last dimension, such as those of a linear layer."""
    spec, target, end = facts.spec("input"), facts.spec("target"), flow.graph.source(name, "input")
    if facts.type.learns != "classes" or spec is None or target is None or end is None:
        return None
    if target.ndim < 2 or target.dtype.is_floating_point or spec.shape[:-1] != target.shape:
        return None
    order = [0, spec.ndim - 1, *range(1, spec.ndim - 1)]
    expected = tuple(spec.shape[axis] for axis in order)
    node = Node("ops.transpose", {"dim0": 1, "dim1": 2}) if spec.ndim == 3 else Node("ops.permute", {"dims": order})
    call = "Transpose(dim0=1, dim1=2)" if spec.ndim == 3 else f"Permute(dims={order})"
    message = (
        f"{name} expects the scores of the classes in dimension 1 ({format_shape(expected)}) but gets "
        f"{format_shape(spec.shape)} from {end.node}. Insert {call} before {name}.input."
    )
    title = f"Insert {call.partition('(')[0]} before {name}.input"
    fix = quick_fixes.insert(Endpoint(name, "input"), node, title=title, input_port="x")
    return Problem("error", "shape-mismatch", message, node=name, port="input", fix=fix)


def class_scores_in_binary_metric(flow: Dataflow, name: str, facts: NodeFacts) -> Problem | None:
    """A binary metric gets scores of several classes."""
    spec, target = facts.spec("input"), facts.spec("target")
    if facts.type.key not in BINARY_METRICS or spec is None or target is None:
        return None
    if spec.ndim != 2 or target.ndim != 1 or target.dtype.is_floating_point:
        return None
    message = (
        f"{name} expects one yes-or-no score per sample but gets scores for {spec.shape[1]} classes. Use Accuracy."
    )
    return Problem("error", "wrong-metric", message, node=name, fix=quick_fixes.retype(name, ACCURACY))


def different_width(flow: Dataflow, name: str, facts: NodeFacts) -> Problem | None:
    """The output width differs from the target width."""
    spec, target, end = facts.spec("input"), facts.spec("target"), flow.graph.source(name, "input")
    source = flow.graph.source(name, "target")
    if not facts.type.learns or spec is None or target is None or end is None:
        return None
    if facts.type.learns == "classes" and (spec.ndim != 2 or not target.dtype.is_floating_point):
        return None
    if source is None or spec.ndim < 2 or spec.ndim != target.ndim or spec.shape[:-1] != target.shape[:-1]:
        return None
    found, expected = spec.shape[-1], target.shape[-1]
    cause = origin_of_size(flow, end, spec.ndim - 1)
    parameter = next((p.name for p in flow.facts[cause].type.params if p.name.startswith("out_")), None)
    message = f"{cause} outputs {found} values per sample but the targets of {source.node} have {expected}."
    if parameter is None or not isinstance(expected, int):
        return Problem("error", "shape-mismatch", f"{message} Make both equal.", node=cause)
    fix = quick_fixes.assign(cause, parameter, expected)
    return Problem(
        "error", "shape-mismatch", f"{message} Set {parameter} of {cause} to {expected}.", node=cause, fix=fix
    )


def images_as_steps(flow: Dataflow, name: str, facts: NodeFacts) -> Problem | None:
    """A recurrent layer gets one-channel images, whose rows can be time steps."""
    port = facts.type.inputs[0].name if facts.type.inputs else ""
    spec, end = facts.spec(port), flow.graph.source(name, port)
    if facts.type.group != "Recurrent" or spec is None or end is None or spec.ndim != 4 or spec.shape[1] != 1:
        return None
    message = (
        f"{name} expects sequences (N×steps×features) but gets images ({format_shape(spec.shape)}) from {end.node}. "
        f"Insert Flatten over dimensions 1 to 2 before {name} to use image rows as steps."
    )
    rows = Node("nn.Flatten", {"start_dim": 1, "end_dim": 2})
    fix = quick_fixes.insert(Endpoint(name, port), rows, title=f"Insert Flatten before {name}")
    return Problem("error", "shape-mismatch", message, node=name, port=port, fix=fix)


def batch_flattened(flow: Dataflow, name: str, facts: NodeFacts) -> Problem | None:
    """An upstream Flatten includes the batch dimension, so a later layer has no fixed input size."""
    end = flow.graph.source(name, facts.type.inputs[0].name)
    if end is None or end.node not in flow.facts:
        return None
    for cause in walk([origin_of_rank(flow, end)], lambda node: main_source(flow, node)):
        values, flattened = flow.facts[cause].arguments.values, flow.facts[cause].spec("input")
        if flow.facts[cause].type.key != "nn.Flatten" or flattened is None:
            continue
        if values.get("start_dim") in (0, -flattened.ndim) and isinstance(flattened.shape[0], Dim):
            message = f"{cause} flattens all samples of a batch into one row. Set start_dim of {cause} to 1."
            return Problem(
                "error", "joined-batches", message, node=cause, fix=quick_fixes.assign(cause, "start_dim", 1)
            )
    return None


def _is_loader_output(flow: Dataflow, end: Endpoint, port: str) -> bool:
    return end.port == port and end.node in flow.facts and flow.facts[end.node].type.role is Role.LOADER


__all__ = [
    "batch_flattened",
    "class_scores_in_binary_metric",
    "classes_last",
    "different_width",
    "encoder_on_inputs",
    "images_as_steps",
    "inputs_as_targets",
    "swapped_inputs",
    "targets_as_inputs",
]

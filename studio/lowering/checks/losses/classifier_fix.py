"""The fix that makes a network classify: one score per class, and cross entropy."""

from __future__ import annotations

from studio.document.model import Endpoint, Node
from studio.lowering.analysis.dataflow import Dataflow
from studio.lowering.checks.losses.loss_conventions import NUMBER_METRICS, THRESHOLD_METRICS
from studio.lowering.checks.losses.targets import ONE_HOT, TO_FLOAT, Targets, data_nodes
from studio.lowering.checks.value_paths import LINEAR_GROUPS, value_path
from studio.lowering.problems import quick_fixes
from studio.lowering.problems.problem import Fix
from studio.nodes.types import Role

CROSS_ENTROPY = "nn.CrossEntropyLoss"
_MAX_BETWEEN = 8
"""Maximum number of nodes between the scores and the loss that the fix removes."""


def classify(flow: Dataflow, loss: str, targets: Targets) -> Fix | None:
    """Use cross entropy, with a score for each class; None if the last layer of the scores is not known."""
    between, layer = _last_layer(flow, loss)
    if layer is None or targets.classes is None:
        return None
    facts = flow.facts[layer]
    out = next((param.name for param in facts.type.params if param.name.startswith("out_")), None)
    if out is None:
        return None
    types = flow.graph.types
    fixes = [quick_fixes.retype(loss, CROSS_ENTROPY)]
    fixes += [quick_fixes.bypass(name, types[name].inputs[0].name) for name in between]
    fixes += _without_casts(flow, loss, targets)
    if facts.arguments.values.get(out) != targets.classes:
        fixes.append(quick_fixes.assign(layer, out, targets.classes))
    for metric in flow.graph.with_role(Role.METRIC):
        end = flow.graph.source(metric, "input")
        is_other = types[metric].key in NUMBER_METRICS | THRESHOLD_METRICS
        if is_other and end is not None and end.node in (layer, *between):
            fixes.append(quick_fixes.retype(metric, "metrics.Accuracy"))
    title = "Use CrossEntropyLoss"
    return fixes[0] if len(fixes) == 1 else quick_fixes.all_of(fixes, f"{title} with {targets.classes} scores")


def encode(targets: Targets, flow: Dataflow) -> Fix:
    """Encode class numbers as one-hot vectors before the loader."""
    loader = targets.loader
    node = Node(ONE_HOT, {"size": targets.classes or 1, "on": "targets"})
    title = f"Insert One-hot before {loader}"
    end = Endpoint(loader, flow.facts[loader].type.inputs[0].name)
    return quick_fixes.insert(end, node, title=title, input_port="samples", output_port="samples")


def _last_layer(flow: Dataflow, loss: str) -> tuple[list[str], str | None]:
    """The reshapes and activations before a loss, the last one first, and the linear layer before them."""
    between: list[str] = []
    end = flow.graph.source(loss, "input")
    while end is not None and len(between) <= _MAX_BETWEEN:
        node_type = flow.graph.types[end.node]
        if node_type.group in LINEAR_GROUPS:
            return between, end.node
        if node_type.category != "activation" and len(value_path(flow.graph, end)) < 2:
            break
        between.append(end.node)
        end = flow.graph.source(end.node, node_type.inputs[0].name)
    return between, None


def _without_casts(flow: Dataflow, loss: str, targets: Targets) -> list[Fix]:
    """Fixes that remove casts and reshapes of class numbers."""
    end = flow.graph.source(loss, "target")
    path = [] if end is None else [each.node for each in value_path(flow.graph, end)[:-1]]
    fixes = [quick_fixes.bypass(name, flow.graph.types[name].inputs[0].name) for name in path]
    for name in data_nodes(flow, targets.loader):
        facts = flow.facts[name]
        if facts.type.key == TO_FLOAT and facts.arguments.values.get("on") == "targets":
            fixes.append(quick_fixes.bypass(name, facts.type.inputs[0].name))
    return fixes


__all__ = ["classify", "encode"]

"""Problems with the parts that a run requires: data, losses, optimizers and trainable layers."""

from __future__ import annotations

import difflib
from collections.abc import Collection, Iterator

from engine.shape import Spec
from studio.document.blocks.block_nodes import path_and_outer
from studio.document.graph_walk import walk
from studio.document.model import Endpoint, Node
from studio.document.weight_sharing import owner_of
from studio.lowering.analysis.dataflow import Dataflow
from studio.lowering.analysis.node_evaluation import SampleSpec
from studio.lowering.analysis.node_graph import NodeGraph
from studio.lowering.problems import quick_fixes
from studio.lowering.problems.problem import Fix, Problem
from studio.nodes.types import PortType, Role

PAIRED_PARAMETERS = ("batch_size", "shuffle", "drop_last", "contiguous")
"""Parameters that paired loaders have in common."""

START = "Add a data source, a loader, layers, a loss and an optimizer, or begin with a template."


def training_goal_problems(flow: Dataflow) -> Iterator[Problem]:
    graph = flow.graph
    if not graph.types:
        yield Problem("error", "empty", f"The canvas is empty. {START}")
        return
    yield from _check_parts(flow)
    yield from _check_loaders(flow)
    yield from _check_scalar_losses(flow)
    yield from _check_trained_layers(flow)
    yield from _check_followed_metric(flow)


def _check_followed_metric(flow: Dataflow) -> Iterator[Problem]:
    """The metric that selects the best weights must exist."""
    metric = flow.document.training.follow
    names = ("loss", *flow.graph.with_role(Role.METRIC))
    metrics = [f"{part}_{name}" for part in ("val", "train") for name in names]
    if metric not in metrics:
        matches = difflib.get_close_matches(metric, metrics, n=1, cutoff=0.5) or ["val_loss"]
        message = (
            f"The best weights are selected by {metric}, but the project has no such metric. It has "
            f"{', '.join(metrics)}. "
            f"Select them by {matches[0]}."
        )
        yield Problem("error", "unknown-figure", message, fix=quick_fixes.follow(matches[0]))


def _check_parts(flow: Dataflow) -> Iterator[Problem]:
    graph = flow.graph
    if not graph.with_role(Role.SOURCE):
        yield Problem(
            "error", "no-data", "The project has no data source. Add one, such as Digits, followed by a loader."
        )
    elif not graph.with_role(Role.LOADER):
        message = "The project has no loader to make batches. Add one after the data source."
        yield Problem("error", "no-loader", message, fix=_added_loader(graph))
    losses, optimizers = [*graph.with_role(Role.LOSS), *graph.with_role(Role.LOSS_SUM)], graph.with_role(Role.OPTIMIZER)
    if not losses:
        message = "The project has no loss. Add one, such as CrossEntropyLoss, after the last layer."
        yield Problem("error", "no-loss", message, fix=_loss_for_targets(flow))
    ends = [end for name in losses if not graph.readers(end := Endpoint(name, graph.types[name].outputs[0].name))]
    if not optimizers:
        fix = None
        if len(ends) == 1:
            fix = quick_fixes.append(ends[0], Node("optim.Adam"), "loss", title="Add Adam")
        yield Problem(
            "error",
            "no-optimizer",
            "The project has no optimizer, so nothing is trained. Add one after the loss.",
            fix=fix,
        )
    elif losses and not graph.optimized:
        name = optimizers[0]
        fix = quick_fixes.wire_up(ends[0], Endpoint(name, "loss")) if len(ends) == 1 else None
        message = f"{name}.loss is not connected, so {name} has no loss to minimize. Connect a loss to it."
        yield Problem("error", "missing-wire", message, node=name, port="loss", fix=fix)


def _added_loader(graph: NodeGraph) -> Fix | None:
    """A fix that adds a loader, and connects it to the only layer without an input and to all targets."""
    ends = graph.free_outputs(PortType.SAMPLES)
    if len(ends) != 1:
        return None
    unfed = [
        Endpoint(name, port.name)
        for name, node_type in graph.types.items()
        for port in node_type.inputs
        if port.type is PortType.TENSOR and not port.optional and port.name not in graph.sources(name)
    ]
    compared = (Role.LOSS, Role.METRIC)
    targets = [end for end in unfed if end.port == "target" and graph.types[end.node].role in compared]
    inputs = [end for end in unfed if end not in targets]
    outputs = {"input": inputs if len(inputs) == 1 else [], "target": targets}
    return quick_fixes.append(ends[0], Node("data.Batches"), "samples", title="Add a loader", outputs=outputs)


def _loss_for_targets(flow: Dataflow) -> Fix | None:
    """A fix that compares the only output of the network with the targets of the only loader."""
    loaders = flow.graph.with_role(Role.LOADER)
    ends = [end for end in flow.graph.free_outputs(PortType.TENSOR) if end.node not in loaders]
    targets = flow.value(Endpoint(loaders[0], "target")) if len(loaders) == 1 else None
    if len(ends) != 1 or not isinstance(targets, Spec):
        return None
    key = "nn.MSELoss" if targets.dtype.is_floating_point else "nn.CrossEntropyLoss"
    optimizers = flow.graph.with_role(Role.OPTIMIZER)
    reader = Endpoint(optimizers[0], "loss") if len(optimizers) == 1 and not flow.graph.optimized else None
    return quick_fixes.append_loss(ends[0], Endpoint(loaders[0], "target"), Node(key), reader)


def _check_loaders(flow: Dataflow) -> Iterator[Problem]:
    """Several loaders need a known number of batches."""
    used = [name for name in flow.graph.with_role(Role.LOADER) if name in flow.graph.needed]
    for name in used if len(used) > 1 else ():
        samples = None if name not in flow.facts else next(iter(flow.facts[name].inputs.values()), None)
        if isinstance(samples, SampleSpec) and samples.is_stream:
            others = ", ".join(other for other in used if other != name)
            message = (
                f"{name} reads a stream of unknown length, which cannot be combined with other loaders ({others}). "
                "Turn stream off at its source."
            )
            yield Problem("error", "several-loaders", message, node=name)
    if len(used) > 1 and flow.document.training.joint_order == "paired":
        yield from _check_pairs(flow, used)
    elif len(used) > 1:
        for name in flow.graph.with_role(Role.LOSS):
            yield from _check_same_samples(flow.graph, name)


def _check_pairs(flow: Dataflow, loaders: list[str]) -> Iterator[Problem]:
    """Loaders with the same order need equal settings and numbers of samples."""
    first, *others = (name for name in loaders if name in flow.facts)
    values = flow.facts[first].arguments.values
    for name in others:
        own = flow.facts[name].arguments.values
        param = next((each for each in PAIRED_PARAMETERS if own.get(each) != values.get(each)), None)
        counts = flow.count(first), flow.count(name)
        if param is not None:
            fix = quick_fixes.assign(name, param, values.get(param))
            message = f"{name} and {first} are paired, but differ in {param}. {fix.title} at {name}."
            yield Problem("error", "several-loaders", message, node=name, fix=fix)
        elif None not in counts and counts[0] != counts[1]:
            message = (
                f"{name} has {counts[1]:,} training samples but {first}, which it is paired with, has {counts[0]:,}. "
                "Set training.joint_order to independent."
            )
            fix = quick_fixes.order_loaders("independent", "Shuffle each loader separately")
            yield Problem("error", "several-loaders", message, node=name, fix=fix)


def _check_same_samples(graph: NodeGraph, loss: str) -> Iterator[Problem]:
    """Targets of other samples than those that the network read, because two loaders read one source."""
    ends = {port: graph.source(loss, port) for port in ("input", "target")}
    before = {port: set[str]() if end is None else graph.upstream([end.node]) for port, end in ends.items()}
    loaders = graph.with_role(Role.LOADER)
    read, given = ([name for name in loaders if name in before[port]] for port in ("input", "target"))
    common = any(graph.types[name].role is Role.SOURCE for name in before["input"] & before["target"])
    if not read or not given or set(read) & set(given) or not common:
        return
    end = Endpoint(read[0], "target")
    message = (
        f"{loss} compares outputs for samples from {read[0]} with targets from {given[0]}, which has other samples in "
        f"each step. Connect {end}."
    )
    fix = quick_fixes.wire_up(end, Endpoint(loss, "target"))
    readers = [wire.target for wire in graph.outgoing_wires.get(given[0], ())]
    if readers == [Endpoint(loss, "target")]:
        fix = quick_fixes.all_of([fix, quick_fixes.remove(given, "")], f"{fix.title} and remove {given[0]}")
    yield Problem("error", "several-loaders", message, node=loss, port="target", fix=fix)


def _check_scalar_losses(flow: Dataflow) -> Iterator[Problem]:
    for name in flow.graph.with_role(Role.LOSS):
        facts = flow.facts.get(name)
        spec = None if facts is None else facts.info.outputs.get("loss")
        if facts is None or spec is None or spec.ndim == 0:
            continue
        explicit = "reduction" in facts.arguments.explicit
        fix = quick_fixes.clear(name, "reduction") if explicit else None
        message = f"{name} outputs {spec} but an optimizer minimizes a single value. Clear reduction."
        yield Problem("error", "loss-not-scalar", message, node=name, fix=fix)


# -- layers of optimizers ---------------------------------------------------------------------


def trainable_layers(flow: Dataflow, optimizer: str) -> list[str]:
    """The layers with parameters that an optimizer's loss depends on, in order."""
    nodes = flow.document.nodes
    upstream = flow.graph.upstream([optimizer])
    upstream = upstream | {owner_of(nodes, name) for name in flow.sharing if name in upstream}
    return [name for name, facts in flow.facts.items() if name in upstream and facts.info.parameters]


def trained_layers(flow: Dataflow, optimizer: str) -> list[str]:
    """The layers that an optimizer trains: the chosen layers, or all trainable layers, without frozen layers."""
    nodes = flow.document.nodes
    chosen = nodes[optimizer].trains
    possible = trainable_layers(flow, optimizer)
    return [name for name in possible if not nodes[name].frozen and (not chosen or _is_inside(name, chosen))]


def _is_inside(layer: str, chosen: Collection[str]) -> bool:
    """Whether a layer, or an instance of a block that it is in, is one of the chosen."""
    return any(path in chosen for path in path_and_outer(layer))


def untrained_layers(flow: Dataflow) -> list[str]:
    """Unfrozen layers that a loss depends on but no optimizer trains."""
    optimizers = flow.graph.optimized
    possible = dict.fromkeys(name for optimizer_name in optimizers for name in trainable_layers(flow, optimizer_name))
    trained = {name for optimizer_name in optimizers for name in trained_layers(flow, optimizer_name)}
    return [name for name in possible if name not in trained and not flow.document.nodes[name].frozen]


def _check_trained_layers(flow: Dataflow) -> Iterator[Problem]:
    owner: dict[str, str] = {}
    for optimizer in flow.graph.optimized:
        layers = trained_layers(flow, optimizer)
        if not layers and _is_evaluated(flow, optimizer):
            yield _nothing_to_train(flow, optimizer)
        shared = next((layer for layer in layers if layer in owner), None)
        if shared is not None:
            message = (
                f"{optimizer} and {owner[shared]} both train {shared}. "
                "Choose the layers of each optimizer in the inspector, or add the losses with Combine losses and "
                "connect the sum to one optimizer."
            )
            fix = _separate_optimizers(flow, owner[shared], optimizer)
            yield Problem("error", "shared-layers", message, node=optimizer, fix=fix)
        owner.update(dict.fromkeys(layers, optimizer))
        yield from _check_chosen_layers(flow, optimizer)
    for name in untrained_layers(flow):
        yield _untrained_layer(flow, name)


def _separate_optimizers(flow: Dataflow, first: str, second: str) -> Fix | None:
    """A fix after which two optimizers train different layers, or one of them trains all."""
    layers = {each: trained_layers(flow, each) for each in (first, second)}
    for optimizer, other in ((second, first), (first, second)):
        separate = [name for name in layers[optimizer] if name not in layers[other]]
        if separate:
            shown = " and ".join(separate[:2]) if len(separate) < 3 else f"{len(separate)} layers"
            return quick_fixes.trains(optimizer, separate, f"Train only {shown} with {optimizer}")
    return _one_optimizer(flow, first, second)


def _one_optimizer(flow: Dataflow, kept: str, removed: str) -> Fix | None:
    """A fix that removes an optimizer and adds its loss to that of another one."""
    losses = [flow.graph.input_sources[each].get("loss") for each in (kept, removed)]
    current, other = losses
    if current is None or other is None or flow.graph.types[current.node].role is Role.LOSS_SUM:
        return None
    scheduled = walk([removed], lambda name: [wire.target.node for wire in flow.graph.outgoing_wires.get(name, ())])
    removal = quick_fixes.remove(tuple(scheduled), f"Remove {removed}")
    if other == current:
        return removal
    return quick_fixes.all_of(
        [removal, quick_fixes.add_loss(other, kept, current, None)],
        f"Minimize the sum of both losses with {kept}",
    )


def _check_chosen_layers(flow: Dataflow, optimizer: str) -> Iterator[Problem]:
    """Problems with the layers chosen for an optimizer."""
    chosen = flow.document.nodes[optimizer].trains
    possible = trainable_layers(flow, optimizer)
    for name in chosen:
        if any(_is_inside(layer, [name]) for layer in possible):
            continue
        title = f"Remove {name} from the layers of {optimizer}"
        fix = quick_fixes.trains(optimizer, [other for other in chosen if other != name], title)
        facts = flow.facts.get(name)
        if facts is not None and name in flow.graph.muted:
            continue
        if name not in flow.document.nodes:
            matches = difflib.get_close_matches(name, possible, n=1)
            suggestion = f" Did you mean {matches[0]}?" if matches else ""
            message = (
                f"{optimizer} trains {name}, but the project has no such layer.{suggestion} Remove it from its layers."
            )
            yield Problem("error", "unknown-layer", message, node=optimizer, fix=fix)
        elif facts is not None and facts.outputs and not facts.info.parameters:
            message = f"{optimizer} trains {name}, but {name} has no parameters. Remove it from its layers."
            yield Problem("error", "unknown-layer", message, node=optimizer, fix=fix)
        elif facts is not None and facts.outputs and name not in possible:
            message = f"{optimizer} trains {name}, but its loss does not depend on {name}. Remove it from its layers."
            yield Problem("error", "unknown-layer", message, node=optimizer, fix=fix)


def _untrained_layer(flow: Dataflow, name: str) -> Problem:
    """A layer that no optimizer trains and that is not frozen. Reported at the layer, which can also be frozen."""
    optimizers = [
        optimizer_name for optimizer_name in flow.graph.optimized if name in trainable_layers(flow, optimizer_name)
    ]
    message = (
        f"No optimizer trains {name}, so it keeps its initial values. Add it to the layers of {optimizers[0]}, or "
        "freeze it."
    )
    chosen = flow.document.nodes[optimizers[0]].trains
    fix = (
        quick_fixes.trains(optimizers[0], [*chosen, name], f"Train {name} with {optimizers[0]}")
        if len(optimizers) == 1
        else None
    )
    return Problem("warning", "left-alone", message, node=name, fix=fix or quick_fixes.freeze(name))


def _is_evaluated(flow: Dataflow, optimizer: str) -> bool:
    """Whether all nodes before an optimizer were evaluated without an error."""
    upstream = flow.graph.upstream([optimizer]) - {optimizer}
    facts = [flow.facts.get(name) for name in upstream]
    return all(each is not None and each.outputs and not each.outcome.failure for each in facts)


def _nothing_to_train(flow: Dataflow, optimizer: str) -> Problem:
    upstream = flow.graph.upstream([optimizer])
    frozen = [
        n
        for n, facts in flow.facts.items()
        if n in upstream and flow.document.nodes[n].frozen and facts.info.parameters
    ]
    if frozen:
        message = f"All layers of {optimizer} are frozen, so nothing is trained. Unfreeze one."
        return Problem("error", "nothing-to-train", message, node=optimizer, fix=quick_fixes.unfreeze(frozen))
    if flow.document.nodes[optimizer].trains:
        message = f"{optimizer} can train none of the layers chosen for it. Choose other layers."
        fix = quick_fixes.trains(optimizer, (), "Train all layers")
        return Problem("error", "nothing-to-train", message, node=optimizer, fix=fix)
    message = f"No layer before {optimizer} has parameters, so nothing is trained. Add a layer such as Linear."
    return Problem("error", "nothing-to-train", message, node=optimizer)

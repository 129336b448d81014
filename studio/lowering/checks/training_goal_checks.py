"""Problems with what a run is for: data, losses, optimizers, and what these train."""

from __future__ import annotations

import difflib
from collections.abc import Iterator

from studio.document.model import End, Node
from studio.lowering.analysis.dataflow import Dataflow
from studio.lowering.analysis.node_graph import NodeGraph
from studio.lowering.problems import quick_fixes
from studio.lowering.problems.problem import Problem
from studio.nodes.types import Role

FEW = 5
"""Nodes that a message about many of them names."""

START = "Add a data source, a loader, layers, a loss and an optimizer, or begin with a template."


def training_goal_problems(flow: Dataflow) -> Iterator[Problem]:
    graph = flow.graph
    if not graph.types:
        yield Problem("error", "empty", f"The canvas is empty. {START}")
        return
    yield from _parts(graph)
    yield from _loaders(graph)
    yield from _scalar_losses(flow)
    yield from _trained(flow)
    yield from _followed(flow)


def _followed(flow: Dataflow) -> Iterator[Problem]:
    """The figure that says which weights are best is one that there is."""
    wanted = flow.document.training.follow
    names = ("loss", *flow.graph.with_role(Role.METRIC))
    known = [f"{part}_{name}" for part in ("val", "train") for name in names]
    if wanted not in known:
        near = difflib.get_close_matches(wanted, known, n=1, cutoff=0.5) or ["val_loss"]
        message = (
            f"The training follows {wanted}, but there is no such figure. There are: {', '.join(known)}. "
            f"Follow {near[0]}."
        )
        yield Problem("error", "unknown-figure", message, fix=quick_fixes.follow(near[0]))


def _parts(graph: NodeGraph) -> Iterator[Problem]:
    if not graph.with_role(Role.SOURCE):
        yield Problem("error", "no-data", "There is no data source. Add one, such as Digits, and a loader behind it.")
    elif not graph.with_role(Role.LOADER):
        yield Problem("error", "no-loader", "Nothing makes batches of the samples. Add a loader behind the data.")
    losses, optimizers = [*graph.with_role(Role.LOSS), *graph.with_role(Role.LOSS_SUM)], graph.with_role(Role.OPTIMIZER)
    if not losses:
        message = "There is no loss, so training has no goal. Add one behind the last layer, such as CrossEntropyLoss."
        yield Problem("error", "no-loss", message)
    ends = [end for name in losses if not graph.readers(end := End(name, graph.types[name].outputs[0].name))]
    if not optimizers:
        fix = None
        if len(ends) == 1:
            fix = quick_fixes.append(ends[0], Node("optim.Adam"), "loss", title="Add Adam")
        yield Problem(
            "error", "no-optimizer", "There is no optimizer, so nothing is trained. Add one behind the loss.", fix=fix
        )
    elif losses and not graph.optimized:
        name = optimizers[0]
        fix = quick_fixes.wire_up(ends[0], End(name, "loss")) if len(ends) == 1 else None
        message = f"{name} has no loss to make small. Connect a loss to it."
        yield Problem("error", "missing-wire", message, node=name, port="loss", fix=fix)


def _loaders(graph: NodeGraph) -> Iterator[Problem]:
    used = [name for name in graph.with_role(Role.LOADER) if name in graph.needed]
    if len(used) == 2:
        message = f"{used[1]} is a second loader beside {used[0]}. Batches come from one loader: remove one of the two."
        yield Problem("error", "several-loaders", message, node=used[1])
    elif len(used) > 2:
        shown = ", ".join(used[1:FEW])
        more = f" and {len(used) - FEW:,} more" if len(used) > FEW else ""
        message = (
            f"There are {len(used):,} loaders: beside {used[0]} also {shown}{more}. Batches come from one loader: "
            "remove all but one."
        )
        yield Problem("error", "several-loaders", message, node=used[1])


def _scalar_losses(flow: Dataflow) -> Iterator[Problem]:
    for name in flow.graph.with_role(Role.LOSS):
        facts = flow.facts.get(name)
        spec = None if facts is None else facts.info.outputs.get("loss")
        if facts is None or spec is None or spec.ndim == 0:
            continue
        explicit = "reduction" in facts.arguments.explicit
        fix = quick_fixes.clear(name, "reduction") if explicit else None
        message = f"{name} gives {spec}, but an optimizer can only make one number small. Clear reduction."
        yield Problem("error", "loss-not-scalar", message, node=name, fix=fix)


# -- what optimizers train --------------------------------------------------------------------


def trainable_layers(flow: Dataflow, optimizer: str) -> list[str]:
    """The layers with parameters that an optimizer's loss depends on, in order."""
    upstream = flow.graph.upstream([optimizer])
    return [name for name, facts in flow.facts.items() if name in upstream and facts.info.parameters]


def trained_layers(flow: Dataflow, optimizer: str) -> list[str]:
    """The layers that an optimizer trains: of those chosen, or of all that it could train, the ones not frozen."""
    nodes = flow.document.nodes
    chosen = nodes[optimizer].trains
    possible = trainable_layers(flow, optimizer)
    return [name for name in possible if not nodes[name].frozen and (not chosen or name in chosen)]


def untrained_layers(flow: Dataflow) -> list[str]:
    """The layers that some loss could train, and that no optimizer does although they are not frozen."""
    optimizers = flow.graph.optimized
    possible = dict.fromkeys(name for one in optimizers for name in trainable_layers(flow, one))
    trained = {name for one in optimizers for name in trained_layers(flow, one)}
    return [name for name in possible if name not in trained and not flow.document.nodes[name].frozen]


def _trained(flow: Dataflow) -> Iterator[Problem]:
    owner: dict[str, str] = {}
    for optimizer in flow.graph.optimized:
        layers = trained_layers(flow, optimizer)
        if not layers and _all_known(flow, optimizer):
            yield _untrained(flow, optimizer)
        shared = next((layer for layer in layers if layer in owner), None)
        if shared is not None:
            message = (
                f"{optimizer} and {owner[shared]} would both train {shared}. "
                "Choose in the inspector which layers each of them trains, or add their losses with Combine losses and "
                "feed the sum to one optimizer."
            )
            yield Problem("error", "shared-layers", message, node=optimizer)
        owner.update(dict.fromkeys(layers, optimizer))
        yield from _chosen(flow, optimizer)
    for name in untrained_layers(flow):
        yield _left_alone(flow, name)


def _chosen(flow: Dataflow, optimizer: str) -> Iterator[Problem]:
    """What is wrong with the layers that were chosen for an optimizer."""
    chosen = flow.document.nodes[optimizer].trains
    possible = trainable_layers(flow, optimizer)
    for name in chosen:
        fix = quick_fixes.trains(optimizer, [other for other in chosen if other != name], f"Take {name} out")
        facts = flow.facts.get(name)
        if facts is not None and name in flow.graph.muted:
            continue
        if name not in flow.document.nodes:
            near = difflib.get_close_matches(name, possible, n=1)
            meant = f" Did you mean {near[0]}?" if near else ""
            message = f"{optimizer} is to train {name}, but there is no such layer.{meant} Take it out of its layers."
            yield Problem("error", "unknown-layer", message, node=optimizer, fix=fix)
        elif facts is not None and facts.outputs and not facts.info.parameters:
            message = f"{optimizer} is to train {name}, which has no parameters. Take it out of its layers."
            yield Problem("error", "unknown-layer", message, node=optimizer, fix=fix)
        elif facts is not None and facts.outputs and name not in possible:
            message = f"{optimizer} is to train {name}, but its loss does not depend on it. Take it out of its layers."
            yield Problem("error", "unknown-layer", message, node=optimizer, fix=fix)


def _left_alone(flow: Dataflow, name: str) -> Problem:
    """A layer that stays as it is without being frozen: forgotten, more often than meant."""
    takers = [one for one in flow.graph.optimized if name in trainable_layers(flow, one)]
    message = f"No optimizer trains {name}, so it stays as it began. Add it to the layers of {takers[0]}, or freeze it."
    chosen = flow.document.nodes[takers[0]].trains
    fix = quick_fixes.trains(takers[0], [*chosen, name], f"Train it by {takers[0]}") if len(takers) == 1 else None
    return Problem("warning", "left-alone", message, node=name, fix=fix or quick_fixes.freeze(name))


def _all_known(flow: Dataflow, optimizer: str) -> bool:
    """Whether everything before an optimizer was evaluated, so that no parameters are overlooked."""
    upstream = flow.graph.upstream([optimizer]) - {optimizer}
    return all(name in flow.facts and flow.facts[name].outputs for name in upstream)


def _untrained(flow: Dataflow, optimizer: str) -> Problem:
    upstream = flow.graph.upstream([optimizer])
    frozen = [
        n
        for n, facts in flow.facts.items()
        if n in upstream and flow.document.nodes[n].frozen and facts.info.parameters
    ]
    if frozen:
        message = f"Every layer that {optimizer} could train is frozen, so nothing would be learned. Unfreeze one."
        return Problem("error", "nothing-to-train", message, node=optimizer, fix=quick_fixes.unfreeze(frozen))
    if flow.document.nodes[optimizer].trains:
        message = (
            f"None of the layers chosen for {optimizer} can be trained, so nothing would be learned. Choose others."
        )
        fix = quick_fixes.trains(optimizer, (), "Train all layers")
        return Problem("error", "nothing-to-train", message, node=optimizer, fix=fix)
    message = f"No layer before {optimizer} has parameters, so there is nothing to train. Add a layer such as Linear."
    return Problem("error", "nothing-to-train", message, node=optimizer)

"""Do the targets fit the loss?"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from studio.document.graph_walk import walk
from studio.document.model import Endpoint
from studio.lowering.analysis.node_graph import NodeGraph
from studio.lowering.problems import quick_fixes
from studio.lowering.problems.problem import Fix, Problem
from studio.nodes.types import Role
from studio.training.experiments.experiment import Bars, Experiment, Outcome, Outcomes, Step
from studio.training.experiments.loss_inputs import CLASS_LOSSES, YES_NO_LOSSES, LossCall, loss_calls
from studio.training.experiments.project_copy import ProjectCopy

_BATCHES = 8
_BARS = 20


def _run(copy: ProjectCopy, outcomes: Outcomes) -> Iterator[Step]:
    calls = [call for call in loss_calls(copy, _BATCHES) if call.target is not None]
    if not calls:
        yield Outcome("inconclusive", "No loss of the project compares predictions with targets.")
        return
    by_node: dict[str, list[LossCall]] = {}
    for call in calls:
        by_node.setdefault(call.node, []).append(call)
    found = [_outcome(node, each, copy) for node, each in by_node.items()]
    yield next((outcome for outcome in found if outcome.verdict == "problem"), found[0])


def _outcome(node: str, calls: list[LossCall], copy: ProjectCopy) -> Outcome:
    values = np.concatenate([_numbers(call.target) for call in calls])
    first = calls[0]
    classes = first.input.shape[1] if first.type in CLASS_LOSSES and first.input.ndim > 1 else None
    evidence = {
        "loss": node,
        "targets": int(values.size),
        "lowest": float(values.min()),
        "highest": float(values.max()),
        "different": int(np.unique(values).size),
    }
    picture = _picture(values, classes)
    wrong = _mistake(values, first, classes)
    if wrong is None and copy.targets and not copy.is_adversarial and evidence["different"] == 1:
        wrong = f"all {values.size:,} targets have the value {values[0]:g}"
    if wrong is None:
        kinds = f"{evidence['different']:,} different values" if classes is None else f"{evidence['different']} classes"
        text = f"{values.size:,} targets of {node} have {kinds} from {values.min():g} to {values.max():g}."
        return Outcome("passed", text, evidence=evidence, picture=picture)
    message = f"The targets of {node} do not fit the loss: {wrong}. Connect the right targets, or change the loss."
    fix = _direct_targets(copy.graph, node)
    problem = Problem("warning", "unfit-targets", message, node=node, port="target", fix=fix, evidence=evidence)
    return Outcome("problem", message, "Look at the targets in the Data panel.", evidence, picture, (problem,))


def _direct_targets(graph: NodeGraph, loss: str) -> Fix | None:
    """Connect a loss to the targets of the loader, without the nodes between that nothing else reads."""
    end, loaders = graph.source(loss, "target"), graph.with_role(Role.LOADER)
    if end is None or end.node in loaders or len(loaders) != 1 or "." in loss:
        return None
    between: dict[str, None] = {}
    for name in walk([end.node], lambda name: [each.node for each in graph.input_sources[name].values()]):
        readers = {wire.target.node for wire in graph.outgoing_wires.get(name, ())}
        if graph.types[name].role in (Role.LAYER, Role.OPERATION) and readers <= {loss, *between}:
            between[name] = None
    target = quick_fixes.wire_up(Endpoint(loaders[0], "target"), Endpoint(loss, "target"))
    return quick_fixes.all_of([target, quick_fixes.remove(between, "")], target.title)


def _mistake(values: NDArray[Any], call: LossCall, classes: int | None) -> str | None:
    """What is wrong with targets; None if nothing is."""
    if not np.isfinite(values).all():
        return f"{int((~np.isfinite(values)).sum()):,} of {values.size:,} are NaN or infinite"
    if classes is not None and call.target.dtype.is_floating_point is False:
        ignored = values == -100  # the index that cross entropy ignores
        counted = values[~ignored]
        if counted.size and (counted.min() < 0 or counted.max() >= classes):
            return f"class indices range from {counted.min():g} to {counted.max():g}, but there are {classes} scores"
    if call.type in YES_NO_LOSSES and (values.min() < 0 or values.max() > 1):
        return f"they range from {values.min():g} to {values.max():g} instead of 0 to 1"
    return None


def _picture(values: NDArray[Any], classes: int | None) -> Bars:
    """How often each class or interval of values occurs."""
    kinds, counts = np.unique(values, return_counts=True)
    if len(kinds) <= _BARS:
        return Bars("Number of targets", tuple(f"{kind:g}" for kind in kinds), tuple(map(float, counts)))
    finite = values[np.isfinite(values)]
    counts, edges = np.histogram(finite, _BARS)
    return Bars("Number of targets", tuple(f"{edge:.3g}" for edge in edges[:-1]), tuple(map(float, counts)))


def _numbers(target: Any) -> NDArray[Any]:
    return np.asarray(target.detach().float().cpu().numpy(), dtype=np.float64).reshape(-1)


LABELS = Experiment("labels", "Targets", "Do the targets fit the loss?", _run)

__all__ = ["LABELS"]

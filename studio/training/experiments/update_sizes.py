"""How far does a training step change each weight?"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import engine
from studio.training.experiments.experiment import Bars, Experiment, Outcome, Outcomes, Step
from studio.training.experiments.project_copy import ProjectCopy

_STEPS = 5
_SMALLEST, _LARGEST = 1e-6, 1.0
"""Updates outside are far from usual ones, which change weights by 0.01% to 10% in a step."""
_USUAL = 1e-4, 0.1
_BARS = 24


def _run(copy: ProjectCopy, outcomes: Outcomes) -> Iterator[Step]:
    ratios = _measured(copy)
    if not ratios:
        yield Outcome("inconclusive", "No optimizer trains a layer with weights.")
        return
    shown = list(ratios.items())[:_BARS]
    picture = Bars(
        "Update / weight per step", tuple(name for name, _ in shown), tuple(r for _, r in shown), is_log=True
    )
    evidence = {"ratios": ratios}
    median = sorted(ratios.values())[len(ratios) // 2]
    still = [name for name, ratio in ratios.items() if ratio == 0]
    if still and len(still) < len(ratios):
        text = f"{still[0]} does not change in training: its update is 0 in {_STEPS} steps."
        yield Outcome("problem", text, "Look at the gradient flow.", evidence, picture)
        return
    text = f"A step changes weights by {median:.2g} of their size (median of {len(ratios)} layers)"
    if _USUAL[0] <= median <= _USUAL[1]:
        yield Outcome("passed", f"{text}.", "", evidence, picture)
        return
    if _SMALLEST <= median <= _LARGEST:
        yield Outcome("inconclusive", f"{text}; usual are {_USUAL[0]:g} to {_USUAL[1]:g}.", "", evidence, picture)
        return
    side, advice = ("small", "Raise") if median < _SMALLEST else ("large", "Lower")
    node = next(iter(copy.graph.optimized))
    usual = f"usual are {_USUAL[0]:g} to {_USUAL[1]:g}"
    text = f"Steps of {node} are too {side}: each changes the weights by {median:.2g} of their size; {usual}."
    yield Outcome("problem", text, f"{advice} the learning rate of {node}.", evidence, picture)


def _measured(copy: ProjectCopy) -> dict[str, float]:
    """The mean size of an update relative to the weights, by layer, without vectors such as biases."""
    with copy.trial() as train, engine.no_grad():
        weights = _weights(copy)
        before = {name: weight.clone() for name, weight in weights.items()}
        ratios = dict.fromkeys(weights, 0.0)
        for batch in copy.batches[:_STEPS]:
            with engine.enable_grad():
                train(batch)
            for name, weight in weights.items():
                size = float(before[name].norm().item())
                ratios[name] += float((weight - before[name]).norm().item()) / size if size else 0.0
                before[name] = weight.clone()
    taken = min(_STEPS, len(copy.batches))
    return {name: ratio / taken for name, ratio in ratios.items()}


def _weights(copy: ProjectCopy) -> dict[str, Any]:
    """The trained matrices by the path of their layer."""
    trained = {
        id(parameter)
        for optimizer in copy.task.optimizers.values()
        for group in optimizer.param_groups
        for parameter in group["params"]
    }
    named = copy.task.model.named_parameters()
    return {
        name.rpartition(".")[0]: each
        for name, each in named
        if each.ndim > 1 and id(each) in trained and each.requires_grad
    }


UPDATE_SIZES = Experiment(
    "updates", "Size of updates", "Do training steps change the weights by a sensible amount?", _run
)

__all__ = ["UPDATE_SIZES"]

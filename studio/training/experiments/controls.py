"""Controls: real samples must be learned better than samples without inputs, and than those with shuffled targets."""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import repeat
from statistics import fmean, stdev
from typing import Any

from studio.lowering.problems import quick_fixes
from studio.lowering.problems.problem import Problem
from studio.training.experiments.experiment import Curves, Experiment, Outcome, Outcomes, Step
from studio.training.experiments.loss_inputs import first_constant_layer, is_constant, loss_calls
from studio.training.experiments.overfit import LEARNED, overfit_curve
from studio.training.experiments.project_copy import ProjectCopy

_SECONDS, _MIN_STEPS, _MAX_STEPS = 4.0, 24, 160
_CERTAIN = 3.0
"""Standard errors by which the mean losses differ."""
_RELEVANT = 0.01
"""Difference as a share of the loss."""
_WHERE = "Rest the pointer on the wires after the loader to see where the values become constant."
_ENOUGH_STEPS = 60
"""Fewer steps without a difference prove nothing."""


def _zeroed(copy: ProjectCopy, outcomes: Outcomes) -> Iterator[Step]:
    if not copy.inputs or not copy.targets or copy.is_adversarial:
        yield Outcome("inconclusive", "The inputs are also the targets, so that they cannot be removed.")
        return
    calls = [call for call in loss_calls(copy, 1) if call.input.ndim > 1]
    constant = next((call for call in calls if is_constant(call.input)), None)
    if constant is not None:
        node = first_constant_layer(copy) or constant.node
        message = (
            f"{constant.node} gets the same predictions for all samples, because the output of {node} does not depend "
            f"on them. Check the parameters of {node} and the range of its input."
        )
        is_activation = copy.graph.types[node].group == "Activation" if node in copy.graph.types else False
        fix = quick_fixes.retype(node, "nn.ReLU") if is_activation else None
        evidence = {"samples": len(constant.input)}
        problem = Problem("warning", "unused-inputs", message, node=node, fix=fix, evidence=evidence)
        yield Outcome("problem", message, _WHERE, {"samples": len(constant.input)}, None, (problem,))
        return
    batch = copy.batches[0]
    known = _overfit_losses(outcomes)
    losses = {"real inputs": known} if known else dict[str, list[float]]()
    changed: dict[str, Iterator[Any]] = {"inputs of 0": repeat(copy.zeroed_inputs(batch))}
    yield from _trained(copy, losses, changed if known else {"real inputs": repeat(batch), **changed})
    real, other = losses.values()
    evidence, picture = _evidence(losses), _picture(losses, "Training steps on one batch")
    if _is_lower(real, other):
        text = f"With real inputs the loss falls to {_last(real):.3g}, without them to {_last(other):.3g}."
        yield Outcome("passed", text, "", evidence, picture)
        return
    if len(real) < _ENOUGH_STEPS or not _did_fall(other):
        text = f"The loss is {_last(real):.3g} with inputs and {_last(other):.3g} without; it does not fall enough yet."
        yield Outcome("inconclusive", text, "", evidence, picture)
        return
    node = copy.inputs[0].end.node
    message = (
        f"The network does not use its inputs: with all inputs at 0 the loss falls as far ({_last(other):.3g}) as with "
        f"the inputs of {node} ({_last(real):.3g}). Look for a node after {node} whose output does not change."
    )
    problem = Problem("warning", "unused-inputs", message, node=node, evidence=evidence)
    yield Outcome("problem", message, _WHERE, evidence, picture, (problem,))


def _overfit_losses(outcomes: Outcomes) -> list[float]:
    """The losses of one batch with its real inputs, if they were measured."""
    picture = outcomes["overfit"].picture if "overfit" in outcomes else None
    return list(picture.series[0].y) if isinstance(picture, Curves) else []


def _shuffled(copy: ProjectCopy, outcomes: Outcomes) -> Iterator[Step]:
    if not copy.targets or not copy.inputs or copy.is_adversarial:
        yield Outcome("inconclusive", "The targets are made from the inputs, so that they cannot be shuffled.")
        return
    losses: dict[str, list[float]] = {}
    yield from _trained(
        copy, losses, {"real targets": copy.cycle(), "shuffled targets": copy.cycle(copy.shuffled_targets)}
    )
    real, other = losses.values()
    evidence, picture = _evidence(losses), _picture(losses, "Training steps")
    if _is_lower(real, other):
        text = f"With real targets the loss falls to {_last(real):.3g}, with shuffled ones to {_last(other):.3g}."
        yield Outcome("passed", text, "", evidence, picture)
        return
    text = (
        f"After {len(real)} steps the loss is {_last(real):.3g} with real and {_last(other):.3g} with shuffled targets."
    )
    if len(real) < _ENOUGH_STEPS or not _can_memorize(outcomes):
        yield Outcome("inconclusive", f"{text} More steps are needed to tell them apart.", "", evidence, picture)
        return
    node = copy.targets[0].end.node
    message = (
        f"Targets of {node} do not seem to belong to their inputs: real targets are learned no better than shuffled "
        f"ones (loss {_last(real):.3g} and {_last(other):.3g}). Compare some samples with their targets."
    )
    problem = Problem("warning", "unrelated-targets", message, node=node, evidence=evidence)
    step = "Look at samples and targets in the Data panel, and check the order of files and rows."
    yield Outcome("problem", message, step, evidence, picture, (problem,))


def _trained(copy: ProjectCopy, losses: dict[str, list[float]], batches: dict[str, Iterator[Any]]) -> Iterator[Step]:
    """Train once with each kind of batches from the same weights with the same random numbers, filling `losses`.

    If it has losses already, others get the same number of steps.
    """
    known = len(next(iter(losses.values()), []))
    steps = known or copy.steps(_SECONDS, _MIN_STEPS, _MAX_STEPS)
    for index, (name, each) in enumerate(batches.items()):
        losses[name] = []
        for number, loss in copy.train(each, steps):
            losses[name].append(loss)
            if number % 4 == 0:
                yield (index + number / steps) / len(batches), _picture(losses, "Training steps")


def _is_lower(real: list[float], other: list[float]) -> bool:
    """Whether the real losses are lower in the last third, beyond noise."""
    pairs = [after - before for before, after in zip(_tail(real), _tail(other), strict=False)]
    finite = [each for each in pairs if math.isfinite(each)]
    if len(finite) < 3:
        return False
    mean, error = fmean(finite), stdev(finite) / math.sqrt(len(finite))
    return mean > _CERTAIN * error and mean > _RELEVANT * abs(fmean(_tail(other)))


def _did_fall(losses: list[float]) -> bool:
    return _last(losses) < 0.97 * losses[0]


def _can_memorize(outcomes: Outcomes) -> bool:
    """Whether the network memorizes a batch, and no other experiment has found why it learns nothing more."""
    others = (outcome for key, outcome in outcomes.items() if key != "check")
    share = outcomes["overfit"].evidence.get("share") if "overfit" in outcomes else None
    return share is not None and share <= LEARNED and all(outcome.verdict != "problem" for outcome in others)


def _tail(losses: list[float]) -> list[float]:
    return losses[-max(len(losses) // 3, 3) :]


def _last(losses: list[float]) -> float:
    return fmean(_tail(losses))


def _evidence(losses: dict[str, list[float]]) -> dict[str, Any]:
    last = {name: _last(each) for name, each in losses.items()}
    found = {name: value if math.isfinite(value) else None for name, value in last.items()}
    return {"steps": len(next(iter(losses.values()))), "loss": found}


def _picture(losses: dict[str, list[float]], title: str) -> Curves:
    return Curves(title, "Loss", tuple(overfit_curve(each, name) for name, each in losses.items() if each))


ZEROED_INPUTS = Experiment("inputs", "Without inputs", "Does the network use its inputs?", _zeroed)
SHUFFLED_TARGETS = Experiment(
    "shuffled", "Shuffled targets", "Are real targets learned better than shuffled ones?", _shuffled, needs=("overfit",)
)

__all__ = ["SHUFFLED_TARGETS", "ZEROED_INPUTS"]

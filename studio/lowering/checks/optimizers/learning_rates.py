"""Learning rates that are 0, too low or too high, by kind of optimizer."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from math import sqrt
from typing import Any

from studio.lowering.analysis.dataflow import Dataflow
from studio.lowering.checks.optimizers import loss_scale
from studio.lowering.checks.optimizers.loss_scale import WeightedLoss
from studio.lowering.problems import quick_fixes
from studio.lowering.problems.problem import Problem
from studio.lowering.schedules.schedule_chains import schedules_behind
from studio.nodes.types import Role

ADAPTIVE = "Adaptive"
_DESCENT = frozenset({"optim.SGD", "optim.ASGD"})
"""Optimizers whose steps are proportional to the gradient."""

_HIGHEST_ADAPTIVE = {"optim.Adadelta": 2.0, "optim.Adagrad": 1.0}
_HIGHEST_OF_OTHERS = 0.1
"""Highest plausible learning rate of adaptive optimizers; usual values are 100 times smaller."""
_HIGHEST_PLAIN = {"optim.LBFGS": 5.0, "optim.Rprop": 1.0}
_HIGHEST_DESCENT = 3.0
"""Highest plausible learning rate of gradient descent divided by (1 - momentum), for a mean over the batch."""
_HIGHEST_QUADRATIC = 1.0
_HIGHEST_SUMMED = 1.0
"""The same for a sum over the batch, times the batch size."""
_USUAL_BATCH = 256
"""Larger batches allow proportionally higher learning rates."""

_LOWEST_ADAPTIVE = {"optim.Adagrad": 1e-3, "optim.Adadelta": 0.01, "optim.Adafactor": 1e-4}
_LOWEST_OF_OTHERS = 2e-5
_LOWEST_DESCENT = 1e-3
_LOWEST_UNBOUNDED = 1e-5
_LOWEST_LINE_SEARCH = 0.01
_SHORTEST_PATH = 0.01
"""Distance that weights must be able to move in a training; initial weights are about 0.1."""
_SHORTEST_DESCENT = 0.1
_FINE_TUNING = 20
"""Divisor of the lowest learning rate if some layers are frozen."""
_LARGE_INPUT = 16.0
"""Inputs above this make large gradients, which need low learning rates."""

_CYCLE = 5
"""Factor of the highest rate of a cycle, which lasts only a moment."""
_ONE_RATE = frozenset({"optim.LBFGS", "optim.Adadelta"})
"""Optimizers that are made for a rate of about 1."""
_HIGHER = 5
"""Factor of the other rate that is offered; a trial tells which trains better."""
LONGEST_MOMENTUM = 0.995
"""Momentum of a mean over the last 200 gradients."""
_USUAL: Mapping[str, float] = {"optim.RMSprop": 0.001, "optim.Adamax": 0.002, "optim.NAdam": 0.002}
_STABLE_NORM = "nn.BatchNorm"


@dataclass(frozen=True, slots=True)
class _Rate:
    """The highest learning rate of an optimizer, and the parameter that sets it."""

    optimizer: str
    node: str
    param: str
    value: float

    @property
    def phrase(self) -> str:
        setting = "a learning rate" if self.param == "lr" else f"a {self.param}"
        return f"{self.node} has {setting} of {self.value:g}"


def learning_rate_problems(flow: Dataflow) -> Iterator[Problem]:
    for name in flow.graph.with_role(Role.OPTIMIZER):
        rate = _highest_rate(flow, name)
        if rate is not None:
            yield from list(_check(flow, rate))[:1]


def usual_rate(flow: Dataflow, optimizer: str) -> float:
    """A learning rate that trains most networks with this optimizer."""
    facts = flow.facts[optimizer]
    if facts.type.key not in _DESCENT:
        declared = facts.type.param("lr")
        return _USUAL.get(facts.type.key, 0.001 if declared is None else declared.default)
    is_unbounded = any(
        loss_scale.loss_key(flow, loss.name) in loss_scale.UNBOUNDED
        for loss in loss_scale.minimized_losses(flow, optimizer)
    )
    return float(f"{(0.02 if is_unbounded else 0.2) / momentum_gain(facts.arguments.values):.1g}")


def momentum_gain(values: Mapping[str, Any]) -> float:
    """Factor by which momentum lengthens steps in a constant direction; 1 if it is out of range."""
    momentum, dampening = values.get("momentum", 0), values.get("dampening", 0)
    if not isinstance(momentum, (int, float)) or not 0 < momentum <= LONGEST_MOMENTUM:
        return 1.0
    return (1 - dampening if isinstance(dampening, (int, float)) and 0 <= dampening < 1 else 1.0) / (1 - momentum)


def _highest_rate(flow: Dataflow, optimizer: str) -> _Rate | None:
    facts = flow.facts.get(optimizer)
    if facts is None or facts.outcome.failure:
        return None
    for schedule in schedules_behind(flow.graph, optimizer):
        follower = flow.facts.get(schedule)
        highest = None if follower is None else follower.arguments.values.get("max_lr")
        if isinstance(highest, (int, float)):
            return _Rate(optimizer, schedule, "max_lr", float(highest))
    rate = facts.arguments.values.get("lr")
    return _Rate(optimizer, optimizer, "lr", float(rate)) if isinstance(rate, (int, float)) else None


def _check(flow: Dataflow, rate: _Rate) -> Iterator[Problem]:
    facts = flow.facts[rate.optimizer]
    if rate.value == 0:
        yield _rate_problem(flow, rate, "learning-rate-zero", f"{rate.phrase}, so the weights do not change.")
    elif facts.type.group == ADAPTIVE:
        yield from _check_adaptive(flow, rate)
    elif facts.type.key in _DESCENT:
        yield from _check_descent(flow, rate)
    elif rate.value > _HIGHEST_PLAIN.get(facts.type.key, rate.value):
        consequence = f"far above the usual {usual_rate(flow, rate.optimizer):g}, so training does not converge."
        yield _rate_problem(flow, rate, "learning-rate-too-high", f"{rate.phrase}, {consequence}")
    elif facts.type.key == "optim.LBFGS" and rate.value < _LOWEST_LINE_SEARCH:
        consequence = f"so each step goes only {rate.value:.2%} of the way that it computed."
        yield _rate_problem(flow, rate, "learning-rate-too-low", f"{rate.phrase}, {consequence}")


def _rate_problem(flow: Dataflow, rate: _Rate, code: str, message: str) -> Problem:
    usual = usual_rate(flow, rate.optimizer)
    if rate.param != "lr" and flow.graph.types[rate.optimizer].group == ADAPTIVE:
        usual *= _CYCLE
    fix = quick_fixes.assign(rate.node, rate.param, usual)
    fix = fix.because(f"It is usual for {flow.graph.types[rate.optimizer].title}, and safe for most networks.")
    evidence = {"learning_rate": rate.value, "usual": usual}
    message = f"{message} {fix.title}."
    is_tried = rate.param == "lr" and flow.graph.types[rate.optimizer].key not in _ONE_RATE
    higher = (quick_fixes.assign(rate.node, "lr", float(f"{usual * _HIGHER:.1g}")),) if is_tried else ()
    return Problem("warning", code, message, node=rate.node, fix=fix, others=higher, evidence=evidence)


# -- adaptive optimizers --------------------------------------------------------------------------


def _check_adaptive(flow: Dataflow, rate: _Rate) -> Iterator[Problem]:
    key, title = flow.graph.types[rate.optimizer].key, flow.graph.types[rate.optimizer].title
    highest = _HIGHEST_ADAPTIVE.get(key, _HIGHEST_OF_OTHERS)
    if rate.value > highest or (rate.value == highest and _is_deep(flow, rate.optimizer)):
        effect = f"{title} changes each weight by about the learning rate in every step, so training does not converge."
        yield _rate_problem(flow, rate, "learning-rate-too-high", f"{rate.phrase}. {effect}")
        return
    lowest = _LOWEST_ADAPTIVE.get(key, _LOWEST_OF_OTHERS) / (_FINE_TUNING if _has_frozen(flow) else 1)
    steps = _steps(flow) if rate.value <= lowest else None
    if steps is None:
        return
    path = rate.value * (2 * sqrt(steps) if key == "optim.Adagrad" else steps)
    if path < _SHORTEST_PATH:
        effect = f"so the {steps:,} steps of the training can change each weight by only about {path:.2g}."
        yield _rate_problem(flow, rate, "learning-rate-too-low", f"{rate.phrase}, {effect}")


def _is_deep(flow: Dataflow, optimizer: str) -> bool:
    """Several layers with weights and no batch norm, which makes the scale of weights irrelevant."""
    upstream = flow.graph.upstream([optimizer])
    layers = [name for name in upstream if name in flow.facts and flow.facts[name].info.parameters]
    return len(layers) > 1 and not any(flow.graph.types[name].key.startswith(_STABLE_NORM) for name in layers)


def _has_frozen(flow: Dataflow) -> bool:
    return any(node.frozen for node in flow.document.nodes.values())


def _steps(flow: Dataflow) -> int | None:
    """Optimizer steps of the training."""
    return flow.length().total(per_step=True)


# -- gradient descent -----------------------------------------------------------------------------


def _check_descent(flow: Dataflow, rate: _Rate) -> Iterator[Problem]:
    values = flow.facts[rate.optimizer].arguments.values
    step = rate.value * momentum_gain(values)
    losses = loss_scale.minimized_losses(flow, rate.optimizer)
    batch = loss_scale.largest_batch(flow)
    if flow.document.training.clip_norm is None and flow.document.training.clip_value is None:
        summed = next((loss for loss in losses if _is_high_for_sum(flow, loss, step, batch)), None)
        if summed is not None and step <= _HIGHEST_DESCENT:
            yield _summed_loss(rate, summed, batch)
            return
    if any(step * abs(loss.weight) > _highest_descent(flow, loss, batch) for loss in losses):
        gain = momentum_gain(values)
        through = f", with momentum {values['momentum']:g} in effect {step:.3g}" if gain > 1 else ""
        weight = max(abs(loss.weight) for loss in losses)
        through += f", for a loss with a weight of {weight:g}" if weight > 1 else ""
        yield _rate_problem(
            flow, rate, "learning-rate-too-high", f"{rate.phrase}{through}, so training does not converge."
        )
    elif losses:
        yield from _check_low_descent(flow, rate, step, losses)


def _highest_descent(flow: Dataflow, loss: WeightedLoss, batch: int) -> float:
    highest = _HIGHEST_DESCENT
    if loss_scale.loss_key(flow, loss.name) in loss_scale.QUADRATIC:
        highest = _HIGHEST_QUADRATIC
    return highest * loss_scale.elements(flow, loss.name) * max(1.0, batch / _USUAL_BATCH)


def _is_high_for_sum(flow: Dataflow, loss: WeightedLoss, step: float, batch: int) -> bool:
    highest = _HIGHEST_SUMMED
    if loss_scale.loss_key(flow, loss.name) in loss_scale.QUADRATIC:
        highest *= _HIGHEST_QUADRATIC / _HIGHEST_DESCENT
    return loss_scale.is_summed(flow, loss.name) and step * abs(loss.weight) * batch > highest


def _summed_loss(rate: _Rate, loss: WeightedLoss, batch: int) -> Problem:
    message = (
        f"{loss.name} sums over the {batch:,} samples of a batch, so gradients are {batch:,} times those of a mean, "
        f"too large for the learning rate {rate.value:g} of {rate.node}. Clear reduction of {loss.name}."
    )
    lower = quick_fixes.assign(rate.node, rate.param, float(f"{rate.value / batch:.2g}"))
    fix = quick_fixes.clear(loss.name, "reduction", f"Average {loss.name} over the batch")
    fix = fix.because("The learning rate then suits any batch size.")
    evidence = {"learning_rate": rate.value, "batch_size": batch}
    return Problem(
        "warning",
        "summed-loss",
        message,
        node=loss.name,
        fix=fix,
        others=(lower,),
        affected=rate.node,
        evidence=evidence,
    )


def _check_low_descent(flow: Dataflow, rate: _Rate, step: float, losses: list[WeightedLoss]) -> Iterator[Problem]:
    weight = max(abs(loss.weight) * _sum_factor(flow, loss) for loss in losses)
    is_unbounded = any(loss_scale.loss_key(flow, loss.name) in loss_scale.UNBOUNDED for loss in losses)
    lowest = _LOWEST_UNBOUNDED if is_unbounded else _LOWEST_DESCENT
    if step * weight >= lowest / (_FINE_TUNING if _has_frozen(flow) else 1):
        return
    steps = _steps(flow)
    if steps is None or step * weight * steps >= _SHORTEST_DESCENT or _has_large_inputs(flow):
        return
    effect = f"so the {steps:,} steps of the training hardly change the weights."
    yield _rate_problem(flow, rate, "learning-rate-too-low", f"{rate.phrase}, {effect}")


def _sum_factor(flow: Dataflow, loss: WeightedLoss) -> float:
    if not loss_scale.is_summed(flow, loss.name):
        return 1.0
    return float(loss_scale.largest_batch(flow) * loss_scale.elements(flow, loss.name))


def _has_large_inputs(flow: Dataflow) -> bool:
    """Whether a loader passes inputs that are not normalized, which the data findings report."""
    for loader in flow.graph.with_role(Role.LOADER):
        end = flow.graph.source(loader, flow.graph.types[loader].inputs[0].name)
        scale = None if end is None else flow.scale(end.node)
        if scale is not None and max(abs(scale.low), abs(scale.high)) > _LARGE_INPUT:
            return True
    return False


__all__ = ["ADAPTIVE", "LONGEST_MOMENTUM", "learning_rate_problems", "momentum_gain", "usual_rate"]

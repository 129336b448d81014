"""Momentum, betas, eps and weight decay outside of their usual ranges, and optimizers that increase a loss."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, TypeGuard, cast

from studio.document.model import Json
from studio.lowering.analysis.dataflow import Dataflow
from studio.lowering.analysis.node_facts import NodeFacts
from studio.lowering.checks.optimizers.learning_rates import ADAPTIVE, LONGEST_MOMENTUM
from studio.lowering.checks.optimizers.loss_scale import WeightedLoss, minimized_losses
from studio.lowering.problems import quick_fixes
from studio.lowering.problems.problem import Problem
from studio.nodes.types import Role

_LONGEST_BETA = 0.99
_SHORTEST_SQUARES = 0.8
"""Smallest decay of the mean of squared gradients, without which the step size is noise."""
_SHORTEST_AVERAGE = 0.5
_LARGEST_EPS = 1e-2
_LARGEST_DECAY = 0.1
"""Weight decay that is added to the gradient, above which weights are smaller than useful ones."""
_LARGEST_DECOUPLED = 1.0
_LONGEST_RATE_DECAY = 100.0
"""Factor by which `lr_decay` of Adagrad lowers the learning rate within a third of the training."""


@dataclass(frozen=True, slots=True)
class _Limit:
    """A range of one parameter that makes no sense."""

    code: str
    param: str
    is_wrong: Callable[[float], bool]
    effect: str
    usual: Json


_LIMITS = (
    _Limit("momentum", "momentum", lambda value: value >= 1, "so its steps grow without bound", 0.9),
    _Limit(
        "momentum",
        "momentum",
        lambda value: value > LONGEST_MOMENTUM,
        "so each step repeats hundreds of earlier gradients and overshoots",
        0.9,
    ),
    _Limit("momentum", "dampening", lambda value: value >= 1, "so gradients after the first one are ignored", 0),
    _Limit("momentum", "dampening", lambda value: value < 0, "which enlarges gradients instead of damping them", 0),
    _Limit("averages", "alpha", lambda value: value >= 1, "so squared gradients are never averaged", 0.99),
    _Limit("averages", "alpha", lambda value: value < _SHORTEST_AVERAGE, "so step sizes follow single batches", 0.99),
    _Limit("averages", "rho", lambda value: value >= 1, "so squared gradients are never averaged", 0.9),
    _Limit("averages", "rho", lambda value: value < _SHORTEST_AVERAGE, "so step sizes follow single batches", 0.9),
    _Limit("epsilon", "eps", lambda value: value == 0, "so a weight with a gradient of 0 becomes NaN", None),
    _Limit(
        "epsilon",
        "eps",
        lambda value: value >= _LARGEST_EPS,
        "which is larger than most gradients, so steps become tiny instead of adapting to each weight",
        None,
    ),
)
"""In order: only the first that applies to a parameter is reported. Without a usual value, it is the default."""


def coefficient_problems(flow: Dataflow) -> Iterator[Problem]:
    for name in flow.graph.with_role(Role.OPTIMIZER):
        facts = flow.facts.get(name)
        if facts is not None and not facts.outcome.failure:
            yield from _check_limits(name, facts)
            yield from _check_betas(name, facts)
            yield from _check_weight_decay(name, facts)
            yield from _check_rate_decay(flow, name, facts)
            yield from _check_direction(flow, name, facts)


def _check_limits(name: str, facts: NodeFacts) -> Iterator[Problem]:
    found: set[str] = set()
    for limit in _LIMITS:
        declared, value = facts.type.param(limit.param), facts.arguments.values.get(limit.param)
        if declared is None or limit.param in found or not _is_number(value) or not limit.is_wrong(value):
            continue
        if limit.param == "alpha" and facts.type.key != "optim.RMSprop":  # ASGD has another alpha
            continue
        if limit.param == "dampening" and not facts.arguments.values.get("momentum"):
            continue
        found.add(limit.param)
        usual = declared.default if limit.usual is None else limit.usual
        yield _out_of_range(name, limit.code, limit.param, value, limit.effect, usual)


def _out_of_range(name: str, code: str, param: str, value: float, effect: str, usual: Json) -> Problem:
    fix = quick_fixes.assign(name, param, usual)
    message = f"{name} has {_article(param)} of {value:g}, {effect}. {fix.title}."
    return Problem("warning", code, message, node=name, fix=fix, evidence={param: value, "usual": usual})


def _article(param: str) -> str:
    return f"an {param}" if param[0] in "ae" else f"a {param.replace('weight_decay', 'weight decay')}"


def _is_number(value: Any) -> TypeGuard[float]:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _check_betas(name: str, facts: NodeFacts) -> Iterator[Problem]:
    betas: Any = facts.arguments.values.get("betas")
    if not isinstance(betas, tuple) or facts.type.param("betas") is None:
        return
    first, second = (float(value) for value in cast("tuple[Any, ...]", betas))
    if first > second:
        effect = "in the wrong order: the squared gradients need the longer average"
        better: list[Json] = [second, first] if first >= _SHORTEST_SQUARES and second <= _LONGEST_BETA else [0.9, 0.999]
    elif first > _LONGEST_BETA:
        effect = "so each step repeats hundreds of earlier gradients and overshoots"
        better = [0.9, max(second, 0.999)]
    elif second < _SHORTEST_SQUARES:
        effect = "so step sizes follow single batches"
        better = [min(first, 0.9), 0.999]
    else:
        return
    fix = quick_fixes.assign(name, "betas", better)
    message = f"{name} has the betas {first:g} and {second:g}, {effect}. {fix.title}."
    yield Problem("warning", "averages", message, node=name, fix=fix, evidence={"betas": [first, second]})


def _check_weight_decay(name: str, facts: NodeFacts) -> Iterator[Problem]:
    values = facts.arguments.values
    decay, pull = values.get("weight_decay"), values.get("lambd")
    if facts.type.key == "optim.ASGD" and _is_number(pull) and pull >= _LARGEST_DECAY:
        yield _out_of_range(name, "weight-decay", "lambd", pull, "which pulls all weights towards 0", 0.0001)
    if facts.type.param("weight_decay") is None or not _is_number(decay):
        return
    is_decoupled = facts.type.key in ("optim.AdamW", "optim.Adafactor") or values.get("decoupled_weight_decay") is True
    if decay > _LARGEST_DECOUPLED if is_decoupled else decay >= _LARGEST_DECAY:
        effect = "which pulls all weights towards 0 more strongly than the loss moves them"
        yield _out_of_range(name, "weight-decay", "weight_decay", decay, effect, 0.01 if is_decoupled else 0.0001)


def _check_rate_decay(flow: Dataflow, name: str, facts: NodeFacts) -> Iterator[Problem]:
    """Adagrad divides its learning rate by 1 + lr_decay * steps."""
    decay = facts.arguments.values.get("lr_decay")
    if not _is_number(decay) or not decay or facts.type.group != ADAPTIVE:
        return
    steps = flow.length().total(per_step=True)
    if steps is not None and decay * steps / 3 > _LONGEST_RATE_DECAY:
        effect = f"so its learning rate falls below 1% within {round(_LONGEST_RATE_DECAY / decay):,} of {steps:,} steps"
        yield _out_of_range(name, "schedule-falls", "lr_decay", decay, effect, 0)


# -- direction ------------------------------------------------------------------------------------


def _check_direction(flow: Dataflow, name: str, facts: NodeFacts) -> Iterator[Problem]:
    losses = minimized_losses(flow, name)
    maximizes = facts.arguments.values.get("maximize") is True
    raised = [
        loss
        for loss in losses
        if loss.weight and (loss.weight < 0) is not maximizes and not _is_minimized_elsewhere(flow, name, loss)
    ]
    if maximizes and raised:
        message = f"{name} maximizes {raised[0].name}, which measures errors. Turn maximize off."
        fix = quick_fixes.assign(name, "maximize", value=False)
        yield Problem("warning", "ascent", message, node=name, fix=fix)
    for loss in () if maximizes else raised:
        if loss.sum_node is not None:
            yield _negative_weight(loss)


def _is_minimized_elsewhere(flow: Dataflow, optimizer: str, loss: WeightedLoss) -> bool:
    """Whether another optimizer minimizes what this one maximizes, as in adversarial training."""
    others = (name for name in flow.graph.optimized if name != optimizer)
    return any(
        other.name == loss.name and other.weight > 0 for name in others for other in minimized_losses(flow, name)
    )


def _negative_weight(loss: WeightedLoss) -> Problem:
    node = str(loss.sum_node)
    message = (
        f"{loss.name} has a weight of {loss.weight:g} in {node}, so training increases it. "
        f"Set {loss.weight_param} to {abs(loss.weight):g}."
    )
    fix = quick_fixes.assign(node, loss.weight_param, abs(loss.weight))
    return Problem(
        "warning", "ascent", message, node=node, fix=fix, affected=loss.name, evidence={"weight": loss.weight}
    )


__all__ = ["coefficient_problems"]

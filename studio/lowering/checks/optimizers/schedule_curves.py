"""Schedules whose planned learning rates do not fit the length of the training."""

from __future__ import annotations

import functools
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from studio.document.model import Json
from studio.lowering.analysis.dataflow import Dataflow
from studio.lowering.analysis.node_evaluation import hashable_arguments, make_schedule
from studio.lowering.problems import quick_fixes
from studio.lowering.problems.problem import Fix, Problem
from studio.lowering.schedules.schedule_chains import (
    context_of,
    counts_steps,
    node_before,
    schedules_behind,
)
from studio.lowering.schedules.schedule_context import ScheduleContext
from studio.nodes.schedule_nodes import PLATEAU
from studio.nodes.types import NodeType, Role

_MAX_UNITS = 3000
"""Epochs or steps whose rates are computed; later ones are like the last."""
_MIN_UNITS = 4
"""Shorter trainings are too short for a schedule, so nothing is said about them."""
_LOW = 0.01 * (1 - 1e-6)
"""Share of the highest rate below which steps hardly change weights."""
_MIN_USEFUL = 1 / 3
"""Smallest share of the training that must have a rate above that."""
_MAX_ZERO = 0.2
"""Largest share of the training that may end with a rate of 0."""
_ZERO = 1e-9
_REACHED = 0.5
"""Share of the full rate that a warm-up must reach."""

_GAMMA = "gamma"


@dataclass(frozen=True, slots=True)
class _Curve:
    """The planned rates of one schedule."""

    name: str
    type: NodeType
    values: Mapping[str, Any]
    base: float
    """Learning rate of the optimizer."""
    unit: str
    total: int
    """Epochs or steps that it runs."""
    rates: tuple[float, ...]
    """Of the first epochs or steps."""

    @property
    def peak(self) -> float:
        return max(self.rates)

    @property
    def useful(self) -> float:
        """Share of its length with a rate of at least 1% of the highest."""
        count = sum(rate >= _LOW * self.peak for rate in self.rates)
        rest = self.total - len(self.rates) if self.rates[-1] >= _LOW * self.peak else 0
        return (count + rest) / self.total

    @property
    def zero_from(self) -> int | None:
        """The first epoch or step from which the rate stays 0."""
        last = next((i for i in range(len(self.rates) - 1, -1, -1) if self.rates[i] > _ZERO * self.peak), -1)
        return None if last == len(self.rates) - 1 else last + 1

    @property
    def falls(self) -> bool:
        zero = self.zero_from
        return self.useful < _MIN_USEFUL or (zero is not None and (self.total - zero) / self.total >= _MAX_ZERO)

    def first_below(self, share: float) -> int:
        return next((i for i, rate in enumerate(self.rates) if rate < share * self.peak), len(self.rates))


def schedule_curve_problems(flow: Dataflow, name: str) -> Iterator[Problem]:
    """Problems of one schedule with valid arguments, at most one."""
    if flow.graph.types[name].key == PLATEAU:
        yield from _check_plateau(flow, name)
        return
    curve = _curve(flow, name, counts_steps(flow, name))
    if curve is None:
        return
    for check in (_check_zero, _check_growth, _check_fall, _check_warm_up, _check_constant):
        if (problem := check(flow, curve)) is not None:
            yield problem
            return


def _curve(flow: Dataflow, name: str, per_step: bool, changes: Mapping[str, Any] | None = None) -> _Curve | None:
    """The rates of a schedule; None if its length or the optimizer's rate is unknown or 0.

    Args:
        changes: other values of parameters
    """
    facts, context = flow.facts[name], context_of(flow, name)
    base = None if context is None else dict(context.arguments).get("lr")
    if context is None or not isinstance(base, (int, float)) or base <= 0 or facts.arguments.problems:
        return None
    total = context.length.total(per_step=per_step)
    if total is None or context.begins is None or (context.begins and per_step != context.per_step):
        return None
    values = {**facts.arguments.values, **(changes or {})}
    total -= context.begins
    lasts = values.get("lasts")
    if isinstance(lasts, int) and schedules_behind(flow.graph, name):
        total = min(total, lasts)
    if total < _MIN_UNITS:
        return None
    rates = _rates(_Key(facts.type, values, context), min(total, _MAX_UNITS))
    return _Curve(name, facts.type, values, float(base), "step" if per_step else "epoch", total, rates)


class _Key:
    """A schedule and its optimizer, compared by their arguments."""

    def __init__(self, type: NodeType, values: Mapping[str, Any], context: ScheduleContext) -> None:
        self.type, self.values, self.context = type, values, context
        self._key = (type.key, str(hashable_arguments(values)), context.optimizer, str(context.arguments))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Key) and self._key == other._key

    def __hash__(self) -> int:
        return hash(self._key)


@functools.lru_cache(maxsize=64)
def _rates(key: _Key, count: int) -> tuple[float, ...]:
    optimizer = key.context.make()
    schedule = make_schedule(key.type, key.values, optimizer)
    optimizer.steps = 1  # otherwise the schedule warns that it steps before the optimizer
    rates: list[float] = []
    for _ in range(count):
        rates.append(float(optimizer.param_groups[0]["lr"]))
        schedule.step()
    return tuple(rates)


# -- rates ----------------------------------------------------------------------------------------


def _check_zero(flow: Dataflow, curve: _Curve) -> Problem | None:
    """A rate that is 0 from the first or second epoch or step on."""
    is_zero = curve.rates[0] <= _ZERO * curve.base
    if not is_zero and any(rate > _ZERO * curve.base for rate in curve.rates[1:]):
        return None
    first = "from the start" if is_zero else f"after the first {curve.unit}"
    param = next((each for each in ("factor", _GAMMA, "end_factor") if curve.values.get(each) == 0), None)
    declared = None if param is None else curve.type.param(param)
    fix = None
    if param is not None and declared is not None:
        fix = quick_fixes.assign(curve.name, param, _usual(curve, param))
    elif "total_iters" in curve.values:
        fix = quick_fixes.assign(curve.name, "total_iters", curve.total)
    message = f"{curve.name} sets the learning rate of {_optimizer(flow, curve)} to 0 {first}."
    return _curve_problem(curve, "warning", "schedule-zero", message, fix)


def _usual(curve: _Curve, param: str) -> Json:
    declared = curve.type.param(param)
    if declared is not None and isinstance(declared.default, float) and declared.default > 0:
        return round(declared.default, 3)
    return _gamma_for(curve)


def _check_growth(flow: Dataflow, curve: _Curve) -> Problem | None:
    """A schedule that raises the learning rate until the end."""
    gamma, lowest = curve.values.get(_GAMMA), curve.values.get("eta_min")
    optimizer = _optimizer(flow, curve)
    if isinstance(gamma, (int, float)) and gamma > 1:
        message = f"{curve.name} multiplies the learning rate of {optimizer} by {gamma:g}, so it grows{_up_to(curve)}."
        lower = _gamma_for(curve) if curve.type.key.endswith(".ExponentialLR") else float(f"{1 / gamma:.2g}")
        return _curve_problem(
            curve, "warning", "schedule-grows", message, quick_fixes.assign(curve.name, _GAMMA, lower)
        )
    if isinstance(lowest, (int, float)) and lowest >= curve.base:
        message = (
            f"{curve.name} moves the learning rate of {optimizer} from {curve.base:g} to eta_min {lowest:g}, so it "
            "does not fall."
        )
        fix = quick_fixes.assign(curve.name, "eta_min", 0.0)
        return _curve_problem(curve, "warning", "schedule-grows", message, fix)
    return None


def _up_to(curve: _Curve) -> str:
    return f" from {curve.rates[0]:.3g} to {curve.rates[-1]:.3g}" if curve.rates[-1] > curve.rates[0] else ""


def _check_fall(flow: Dataflow, curve: _Curve) -> Problem | None:
    """A rate that falls to almost 0 long before the training ends."""
    if not curve.falls or ("decay" not in curve.type.group and "warm-up" not in curve.type.group):
        return None
    zero = curve.zero_from
    if curve.useful < _MIN_USEFUL:
        first = curve.first_below(_LOW)
        what = f"below 1% of its start after {first:,} of {curve.total:,} {curve.unit}s"
    else:
        what = f"to 0 after {zero:,} of {curve.total:,} {curve.unit}s"
    message = f"{curve.name} lowers the learning rate of {_optimizer(flow, curve)} {what}, so later ones train nothing."
    fixes = list(_slower(flow, curve))
    return _curve_problem(curve, "warning", "schedule-falls", message, *fixes)


def _slower(flow: Dataflow, curve: _Curve) -> Iterator[Fix]:
    """Fixes that stretch a schedule over the training, the best first."""
    if curve.unit == "step" and curve.type.param("per") is not None and _can_change_unit(flow, curve.name):
        epochs = _curve(flow, curve.name, per_step=False)
        if epochs is not None and not epochs.falls and epochs.peak > min(epochs.rates):
            yield quick_fixes.assign(curve.name, "per", "epoch").because("Its values are usual for epochs.")
    yield from _scaled(curve)


def _can_change_unit(flow: Dataflow, name: str) -> bool:
    """Schedules of a chain count the same unit."""
    before = node_before(flow.graph, name)
    is_first = before is None or flow.graph.types[before].role is not Role.SCHEDULER
    return is_first and not schedules_behind(flow.graph, name)


def _scaled(curve: _Curve) -> Iterator[Fix]:
    """A value of the schedule's own parameter that fits the length."""
    values = curve.values
    if isinstance(values.get("step_size"), int):
        gamma = values.get(_GAMMA)
        if isinstance(gamma, (int, float)) and gamma < _LOW:
            yield quick_fixes.assign(curve.name, _GAMMA, 0.1)
        else:
            yield quick_fixes.assign(curve.name, "step_size", max(math.ceil(curve.total / 3), 1))
    elif "milestones" in values:
        yield quick_fixes.assign(curve.name, "milestones", [max(curve.total // 2, 1), max(3 * curve.total // 4, 2)])
    elif isinstance(values.get("total_iters"), int):
        yield quick_fixes.assign(curve.name, "total_iters", curve.total)
    elif _GAMMA in values:
        yield quick_fixes.assign(curve.name, _GAMMA, _gamma_for(curve))


def _gamma_for(curve: _Curve) -> float:
    """The factor per epoch or step that lowers a rate to a tenth over the training."""
    if "step_size" in curve.values or "milestones" in curve.values:
        return 0.1
    exact = 0.1 ** (1 / curve.total)
    digits = max(2, math.ceil(-math.log10(1 - exact)) + 1)
    return round(exact, digits)


def _check_warm_up(flow: Dataflow, curve: _Curve) -> Problem | None:
    """A warm-up that the training ends before."""
    values, full = curve.values, curve.base
    if schedules_behind(flow.graph, curve.name):
        return None
    if curve.type.key.endswith(".LinearLR") and values["end_factor"] > values["start_factor"]:
        param, full = "total_iters", curve.base * values["end_factor"]
    elif curve.type.key.endswith(".ConstantLR") and values["factor"] <= 0.1:
        param = "total_iters"
    elif curve.type.key.endswith(".CyclicLR"):
        param, full = "step_size_up", values["max_lr"]
    else:
        return None
    if curve.peak >= _REACHED * full or values[param] < curve.total:
        return None
    message = (
        f"{curve.name} needs {values[param]:,} {curve.unit}s to reach the full learning rate {full:g}, but the "
        f"training has {curve.total:,}, so it reaches only {curve.peak:.2g}."
    )
    fix = quick_fixes.assign(curve.name, param, max(curve.total // (4 if param == "step_size_up" else 10), 1))
    return _curve_problem(curve, "warning", "schedule-slow", message, fix)


def _check_constant(flow: Dataflow, curve: _Curve) -> Problem | None:
    """A schedule that never changes the rate."""
    if curve.peak > min(curve.rates) or len(curve.rates) < curve.total or "decay" not in curve.type.group:
        return None
    if curve.values.get(_GAMMA) == 1:
        message = f"{curve.name} multiplies the learning rate by 1, so it never changes."
        fix = quick_fixes.assign(curve.name, _GAMMA, _gamma_for(curve))
        return _curve_problem(curve, "hint", "schedule-idle", message, fix)
    message = f"{curve.name} would first change the learning rate after the last {curve.unit}, {curve.total:,}."
    fixes = list(_scaled(curve))
    return _curve_problem(curve, "hint", "schedule-idle", message, *fixes)


def _check_plateau(flow: Dataflow, name: str) -> Iterator[Problem]:
    values = flow.facts[name].arguments.values
    context = context_of(flow, name)
    epochs = None if context is None else context.length.epochs
    base = None if context is None else dict(context.arguments).get("lr")
    if values["factor"] == 0:
        message = f"{name} sets the learning rate to 0 at the first plateau. Set factor to 0.1."
        fix = quick_fixes.assign(name, "factor", 0.1)
        yield Problem("warning", "schedule-zero", message, node=name, fix=fix, evidence={"factor": 0})
    elif isinstance(base, (int, float)) and 0 < base <= values["min_lr"]:
        message = f"{name} cannot lower the learning rate {base:g} below min_lr {values['min_lr']:g}. Set min_lr to 0."
        fix = quick_fixes.assign(name, "min_lr", 0)
        yield Problem("hint", "schedule-idle", message, node=name, fix=fix, evidence={"min_lr": values["min_lr"]})
    elif epochs is not None and _MIN_UNITS <= epochs <= values["patience"]:
        usual = max(epochs // 5, 1)
        message = (
            f"{name} waits {values['patience']} epochs without improvement, but the training has only {epochs}, so it "
            f"never lowers the learning rate. Set patience to {usual}."
        )
        fix = quick_fixes.assign(name, "patience", usual)
        evidence = {"patience": values["patience"], "epochs": epochs}
        yield Problem("hint", "schedule-idle", message, node=name, fix=fix, evidence=evidence)


def _optimizer(flow: Dataflow, curve: _Curve) -> str:
    return flow.graph.driven_by(curve.name) or "the optimizer"


def _curve_problem(curve: _Curve, severity: Any, code: str, message: str, *fixes: Fix | None) -> Problem:
    offered = [fix for fix in fixes if fix is not None]
    evidence = {
        f"{curve.unit}s": curve.total,
        "first_rate": curve.rates[0],
        "last_rate": curve.rates[-1],
        "useful_share": round(curve.useful, 4) if curve.peak else 0.0,
    }
    fix = offered[0] if offered else None
    remedy = f"{fix.title} at {curve.name}." if fix is not None else "Choose other values."
    return Problem(
        severity, code, f"{message} {remedy}", node=curve.name, fix=fix, others=tuple(offered[1:]), evidence=evidence
    )


__all__ = ["schedule_curve_problems"]

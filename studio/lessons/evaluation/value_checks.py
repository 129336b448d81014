"""Conditions of computed values."""

from __future__ import annotations

from studio.document.model import Endpoint
from studio.lessons.conditions import (
    ValueIs,
)
from studio.lessons.evaluation.comparisons import (
    number_text,
    place_of_change,
    port_name,
    range_text,
    result,
    sentence,
    within,
)
from studio.lessons.feedback import Feedback
from studio.lessons.graph_view import GraphView
from studio.lessons.situation import Situation
from studio.training.probing.tensor_statistics import TensorStatistics


def check_value(condition: ValueIs, situation: Situation, graph: GraphView) -> Feedback:
    wanted = (
        range_text(condition.at_least, condition.at_most) if condition.equals is None else number_text(condition.equals)
    )
    which = "" if condition.statistic == "value" else f"{condition.statistic} of "
    goal = sentence(f"{which}{port_name(condition.output)} is {wanted}")
    ends = graph.ports(condition.output)
    measured = [
        (end, value) for end in ends if (value := measured_value(situation, end, condition.statistic)) is not None
    ]
    if not measured:
        is_wrong = f"{port_name(condition.output)} has no such value."
        return Feedback(is_met=False, goal=goal, found=is_wrong, action="Connect its inputs and solve the problems.")
    is_met = any(
        abs(value - condition.equals) <= condition.tolerance
        if condition.equals is not None
        else within(value, condition.at_least, condition.at_most)
        for _, value in measured
    )
    end, value = measured[0]
    return result(is_met, goal, f"It is {number_text(value)}.", f"Change {place_of_change(end.node, graph)}.", end.node)


def measured_value(situation: Situation, end: Endpoint, statistic: str) -> float | None:
    """A statistic of the tensor at an output; None if it cannot be computed, or if its elements differ for "value"."""
    found = situation.value(end)
    return None if found is None else _statistic(found, statistic)


def _statistic(found: TensorStatistics, statistic: str) -> float | None:
    match statistic:
        case "value":
            return found.low if found.count and found.low == found.high and not found.nan + found.infinite else None
        case "min":
            return found.low
        case "max":
            return found.high
        case _:
            return float(getattr(found, statistic))


__all__ = ["check_value", "measured_value"]

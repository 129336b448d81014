"""All problems of scores, losses and metrics."""

from __future__ import annotations

from collections.abc import Iterator

from studio.lowering.analysis.dataflow import Dataflow
from studio.lowering.checks.losses.class_counts import class_count_problems
from studio.lowering.checks.losses.loss_settings import loss_setting_problems
from studio.lowering.checks.losses.loss_weights import loss_weight_problems
from studio.lowering.checks.losses.metric_checks import metric_problems
from studio.lowering.checks.losses.output_range import output_range_problems
from studio.lowering.checks.losses.positive_inputs import positive_input_problems
from studio.lowering.checks.losses.score_checks import score_problems
from studio.lowering.checks.losses.softmax_dimension import softmax_dimension_problems
from studio.lowering.checks.losses.target_checks import target_problems
from studio.lowering.problems.problem import Problem


def loss_problems(flow: Dataflow) -> Iterator[Problem]:
    yield from class_count_problems(flow)
    yield from score_problems(flow)
    yield from softmax_dimension_problems(flow)
    yield from target_problems(flow)
    yield from output_range_problems(flow)
    yield from positive_input_problems(flow)
    yield from loss_weight_problems(flow)
    yield from loss_setting_problems(flow)
    yield from metric_problems(flow)


__all__ = ["loss_problems"]

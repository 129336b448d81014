"""All problems of optimizers, and of the settings of their training."""

from __future__ import annotations

from collections.abc import Iterator

from studio.lowering.analysis.dataflow import Dataflow
from studio.lowering.checks.optimizers.coefficients import coefficient_problems
from studio.lowering.checks.optimizers.learning_rates import learning_rate_problems
from studio.lowering.checks.optimizers.training_settings import training_setting_problems
from studio.lowering.problems.problem import Problem


def optimizer_problems(flow: Dataflow) -> Iterator[Problem]:
    yield from learning_rate_problems(flow)
    yield from coefficient_problems(flow)
    yield from training_setting_problems(flow)


__all__ = ["optimizer_problems"]

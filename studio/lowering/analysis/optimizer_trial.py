"""Trial steps of optimizers on one parameter, to find arguments that only fail in a step."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from typing import Any

import numpy as np

import engine
from studio.lowering.analysis.check_budget import Budget, OverBudgetError

SECONDS = 1.0
"""Limit for both steps. Longer ones, such as LBFGS with a million iterations, are stopped without an error."""


def try_steps(optimizer: Any, arguments: Mapping[str, Any]) -> None:
    """Run two steps. Raises any exception of the optimizer."""
    parameter = engine.ones(1, requires_grad=True)
    instance = optimizer([parameter], **arguments)

    def closure() -> Any:
        instance.zero_grad()
        loss = (parameter * parameter).sum()
        loss.backward()
        return loss

    budget = Budget(seconds=SECONDS)
    with suppress(OverBudgetError), budget.limit_construction(), engine.enable_grad(), np.errstate(all="ignore"):
        for _ in range(2):
            instance.step(closure)

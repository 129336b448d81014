"""Trial steps of optimizers on one parameter: some arguments only fail in a step."""

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
    """Run two steps. Raises whatever the optimizer raises."""
    number = engine.ones(1, requires_grad=True)
    made = optimizer([number], **arguments)

    def closure() -> Any:
        made.zero_grad()
        loss = (number * number).sum()
        loss.backward()
        return loss

    budget = Budget(seconds=SECONDS)
    with suppress(OverBudgetError), budget.making(), engine.enable_grad(), np.errstate(all="ignore"):
        for _ in range(2):
            made.step(closure)

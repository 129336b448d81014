"""Base of schedulers with user-defined functions."""

from __future__ import annotations

import types
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

from engine.optim.lr_scheduler.scheduler import LRScheduler, require_optimizer
from engine.optim.optimizer import Optimizer

Factor: TypeAlias = Callable[[int], float]


class LambdaSchedulerBase(LRScheduler):
    """Base of schedulers with functions of the epoch.

    State dicts contain the attributes of callable objects, and None for plain functions.
    """

    def __init__(self, optimizer: Optimizer, lr_lambda: Factor | Sequence[Factor], last_epoch: int = -1) -> None:
        require_optimizer(optimizer)
        count = len(optimizer.param_groups)
        functions: Any = lr_lambda if isinstance(lr_lambda, (list, tuple)) else [lr_lambda] * count
        self.lr_lambdas: list[Factor] = list(functions)
        if len(self.lr_lambdas) != count:
            raise ValueError(
                f"lr_lambda must contain {count} functions, one per parameter group, not {len(self.lr_lambdas)}"
            )
        for function in self.lr_lambdas:
            if not callable(function):
                raise TypeError(f"lr_lambda must be a function of the epoch, not {type(function).__name__}")
        super().__init__(optimizer, last_epoch)

    def state_dict(self) -> dict[str, Any]:
        return {**super().state_dict(), "lr_lambdas": [saved_attributes(function) for function in self.lr_lambdas]}

    def load_state_dict(self, state_dict: Mapping[str, Any]) -> None:
        for function, state in zip(self.lr_lambdas, state_dict["lr_lambdas"], strict=True):
            if state is not None:
                vars(function).update(state)
        super().load_state_dict({name: value for name, value in state_dict.items() if name != "lr_lambdas"})


def saved_attributes(function: Any) -> dict[str, Any] | None:
    """Attributes of a callable object; None for a plain function."""
    return None if function is None or isinstance(function, types.FunctionType) else dict(vars(function))

"""Cyclic learning-rate scheduler."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal

from engine.optim.lr_scheduler.lambda_base import saved_attributes
from engine.optim.lr_scheduler.momentum import set_momentum, uses_beta1
from engine.optim.lr_scheduler.scheduler import LRScheduler, per_group, require_optimizer, set_learning_rate
from engine.optim.optimizer import DecayRate, Optimizer
from engine.registry import SCHEDULERS, NonNegative, Size


@SCHEDULERS.register(category="Cycles", title="Cyclic", tags=("triangular",))
class CyclicLR(LRScheduler):
    """Cycles the learning rate linearly between `base_lr` and `max_lr`. Counts optimizer steps.

    In scripts, call `step` after every batch. Source: Smith, Cyclical learning rates for training
    neural networks, arXiv 1506.01186.

    Args:
        base_lr: lower bound of the learning rate
        max_lr: upper bound of the learning rate
        step_size_up: batches of the increasing half of a cycle
        step_size_down: batches of the decreasing half of a cycle (default: `step_size_up`)
        mode: scaling of the amplitude: constant (triangular), halved every cycle (triangular2), or ``gamma ** batch``
            (exp_range)
        gamma: base of the mode "exp_range"
        scale_fn: scaling function, instead of `mode`
        scale_mode: argument of `scale_fn`: the cycle or the batch
        cycle_momentum: cycle the momentum inversely to the learning rate
        base_momentum: lower bound of the momentum
        max_momentum: upper bound of the momentum
        last_epoch: index of the last batch, to resume; -1 to start
    """

    def __init__(
        self,
        optimizer: Optimizer,
        base_lr: NonNegative | Sequence[float],
        max_lr: NonNegative | Sequence[float],
        step_size_up: Size = 2000,
        step_size_down: Size | None = None,
        mode: Literal["triangular", "triangular2", "exp_range"] = "triangular",
        gamma: NonNegative = 1.0,
        scale_fn: Callable[[float], float] | None = None,
        scale_mode: Literal["cycle", "iterations"] = "cycle",
        cycle_momentum: bool = True,
        base_momentum: DecayRate | Sequence[float] = 0.8,
        max_momentum: DecayRate | Sequence[float] = 0.9,
        last_epoch: int = -1,
    ) -> None:
        require_optimizer(optimizer)
        if scale_fn is None and mode not in ("triangular", "triangular2", "exp_range"):
            raise ValueError(f"CyclicLR: mode must be 'triangular', 'triangular2' or 'exp_range', not {mode!r}")
        groups = optimizer.param_groups
        base_lrs = per_group("base_lr", optimizer, base_lr)
        self.max_lrs = per_group("max_lr", optimizer, max_lr)
        self.total_size = float(step_size_up) + float(step_size_up if step_size_down is None else step_size_down)
        self.step_ratio = step_size_up / self.total_size
        self.mode = mode
        self.gamma = gamma
        self._scale_fn_custom = scale_fn
        self.scale_mode = scale_mode if scale_fn is not None else "iterations" if mode == "exp_range" else "cycle"
        self.cycle_momentum = cycle_momentum
        if last_epoch == -1:
            for group, rate in zip(groups, base_lrs, strict=True):
                set_learning_rate(group, rate)
        if cycle_momentum:
            self.use_beta1 = uses_beta1("CyclicLR", optimizer)
            self.base_momentums = per_group("base_momentum", optimizer, base_momentum)
            self.max_momentums = per_group("max_momentum", optimizer, max_momentum)
            if last_epoch == -1:
                for group, low, high in zip(groups, self.base_momentums, self.max_momentums, strict=True):
                    set_momentum(group, high, beta1=self.use_beta1)
                    group |= {"max_momentum": high, "base_momentum": low}
        super().__init__(optimizer, last_epoch)
        self.base_lrs = base_lrs

    def scale_fn(self, x: float) -> float:
        """Amplitude of the cycle, as a fraction of ``max_lr - base_lr``."""
        if self._scale_fn_custom is not None:
            return self._scale_fn_custom(x)
        return (
            {"triangular": 1.0, "triangular2": 0.5 ** (x - 1)}[self.mode] if self.mode != "exp_range" else self.gamma**x
        )

    def get_lr(self) -> list[Any]:
        cycle = math.floor(1 + self.last_epoch / self.total_size)
        position = 1.0 + self.last_epoch / self.total_size - cycle
        height = position / self.step_ratio if position <= self.step_ratio else (position - 1) / (self.step_ratio - 1)
        scale = self.scale_fn(cycle if self.scale_mode == "cycle" else self.last_epoch)
        if self.cycle_momentum:
            groups = self.optimizer.param_groups
            for group, low, high in zip(groups, self.base_momentums, self.max_momentums, strict=True):
                set_momentum(group, high - (high - low) * height * scale, beta1=self.use_beta1)
        return [low + (high - low) * height * scale for low, high in zip(self.base_lrs, self.max_lrs, strict=True)]

    def state_dict(self) -> dict[str, Any]:
        return {**super().state_dict(), "_scale_fn_custom": saved_attributes(self._scale_fn_custom)}

    def load_state_dict(self, state_dict: Mapping[str, Any]) -> None:
        state = dict(state_dict)
        function_state = state.pop("_scale_fn_custom", None)
        if function_state is not None:
            vars(self._scale_fn_custom).update(function_state)
        super().load_state_dict(state)

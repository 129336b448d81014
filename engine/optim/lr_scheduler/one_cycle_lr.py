"""1cycle scheduler."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Annotated, Any, Literal

from engine.optim.lr_scheduler.momentum import set_momentum, uses_beta1
from engine.optim.lr_scheduler.scheduler import LRScheduler, per_group, require_optimizer
from engine.optim.optimizer import DecayRate, Optimizer
from engine.registry import SCHEDULERS, FromTraining, NonNegative, Positive, Probability, Size


@SCHEDULERS.register(category="Cycles", title="One cycle", tags=("super-convergence", "warm up"))
class OneCycleLR(LRScheduler):
    """1cycle policy: warm-up to `max_lr`, then annealing far below the initial rate. Counts optimizer steps.

    In scripts, call `step` after every batch. Two phases as in fastai, or three as in the paper. Source: Smith
    and Topin, Super-convergence, arXiv 1708.07120.

    Args:
        max_lr: maximum learning rate
        total_steps: total number of batches (default: `epochs` × `steps_per_epoch`)
        epochs: number of epochs
        steps_per_epoch: number of batches per epoch
        pct_start: fraction of the steps with increasing learning rate
        anneal_strategy: annealing along a cosine or linearly
        cycle_momentum: cycle the momentum inversely to the learning rate
        base_momentum: lower bound of the momentum
        max_momentum: upper bound of the momentum
        div_factor: ratio of maximum to initial learning rate
        final_div_factor: ratio of initial to final learning rate
        three_phase: anneal symmetrically to the initial rate, then to the final rate
        last_epoch: index of the last batch, to resume; -1 to start
    """

    def __init__(
        self,
        optimizer: Optimizer,
        max_lr: NonNegative | Sequence[float],
        total_steps: Annotated[Size | None, FromTraining()] = None,
        epochs: Size | None = None,
        steps_per_epoch: Size | None = None,
        pct_start: Probability = 0.3,
        anneal_strategy: Literal["cos", "linear"] = "cos",
        cycle_momentum: bool = True,
        base_momentum: DecayRate | Sequence[float] = 0.85,
        max_momentum: DecayRate | Sequence[float] = 0.95,
        div_factor: Positive = 25.0,
        final_div_factor: Positive = 1e4,
        three_phase: bool = False,
        last_epoch: int = -1,
    ) -> None:
        require_optimizer(optimizer)
        if not 0 <= pct_start <= 1:
            raise ValueError(f"OneCycleLR: pct_start must be between 0 and 1, not {pct_start}")
        if anneal_strategy not in ("cos", "linear"):
            raise ValueError(f"OneCycleLR: anneal_strategy must be 'cos' or 'linear', not {anneal_strategy!r}")
        self.total_steps = _total_steps(total_steps, epochs, steps_per_epoch)
        self._schedule_phases = _phases(self.total_steps, pct_start, three_phase=three_phase)
        self._anneal_func_type = anneal_strategy
        self.cycle_momentum = cycle_momentum
        highest = per_group("max_lr", optimizer, max_lr)
        if last_epoch == -1:
            for group, rate in zip(optimizer.param_groups, highest, strict=True):
                first = rate / div_factor
                group |= {"initial_lr": first, "max_lr": rate, "min_lr": first / final_div_factor}
        if cycle_momentum:
            self.use_beta1 = uses_beta1("OneCycleLR", optimizer)
            low = per_group("base_momentum", optimizer, base_momentum)
            high = per_group("max_momentum", optimizer, max_momentum)
            if last_epoch == -1:
                for group, low_momentum, high_momentum in zip(optimizer.param_groups, low, high, strict=True):
                    set_momentum(group, high_momentum, beta1=self.use_beta1)
                    group |= {"max_momentum": high_momentum, "base_momentum": low_momentum}
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[Any]:
        if self.last_epoch > self.total_steps:
            raise ValueError(
                f"OneCycleLR has total_steps={self.total_steps}, but this is step {self.last_epoch}. "
                "Set total_steps to the total number of batches."
            )
        start, phase = self._phase()
        fraction = (self.last_epoch - start) / (phase["end_step"] - start)
        rates = []
        for group in self.optimizer.param_groups:
            rates.append(self._interpolate(group[phase["start_lr"]], group[phase["end_lr"]], fraction))
            if self.cycle_momentum:
                momentum = self._interpolate(group[phase["start_momentum"]], group[phase["end_momentum"]], fraction)
                set_momentum(group, momentum, beta1=self.use_beta1)
        return rates

    def _phase(self) -> tuple[float, dict[str, Any]]:
        """Start step of the current phase, and the phase."""
        start = 0.0
        for phase in self._schedule_phases[:-1]:
            if self.last_epoch <= phase["end_step"]:
                return start, phase
            start = phase["end_step"]
        return start, self._schedule_phases[-1]

    def _interpolate(self, start: float, end: float, fraction: float) -> float:
        if self._anneal_func_type == "linear":
            return (end - start) * fraction + start
        return end + (start - end) / 2 * (math.cos(math.pi * fraction) + 1)


def _total_steps(total_steps: int | None, epochs: int | None, steps_per_epoch: int | None) -> int:
    if total_steps is None:
        if epochs is None or steps_per_epoch is None:
            raise ValueError("OneCycleLR requires total_steps, or epochs and steps_per_epoch")
        total_steps = epochs * steps_per_epoch
    if not isinstance(total_steps, int) or total_steps <= 0:
        raise ValueError(f"OneCycleLR: the number of steps must be an integer ≥ 1, not {total_steps!r}")
    return total_steps


def _phases(total: int, fraction: float, *, three_phase: bool) -> list[dict[str, Any]]:
    warm_up = _phase(float(fraction * total) - 1, "initial_lr", "max_lr", "max_momentum", "base_momentum")
    if not three_phase:
        return [warm_up, _phase(total - 1, "max_lr", "min_lr", "base_momentum", "max_momentum")]
    return [
        warm_up,
        _phase(float(2 * fraction * total) - 2, "max_lr", "initial_lr", "base_momentum", "max_momentum"),
        _phase(total - 1, "initial_lr", "min_lr", "max_momentum", "max_momentum"),
    ]


def _phase(end: float, start_lr: str, end_lr: str, start_momentum: str, end_momentum: str) -> dict[str, Any]:
    return {
        "end_step": end,
        "start_lr": start_lr,
        "end_lr": end_lr,
        "start_momentum": start_momentum,
        "end_momentum": end_momentum,
    }

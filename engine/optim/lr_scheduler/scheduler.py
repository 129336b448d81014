"""The base of all learning-rate schedules."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from typing import Any

from engine.errors import EngineWarning
from engine.optim.optimizer import Optimizer
from engine.tensors import Tensor


class LRScheduler:
    """Sets the learning rate of each of an optimizer's groups; call `step` once an epoch, after the optimizer's.

    A subclass gives `get_lr`. It must set its own attributes before it calls this constructor, which takes the first
    step. The group's "initial_lr" keeps the learning rate that the schedule starts from.
    """

    _get_lr_called_within_step = True
    """For programs that ask whether they may call `get_lr`: always."""

    def __init__(self, optimizer: Optimizer, last_epoch: int = -1) -> None:
        require_optimizer(optimizer)
        self.optimizer = optimizer
        for number, group in enumerate(optimizer.param_groups):
            if last_epoch == -1:
                group.setdefault("initial_lr", _clone_rate(group["lr"]))
            elif "initial_lr" not in group:
                raise KeyError(
                    f"parameter group {number} has no 'initial_lr', so the schedule cannot go on "
                    f"from epoch {last_epoch}. Load the optimizer's state first, or start with last_epoch=-1."
                )
        self.base_lrs = [_clone_rate(group["initial_lr"]) for group in optimizer.param_groups]
        self.last_epoch = last_epoch
        self._initial_step()

    def _initial_step(self) -> None:
        """The first step, which a schedule takes when it is made."""
        self._step_count = 0
        self._is_initial = True
        self.step()
        self._is_initial = False

    def get_lr(self) -> list[Any]:
        """The learning rate of each group in epoch `last_epoch`."""
        raise NotImplementedError(f"{type(self).__name__} has no get_lr(). Define it in the class.")

    def step(self, epoch: int | None = None) -> None:
        """Go on to the next epoch; to `epoch` if it is given, by the schedule's closed form where it has one."""
        if self._step_count == 1 and not self.optimizer.steps:
            text = "the schedule's step was taken before the optimizer's, so the first learning rate is skipped."
            warnings.warn(EngineWarning(text, in_code="Call optimizer.step() first."), stacklevel=2)
        self._step_count += 1
        if epoch is not None:
            text = "a schedule's step with an epoch is deprecated in PyTorch."
            warnings.warn(EngineWarning(text, in_code="Call step() once an epoch."), stacklevel=2)
        self._go_to(epoch)

    def _go_to(self, epoch: int | None = None) -> None:
        self.last_epoch = self.last_epoch + 1 if epoch is None else epoch
        rates = (None if epoch is None else self._get_closed_form_lr()) or self.get_lr()
        for group, rate in zip(self.optimizer.param_groups, rates, strict=True):
            set_learning_rate(group, rate)
        self._last_lr = self._lrs()

    def _get_closed_form_lr(self) -> list[Any] | None:
        """The learning rates computed from the epoch alone; None if there is no such formula."""
        return None

    def get_last_lr(self) -> list[Any]:
        """The learning rates that are in use."""
        return self._last_lr

    def _lrs(self) -> list[Any]:
        return [_clone_rate(group["lr"]) for group in self.optimizer.param_groups]

    def _scaled(self, factor: float) -> list[Any]:
        return [group["lr"] * factor for group in self.optimizer.param_groups]

    def state_dict(self) -> dict[str, Any]:
        """Everything but the optimizer and functions, by attribute name, as in PyTorch."""
        return {name: value for name, value in vars(self).items() if name != "optimizer" and not callable(value)}

    def load_state_dict(self, state_dict: Mapping[str, Any]) -> None:
        """Go on where `state_dict` was taken. Load the optimizer's state too: the learning rates are there."""
        vars(self).update(state_dict)


def set_learning_rate(group: dict[str, Any], rate: Any) -> None:
    """A learning rate that is a tensor is written into, so that who holds it sees it."""
    if isinstance(group["lr"], Tensor):
        group["lr"].fill_(float(rate))
    else:
        group["lr"] = rate


def require_optimizer(optimizer: Any) -> None:
    if not isinstance(optimizer, Optimizer):
        raise TypeError(f"a schedule drives an Optimizer, not {type(optimizer).__name__}")


def per_group(name: str, optimizer: Optimizer, value: Any) -> list[Any]:
    """`value` for every parameter group, or the list of values that it already is."""
    count = len(optimizer.param_groups)
    if not isinstance(value, Sequence):
        return [value] * count
    if len(value) != count:
        raise ValueError(f"{name}: the optimizer has {count} parameter groups, but there are {len(value)} values")
    return list(value)


def _clone_rate(rate: Any) -> Any:
    return rate.clone() if isinstance(rate, Tensor) else rate

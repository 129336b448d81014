"""Base class of learning-rate schedulers."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from typing import Any

from engine.errors import EngineWarning
from engine.optim.optimizer import Optimizer
from engine.tensors import Tensor


class LRScheduler:
    """Base class of schedulers, which set the learning rates of an optimizer's parameter groups.

    Call `step` once per epoch, after `optimizer.step`. A subclass defines `get_lr` and sets its attributes before it
    calls this constructor, which takes the initial step. Each group stores its initial learning rate as "initial_lr".

    Args:
        optimizer: optimizer whose learning rates are set
        last_epoch: index of the last epoch, to resume; -1 to start
    """

    _get_lr_called_within_step = True
    """Always true here; PyTorch code checks it before calling `get_lr`."""

    def __init__(self, optimizer: Optimizer, last_epoch: int = -1) -> None:
        require_optimizer(optimizer)
        self.optimizer = optimizer
        for number, group in enumerate(optimizer.param_groups):
            if last_epoch == -1:
                group.setdefault("initial_lr", _clone_rate(group["lr"]))
            elif "initial_lr" not in group:
                raise KeyError(
                    f"parameter group {number} has no 'initial_lr', so the scheduler cannot resume "
                    f"from epoch {last_epoch}. Load the optimizer's state first, or start with last_epoch=-1."
                )
        self.base_lrs = [_clone_rate(group["initial_lr"]) for group in optimizer.param_groups]
        self.last_epoch = last_epoch
        self._initial_step()

    def _initial_step(self) -> None:
        """Take the initial step, in the constructor."""
        self._step_count = 0
        self._is_initial = True
        self.step()
        self._is_initial = False

    def get_lr(self) -> list[Any]:
        """Compute the learning rate of each group in epoch `last_epoch`."""
        raise NotImplementedError(f"{type(self).__name__} has no get_lr(). Define it in the class.")

    def step(self, epoch: int | None = None) -> None:
        """Advance to the next epoch, or to `epoch`, using the closed form if there is one."""
        if self._step_count == 1 and not self.optimizer.steps:
            text = "scheduler.step() was called before optimizer.step(), so the first learning rate is skipped."
            warnings.warn(EngineWarning(text, in_code="Call optimizer.step() first."), stacklevel=2)
        self._step_count += 1
        if epoch is not None:
            text = "the epoch argument of scheduler.step() is deprecated in PyTorch."
            warnings.warn(EngineWarning(text, in_code="Call step() once per epoch, without arguments."), stacklevel=2)
        self._go_to(epoch)

    def _go_to(self, epoch: int | None = None) -> None:
        self.last_epoch = self.last_epoch + 1 if epoch is None else epoch
        rates = (None if epoch is None else self._get_closed_form_lr()) or self.get_lr()
        for group, rate in zip(self.optimizer.param_groups, rates, strict=True):
            set_learning_rate(group, rate)
        self._last_lr = self._lrs()

    def _get_closed_form_lr(self) -> list[Any] | None:
        """Learning rates as a function of the epoch only; None without such a formula."""
        return None

    def get_last_lr(self) -> list[Any]:
        """Current learning rate of each group."""
        return self._last_lr

    def _lrs(self) -> list[Any]:
        return [_clone_rate(group["lr"]) for group in self.optimizer.param_groups]

    def _scaled(self, factor: float) -> list[Any]:
        return [group["lr"] * factor for group in self.optimizer.param_groups]

    def state_dict(self) -> dict[str, Any]:
        """All attributes except the optimizer and functions, as in PyTorch."""
        return {name: value for name, value in vars(self).items() if name != "optimizer" and not callable(value)}

    def load_state_dict(self, state_dict: Mapping[str, Any]) -> None:
        """Restore the state. Also load the optimizer's state dict, which contains the learning rates."""
        vars(self).update(state_dict)


def set_learning_rate(group: dict[str, Any], rate: Any) -> None:
    """Set the learning rate of a group; a tensor is updated in place, so that references stay valid."""
    if isinstance(group["lr"], Tensor):
        group["lr"].fill_(float(rate))
    else:
        group["lr"] = rate


def require_optimizer(optimizer: Any) -> None:
    if not isinstance(optimizer, Optimizer):
        raise TypeError(f"optimizer must be an Optimizer, not {type(optimizer).__name__}")


def per_group(name: str, optimizer: Optimizer, value: Any) -> list[Any]:
    """List with one value per parameter group, from one value or such a list."""
    count = len(optimizer.param_groups)
    if not isinstance(value, Sequence):
        return [value] * count
    if len(value) != count:
        raise ValueError(f"{name} must contain {count} values, one per parameter group, not {len(value)}")
    return list(value)


def _clone_rate(rate: Any) -> Any:
    return rate.clone() if isinstance(rate, Tensor) else rate

"""Base class of optimizers that update each parameter separately."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from typing import Any

from engine.errors import WeightsError
from engine.modes import MODES, enable_grad, no_grad
from engine.optim.optimizer import Group, Optimizer, State
from engine.shape import format_shape
from engine.tensors import Tensor


class UpdateRule(Optimizer):
    """Base class of optimizers that update each parameter separately.

    A subclass defines `update`, and `initial_state` if it keeps state. `update` uses in-place ops and never reads
    values of tensors, so that compiled steps can record it; what depends only on hyperparameters and counters is
    computed with Python numbers.
    """

    @abstractmethod
    def update(self, param: Tensor, gradient: Tensor, state: State, group: Group) -> None:
        """Update `param` in place; `gradient` must not be modified. With `maximize`, `gradient` is already negated."""

    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        loss = None
        if closure is not None:
            with enable_grad():
                loss = closure()
        with no_grad():
            capture = MODES.capture
            updates = list(self._with_gradients())
            with (
                nullcontext()
                if capture is None
                else capture.optimizer_step(self, [(one[0], one[2]) for one in updates])
            ):
                for param, gradient, options in updates:
                    self.update_one(param, gradient, options)
        return loss

    def _with_gradients(self) -> Iterator[tuple[Tensor, Tensor, Group]]:
        """Each parameter with a gradient, the gradient, and the hyperparameters of its group."""
        for group in self.param_groups:
            rate = group["lr"]
            options = group if not isinstance(rate, Tensor) else {**group, "lr": rate.item()}
            for param in group["params"]:
                if param.grad is not None:
                    yield param, param.grad, options

    def update_one(self, param: Tensor, gradient: Tensor, group: Group) -> None:
        """Update one parameter and its state.

        A replayed step also calls this, to update counters and to compute the scalar arguments of its recorded ops. It
        passes a gradient with the right shape and dtype only.
        """
        state = self.state[param]
        if not state:
            state |= self.initial_state(param, group)
        self.update(param, -gradient if group.get("maximize") else gradient, state, group)

    def check_state(self, name: str, value: Tensor, param: Tensor) -> None:
        if tuple(value.shape) != tuple(param.shape):
            raise WeightsError(
                f"the saved {name} has shape {format_shape(value.shape)}, but the parameter has shape "
                f"{format_shape(param.shape)}. Create the optimizer with the same parameters in the same order."
            )


def same_for_all_parameters(update: Callable[..., None]) -> Callable[..., None]:
    """Declare that the ops of an `update` and their scalars depend only on hyperparameters and counters.

    A replayed step then computes the scalars once for all parameters with the same hyperparameters and counters.
    """
    update.is_same_for_all_parameters = True  # pyright: ignore[reportFunctionMemberAccess]
    return update


__all__ = ["UpdateRule", "same_for_all_parameters"]

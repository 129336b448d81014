"""Rprop."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

from engine.ops.elementwise.selection import where
from engine.optim.optimizer import Group, KernelFlag, LearningRate, Parameters, State, hyperparameters
from engine.optim.update_rule import UpdateRule
from engine.registry import OPTIMIZERS, Positive, Range
from engine.tensors import Tensor
from engine.tensors.creation import full_like, ones_like, zeros_like


@OPTIMIZERS.register(category="Gradient descent", tags=("resilient backpropagation", "sign"))
class Rprop(UpdateRule):
    """Resilient backpropagation: uses only the sign of the gradient and adapts one step size per element.

    Suited to full-batch gradients, not to mini-batches. Source: Riedmiller and Braun, ICNN 1993.

    Args:
        lr: initial step size
        etas: factors of the step size when the gradient's sign changes and when it stays the same
        step_sizes: smallest and largest step size
        maximize: maximize the objective instead of minimizing it
    """

    def __init__(
        self,
        params: Parameters,
        lr: LearningRate = 1e-2,
        etas: tuple[Annotated[float, Range(gt=0)], float] = (0.5, 1.2),
        step_sizes: tuple[Positive, Positive] = (1e-6, 50),
        *,
        capturable: KernelFlag = False,
        foreach: KernelFlag = None,
        maximize: bool = False,
        differentiable: KernelFlag = False,
    ) -> None:
        super().__init__(params, hyperparameters(locals()))

    def check(self, options: Mapping[str, Any]) -> None:
        super().check(options)
        eta_minus, eta_plus = options["etas"]
        if not 0 < eta_minus < 1 < eta_plus:
            raise ValueError(f"Rprop: etas must be a pair below and above 1, not {options['etas']}")

    def initial_state(self, param: Tensor, group: Group) -> State:
        return {"step": 0, "prev": zeros_like(param), "step_size": full_like(param, group["lr"])}

    def update(self, param: Tensor, gradient: Tensor, state: State, group: Group) -> None:
        state["step"] += 1
        (eta_minus, eta_plus), (smallest, largest) = group["etas"], group["step_sizes"]
        agreement = gradient * state["prev"]
        flipped = agreement < 0
        factor = where(flipped, eta_minus, where(agreement > 0, eta_plus, ones_like(gradient)))
        size = state["step_size"]
        size.copy_((size * factor).clamp(smallest, largest))
        gradient = where(flipped, 0.0, gradient)  # no step where the sign has changed
        param.addcmul_(gradient.sign(), size, value=-1)
        state["prev"].copy_(gradient)

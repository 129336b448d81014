"""Adagrad."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from engine.optim.optimizer import Group, KernelFlag, LearningRate, Parameters, State, hyperparameters
from engine.optim.update_rule import UpdateRule, same_for_all_parameters
from engine.registry import OPTIMIZERS, NonNegative
from engine.tensors import Tensor
from engine.tensors.creation import full_like


@OPTIMIZERS.register(category="Adaptive", tags=("adaptive gradient",))
class Adagrad(UpdateRule):
    """Adaptive gradient: ``p ← p - lr g / (√Σg² + eps)``, with the sum of all squared gradients so far.

    The learning rate decays as ``lr / (1 + lr_decay t)``. Source: Duchi et al., JMLR 12 (2011).

    Args:
        lr: learning rate
        lr_decay: decay of the learning rate per step
        weight_decay: L2 penalty; ``weight_decay p`` is added to the gradient
        initial_accumulator_value: initial value of the sum of squared gradients
        eps: term added to the denominator for numerical stability
        maximize: maximize the objective instead of minimizing it
    """

    def __init__(
        self,
        params: Parameters,
        lr: LearningRate = 1e-2,
        lr_decay: NonNegative = 0,
        weight_decay: NonNegative = 0,
        initial_accumulator_value: NonNegative = 0,
        eps: NonNegative = 1e-10,
        foreach: KernelFlag = None,
        *,
        maximize: bool = False,
        differentiable: KernelFlag = False,
        fused: KernelFlag = None,
    ) -> None:
        super().__init__(params, hyperparameters(locals()))

    def add_param_group(self, param_group: Mapping[str, Any]) -> None:
        super().add_param_group(param_group)
        group = self.param_groups[-1]
        for param in group["params"]:
            self.state[param] = self.initial_state(param, group)

    def initial_state(self, param: Tensor, group: Group) -> State:
        return {"step": 0, "sum": full_like(param.detach(), group["initial_accumulator_value"])}

    @same_for_all_parameters
    def update(self, param: Tensor, gradient: Tensor, state: State, group: Group) -> None:
        if group["weight_decay"]:
            gradient = gradient.add(param, alpha=group["weight_decay"])
        rate = group["lr"] / (1 + state["step"] * group["lr_decay"])
        state["step"] += 1
        total = state["sum"].addcmul_(gradient, gradient)
        param.addcdiv_sqrt_(gradient, total, eps=group["eps"], value=-rate)

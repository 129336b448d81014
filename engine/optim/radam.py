"""RAdam."""

from __future__ import annotations

import math

from engine.optim.optimizer import DecayRate, Group, KernelFlag, LearningRate, Parameters, State, hyperparameters
from engine.optim.update_rule import UpdateRule, same_for_all_parameters
from engine.registry import OPTIMIZERS, NonNegative
from engine.tensors import Tensor
from engine.tensors.creation import zeros_like


@OPTIMIZERS.register(category="Adaptive", tags=("rectified", "adam", "warm-up"))
class RAdam(UpdateRule):
    """Adam with a rectified adaptive learning rate, which replaces a warm-up of the learning rate.

    In the first steps, while the variance estimate is unreliable, it is momentum SGD.

    Source: Liu et al., On the variance of the adaptive learning rate and beyond, arXiv 1908.03265.

    Args:
        lr: learning rate
        betas: decay rates of the running averages of the gradient and of its square
        eps: term added to the denominator for numerical stability
        weight_decay: weight decay coefficient; an L2 penalty unless `decoupled_weight_decay` is set
        decoupled_weight_decay: apply weight decay to the parameter instead of the gradient, as AdamW does
        maximize: maximize the objective instead of minimizing it
    """

    def __init__(
        self,
        params: Parameters,
        lr: LearningRate = 1e-3,
        betas: tuple[DecayRate, DecayRate] = (0.9, 0.999),
        eps: NonNegative = 1e-8,
        weight_decay: NonNegative = 0,
        decoupled_weight_decay: bool = False,
        *,
        foreach: KernelFlag = None,
        maximize: bool = False,
        capturable: KernelFlag = False,
        differentiable: KernelFlag = False,
    ) -> None:
        super().__init__(params, hyperparameters(locals()))

    def initial_state(self, param: Tensor, group: Group) -> State:
        return {"step": 0, "exp_avg": zeros_like(param), "exp_avg_sq": zeros_like(param)}

    @same_for_all_parameters
    def update(self, param: Tensor, gradient: Tensor, state: State, group: Group) -> None:
        state["step"] += 1
        step, lr, decay = state["step"], group["lr"], group["weight_decay"]
        if decay and group["decoupled_weight_decay"]:
            param.mul_(1 - lr * decay)
        elif decay:
            gradient = gradient.add(param, alpha=decay)
        beta1, beta2 = group["betas"]
        mean = state["exp_avg"].lerp_(gradient, 1 - beta1)
        square = state["exp_avg_sq"].mul_(beta2).addcmul_(gradient, gradient, value=1 - beta2)
        rate, remainder = lr / (1 - beta1**step), 1 - beta2**step
        max_length = 2 / (1 - beta2) - 1
        length = _average_length(step, beta2)
        if length <= 5:
            param.add_(mean, alpha=-rate)
            return
        rectified = math.sqrt(
            (length - 4) * (length - 2) * max_length / ((max_length - 4) * (max_length - 2) * length) * remainder
        )
        param.addcdiv_sqrt_(mean, square, eps=group["eps"], value=-rate * rectified)


def _average_length(step: int, beta2: float) -> float:
    """Length of the simple moving average that approximates the running average of squares."""
    return 2 / (1 - beta2) - 1 - 2 * step * beta2**step / (1 - beta2**step)

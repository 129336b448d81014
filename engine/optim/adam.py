"""Adam."""

from __future__ import annotations

import math

from engine.optim.optimizer import DecayRate, Group, KernelFlag, LearningRate, Parameters, State, hyperparameters
from engine.optim.update_rule import UpdateRule, same_for_all_parameters
from engine.registry import OPTIMIZERS, NonNegative
from engine.tensors import Tensor
from engine.tensors.creation import zeros_like


@OPTIMIZERS.register(category="Adaptive", tags=("adaptive moments", "amsgrad"))
class Adam(UpdateRule):
    """Adaptive moment estimation: ``p ← p - lr m̂ / (√v̂ + eps)``.

    ``m ← β₁ m + (1 - β₁) g`` and ``v ← β₂ v + (1 - β₂) g²``; ``m̂`` and ``v̂`` divide them by ``1 - βᵗ`` (bias
    correction). Sources: Kingma and Ba, arXiv 1412.6980; AMSGrad: Reddi et al., ICLR 2018.

    Args:
        lr: learning rate
        betas: decay rates of the running averages of the gradient and of its square
        eps: term added to the denominator for numerical stability
        weight_decay: weight decay coefficient; an L2 penalty unless `decoupled_weight_decay` is set
        amsgrad: divide by the largest running average of the square so far (AMSGrad)
        maximize: maximize the objective instead of minimizing it
        decoupled_weight_decay: apply weight decay to the parameter instead of the gradient, as AdamW does
    """

    def __init__(
        self,
        params: Parameters,
        lr: LearningRate = 1e-3,
        betas: tuple[DecayRate, DecayRate] = (0.9, 0.999),
        eps: NonNegative = 1e-8,
        weight_decay: NonNegative = 0,
        amsgrad: bool = False,
        *,
        foreach: KernelFlag = None,
        maximize: bool = False,
        capturable: KernelFlag = False,
        differentiable: KernelFlag = False,
        fused: KernelFlag = None,
        decoupled_weight_decay: bool = False,
    ) -> None:
        super().__init__(params, hyperparameters(locals()))

    def initial_state(self, param: Tensor, group: Group) -> State:
        state: State = {"step": 0, "exp_avg": zeros_like(param), "exp_avg_sq": zeros_like(param)}
        if group["amsgrad"]:
            state["max_exp_avg_sq"] = zeros_like(param)
        return state

    @same_for_all_parameters
    def update(self, param: Tensor, gradient: Tensor, state: State, group: Group) -> None:
        state["step"] += 1
        lr, decay = group["lr"], group["weight_decay"]
        if decay and group["decoupled_weight_decay"]:
            param.mul_(1 - lr * decay)
        elif decay:
            gradient = gradient.add(param, alpha=decay)
        beta1, beta2 = group["betas"]
        mean, square = state["exp_avg"], state["exp_avg_sq"]
        mean.lerp_(gradient, 1 - beta1)
        square.mul_(beta2).addcmul_(gradient, gradient, value=1 - beta2)
        if group["amsgrad"]:
            square = state["max_exp_avg_sq"].maximum_(square)
        # m̂ / (√v̂ + eps), numerator and denominator multiplied by √(1 - β₂ᵗ): saves one pass over the parameter.
        correction = math.sqrt(1 - beta2 ** state["step"])
        rate = lr * correction / (1 - beta1 ** state["step"])
        param.addcdiv_sqrt_(mean, square, eps=group["eps"] * correction, value=-rate)

"""NAdam."""

from __future__ import annotations

from engine.optim.optimizer import (
    DecayRate,
    Group,
    KernelFlag,
    LearningRate,
    Parameters,
    State,
    hyperparameters,
    round_to_float32,
)
from engine.optim.update_rule import UpdateRule, same_for_all_parameters
from engine.registry import OPTIMIZERS, NonNegative
from engine.tensors import Tensor
from engine.tensors.creation import zeros_like


@OPTIMIZERS.register(category="Adaptive", tags=("nesterov", "adam"))
class NAdam(UpdateRule):
    """Adam with Nesterov momentum.

    Source: Dozat, Incorporating Nesterov momentum into Adam, ICLR workshop 2016.

    Args:
        lr: learning rate
        betas: decay rates of the running averages of the gradient and of its square
        eps: term added to the denominator for numerical stability
        weight_decay: weight decay coefficient; an L2 penalty unless `decoupled_weight_decay` is set
        momentum_decay: decay of the momentum schedule
        decoupled_weight_decay: apply weight decay to the parameter instead of the gradient, as AdamW does
        maximize: maximize the objective instead of minimizing it
    """

    scalar_state = frozenset({"step", "mu_product"})

    def __init__(
        self,
        params: Parameters,
        lr: LearningRate = 2e-3,
        betas: tuple[DecayRate, DecayRate] = (0.9, 0.999),
        eps: NonNegative = 1e-8,
        weight_decay: NonNegative = 0,
        momentum_decay: NonNegative = 4e-3,
        decoupled_weight_decay: bool = False,
        *,
        foreach: KernelFlag = None,
        maximize: bool = False,
        capturable: KernelFlag = False,
        differentiable: KernelFlag = False,
    ) -> None:
        super().__init__(params, hyperparameters(locals()))

    def initial_state(self, param: Tensor, group: Group) -> State:
        return {"step": 0, "mu_product": 1.0, "exp_avg": zeros_like(param), "exp_avg_sq": zeros_like(param)}

    @same_for_all_parameters
    def update(self, param: Tensor, gradient: Tensor, state: State, group: Group) -> None:
        state["step"] += 1
        step, lr, decay = state["step"], group["lr"], group["weight_decay"]
        if decay and group["decoupled_weight_decay"]:
            param.mul_(1 - lr * decay)
        elif decay:
            gradient = gradient.add(param, alpha=decay)
        beta1, beta2 = group["betas"]
        momentum, next_momentum = (beta1 * (1 - 0.5 * 0.96 ** (t * group["momentum_decay"])) for t in (step, step + 1))
        state["mu_product"] = product = round_to_float32(state["mu_product"] * round_to_float32(momentum))
        mean = state["exp_avg"].lerp_(gradient, 1 - beta1)
        square = state["exp_avg_sq"].mul_(beta2).addcmul_(gradient, gradient, value=1 - beta2)
        divisor = square.div(1 - beta2**step).sqrt().add_(group["eps"])
        param.addcdiv_(gradient, divisor, value=-lr * (1 - momentum) / (1 - product))
        param.addcdiv_(mean, divisor, value=-lr * next_momentum / (1 - product * next_momentum))

"""Adamax."""

from __future__ import annotations

from engine.optim.optimizer import DecayRate, Group, KernelFlag, LearningRate, Parameters, State, hyperparameters
from engine.optim.update_rule import UpdateRule, same_for_all_parameters
from engine.registry import OPTIMIZERS, NonNegative
from engine.tensors import Tensor
from engine.tensors.creation import zeros_like


@OPTIMIZERS.register(category="Adaptive", tags=("adam", "infinity norm"))
class Adamax(UpdateRule):
    """Adam with the infinity norm: ``u ← max(β₂ u, |g| + eps)``, ``p ← p - lr m̂ / u``.

    Source: Kingma and Ba, arXiv 1412.6980, section 7.

    Args:
        lr: learning rate
        betas: decay rates of the running average and of the infinity norm
        eps: term added to the absolute gradient for numerical stability
        weight_decay: L2 penalty; ``weight_decay p`` is added to the gradient
        maximize: maximize the objective instead of minimizing it
    """

    def __init__(
        self,
        params: Parameters,
        lr: LearningRate = 2e-3,
        betas: tuple[DecayRate, DecayRate] = (0.9, 0.999),
        eps: NonNegative = 1e-8,
        weight_decay: NonNegative = 0,
        foreach: KernelFlag = None,
        *,
        maximize: bool = False,
        differentiable: KernelFlag = False,
        capturable: KernelFlag = False,
    ) -> None:
        super().__init__(params, hyperparameters(locals()))

    def initial_state(self, param: Tensor, group: Group) -> State:
        return {"step": 0, "exp_avg": zeros_like(param), "exp_inf": zeros_like(param)}

    @same_for_all_parameters
    def update(self, param: Tensor, gradient: Tensor, state: State, group: Group) -> None:
        state["step"] += 1
        if group["weight_decay"]:
            gradient = gradient.add(param, alpha=group["weight_decay"])
        beta1, beta2 = group["betas"]
        mean = state["exp_avg"].lerp_(gradient, 1 - beta1)
        largest = state["exp_inf"].mul_(beta2).maximum_(gradient.abs().add_(group["eps"]))
        param.addcdiv_(mean, largest, value=-group["lr"] / (1 - beta1 ** state["step"]))

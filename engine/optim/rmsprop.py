"""RMSprop."""

from __future__ import annotations

from engine.optim.optimizer import Group, KernelFlag, LearningRate, Parameters, State, hyperparameters
from engine.optim.update_rule import UpdateRule, same_for_all_parameters
from engine.registry import OPTIMIZERS, NonNegative
from engine.tensors import Tensor
from engine.tensors.creation import zeros_like


@OPTIMIZERS.register(category="Adaptive", tags=("root mean square",))
class RMSprop(UpdateRule):
    """Steps divided by a running root mean square of gradients: ``p ← p - lr g / (√v + eps)``.

    ``v ← alpha v + (1 - alpha) g²``. Sources: Hinton, lecture 6e of Neural Networks for Machine Learning, 2012;
    centered: Graves, arXiv 1308.0850.

    Args:
        lr: learning rate
        alpha: decay rate of the running average of squared gradients
        eps: term added to the denominator for numerical stability
        weight_decay: L2 penalty; ``weight_decay p`` is added to the gradient
        momentum: momentum factor; 0 disables momentum
        centered: divide by the running standard deviation instead of the root mean square
        maximize: maximize the objective instead of minimizing it
    """

    def __init__(
        self,
        params: Parameters,
        lr: LearningRate = 1e-2,
        alpha: NonNegative = 0.99,
        eps: NonNegative = 1e-8,
        weight_decay: NonNegative = 0,
        momentum: NonNegative = 0,
        centered: bool = False,
        capturable: KernelFlag = False,
        foreach: KernelFlag = None,
        maximize: bool = False,
        differentiable: KernelFlag = False,
    ) -> None:
        super().__init__(params, hyperparameters(locals()))

    def initial_state(self, param: Tensor, group: Group) -> State:
        state: State = {"step": 0, "square_avg": zeros_like(param)}
        if group["momentum"] > 0:
            state["momentum_buffer"] = zeros_like(param)
        if group["centered"]:
            state["grad_avg"] = zeros_like(param)
        return state

    @same_for_all_parameters
    def update(self, param: Tensor, gradient: Tensor, state: State, group: Group) -> None:
        state["step"] += 1
        alpha, square = group["alpha"], state["square_avg"]
        if group["weight_decay"]:
            gradient = gradient.add(param, alpha=group["weight_decay"])
        square.mul_(alpha).addcmul_(gradient, gradient, value=1 - alpha)
        if group["centered"]:
            mean = state["grad_avg"].lerp_(gradient, 1 - alpha)
            square = square.addcmul(mean, mean, value=-1)
        if group["momentum"] > 0:
            buffer = state["momentum_buffer"].mul_(group["momentum"])
            param.add_(buffer.addcdiv_sqrt_(gradient, square, eps=group["eps"]), alpha=-group["lr"])
        else:
            param.addcdiv_sqrt_(gradient, square, eps=group["eps"], value=-group["lr"])

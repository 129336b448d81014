"""Adadelta."""

from __future__ import annotations

from engine.optim.optimizer import Group, KernelFlag, LearningRate, Parameters, State, hyperparameters
from engine.optim.update_rule import UpdateRule, same_for_all_parameters
from engine.registry import OPTIMIZERS, NonNegative, Probability
from engine.tensors import Tensor
from engine.tensors.creation import zeros_like


@OPTIMIZERS.register(category="Adaptive")
class Adadelta(UpdateRule):
    """Adaptive steps without a tuned learning rate: ``p ← p - lr g √(u + eps) / √(v + eps)``.

    ``v`` is the running average of squared gradients, ``u`` of squared steps. Source: Zeiler, arXiv 1212.5701.

    Args:
        lr: factor that scales each step
        rho: decay rate of the running averages of squares
        eps: term added to both running averages for numerical stability; also sets the size of the first steps
        weight_decay: L2 penalty; ``weight_decay p`` is added to the gradient
        maximize: maximize the objective instead of minimizing it
    """

    def __init__(
        self,
        params: Parameters,
        lr: LearningRate = 1.0,
        rho: Probability = 0.9,
        eps: NonNegative = 1e-6,
        weight_decay: NonNegative = 0,
        foreach: KernelFlag = None,
        *,
        capturable: KernelFlag = False,
        maximize: bool = False,
        differentiable: KernelFlag = False,
    ) -> None:
        super().__init__(params, hyperparameters(locals()))

    def initial_state(self, param: Tensor, group: Group) -> State:
        return {"step": 0, "square_avg": zeros_like(param), "acc_delta": zeros_like(param)}

    @same_for_all_parameters
    def update(self, param: Tensor, gradient: Tensor, state: State, group: Group) -> None:
        state["step"] += 1
        rho, eps = group["rho"], group["eps"]
        if group["weight_decay"]:
            gradient = gradient.add(param, alpha=group["weight_decay"])
        square, squared_steps = state["square_avg"], state["acc_delta"]
        square.mul_(rho).addcmul_(gradient, gradient, value=1 - rho)
        delta = squared_steps.add(eps).sqrt() / square.add(eps).sqrt() * gradient
        squared_steps.mul_(rho).addcmul_(delta, delta, value=1 - rho)
        param.add_(delta, alpha=-group["lr"])

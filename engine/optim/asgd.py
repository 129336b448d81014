"""Averaged stochastic gradient descent."""

from __future__ import annotations

from engine.optim.optimizer import Group, KernelFlag, LearningRate, Parameters, State, hyperparameters, round_to_float32
from engine.optim.update_rule import UpdateRule
from engine.registry import OPTIMIZERS, NonNegative
from engine.tensors import Tensor
from engine.tensors.creation import zeros_like


@OPTIMIZERS.register(category="Gradient descent", tags=("averaging", "polyak"))
class ASGD(UpdateRule):
    """Averaged stochastic gradient descent: a decaying learning rate and a running average of the parameters.

    The learning rate is ``lr / (1 + lambd lr t) ** alpha``; the average is ``ax`` in the state. Source: Polyak and
    Juditsky, SIAM J. Control Optim. 30 (1992).

    Args:
        lr: initial learning rate
        lambd: decay term of parameters and learning rate
        alpha: exponent of the learning rate's decay
        t0: step at which averaging starts
        weight_decay: L2 penalty; ``weight_decay p`` is added to the gradient
        maximize: maximize the objective instead of minimizing it
    """

    scalar_state = frozenset({"step", "eta", "mu"})

    def __init__(
        self,
        params: Parameters,
        lr: LearningRate = 1e-2,
        lambd: float = 1e-4,
        alpha: float = 0.75,
        t0: float = 1e6,
        weight_decay: NonNegative = 0,
        foreach: KernelFlag = None,
        maximize: bool = False,
        differentiable: KernelFlag = False,
        capturable: KernelFlag = False,
    ) -> None:
        super().__init__(params, hyperparameters(locals()))

    def initial_state(self, param: Tensor, group: Group) -> State:
        return {"step": 0, "eta": round_to_float32(group["lr"]), "mu": 1.0, "ax": zeros_like(param)}

    def update(self, param: Tensor, gradient: Tensor, state: State, group: Group) -> None:
        lr, lambd = group["lr"], group["lambd"]
        state["step"] += 1
        if group["weight_decay"]:
            gradient = gradient.add(param, alpha=group["weight_decay"])
        param.mul_(1 - lambd * state["eta"]).add_(gradient, alpha=-state["eta"])
        average = state["ax"]
        if state["mu"] == 1:
            average.copy_(param)
        else:
            average.lerp_(param, state["mu"])
        state["eta"] = round_to_float32(lr / (1 + lambd * lr * state["step"]) ** group["alpha"])
        state["mu"] = round_to_float32(1 / max(1, state["step"] - group["t0"]))

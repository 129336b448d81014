"""Stochastic gradient descent."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from engine.optim.optimizer import Group, KernelFlag, LearningRate, Parameters, State, hyperparameters
from engine.optim.update_rule import UpdateRule, same_for_all_parameters
from engine.registry import OPTIMIZERS, NonNegative
from engine.tensors import Tensor


@OPTIMIZERS.register(category="Gradient descent", tags=("stochastic gradient descent", "momentum", "nesterov"))
class SGD(UpdateRule):
    """Stochastic gradient descent with momentum: ``b ← momentum b + (1 - dampening) g``, ``p ← p - lr b``.

    The momentum buffer ``b`` starts with the first gradient. Sources: Polyak, 1964; Nesterov form: Sutskever et al.,
    ICML 2013.

    Args:
        lr: learning rate
        momentum: momentum factor; 0 disables momentum
        dampening: dampening of the momentum: the gradient is scaled by ``1 - dampening``
        weight_decay: L2 penalty; ``weight_decay p`` is added to the gradient
        nesterov: use Nesterov momentum; requires `momentum` > 0 and `dampening` 0
        maximize: maximize the objective instead of minimizing it
    """

    def __init__(
        self,
        params: Parameters,
        lr: LearningRate = 1e-3,
        momentum: NonNegative = 0,
        dampening: float = 0,
        weight_decay: NonNegative = 0,
        nesterov: bool = False,
        *,
        maximize: bool = False,
        foreach: KernelFlag = None,
        differentiable: KernelFlag = False,
        fused: KernelFlag = None,
    ) -> None:
        super().__init__(params, hyperparameters(locals()))

    def check(self, options: Mapping[str, Any]) -> None:
        super().check(options)
        if options["nesterov"] and (options["momentum"] == 0 or options["dampening"] != 0):
            raise ValueError("SGD: nesterov requires momentum > 0 and dampening = 0. For example, set momentum to 0.9.")

    @same_for_all_parameters
    def update(self, param: Tensor, gradient: Tensor, state: State, group: Group) -> None:
        momentum = group["momentum"]
        if group["weight_decay"]:
            gradient = gradient.add(param, alpha=group["weight_decay"])
        if momentum:
            buffer = state.get("momentum_buffer")
            if buffer is None:
                buffer = state["momentum_buffer"] = gradient.clone()
            else:
                buffer.mul_(momentum).add_(gradient, alpha=1 - group["dampening"])
            gradient = gradient.add(buffer, alpha=momentum) if group["nesterov"] else buffer
        param.add_(gradient, alpha=-group["lr"])

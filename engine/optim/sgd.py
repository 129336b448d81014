"""Stochastic gradient descent."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from engine.optim.optimizer import (
    Group,
    KernelFlag,
    LearningRate,
    Parameters,
    State,
    UpdateRule,
    same_for_all_parameters,
)
from engine.registry import OPTIMIZERS, NonNegative
from engine.tensors import Tensor


@OPTIMIZERS.register(category="Gradient descent", tags=("stochastic gradient descent", "momentum", "nesterov"))
class SGD(UpdateRule):
    """Gradient descent with momentum: ``b ← momentum b + (1 - dampening) g``, ``p ← p - lr b``.

    `weight_decay` adds ``weight_decay p`` to the gradient first. The momentum's first value is the first gradient.
    Sources: Polyak, 1964; Sutskever et al., ICML 2013, whose Nesterov form this is.

    Args:
        lr: learning rate, the size of the steps
        momentum: how much of the last step is taken again
        dampening: how much less the gradient counts in the momentum
        weight_decay: strength of the pull towards 0
        nesterov: look ahead along the momentum
        maximize: climb instead of descend
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
        super().__init__(
            params,
            {
                "lr": lr,
                "momentum": momentum,
                "dampening": dampening,
                "weight_decay": weight_decay,
                "nesterov": nesterov,
                "maximize": maximize,
                "foreach": foreach,
                "differentiable": differentiable,
                "fused": fused,
            },
        )

    def check(self, options: Mapping[str, Any]) -> None:
        super().check(options)
        if options["nesterov"] and (options["momentum"] == 0 or options["dampening"] != 0):
            raise ValueError("SGD: nesterov needs a momentum above 0, and a dampening of 0")

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

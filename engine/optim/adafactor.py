"""Adafactor."""

from __future__ import annotations

import math
from typing import Annotated, Any

from engine.dtypes import finfo, float32, float64
from engine.optim.optimizer import Group, KernelFlag, LearningRate, Parameters, State, UpdateRule
from engine.registry import OPTIMIZERS, NonNegative, Range
from engine.tensors import Tensor
from engine.tensors.creation import zeros_like


@OPTIMIZERS.register(category="Adaptive", tags=("adam", "little memory", "relative step"))
class Adafactor(UpdateRule):
    """Adam's divisor from the means of rows and columns, which take little memory; steps in proportion to the weights.

    Source: Shazeer and Stern, arXiv 1804.04235.

    Args:
        lr: the largest relative size of a step
        beta2_decay: power with which the running squares forget, below 0
        eps: least square, and least size of weights; None for the dtype's precision
        d: the largest root mean square of a step before scaling
        weight_decay: strength of the pull towards 0
        maximize: climb instead of descend
    """

    def __init__(
        self,
        params: Parameters,
        lr: LearningRate = 1e-2,
        beta2_decay: float = -0.8,
        eps: Any = (None, 1e-3),  # a pair of which the first may be None: no form can show that
        d: Annotated[float, Range(ge=1)] = 1.0,
        weight_decay: NonNegative = 0.0,
        *,
        foreach: KernelFlag = None,
        maximize: bool = False,
    ) -> None:
        if beta2_decay > 0:
            raise ValueError(f"Adafactor: beta2_decay must be ≤ 0, not {beta2_decay}")
        super().__init__(
            params,
            {
                "lr": lr,
                "beta2_decay": beta2_decay,
                "eps": eps,
                "d": d,
                "weight_decay": weight_decay,
                "foreach": foreach,
                "maximize": maximize,
            },
        )

    def check_state(self, name: str, value: Tensor, param: Tensor) -> None:
        if name == "variance":
            super().check_state(name, value, param)

    def initial_state(self, param: Tensor, group: Group) -> State:
        if not param.numel():
            return {}
        if param.ndim > 1:
            rows, columns = (*param.shape[:-1], 1), (*param.shape[:-2], 1, param.shape[-1])
            return {"step": 0, "row_var": param.new_zeros(rows), "col_var": param.new_zeros(columns)}
        return {"step": 0, "variance": zeros_like(param)}

    def update(self, param: Tensor, gradient: Tensor, state: State, group: Group) -> None:
        if not param.numel():
            return
        state["step"] += 1
        step, lr, (least, smallest) = state["step"], group["lr"], group["eps"]
        least = finfo(param.dtype).eps if least is None else least
        root = math.sqrt(param.numel())
        rate = (_norm(param) / root).clamp(min=smallest) * min(lr, 1 / math.sqrt(step))
        if group["weight_decay"]:
            param.mul_(1 - lr * group["weight_decay"])
        square, forget = gradient * gradient, step ** group["beta2_decay"]
        if gradient.ndim > 1:
            rows = state["row_var"].lerp_(square.mean(-1, True), forget)
            columns = state["col_var"].lerp_(square.mean(-2, True), forget)
            estimate = rows @ columns / rows.mean(-2, True).clamp(min=least)
        else:
            estimate = state["variance"].lerp_(square, forget)
        change = estimate.clamp(min=least * least).rsqrt() * gradient
        param.sub_(change * (rate / (_norm(change) / (root * group["d"])).clamp(min=1.0)))


def _norm(x: Tensor) -> Tensor:
    """A tensor, which nobody has to wait for; in single precision at least, as numbers made of it need."""
    found = x.norm()
    return found if found.dtype == float64 else found.to(float32)

"""Adafactor."""

from __future__ import annotations

import math
from typing import Annotated, Any

from engine.dtypes import finfo, float32, float64
from engine.optim.optimizer import Group, KernelFlag, LearningRate, Parameters, State, hyperparameters
from engine.optim.update_rule import UpdateRule
from engine.registry import OPTIMIZERS, NonNegative, Range
from engine.tensors import Tensor
from engine.tensors.creation import zeros_like


@OPTIMIZERS.register(category="Adaptive", tags=("adam", "little memory", "relative step"))
class Adafactor(UpdateRule):
    """Adam-like steps with little memory: squared gradients are kept as row and column means of each matrix.

    The step size is relative to the root mean square of the parameter. Source: Shazeer and Stern, arXiv 1804.04235.

    Args:
        lr: upper bound of the relative step size
        beta2_decay: exponent of the decay of the running averages; at most 0
        eps: pair of lower bounds, for squared gradients (None: the precision of the dtype) and for the parameter's root
            mean square
        d: clipping threshold of the update's root mean square
        weight_decay: weight decay coefficient; each step multiplies parameters by ``1 - lr weight_decay``
        maximize: maximize the objective instead of minimizing it
    """

    def __init__(
        self,
        params: Parameters,
        lr: LearningRate = 1e-2,
        beta2_decay: Annotated[float, Range(le=0)] = -0.8,
        eps: Any = (None, 1e-3),  # untyped, because a form cannot edit a pair whose first item may be None
        d: Annotated[float, Range(ge=1)] = 1.0,
        weight_decay: NonNegative = 0.0,
        *,
        foreach: KernelFlag = None,
        maximize: bool = False,
    ) -> None:
        super().__init__(params, hyperparameters(locals()))

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
        step, lr, (eps1, eps2) = state["step"], group["lr"], group["eps"]
        eps1 = finfo(param.dtype).eps if eps1 is None else eps1
        root = math.sqrt(param.numel())
        rate = (_norm(param) / root).clamp(min=eps2) * min(lr, 1 / math.sqrt(step))
        if group["weight_decay"]:
            param.mul_(1 - lr * group["weight_decay"])
        square, decay = gradient * gradient, step ** group["beta2_decay"]
        if gradient.ndim > 1:
            rows = state["row_var"].lerp_(square.mean(-1, True), decay)
            columns = state["col_var"].lerp_(square.mean(-2, True), decay)
            estimate = rows @ columns / rows.mean(-2, True).clamp(min=eps1)
        else:
            estimate = state["variance"].lerp_(square, decay)
        change = estimate.clamp(min=eps1 * eps1).rsqrt() * gradient
        param.sub_(change * (rate / (_norm(change) / (root * group["d"])).clamp(min=1.0)))


def _norm(x: Tensor) -> Tensor:
    """The L2 norm as a tensor, so that no value is read back; at least float32, for the arithmetic that follows."""
    found = x.norm()
    return found if found.dtype == float64 else found.to(float32)

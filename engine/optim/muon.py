"""Muon."""

from __future__ import annotations

import math
from typing import Annotated, Literal

from engine.functions import addmm
from engine.optim.optimizer import Group, LearningRate, Parameters, State, hyperparameters
from engine.optim.update_rule import UpdateRule
from engine.registry import NonNegative, Range
from engine.shape import format_shape
from engine.tensors import Tensor
from engine.tensors.creation import zeros_like


class Muon(UpdateRule):
    """Momentum with orthogonalized updates, for the weight matrices of hidden layers.

    All parameters must be matrices; optimize biases and embeddings with another optimizer, such as AdamW. Not a node,
    because one optimizer trains all parameters of a project. Source: Jordan et al., "Muon: An optimizer for hidden
    layers in neural networks", 2024.

    Args:
        lr: learning rate
        weight_decay: weight decay coefficient; each step multiplies parameters by ``1 - lr weight_decay``
        momentum: decay rate of the running average of gradients
        nesterov: use Nesterov momentum
        ns_coefficients: coefficients (a, b, c) of the Newton-Schulz polynomial ``a x + b x³ + c x⁵``
        eps: lower bound of the gradient norm in the denominator
        ns_steps: number of Newton-Schulz iterations
        adjust_lr_fn: scaling of the learning rate by the shape of the matrix: "original" (default), or
            "match_rms_adamw" to match AdamW's updates
    """

    def __init__(
        self,
        params: Parameters,
        lr: LearningRate = 1e-3,
        weight_decay: NonNegative = 0.1,
        momentum: NonNegative = 0.95,
        nesterov: bool = True,
        ns_coefficients: tuple[float, float, float] = (3.4445, -4.7750, 2.0315),
        eps: NonNegative = 1e-7,
        ns_steps: Annotated[int, Range(ge=1, le=99)] = 5,
        adjust_lr_fn: Literal["original", "match_rms_adamw"] | None = None,
    ) -> None:
        super().__init__(params, hyperparameters(locals()))

    def check_params(self, tensors: list[Tensor]) -> None:
        for tensor in tensors:
            if tensor.ndim != 2:
                raise ValueError(
                    f"Muon optimizes matrices, but a parameter has shape {format_shape(tensor.shape)}. "
                    "Pass the parameters with p.ndim == 2, and optimize the others with AdamW."
                )

    def initial_state(self, param: Tensor, group: Group) -> State:
        return {"momentum_buffer": zeros_like(param)}

    def update(self, param: Tensor, gradient: Tensor, state: State, group: Group) -> None:
        mean = state["momentum_buffer"].lerp_(gradient, 1 - group["momentum"])
        direction = gradient.lerp(mean, group["momentum"]) if group["nesterov"] else mean
        step = newton_schulz(direction, group["ns_coefficients"], group["ns_steps"], group["eps"])
        param.mul_(1 - group["lr"] * group["weight_decay"])
        param.add_(step, alpha=-group["lr"] * _lr_factor(group["adjust_lr_fn"], *param.shape))


def newton_schulz(matrix: Tensor, coefficients: tuple[float, float, float], steps: int, eps: float) -> Tensor:
    """Approximate U Vᵀ of a matrix U diag(S) Vᵀ by Newton-Schulz iterations in bfloat16."""
    a, b, c = coefficients
    tall = matrix.shape[0] > matrix.shape[1]
    x = matrix.bfloat16()
    x = x.T if tall else x
    x = x / x.norm().clamp(min=eps)
    for _ in range(steps):
        gram = x @ x.T
        x = addmm(x, addmm(gram, gram, gram, beta=b, alpha=c), x, beta=a)
    return x.T if tall else x


def _lr_factor(method: str | None, rows: int, columns: int) -> float:
    if method == "match_rms_adamw":
        return 0.2 * math.sqrt(max(rows, columns))
    return math.sqrt(max(1, rows / columns))

"""Muon."""

from __future__ import annotations

import math
from typing import Literal

from engine.functions import addmm
from engine.optim.optimizer import Group, LearningRate, Parameters, State, UpdateRule
from engine.registry import NonNegative, Size
from engine.shape import format_shape
from engine.tensors import Tensor
from engine.tensors.creation import zeros_like

_MOST_STEPS = 99


class Muon(UpdateRule):
    """Momentum whose steps are made orthogonal: each direction of a matrix gets a step of about the same size.

    For the matrices of hidden layers alone; biases, embeddings and the like take another optimizer, such as AdamW, so
    it is not among those for a whole canvas. Source: Jordan et al., "Muon: An optimizer for hidden layers in neural
    networks", 2024.

    Args:
        lr: learning rate
        weight_decay: strength of the pull towards 0, apart from the steps
        momentum: how much of the running mean of gradients stays with each step
        nesterov: step with the mean after next
        ns_coefficients: of the polynomial a x + b x³ + c x⁵, which is applied to singular values again and again
        eps: least norm that a gradient is divided by
        ns_steps: how often the polynomial is applied
        adjust_lr_fn: how the rate follows a matrix's sides: "original", or "match_rms_adamw" for AdamW's rates
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
        ns_steps: Size = 5,
        adjust_lr_fn: Literal["original", "match_rms_adamw"] | None = None,
    ) -> None:
        if len(ns_coefficients) != 3:
            raise ValueError(f"Muon: ns_coefficients must be three numbers, not {ns_coefficients}")
        if ns_steps > _MOST_STEPS:
            raise ValueError(f"Muon: ns_steps must be {_MOST_STEPS} or less, not {ns_steps}")
        defaults = {"lr": lr, "weight_decay": weight_decay, "momentum": momentum, "nesterov": nesterov}
        defaults |= {"ns_coefficients": ns_coefficients, "eps": eps, "ns_steps": ns_steps, "adjust_lr_fn": adjust_lr_fn}
        super().__init__(params, defaults)

    def check_params(self, tensors: list[Tensor]) -> None:
        for tensor in tensors:
            if tensor.ndim != 2:
                raise ValueError(
                    f"Muon is for matrices, but a parameter is {format_shape(tensor.shape)}. "
                    "Give those of p.ndim == 2, and the others to AdamW."
                )

    def initial_state(self, param: Tensor, group: Group) -> State:
        return {"momentum_buffer": zeros_like(param)}

    def update(self, param: Tensor, gradient: Tensor, state: State, group: Group) -> None:
        mean = state["momentum_buffer"].lerp_(gradient, 1 - group["momentum"])
        wanted = gradient.lerp(mean, group["momentum"]) if group["nesterov"] else mean
        step = newton_schulz(wanted, group["ns_coefficients"], group["ns_steps"], group["eps"])
        param.mul_(1 - group["lr"] * group["weight_decay"])
        param.add_(step, alpha=-group["lr"] * _adjustment(group["adjust_lr_fn"], *param.shape))


def newton_schulz(matrix: Tensor, coefficients: tuple[float, float, float], steps: int, eps: float) -> Tensor:
    """U Vᵀ of a matrix U diag(S) Vᵀ, roughly: Newton's and Schulz's iteration in half precision."""
    a, b, c = coefficients
    tall = matrix.shape[0] > matrix.shape[1]
    x = matrix.bfloat16()
    x = x.T if tall else x
    x = x / x.norm().clamp(min=eps)
    for _ in range(steps):
        gram = x @ x.T
        x = addmm(x, addmm(gram, gram, gram, beta=b, alpha=c), x, beta=a)
    return x.T if tall else x


def _adjustment(way: str | None, rows: int, columns: int) -> float:
    if way == "match_rms_adamw":
        return 0.2 * math.sqrt(max(rows, columns))
    return math.sqrt(max(1, rows / columns))

"""Fusion of batch norm into the previous layer, for evaluation."""

from __future__ import annotations

import copy
from typing import Any

from engine.modes import no_grad
from engine.nn.parameter import Parameter
from engine.tensors import Tensor
from engine.tensors.creation import ones_like, zeros_like


@no_grad()
def fuse_conv_bn_eval(conv: Any, bn: Any, transpose: bool = False) -> Any:
    """Convolution that is equivalent to `conv` followed by `bn` in evaluation."""
    _check(conv, bn)
    fused = copy.deepcopy(conv)
    fused.weight, fused.bias = fuse_conv_bn_weights(
        fused.weight, fused.bias, bn.running_mean, bn.running_var, bn.eps, bn.weight, bn.bias, transpose
    )
    return fused


@no_grad()
def fuse_conv_bn_weights(
    conv_w: Tensor,
    conv_b: Tensor | None,
    bn_rm: Tensor,
    bn_rv: Tensor,
    bn_eps: float,
    bn_w: Tensor | None,
    bn_b: Tensor | None,
    transpose: bool = False,
) -> tuple[Parameter, Parameter]:
    """Weight and bias of the fused convolution."""
    scale = (ones_like(bn_rm) if bn_w is None else bn_w) * (bn_rv + bn_eps).rsqrt()
    shape = (1, -1, *(1,) * (conv_w.ndim - 2)) if transpose else (-1, *(1,) * (conv_w.ndim - 1))
    bias = ((zeros_like(bn_rm) if conv_b is None else conv_b) - bn_rm) * scale
    weight = (conv_w * scale.reshape(shape)).to(conv_w.dtype)
    bias = (bias if bn_b is None else bias + bn_b).to(conv_w.dtype)
    trained = conv_w.requires_grad, conv_w.requires_grad if conv_b is None else conv_b.requires_grad
    return Parameter(weight, trained[0]), Parameter(bias, trained[1])


@no_grad()
def fuse_linear_bn_eval(linear: Any, bn: Any) -> Any:
    """Linear layer that is equivalent to `linear` followed by `bn` in evaluation."""
    _check(linear, bn)
    if bn.num_features not in (linear.out_features, 1):
        raise ValueError(f"linear has out_features={linear.out_features}, but bn has num_features={bn.num_features}")
    fused = copy.deepcopy(linear)
    fused.weight, fused.bias = fuse_linear_bn_weights(
        fused.weight, fused.bias, bn.running_mean, bn.running_var, bn.eps, bn.weight, bn.bias
    )
    return fused


def fuse_linear_bn_weights(
    linear_w: Tensor,
    linear_b: Tensor | None,
    bn_rm: Tensor,
    bn_rv: Tensor,
    bn_eps: float,
    bn_w: Tensor | None,
    bn_b: Tensor | None,
) -> tuple[Parameter, Parameter]:
    """Weight and bias of the fused linear layer."""
    return fuse_conv_bn_weights(linear_w, linear_b, bn_rm, bn_rv, bn_eps, bn_w, bn_b)


def _check(layer: Any, bn: Any) -> None:
    if layer.training or bn.training:
        raise ValueError("layers can only be fused for evaluation. Call eval() on both first.")
    if bn.running_mean is None or bn.running_var is None:
        raise ValueError("a batch norm can only be fused if track_running_stats is true")

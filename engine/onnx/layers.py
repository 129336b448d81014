"""Translators of layers that one ONNX op computes, although the engine composes them of several ops."""

from __future__ import annotations

from typing import Any

import numpy as np

from engine.dtypes import finfo, float32
from engine.nn.layers.avg_pool import AvgPool1d, AvgPool2d, AvgPool3d
from engine.nn.layers.batch_norm import BatchNorm1d, BatchNorm2d, BatchNorm3d
from engine.nn.layers.group_norm import GroupNorm
from engine.nn.layers.hard_activations import Hardsigmoid, Hardswish
from engine.nn.layers.instance_norm import InstanceNorm1d, InstanceNorm2d, InstanceNorm3d
from engine.nn.layers.rectifiers import PReLU
from engine.nn.layers.rms_norm import RMSNorm
from engine.nn.layers.shuffle import PixelShuffle
from engine.nn.layers.smooth_activations import Mish, Softsign
from engine.nn.layers.sync_batch_norm import SyncBatchNorm
from engine.nn.layers.upsample import Upsample, UpsamplingBilinear2d, UpsamplingNearest2d
from engine.onnx.graph_builder import GraphBuilder, Value
from engine.onnx.ops.normalization import vector
from engine.onnx.translators import translates_layer
from engine.ops.spatial.sliding_windows import per_dim


def _single(module: Any, args: Any, kwargs: Any) -> tuple[Any, ...] | None:
    """The input of a layer that is called with one floating-point tensor."""
    return args if len(args) == 1 and not kwargs and args[0].is_floating_point() else None


def _with_weight(module: Any, args: Any, kwargs: Any) -> tuple[Any, ...] | None:
    """The input and the weight of a layer."""
    return (*args, module.weight) if _single(module, args, kwargs) else None


def _with_scale_and_shift(module: Any, args: Any, kwargs: Any) -> tuple[Any, ...] | None:
    """The input, weight and bias of a normalization of N×C×…."""
    return (*args, module.weight, module.bias) if _single(module, args, kwargs) and args[0].ndim > 2 else None


# -- normalization


def _with_running_statistics(module: Any, args: Any, kwargs: Any) -> tuple[Any, ...] | None:
    if not _single(module, args, kwargs) or module.training or module.running_mean is None:
        return None
    return *args, module.weight, module.bias, module.running_mean, module.running_var


@translates_layer(BatchNorm1d, BatchNorm2d, BatchNorm3d, SyncBatchNorm, accepts=_with_running_statistics)
def _(g: GraphBuilder, module: Any, x: Value, weight: Any, bias: Any, mean: Value, var: Value) -> Value:
    scale, shift = _scale_and_shift(g, x, weight, bias)
    return g.op("BatchNormalization", x, scale, shift, mean, var, epsilon=float(module.eps))


def _scale_and_shift(g: GraphBuilder, x: Value, weight: Any, bias: Any) -> tuple[Value, Value]:
    channels: Any = g.spec(x).shape[1]
    weight = vector(g, channels, x, 1.0) if weight is None else weight
    return weight, vector(g, channels, x, 0.0) if bias is None else bias


@translates_layer(GroupNorm, since=21, accepts=_with_scale_and_shift)
def _(g: GraphBuilder, module: Any, x: Value, weight: Any, bias: Any) -> Value:
    scale, shift = _scale_and_shift(g, x, weight, bias)
    return g.op("GroupNormalization", x, scale, shift, num_groups=module.num_groups, epsilon=float(module.eps))


def _of_each_sample(module: Any, args: Any, kwargs: Any) -> tuple[Any, ...] | None:
    found = _with_scale_and_shift(module, args, kwargs)
    if found is None or args[0].ndim != module.spatial + 2 or module.track_running_stats:
        return None
    return found


@translates_layer(InstanceNorm1d, InstanceNorm2d, InstanceNorm3d, accepts=_of_each_sample)
def _(g: GraphBuilder, module: Any, x: Value, weight: Any, bias: Any) -> Value:
    scale, shift = _scale_and_shift(g, x, weight, bias)
    return g.op("InstanceNormalization", x, scale, shift, epsilon=float(module.eps))


@translates_layer(RMSNorm, since=23, accepts=_with_weight)
def _(g: GraphBuilder, module: Any, x: Value, weight: Any) -> Value:
    spec = g.spec(x)
    eps = float(finfo(spec.dtype).eps) if module.eps is None else float(module.eps)
    scale = g.full(module.normalized_shape, 1, spec.dtype) if weight is None else weight
    return g.op("RMSNormalization", x, scale, axis=-len(module.normalized_shape), epsilon=eps)


# -- activations


@translates_layer(PReLU, accepts=_with_weight)
def _(g: GraphBuilder, module: Any, x: Value, weight: Value) -> Value:
    ndim = g.spec(x).ndim
    if g.spec(weight).shape != (1,) and ndim > 2:
        weight = g.reshape(weight, (-1, *(1,) * (ndim - 2)))
    return g.op("PRelu", x, weight)


@translates_layer(Hardsigmoid, accepts=_single)
def _(g: GraphBuilder, module: Any, x: Value) -> Value:
    return g.op("HardSigmoid", x, alpha=1 / 6, beta=0.5)


@translates_layer(Hardswish, accepts=_single)
def _(g: GraphBuilder, module: Any, x: Value) -> Value:
    return g.op("HardSwish", x)


@translates_layer(Mish, accepts=_single)
def _(g: GraphBuilder, module: Any, x: Value) -> Value:
    return g.op("Mish", x)


@translates_layer(Softsign, accepts=_single)
def _(g: GraphBuilder, module: Any, x: Value) -> Value:
    return g.op("Softsign", x)


# -- pooling and resizing


def _plain_average(module: Any, args: Any, kwargs: Any) -> tuple[Any, ...] | None:
    spatial = {AvgPool1d: 1, AvgPool2d: 2, AvgPool3d: 3}[type(module)]
    special = module.ceil_mode or getattr(module, "divisor_override", None) is not None
    return None if special or not _single(module, args, kwargs) or args[0].ndim != spatial + 2 else args


@translates_layer(AvgPool1d, AvgPool2d, AvgPool3d, accepts=_plain_average)
def _(g: GraphBuilder, module: Any, x: Value) -> Value:
    spatial = g.spec(x).ndim - 2
    padding = per_dim(module.padding, spatial)
    return g.op(
        "AveragePool", x,
        kernel_shape=list(per_dim(module.kernel_size, spatial)), strides=list(per_dim(module.stride, spatial)),
        pads=[*padding, *padding], count_include_pad=int(module.count_include_pad),
    )  # fmt: skip


_RESIZE_MODES = {"nearest": "nearest", "linear": "linear", "bilinear": "linear", "trilinear": "linear",
                 "bicubic": "cubic"}  # fmt: skip


def _images(module: Any, args: Any, kwargs: Any) -> tuple[Any, ...] | None:
    """Images that grow: where they shrink, runtimes round differently."""
    if not _single(module, args, kwargs) or module.scale_factor is None or module.recompute_scale_factor:
        return None
    factors = per_dim(module.scale_factor, args[0].ndim - 2)
    return args if all(factor >= 1 and factor == int(factor) for factor in factors) else None


@translates_layer(Upsample, UpsamplingNearest2d, UpsamplingBilinear2d, accepts=_images)
def _(g: GraphBuilder, module: Any, x: Value) -> Value:
    factors = per_dim(module.scale_factor, g.spec(x).ndim - 2)
    scales = g.constant(np.asarray([1, 1, *factors], float32.numpy))
    mode = _RESIZE_MODES[module.mode]
    corners = "align_corners" if module.align_corners else "asymmetric" if mode == "nearest" else "half_pixel"
    return g.op(
        "Resize", x, None, scales, mode=mode, coordinate_transformation_mode=corners,
        nearest_mode="floor" if mode == "nearest" else None, cubic_coeff_a=-0.75 if mode == "cubic" else None,
    )  # fmt: skip


def _batch_of_images(module: Any, args: Any, kwargs: Any) -> tuple[Any, ...] | None:
    return args if _single(module, args, kwargs) and args[0].ndim == 4 else None


@translates_layer(PixelShuffle, accepts=_batch_of_images)
def _(g: GraphBuilder, module: Any, x: Value) -> Value:
    return g.op("DepthToSpace", x, blocksize=module.upscale_factor, mode="CRD")

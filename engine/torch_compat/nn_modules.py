"""torch.nn.modules: every layer and loss, and the modules that PyTorch's code divides them into."""

from __future__ import annotations

from types import ModuleType
from typing import Any

from engine import nn
from engine.nn.layers import (
    adaptive_pool,
    avg_pool,
    batch_norm,
    conv_base,
    conv_transpose,
    dropout,
    instance_norm,
    max_pool,
)
from engine.nn.losses import loss
from engine.torch_compat.paths import LAYER_MODULES

_LAYERS = {name: getattr(nn, name) for name in nn.__all__ if isinstance(getattr(nn, name), type)}

_BASES: dict[str, dict[str, Any]] = {
    "batchnorm": {"_BatchNorm": batch_norm.BatchNorm, "_NormBase": batch_norm.ChannelNorm},
    "conv": {"_ConvNd": conv_base.ConvBase, "_ConvTransposeNd": conv_transpose.ConvTranspose},
    "dropout": {"_DropoutNd": dropout.DropoutLayer},
    "instancenorm": {"_InstanceNorm": instance_norm.InstanceNorm, "_NormBase": batch_norm.ChannelNorm},
    "loss": {"_Loss": loss.Loss, "_WeightedLoss": loss.WeightedLoss},
    "pooling": {
        "_AdaptiveAvgPoolNd": adaptive_pool.AdaptiveAvgPool,
        "_AdaptiveMaxPoolNd": adaptive_pool.AdaptiveMaxPool,
        "_AvgPoolNd": avg_pool.AvgPool,
        "_MaxPoolNd": max_pool.MaxPool,
    },
}
"""PyTorch's names of base classes, by the module that has them."""


def _module(name: str) -> ModuleType:
    module = ModuleType(f"engine.nn.modules.{name}", "`engine.nn` under PyTorch's path.")
    vars(module).update(_LAYERS | _BASES.get(name, {}))
    return module


globals().update(_LAYERS)
globals().update({name: _module(name) for name in LAYER_MODULES})

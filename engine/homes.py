"""Modules under the paths that PyTorch's own code has for them, as in `from engine.nn.modules.conv import Conv2d`."""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import ModuleType
from typing import Any

from engine import data, distributions, nn, utils

MODULES = (
    "activation", "adaptive", "batchnorm", "channelshuffle", "container", "conv", "distance", "dropout", "flatten",
    "fold", "instancenorm", "lazy", "linear", "loss", "module", "normalization", "padding", "pixelshuffle", "pooling",
    "rnn", "sparse", "transformer", "upsampling",
)  # fmt: skip
"""Where PyTorch keeps its layers, all of which are in `engine.nn`."""


def _repeated(count: int) -> Callable[[Any], tuple[Any, ...]]:
    def repeat(value: Any) -> tuple[Any, ...]:
        """The value for each dimension, unless there is one for each already."""
        return tuple(value) if isinstance(value, (list, tuple)) else (value,) * count

    return repeat


sizes = ModuleType("engine.nn.modules.utils", "Sizes that may be given as one number for all dimensions.")
vars(sizes).update(
    _ntuple=_repeated, _single=_repeated(1), _pair=_repeated(2), _triple=_repeated(3), _quadruple=_repeated(4)
)

modules = ModuleType("engine.nn.modules", "`engine.nn` under the path that PyTorch's code has for it.")
vars(modules).update({name: getattr(nn, name) for name in nn.__all__}, **dict.fromkeys(MODULES, nn), utils=sizes)

PATHS: dict[str, ModuleType] = {
    "distributions.kl": distributions,
    "nn.modules": modules,
    **{f"nn.modules.{name}": nn for name in MODULES},
    "nn.modules.utils": sizes,
    "utils.data.dataloader": data,
    "utils.data.dataset": data,
    "utils.data.distributed": data,
    "utils.data.sampler": data,
}

sys.modules.update({f"engine.{path}": module for path, module in PATHS.items()})
nn.modules = modules  # pyright: ignore[reportAttributeAccessIssue]
utils.data.__dict__.update(dataloader=data, dataset=data, distributed=data, sampler=data)
distributions.__dict__.update(kl=distributions)

__all__ = ["PATHS"]

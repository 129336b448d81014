"""Modules under the paths that PyTorch's own code has for them, as in `from engine.nn.modules.conv import Conv2d`."""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import ModuleType
from typing import Any

from engine import (
    amp,
    autograd,
    compiler,
    cuda,
    data,
    distributed,
    func,
    functions,
    hub,
    nn,
    profiler,
    shortcuts,
)
from engine.distributions import distribution_parameters
from engine.graph import handle
from engine.left_out import install
from engine.multiprocessing import processes
from engine.nn import parallel
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
from engine.nn.utils import weight_norm_hooks
from engine.profiler import autograd as autograd_profiler
from engine.signal import windows

MODULES: dict[str, dict[str, Any]] = {
    "activation": {},
    "adaptive": {},
    "batchnorm": {"_BatchNorm": batch_norm.BatchNorm, "_NormBase": batch_norm.ChannelNorm},
    "channelshuffle": {},
    "container": {},
    "conv": {"_ConvNd": conv_base.ConvBase, "_ConvTransposeNd": conv_transpose.ConvTranspose},
    "distance": {},
    "dropout": {"_DropoutNd": dropout.DropoutLayer},
    "flatten": {},
    "fold": {},
    "instancenorm": {"_InstanceNorm": instance_norm.InstanceNorm, "_NormBase": batch_norm.ChannelNorm},
    "lazy": {},
    "linear": {},
    "linear_cross_entropy": {},
    "linear_cross_entropy_options": {},
    "loss": {"_Loss": loss.Loss, "_WeightedLoss": loss.WeightedLoss},
    "module": {},
    "normalization": {},
    "padding": {},
    "pixelshuffle": {},
    "pooling": {
        "_AdaptiveAvgPoolNd": adaptive_pool.AdaptiveAvgPool,
        "_AdaptiveMaxPoolNd": adaptive_pool.AdaptiveMaxPool,
        "_AvgPoolNd": avg_pool.AvgPool,
        "_MaxPoolNd": max_pool.MaxPool,
    },
    "rnn": {},
    "sparse": {},
    "transformer": {},
    "upsampling": {},
}
"""PyTorch's module path of each layer of `engine.nn`, and its names of base classes."""


def _repeated(count: int) -> Callable[[Any], tuple[Any, ...]]:
    def repeat(value: Any) -> tuple[Any, ...]:
        """The value for each dimension, unless there is one for each already."""
        return tuple(value) if isinstance(value, (list, tuple)) else (value,) * count

    return repeat


def _module(path: str, doc: str, members: dict[str, Any]) -> ModuleType:
    module = ModuleType(f"engine.{path}", doc)
    vars(module).update(members)
    return module


def _layers(path: str, members: dict[str, Any]) -> ModuleType:
    public = {name: getattr(nn, name) for name in nn.__all__}
    return _module(path, "`engine.nn` under the path that PyTorch's code has for it.", public | members)


sizes = _module(
    "nn.modules.utils",
    "Sizes that may be given as one number for all dimensions.",
    {
        "_ntuple": _repeated,
        "_single": _repeated(1),
        "_pair": _repeated(2),
        "_triple": _repeated(3),
        "_quadruple": _repeated(4),
    },
)
modules = {name: _layers(f"nn.modules.{name}", members) for name, members in MODULES.items()}
size_types = {f"_size_{count or 'any'}_t": int | tuple[int, ...] for count in range(7)}
ratio_types = {f"_ratio_{count or 'any'}_t": float | tuple[float, ...] for count in range(4)}
size_lists = {f"_size_{count}_opt_t": tuple[int | None, ...] for count in ("any", 2, 3)}

dynamo_settings = _module(
    "_dynamo.config",
    "Settings of PyTorch's compiler. They can be set and have no effect.",
    {"cache_size_limit": 8, "recompile_limit": 8, "suppress_errors": False, "verbose": False},
)

of_a_group = _module(
    "distributed.nn",
    "Differentiable functions of a process group. They raise ValueError, as those of `engine.distributed`.",
    {
        name: getattr(distributed, name)
        for name in (
            "ReduceOp", "all_gather", "all_reduce", "all_to_all", "all_to_all_single", "broadcast", "gather", "reduce",
            "reduce_scatter", "scatter",
        )
    },
)  # fmt: skip

PATHS: dict[str, ModuleType] = {
    "_dynamo": _module(
        "_dynamo",
        "PyTorch's compiler by its inner path: what `engine.compiler` has of it.",
        {"disable": compiler.disable, "is_compiling": compiler.is_compiling, "reset": compiler.reset},
    ),
    "_dynamo.config": dynamo_settings,
    "amp.autocast_mode": amp,
    "autograd.anomaly_mode": autograd,
    "autograd.grad_mode": autograd,
    "autograd.gradcheck": autograd,
    "autograd.profiler": autograd_profiler,
    "cuda.amp": amp.cuda,
    "cuda.amp.autocast_mode": amp.cuda,
    "cuda.amp.grad_scaler": amp.cuda,
    "cuda.memory": cuda,
    "cuda.random": cuda,
    "distributed.nn": of_a_group,
    "distributed.nn.functional": of_a_group,
    "distributions.utils": distribution_parameters,
    "functional": _module(
        "functional",
        "Functions of `engine` that PyTorch defines in Python.",
        {name: getattr(space, name) for space in (functions, shortcuts) for name in space.__all__},
    ),
    "multiprocessing.spawn": processes,
    "nn.common_types": _module(
        "nn.common_types", "Types of sizes, for annotations.", size_types | ratio_types | size_lists
    ),
    "nn.modules": _layers("nn.modules", modules | {"utils": sizes}),
    **{f"nn.modules.{name}": module for name, module in modules.items()},
    "nn.modules.utils": sizes,
    "nn.parallel.data_parallel": parallel,
    "nn.parallel.distributed": parallel,
    "nn.utils.spectral_norm": weight_norm_hooks,
    "nn.utils.stateless": func,
    "nn.utils.weight_norm": weight_norm_hooks,
    "profiler.profiler": profiler,
    "signal.windows.windows": windows,
    "utils.data._utils": data,
    "utils.data._utils.collate": data,
    "utils.data.dataloader": data,
    "utils.data.dataset": data,
    "utils.data.distributed": data,
    "utils.data.sampler": data,
    "utils.hooks": handle,
    "utils.model_zoo": _module(
        "utils.model_zoo", "`engine.hub` under its older path.", {"load_url": hub.load_state_dict_from_url}
    ),
}


def _installed(path: str, module: ModuleType) -> None:
    """Makes a module importable, and an attribute unless a function has its name, as `nn.utils.weight_norm` has."""
    parent, _, name = f"engine.{path}".rpartition(".")
    sys.modules[f"{parent}.{name}"] = module
    vars(sys.modules[parent]).setdefault(name, module)


for _path in sorted(PATHS):
    _installed(_path, PATHS[_path])
install()

__all__ = ["PATHS"]

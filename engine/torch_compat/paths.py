"""PyTorch's import paths, as in `from engine.nn.modules.conv import Conv2d`.

`PATHS` gives the module behind each path. A finder in `sys.meta_path` imports it when the path is imported or used as
an attribute, so `import engine` loads none of them.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Sequence
from importlib.machinery import ModuleSpec, PathFinder
from types import ModuleType
from typing import Any, Final

from engine.lazy import locked
from engine.torch_compat.left_out import PARENT_MODULES, explanation

LAYER_MODULES = (
    "activation", "adaptive", "batchnorm", "channelshuffle", "container", "conv", "distance", "dropout", "flatten",
    "fold", "instancenorm", "lazy", "linear", "linear_cross_entropy", "linear_cross_entropy_options", "loss", "module",
    "normalization", "padding", "pixelshuffle", "pooling", "rnn", "sparse", "transformer", "upsampling",
)  # fmt: skip
_SAME_NAME = (
    "_utils", "accelerator", "backends", "backends.cuda", "backends.cudnn", "backends.mkl", "backends.mkldnn",
    "backends.mps", "backends.openmp", "backends.opt_einsum", "cpu", "distributed", "functional", "hub", "jit",
    "multiprocessing", "overrides", "serialization", "special", "types",
)  # fmt: skip

PATHS: Final[dict[str, str]] = {
    **{name: f"engine.torch_compat.{name}" for name in _SAME_NAME},
    **{f"nn.modules.{name}": f"engine.torch_compat.nn_modules:{name}" for name in LAYER_MODULES},
    "_dynamo": "engine.torch_compat.dynamo",
    "_dynamo.config": "engine.torch_compat.dynamo.config",
    "amp.autocast_mode": "engine.amp",
    "autograd.anomaly_mode": "engine.autograd",
    "autograd.grad_mode": "engine.autograd",
    "autograd.gradcheck": "engine.autograd",
    "autograd.profiler": "engine.profiler.autograd",
    "cuda.amp": "engine.amp.cuda",
    "cuda.amp.autocast_mode": "engine.amp.cuda",
    "cuda.amp.grad_scaler": "engine.amp.cuda",
    "cuda.memory": "engine.cuda",
    "cuda.random": "engine.cuda",
    "distributed.nn": "engine.torch_compat.distributed_functions",
    "distributed.nn.functional": "engine.torch_compat.distributed_functions",
    "distributions.utils": "engine.distributions.distribution_parameters",
    "mps": "engine.torch_compat.other_devices:mps",
    "mtia": "engine.torch_compat.other_devices:mtia",
    "multiprocessing.spawn": "engine.torch_compat.multiprocessing.processes",
    "nn.common_types": "engine.torch_compat.common_types",
    "nn.modules": "engine.torch_compat.nn_modules",
    "nn.modules.utils": "engine.torch_compat.size_tuples",
    "nn.parallel.data_parallel": "engine.nn.parallel",
    "nn.parallel.distributed": "engine.nn.parallel",
    "nn.utils.spectral_norm": "engine.nn.utils.weight_norm_hooks",
    "nn.utils.stateless": "engine.func",
    "nn.utils.weight_norm": "engine.nn.utils.weight_norm_hooks",
    "profiler.profiler": "engine.profiler",
    "return_types": "engine.ops.return_types",
    "storage": "engine.tensors.storage",
    "signal.windows.windows": "engine.signal.windows",
    "utils.data._utils": "engine.data",
    "utils.data._utils.collate": "engine.data.collate",
    "utils.data.dataloader": "engine.data",
    "utils.data.dataset": "engine.data",
    "utils.data.distributed": "engine.data",
    "utils.data.sampler": "engine.data",
    "utils.hooks": "engine.graph.removable_handle",
    "utils.model_zoo": "engine.torch_compat.model_zoo",
    "xpu": "engine.torch_compat.other_devices:xpu",
}
"""PyTorch's path → the engine's module, or "module:attribute" where the attribute is a module."""

_CHILDREN: dict[str, list[str]] = {}
for _path in sorted(PATHS):
    _parent, _, _name = f"engine.{_path}".rpartition(".")
    _CHILDREN.setdefault(_parent, []).append(_name)


class TorchPathFinder:
    """Finds the modules of `PATHS`, and gives the packages that contain such paths a `__getattr__` for them."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        source = PATHS.get(fullname.removeprefix("engine.")) if fullname.startswith("engine.") else None
        if source is not None:
            alias: Any = _AliasLoader(source)  # importlib.abc.Loader by its methods: that module is slow to import
            return ModuleSpec(fullname, alias, is_package=fullname in _CHILDREN)
        if fullname not in _CHILDREN and fullname not in PARENT_MODULES:
            return None
        spec = PathFinder.find_spec(fullname, path, target)
        if spec is not None and spec.loader is not None:
            loader: Any = _ParentLoader(spec.loader)
            spec.loader = loader
        return spec


class _AliasLoader:
    """Returns an existing module for another path."""

    def __init__(self, source: str) -> None:
        self._source = source
        self._spec: ModuleSpec | None = None

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        path, _, attribute = self._source.partition(":")
        module = importlib.import_module(path)
        module = getattr(module, attribute) if attribute else module
        self._spec = module.__spec__
        return module

    def exec_module(self, module: ModuleType) -> None:
        path = module.__spec__.name if module.__spec__ is not None else module.__name__
        if self._spec is not None:
            module.__spec__ = self._spec  # importlib has replaced it by the spec of the alias
        _complete(path, module)


class _ParentLoader:
    """Loads a module with its ordinary loader, then adds PyTorch's paths below it."""

    def __init__(self, loader: Any) -> None:
        self._loader = loader

    def __getattr__(self, name: str) -> Any:
        return getattr(self._loader, name)

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        return self._loader.create_module(spec)

    def exec_module(self, module: ModuleType) -> None:
        self._loader.exec_module(module)
        _complete(module.__name__, module)


def _complete(path: str, module: ModuleType) -> None:
    """Make PyTorch's paths below a module importable, and attributes of it.

    A path with the name of a function of the module, such as `nn.utils.weight_norm`, is added to `sys.modules` at once,
    because a later import would replace the function by the module.
    """
    children = _CHILDREN.get(path, ())
    if children and not hasattr(module, "__path__"):
        module.__path__ = []
    vars(module).setdefault("__getattr__", make_getattr(path))
    for name in children:
        if callable(vars(module).get(name)):
            source, _, attribute = PATHS[f"{path}.{name}".removeprefix("engine.")].partition(":")
            found = importlib.import_module(source)
            sys.modules.setdefault(f"{path}.{name}", getattr(found, attribute) if attribute else found)


def make_getattr(path: str) -> Callable[[str], Any]:
    """Return the `__getattr__` of a module: it imports PyTorch's paths below it, and explains missing names."""

    @locked
    def get(name: str) -> Any:
        if f"{path}.{name}".removeprefix("engine.") in PATHS:
            return importlib.import_module(f"{path}.{name}")
        raise AttributeError(explanation(path, name))

    return get


def install() -> None:
    """Add the finder before all others, because the folder behind an alias may contain files of the same names."""
    if not any(isinstance(finder, TorchPathFinder) for finder in sys.meta_path):
        sys.meta_path.insert(0, TorchPathFinder())


__all__ = ["LAYER_MODULES", "PATHS", "TorchPathFinder", "make_getattr", "install"]

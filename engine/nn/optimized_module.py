"""Compiled modules."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from engine.compiler.compile_api import compiled_of, compiled_replacement
from engine.compiler.compiled_function import CompiledFunction
from engine.nn.module import Module


class OptimizedModule(Module):
    """Compiled module, the result of `engine.compile(module)`.

    Calls run compiled; attributes are read from and written to the original module, `_orig_mod`. As in PyTorch, the
    keys of `state_dict` start with "_orig_mod."; save `model._orig_mod.state_dict()` to load it without compiling.
    """

    def __init__(self, module: Module, function: Callable[..., Any]) -> None:
        super().__init__()
        self._modules["_orig_mod"] = module
        self.__dict__["_function"] = function

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        return self._function(*args, **kwargs)

    @property
    def training(self) -> bool:
        return self._orig_mod.training

    @training.setter
    def training(self, mode: bool) -> None:
        if "_orig_mod" in self._modules:  # not during construction
            self._orig_mod.training = mode

    def __getattr__(self, name: str) -> Any:
        modules = self.__dict__.get("_modules", {})
        if "_orig_mod" not in modules:
            raise AttributeError(name)
        return modules["_orig_mod"] if name == "_orig_mod" else getattr(modules["_orig_mod"], name)

    def __setattr__(self, name: str, value: Any) -> None:
        if name in self.__dict__ or name == "training" or "_orig_mod" not in self.__dict__.get("_modules", {}):
            super().__setattr__(name, value)
        elif name == "_orig_mod":
            raise AttributeError("_orig_mod of a compiled module cannot be replaced. Compile the other module.")
        else:
            setattr(self._orig_mod, name, value)

    def __delattr__(self, name: str) -> None:
        delattr(self._orig_mod, name)

    def __len__(self) -> int:
        return len(self._orig_mod)

    def __bool__(self) -> bool:
        return True

    def __getitem__(self, index: Any) -> Any:
        return self._orig_mod[index]

    def __iter__(self) -> Any:
        return iter(self._orig_mod)

    def __contains__(self, key: Any) -> bool:
        return key in self._orig_mod


@compiled_replacement.register
def _(model: Module, function: Callable[..., Any]) -> OptimizedModule:
    return OptimizedModule(model, function)


@compiled_of.register
def _(function: Module) -> CompiledFunction | None:
    return compiled_of(function._function if isinstance(function, OptimizedModule) else function.forward)


__all__ = ["OptimizedModule"]

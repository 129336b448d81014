"""Sequence of modules."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Self, overload

from engine.nn.module import Module


class Sequential(Module):
    """Applies modules in order: ``Sequential(a, b)(x) = b(a(x))``.

    Takes modules, or one mapping from names to modules. Supports list operations such as indexing and slicing.
    """

    @overload
    def __init__(self, modules: Mapping[str, Module], /) -> None: ...

    @overload
    def __init__(self, *modules: Module) -> None: ...

    def __init__(self, *modules: Any) -> None:
        super().__init__()
        if len(modules) == 1 and isinstance(modules[0], Mapping):
            for name, module in modules[0].items():
                self.register_module(name, module)
        else:
            self.extend(modules)

    def forward(self, input: Any) -> Any:
        for module in self._modules.values():
            input = module(input)
        return input

    def __len__(self) -> int:
        return len(self._modules)

    def __iter__(self) -> Iterator[Module]:
        return iter(self._modules.values())

    @overload
    def __getitem__(self, index: int) -> Module: ...

    @overload
    def __getitem__(self, index: slice) -> Self: ...

    def __getitem__(self, index: int | slice) -> Any:
        if isinstance(index, slice):
            return type(self)(dict(list(self._modules.items())[index]))
        return self._modules[self._name(index)]

    def __setitem__(self, index: int, module: Module) -> None:
        self.register_module(self._name(index), module)

    def __delitem__(self, index: int | slice) -> None:
        modules = list(self)
        del modules[index]
        self._refill(modules)

    def __add__(self, other: Sequential) -> Sequential:
        if not isinstance(other, Sequential):
            return NotImplemented
        return Sequential(*self, *other)

    def __iadd__(self, other: Sequential) -> Self:
        return self.extend(other)

    def __mul__(self, times: int) -> Sequential:
        """Repeat the same modules, with shared parameters."""
        if not isinstance(times, int):
            return NotImplemented
        if times < 1:
            raise ValueError(f"a Sequential can be repeated 1 or more times, not {times} times")
        return Sequential(*list(self) * times)

    __rmul__ = __mul__

    def __imul__(self, times: int) -> Self:
        return self.extend(list(self * times)[len(self) :])

    def append(self, module: Module) -> Self:
        self.register_module(str(len(self)), module)
        return self

    def extend(self, modules: Iterable[Module]) -> Self:
        for module in modules:
            self.append(module)
        return self

    def insert(self, index: int, module: Module) -> Self:
        modules = list(self)
        modules.insert(index, module)
        self._refill(modules)
        return self

    def pop(self, index: int = -1) -> Module:
        module = self[index]
        del self[index]
        return module

    def _name(self, index: int) -> str:
        names = list(self._modules)
        if not -len(names) <= index < len(names):
            raise IndexError(f"index {index} is out of range for {len(names)} modules")
        return names[index]

    def _refill(self, modules: list[Module]) -> None:
        """Renumber the modules, so that their names are 0, 1, …"""
        self._modules.clear()
        self.extend(modules)

"""List of modules."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, Self, overload

from engine.nn.module import Module


class ModuleList(Module):
    """List of modules, without a `forward`."""

    def __init__(self, modules: Iterable[Module] = ()) -> None:
        super().__init__()
        self.extend(modules)

    def __len__(self) -> int:
        return len(self._modules)

    def __iter__(self) -> Iterator[Module]:
        return iter(self._modules.values())

    @overload
    def __getitem__(self, index: int) -> Module: ...

    @overload
    def __getitem__(self, index: slice) -> Self: ...

    def __getitem__(self, index: int | slice) -> Any:
        modules = list(self)
        return type(self)(modules[index]) if isinstance(index, slice) else modules[index]

    def __setitem__(self, index: int, module: Module) -> None:
        self.register_module(str(range(len(self))[index]), module)

    def __delitem__(self, index: int | slice) -> None:
        modules = list(self)
        del modules[index]
        self._refill(modules)

    def __iadd__(self, modules: Iterable[Module]) -> Self:
        return self.extend(modules)

    def __add__(self, other: Iterable[Module]) -> ModuleList:
        return ModuleList([*self, *other])

    def append(self, module: Module) -> Self:
        self.register_module(str(len(self)), module)
        return self

    def extend(self, modules: Iterable[Module]) -> Self:
        for module in modules:
            self.append(module)
        return self

    def insert(self, index: int, module: Module) -> None:
        modules = list(self)
        modules.insert(index, module)
        self._refill(modules)

    def pop(self, index: int = -1) -> Module:
        module = self[index]
        del self[index]
        return module

    def _refill(self, modules: list[Module]) -> None:
        """Renumber the modules, so that their names are 0, 1, …"""
        self._modules.clear()
        self.extend(modules)

    def __repr__(self) -> str:
        """Show consecutive modules with the same repr once, with their count."""
        runs: list[tuple[int, int, str]] = []
        for index, module in enumerate(self):
            text = repr(module)
            if runs and runs[-1][2] == text:
                runs[-1] = (runs[-1][0], index, text)
            else:
                runs.append((index, index, text))
        lines = [
            f"({first}): {text}" if first == last else f"({first}-{last}): {last - first + 1} x {text}"
            for first, last, text in runs
        ]
        inner = "\n".join(lines).replace("\n", "\n  ")
        return f"{type(self).__name__}(\n  {inner}\n)" if lines else f"{type(self).__name__}()"

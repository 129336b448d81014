"""A list of parameters."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, Self, overload

from engine.nn.module import Module
from engine.nn.parameter import Parameter
from engine.tensor import Tensor


class ParameterList(Module):
    """Holds parameters like a list. Plain tensors become parameters."""

    def __init__(self, values: Iterable[Tensor] = ()) -> None:
        super().__init__()
        self.extend(values)

    def __len__(self) -> int:
        return len(self._parameters)

    def __iter__(self) -> Iterator[Parameter]:
        return iter(self._parameters.values())

    @overload
    def __getitem__(self, index: int) -> Parameter: ...

    @overload
    def __getitem__(self, index: slice) -> Self: ...

    def __getitem__(self, index: int | slice) -> Any:
        values = list(self)
        return type(self)(values[index]) if isinstance(index, slice) else values[index]

    def __setitem__(self, index: int, value: Tensor) -> None:
        self.register_parameter(str(range(len(self))[index]), _parameter(value))

    def append(self, value: Tensor) -> Self:
        self.register_parameter(str(len(self)), _parameter(value))
        return self

    def extend(self, values: Iterable[Tensor]) -> Self:
        for value in values:
            self.append(value)
        return self

    def extra_repr(self) -> str:
        return "\n".join(
            f"  ({place}): Parameter containing: [{value.dtype} of size {'x'.join(map(str, value.shape))}]"
            for place, value in enumerate(self)
        )


def _parameter(value: Tensor) -> Parameter:
    return value if isinstance(value, Parameter) else Parameter(value)

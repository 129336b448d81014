"""List and dictionary of parameters."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Self, overload

from engine.nn.module import Module
from engine.nn.parameter import Parameter
from engine.tensors import Tensor


class _ParameterContainer(Module):
    """Base of containers of parameters and other values."""

    def _names(self) -> list[str]:
        raise NotImplementedError

    def extra_repr(self) -> str:
        return "\n".join(f"  ({name}): {_describe(getattr(self, name))}" for name in self._names())

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        raise RuntimeError(f"a {type(self).__name__} cannot be called")


class ParameterList(_ParameterContainer):
    """List of parameters. Tensors are converted to parameters; other values are kept unchanged."""

    def __init__(self, values: Iterable[Any] | None = None) -> None:
        super().__init__()
        self._size = 0
        self.extend(() if values is None else values)

    def _names(self) -> list[str]:
        return [str(index) for index in range(self._size)]

    def __len__(self) -> int:
        return self._size

    def __iter__(self) -> Iterator[Any]:
        return iter([getattr(self, name) for name in self._names()])

    @overload
    def __getitem__(self, index: int) -> Any: ...

    @overload
    def __getitem__(self, index: slice) -> Self: ...

    def __getitem__(self, index: int | slice) -> Any:
        values = list(self)
        return type(self)(values[index]) if isinstance(index, slice) else values[index]

    def __setitem__(self, index: int, value: Any) -> None:
        setattr(self, str(range(len(self))[index]), _as_parameter(value))

    def __iadd__(self, values: Iterable[Any]) -> Self:
        return self.extend(values)

    def append(self, value: Any) -> Self:
        self._size += 1
        self[self._size - 1] = value
        return self

    def extend(self, values: Iterable[Any]) -> Self:
        if isinstance(values, Tensor):
            raise TypeError("ParameterList.extend takes an iterable of tensors, not one tensor. Use append().")
        for value in values:
            self.append(value)
        return self


Sequence.register(ParameterList)  # pyright: ignore[reportAttributeAccessIssue]  # so that grad() accepts one


class ParameterDict(_ParameterContainer):
    """Dictionary of parameters, in insertion order. Tensors are converted to parameters."""

    def __init__(self, parameters: Mapping[str, Any] | Iterable[tuple[str, Any]] | None = None) -> None:
        super().__init__()
        self._keys: dict[str, None] = {}
        self.update({} if parameters is None else parameters)

    def _names(self) -> list[str]:
        return list(self._keys)

    def __getitem__(self, key: str) -> Any:
        if key not in self._keys:
            raise KeyError(key)
        return getattr(self, key)

    def __setitem__(self, key: str, value: Any) -> None:
        if key not in self._keys and hasattr(self, key):
            raise KeyError(f"attribute {key!r} already exists in {type(self).__name__}")
        setattr(self, key, _as_parameter(value))
        self._keys[key] = None

    def __delitem__(self, key: str) -> None:
        del self._keys[key]
        delattr(self, key)

    def __len__(self) -> int:
        return len(self._keys)

    def __iter__(self) -> Iterator[str]:
        return iter(self._keys)

    def __reversed__(self) -> Iterator[str]:
        return reversed(self._keys)

    def __contains__(self, key: object) -> bool:
        return key in self._keys

    def __or__(self, other: ParameterDict) -> ParameterDict:
        return ParameterDict({**dict(self.items()), **dict(other.items())})

    def __ior__(self, other: ParameterDict) -> Self:
        self.update(other)
        return self

    def copy(self) -> ParameterDict:
        """Shallow copy."""
        return ParameterDict(dict(self.items()))

    def get(self, key: str, default: Any = None) -> Any:
        return self[key] if key in self._keys else default

    def setdefault(self, key: str, default: Any = None) -> Any:
        if key not in self:
            self[key] = default
        return self[key]

    def fromkeys(self, keys: Iterable[str], default: Any = None) -> ParameterDict:
        return ParameterDict(dict.fromkeys(keys, default))

    def keys(self) -> Any:
        return self._keys.keys()

    def values(self) -> list[Any]:
        return [self[key] for key in self._keys]

    def items(self) -> list[tuple[str, Any]]:
        return [(key, self[key]) for key in self._keys]

    def update(self, parameters: Mapping[str, Any] | ParameterDict | Iterable[tuple[str, Any]]) -> None:
        pairs: Any = parameters.items() if isinstance(parameters, (Mapping, ParameterDict)) else parameters
        for key, value in pairs:
            self[key] = value

    def pop(self, key: str) -> Any:
        value = self[key]
        del self[key]
        return value

    def popitem(self) -> tuple[str, Any]:
        key = next(reversed(self._keys))
        return key, self.pop(key)

    def clear(self) -> None:
        for key in list(self._keys):
            del self[key]


def _as_parameter(value: Any) -> Any:
    return Parameter(value) if isinstance(value, Tensor) and not isinstance(value, Parameter) else value


def _describe(value: Any) -> str:
    if not isinstance(value, Tensor):
        return f"Object of type: {type(value).__name__}"
    kind = "Parameter" if isinstance(value, Parameter) else "Tensor"
    return f"{kind} containing: [{value.dtype} of size {'x'.join(map(str, value.shape))}]"

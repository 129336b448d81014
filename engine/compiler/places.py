"""Where the tensors that a function uses are kept: in its arguments, and in objects that it can reach."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from engine.deferred import Deferred
from engine.tensor import Tensor

Path = tuple[Any, ...]
"""Keys from a call's (args, kwargs) to something in them."""


@dataclass(frozen=True, slots=True)
class Place:
    """Where a tensor is found on each call."""

    what: str
    """For people."""
    path: Path | None
    """In the arguments."""
    kept: Tensor | None
    """Elsewhere: the very tensor, whose being there is guarded."""

    def tensor(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Tensor:
        if self.kept is not None:
            return self.kept
        found: Any = (args, kwargs)
        for key in self.path or ():
            found = found[key]
        return found


@dataclass(frozen=True, slots=True)
class Guard:
    """Something that must be as it was when the function was recorded."""

    what: str
    table: Mapping[Any, Any]
    key: Any
    value: Any

    def holds(self) -> bool:
        return self.table.get(self.key) is self.value


@dataclass(slots=True)
class Known:
    """All places that were found."""

    places: dict[int, Place] = field(default_factory=dict)
    """By the id of the tensor."""
    guards: list[Guard] = field(default_factory=list)
    leaves: list[Tensor] = field(default_factory=list)
    """Parameters, whose gradients are a place as well."""

    def of(self, tensor: Any) -> Place | None:
        found = self.places.get(id(tensor))
        if found is None:  # an alias, such as parameter.data
            same = (p for p in self.places.values() if p.kept is not None and _array(p.kept) is _array(tensor))
            found = next(same, None)
        return found


def _array(tensor: Tensor) -> Any:
    array = tensor._array
    return array.value if type(array) is Deferred else array


def places(function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Known:
    """The places of the tensors that a call of `function` can reach without making them."""
    known = Known()
    for path, value in _leaves((args, kwargs), ()):
        if isinstance(value, Tensor):
            known.places[id(value)] = Place(f"argument {_named(path)}", path, None)
            known.leaves.append(value)
    seen: set[int] = set()
    for name, value, table in _reachable(function, args, kwargs):
        if isinstance(value, Tensor):
            _keep(known, name, table, name, value)
        else:
            _search(name, value, known, seen)
    return known


class _Cell(dict[str, Any]):
    """A variable of an enclosing function, as a table."""

    def __init__(self, cell: Any) -> None:
        super().__init__()
        self._cell = cell

    def get(self, key: str, default: Any = None) -> Any:
        try:
            return self._cell.cell_contents
        except ValueError:  # it was deleted
            return default


def _named(path: Path) -> str:
    (_, *keys) = path
    return ".".join(map(str, keys))


def _leaves(value: Any, path: Path) -> Iterator[tuple[Path, Any]]:
    if isinstance(value, (tuple, list)):
        for index, item in enumerate(value):
            yield from _leaves(item, (*path, index))
    elif isinstance(value, dict):
        for key, item in value.items():
            yield from _leaves(item, (*path, key))
    else:
        yield path, value


def _reachable(function: Any, args: Any, kwargs: Any) -> Iterator[tuple[str, Any, Mapping[str, Any]]]:
    """What a function's code can name, and where it stands: arguments, its object, what it closes over, globals."""
    for path, value in _leaves((args, kwargs), ()):
        if not isinstance(value, Tensor):
            yield _named(path), value, {}
    while isinstance(function, functools.partial):
        for path, value in _leaves((function.args, function.keywords), ()):
            yield _named(path), value, {_named(path): value}
        function = function.func
    if hasattr(function, "__self__"):
        yield "self", function.__self__, {}
    function = getattr(function, "__func__", function)
    code = getattr(function, "__code__", None)
    if code is None:
        yield "self", function, {}
        return
    for name, cell in zip(code.co_freevars, function.__closure__ or (), strict=True):
        yield name, cell.cell_contents, _Cell(cell)
    for name in code.co_names:
        if name in function.__globals__:
            yield name, function.__globals__[name], function.__globals__


def _search(name: str, value: Any, known: Known, seen: set[int]) -> None:
    """Adds the tensors in an object that says where they are, through `tensor_places`, and in its attributes."""
    if id(value) in seen:
        return
    seen.add(id(value))
    listed = getattr(type(value), "tensor_places", None)
    if listed is not None:
        for what, table, key, kept in listed(value):
            _keep(known, f"{name}.{what}" if name else what, table, key, kept)
        return
    inside = getattr(value, "__dict__", None)
    if isinstance(value, (tuple, list)):
        for index, item in enumerate(value):
            _search(f"{name}[{index}]", item, known, seen)
    elif isinstance(inside, dict) and not isinstance(value, type) and not callable(value):
        for key, item in inside.items():
            if isinstance(item, Tensor):
                _keep(known, f"{name}.{key}", inside, key, item)
            elif hasattr(type(item), "tensor_places"):
                known.guards.append(Guard(f"{name}.{key}", inside, key, item))
                _search(f"{name}.{key}", item, known, seen)


def _keep(known: Known, what: str, table: Mapping[Any, Any], key: Any, kept: Any) -> None:
    known.guards.append(Guard(what, table, key, kept))
    if isinstance(kept, Tensor):
        known.places[id(kept)] = Place(what, None, kept)
        known.leaves.append(kept)


__all__ = ["Guard", "Known", "Place", "places"]

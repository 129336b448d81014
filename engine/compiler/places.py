"""Where the tensors that a function uses are kept: in its arguments, and in objects that it can reach."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from types import CodeType, FunctionType, ModuleType
from typing import Any

from engine.compiler.instruction import exact_key
from engine.deferred import Deferred
from engine.tensor import Tensor

PLAIN = frozenset((bool, int, float, str, type(None)))
"""Types whose equal values mean the same."""

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
        return at(self.path or (), args, kwargs)


def at(path: Path, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """What is at a path in a call's arguments."""
    found: Any = (args, kwargs)
    for key in path:
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
        found = self.table.get(self.key)
        return found is self.value or (type(found) in PLAIN and exact_key(found) == exact_key(self.value))


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
    known, names = Known(), _Names()
    for path, value in _leaves((args, kwargs), ()):
        if isinstance(value, Tensor):
            known.places[id(value)] = Place(f"argument {named(path)}", path, None)
            known.leaves.append(value)
    seen: set[int] = set()
    for name, value, table in list(_reachable(function, args, kwargs, names)):  # all names, before they are looked for
        if isinstance(value, Tensor):
            _keep(known, name, table, name, value)
        else:
            if name in table:
                known.guards.append(Guard(name, table, name, value))
            _search(name, value, known, seen, names)
    return known


class _Names(set[str]):
    """What code may ask objects and dicts for."""

    def __init__(self) -> None:
        super().__init__()
        self._seen: set[CodeType] = set()

    def read(self, code: CodeType) -> bool:
        """Adds those of a function and of the functions in it. False if that was done before."""
        if code in self._seen:
            return False
        self._seen.add(code)
        self.update(code.co_names, (one for one in code.co_consts if isinstance(one, str)))
        for one in code.co_consts:
            if isinstance(one, CodeType):
                self.read(one)
        return True

    def read_methods(self, kind: type) -> None:
        """Adds those of the methods that may be called of an object of that type."""
        for name in list(self):
            method = getattr(kind, name, None)
            if isinstance(method, FunctionType) and self.read(method.__code__):
                self.read_methods(kind)


class _Cell(dict[str, Any]):
    """A variable of an enclosing function, as a table."""

    def __init__(self, cell: Any) -> None:
        super().__init__()
        self._cell = cell

    def __contains__(self, key: object) -> bool:
        return True

    def get(self, key: str, default: Any = None) -> Any:
        try:
            return self._cell.cell_contents
        except ValueError:  # it was deleted
            return default


def named(path: Path) -> str:
    """A path for people."""
    (_, *keys) = path
    return ".".join(map(str, keys))


def objects(args: tuple[Any, ...], kwargs: dict[str, Any]) -> list[tuple[Path, Any]]:
    """What is in a call's arguments that is neither a tensor nor plain, each with its path."""
    found = _leaves((args, kwargs), ())
    return [(path, value) for path, value in found if not isinstance(value, Tensor) and type(value) not in PLAIN]


def _leaves(value: Any, path: Path) -> Iterator[tuple[Path, Any]]:
    if isinstance(value, (tuple, list)):
        for index, item in enumerate(value):
            yield from _leaves(item, (*path, index))
    elif isinstance(value, dict):
        for key, item in value.items():
            yield from _leaves(item, (*path, key))
    else:
        yield path, value


def _reachable(function: Any, args: Any, kwargs: Any, names: _Names) -> Iterator[tuple[str, Any, Mapping[str, Any]]]:
    """What a function's code can name, and where it stands: arguments, its object, what it closes over, globals."""
    for path, value in _leaves((args, kwargs), ()):
        if not isinstance(value, Tensor):
            yield named(path), value, {}
    while isinstance(function, functools.partial):
        for path, value in _leaves((function.args, function.keywords), ()):
            yield named(path), value, {named(path): value}
        function = function.func
    if hasattr(function, "__self__"):
        yield "self", function.__self__, {}
    function = getattr(function, "__func__", function)
    code = getattr(function, "__code__", None)
    if code is None:
        yield "self", function, {}
        return
    yield from _named_by(function, names)


def _named_by(function: FunctionType, names: _Names) -> Iterator[tuple[str, Any, Mapping[str, Any]]]:
    """What the code of a function can name, and that of functions that it can name, but for the engine's."""
    code = function.__code__
    if not names.read(code):
        return
    found: list[tuple[str, Any, Mapping[str, Any]]] = [
        (name, cell.cell_contents, _Cell(cell))
        for name, cell in zip(code.co_freevars, function.__closure__ or (), strict=True)
    ]
    table = function.__globals__
    found += [(name, table[name], table) for name in _globals_of(code) if name in table]
    for name, value, where in found:
        yield name, value, where
        if isinstance(value, FunctionType) and value.__module__.partition(".")[0] != "engine":
            yield from _named_by(value, names)


def _globals_of(code: CodeType) -> set[str]:
    inside = [_globals_of(one) for one in code.co_consts if isinstance(one, CodeType)]
    return set(code.co_names).union(*inside)


def _search(name: str, value: Any, known: Known, seen: set[int], names: _Names) -> None:
    """Adds the tensors in an object that says where they are, through `tensor_places`, and in its attributes.

    Numbers and texts among the attributes are guarded where the function's code can name them.
    """
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
            _search(f"{name}[{index}]", item, known, seen, names)
    elif type(value) is dict:
        _guard_plain(name, value, known, names)
    elif isinstance(inside, dict) and not isinstance(value, (type, ModuleType)) and not callable(value):
        names.read_methods(type(value))
        _guard_plain(name, inside, known, names)
        for key, item in inside.items():
            if isinstance(item, Tensor):
                _keep(known, f"{name}.{key}", inside, key, item)
            elif hasattr(type(item), "tensor_places") or (key in names and hasattr(item, "__dict__")):
                known.guards.append(Guard(f"{name}.{key}", inside, key, item))
                _search(f"{name}.{key}", item, known, seen, names)


def _guard_plain(name: str, table: Mapping[Any, Any], known: Known, names: _Names) -> None:
    known.guards += [
        Guard(f"{name}.{key}", table, key, item) for key, item in table.items() if type(item) in PLAIN and key in names
    ]


def _keep(known: Known, what: str, table: Mapping[Any, Any], key: Any, kept: Any) -> None:
    known.guards.append(Guard(what, table, key, kept))
    if isinstance(kept, Tensor):
        known.places[id(kept)] = Place(what, None, kept)
        known.leaves.append(kept)


__all__ = ["PLAIN", "Guard", "Known", "Place", "at", "named", "objects", "places"]

"""Guards of replayed calls: all objects that are reachable from the arguments, and their state.

An object takes part if its class belongs to the engine or to the declared classes, and it describes its state by
`replay_state`. Any other object prevents replays, and Python runs on every call.
"""

from __future__ import annotations

from collections import OrderedDict, defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from operator import is_
from types import FunctionType, MappingProxyType
from typing import Any, TypeAlias

from engine.backend import Device
from engine.compiler.instruction import exact_key
from engine.dtypes import DType
from engine.random import Generator
from engine.tensors import Tensor
from engine.tensors.deferred import Deferred

PLAIN_TYPES = frozenset((bool, int, float, str, type(None)))
"""Types whose equal values are interchangeable."""

CONSTANT_TYPES = PLAIN_TYPES | {DType, Device, Generator}
"""Types of constants; the state of a generator changes, but is an argument of traces."""

DICT_TYPES = frozenset((dict, defaultdict, OrderedDict))

AccessPath: TypeAlias = tuple[Any, ...]
"""Keys that lead from a call's (args, kwargs) to an object in them."""

StatePart: TypeAlias = tuple[str, Any, Collection[Any]]
"""An item of `replay_state`: a name, a dict or list, and the keys whose values may change."""


class ReplayUnsupported(Exception):  # noqa: N818 - not an error: the function's Python runs on every call instead
    """The reason why a function cannot run without its Python code."""


@dataclass(frozen=True, slots=True)
class TensorSource:
    """Where a tensor is found on each call."""

    label: str
    """Name for messages."""
    path: AccessPath | None
    """Access path in the arguments."""
    fixed_tensor: Tensor | None
    """For other tensors the tensor itself, whose presence is guarded."""

    def tensor(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Tensor:
        if self.fixed_tensor is not None:
            return self.fixed_tensor
        return resolve_path(self.path or (), args, kwargs)


def resolve_path(path: AccessPath, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """The object at an access path of a call's arguments."""
    found: Any = (args, kwargs)
    for key in path:
        found = found[key]
    return found


def path_text(path: AccessPath) -> str:
    """The text of an access path."""
    (_, *keys) = path
    return ".".join(map(str, keys))


class ContainerGuard:
    """Guards the entries of a dict, list or set, except for the keys in `ignored`."""

    __slots__ = ("ignored", "keys", "label", "table", "values")

    def __init__(self, label: str, table: Any, ignored: Collection[Any] = ()) -> None:
        self.label, self.table, self.ignored = label, table, ignored
        self.keys, self.values = self.current()

    def difference(self) -> str | None:
        """The name of a changed entry; None if nothing changed."""
        keys, values = self.current()
        if not _is_same(keys, self.keys):
            return f"the contents of {self.label}"
        for key, found, value in zip(keys, values, self.values, strict=True):
            if not _is_same(found, value):
                return self.name(key)
        return None

    def current(self) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
        """Current keys and values."""
        table = self.table
        if isinstance(table, set):
            return tuple(sorted(table, key=repr)), (None,) * len(table)
        if isinstance(table, list):
            return tuple(range(len(table))), tuple(table)
        pairs = [(key, value) for key, value in table.items() if key not in self.ignored]
        return tuple([key for key, _ in pairs]), tuple([value for _, value in pairs])

    def name(self, key: Any) -> str:
        """The name of an entry, for messages."""
        if not isinstance(key, str):
            return self.label if isinstance(key, Tensor) else f"{self.label}[{key}]"
        return f"{self.label}.{key}".lstrip(".")


class ObjectGuards:
    """Checks all guards of a replay together, before each call."""

    def __init__(self, entries: Sequence[ContainerGuard], classes: Sequence[tuple[Any, type]]) -> None:
        self._entries, self._classes = entries, classes
        self._tables = [one.table for one in entries]
        self._objects, self._kinds = [value for value, _ in classes], [kind for _, kind in classes]
        self._take_snapshot()

    def difference(self) -> str | None:
        """The name of what changed; None if nothing changed."""
        if self._is_identical():
            return None
        for one in self._entries:
            if (found := one.difference()) is not None:
                return found
        for value, kind in self._classes:
            if type(value) is not kind:
                return f"the class of a {kind.__name__}"
        self._take_snapshot()  # equal, but other objects
        return None

    def _is_identical(self) -> bool:
        if list(map(len, self._tables)) != self._lengths:
            return False
        values = self._values()
        for index in self._changing:
            values[index] = self._expected[index]
        return (
            all(map(is_, values, self._expected))
            and all(map(is_, chain.from_iterable(self._keyed), self._keys))
            and all(map(is_, map(type, self._objects), self._kinds))
            and self._sets == self._members
        )

    def _values(self) -> list[Any]:
        """The current values of all entries, those of classes last."""
        classes = [one.values() for one in self._proxies]
        return list(chain(*self._lists, chain.from_iterable(map(dict.values, self._dicts)), *classes))

    def _take_snapshot(self) -> None:
        """Stores the current state. The state of an empty container is its length."""
        self._lengths = list(map(len, self._tables))
        filled = [one for one in self._entries if one.table]
        self._lists: list[list[Any]] = [one.table for one in filled if isinstance(one.table, list)]
        self._sets = [one.table for one in filled if isinstance(one.table, set)]
        self._dicts = [one.table for one in filled if isinstance(one.table, dict)]
        self._proxies = [one.table for one in filled if isinstance(one.table, MappingProxyType)]
        changes = [key in one.ignored for one in filled if isinstance(one.table, dict) for key in one.table]
        self._keyed = [*self._dicts, *self._proxies]
        self._keys = list(chain.from_iterable(self._keyed))
        first = sum(map(len, self._lists))
        self._changing = [index for index, is_changing in enumerate(changes, first) if is_changing]
        self._expected, self._members = self._values(), [set(one) for one in self._sets]


class GuardedObjects:
    """Guards and tensor sources, found by walking from the arguments of a call.

    Args:
        replay_classes: further classes with methods that depend only on their object and their arguments

    Raises ReplayUnsupported for an object whose state is unknown.
    """

    def __init__(self, args: tuple[Any, ...], kwargs: dict[str, Any], replay_classes: Collection[type]) -> None:
        self._replay_classes = replay_classes
        self.sources: dict[int, TensorSource] = {}
        """Sources by the id of the tensor."""
        self.leaves: list[Tensor] = []
        """Tensors that may have a gradient."""
        self._entries: list[ContainerGuard] = []
        self._classes: list[tuple[Any, type]] = []
        """Each object with its class."""
        self._visited: dict[int, Any] = {}
        for path, value in _leaves((args, kwargs), ()):
            if isinstance(value, Tensor):
                self.sources[id(value)] = TensorSource(f"argument {path_text(path)}", path, None)
                self.leaves.append(value)
            else:
                self._visit(path_text(path), value)
        self._visited.clear()
        self.unchanged = ObjectGuards(self._entries, self._classes)

    def source_of(self, tensor: Any) -> TensorSource | None:
        found = self.sources.get(id(tensor))
        if found is None:  # an alias, such as parameter.data
            same = (
                p
                for p in self.sources.values()
                if p.fixed_tensor is not None and _array(p.fixed_tensor) is _array(tensor)
            )
            found = next(same, None)
        return found

    def _visit(self, label: str, value: Any) -> None:
        kind = type(value)
        if kind in CONSTANT_TYPES:
            return
        if id(value) in self._visited:
            return
        self._visited[id(value)] = value
        if isinstance(value, Tensor):
            self.sources[id(value)] = TensorSource(label, None, value)
            self.leaves.append(value)
        elif kind is tuple:
            for number, item in enumerate(value):
                self._visit(f"{label}[{number}]", item)
        elif kind is list or kind in DICT_TYPES:
            self._guard(label, value)
        elif kind is set:
            self._guard_set(label, value)
        elif kind is not FunctionType or not _is_of_engine(value):
            self._visit_object(label, value)

    def _visit_object(self, label: str, value: Any) -> None:
        kind = type(value)
        state: Callable[[Any], Iterable[StatePart]] | None = getattr(kind, "replay_state", None)
        if state is None or not (_is_of_engine(kind) or kind in self._replay_classes):
            raise ReplayUnsupported(f"{label} is a {kind.__qualname__}, whose state is unknown")
        self._classes.append((value, kind))
        for base in kind.__mro__:
            if base in self._replay_classes:
                self._guard_class(base)
        parts = list(state(value))
        self._visited |= {id(table): table for _, table, _ in parts}
        for name, table, ignored in parts:
            self._guard(f"{label}.{name}".strip("."), table, ignored)

    def _guard(self, label: str, table: Any, ignored: Collection[Any] = ()) -> None:
        entries = ContainerGuard(label, table, ignored)
        self._entries.append(entries)
        for key, item in zip(entries.keys, entries.values, strict=True):
            self._visit(entries.name(key), item)

    def _guard_set(self, label: str, value: set[Any]) -> None:
        if not all(type(item) in PLAIN_TYPES for item in value):
            raise ReplayUnsupported(f"{label} is a set of objects")
        self._entries.append(ContainerGuard(label, value))

    def _guard_class(self, kind: type) -> None:
        if id(kind) in self._visited:
            return
        self._visited[id(kind)] = kind
        entries = ContainerGuard(kind.__name__, vars(kind))
        self._entries.append(entries)
        for key, item in zip(entries.keys, entries.values, strict=True):
            if not key.startswith("_") and not isinstance(item, _CODE):
                self._visit(entries.name(key), item)


_CODE = (FunctionType, property, staticmethod, classmethod)


def object_arguments(args: tuple[Any, ...], kwargs: dict[str, Any]) -> list[tuple[AccessPath, Any]]:
    """Objects in a call's arguments that are neither tensors nor plain values, with their access paths."""
    found = _leaves((args, kwargs), ())
    return [(path, value) for path, value in found if not isinstance(value, Tensor) and type(value) not in PLAIN_TYPES]


def tensor_arguments(args: tuple[Any, ...], kwargs: dict[str, Any]) -> list[Tensor]:
    """The tensors in a call's arguments."""
    return [value for _, value in _leaves((args, kwargs), ()) if isinstance(value, Tensor)]


def _leaves(value: Any, path: AccessPath) -> Iterator[tuple[AccessPath, Any]]:
    if type(value) is tuple or type(value) is list:
        for index, item in enumerate(value):
            yield from _leaves(item, (*path, index))
    elif type(value) is dict:
        for key, item in value.items():
            yield from _leaves(item, (*path, key))
    else:
        yield path, value


def _is_same(found: Any, value: Any) -> bool:
    if found is value:
        return True
    if type(found) is tuple and type(value) is tuple:
        return len(found) == len(value) and all(map(_is_same, found, value))
    return type(found) in PLAIN_TYPES and type(value) in PLAIN_TYPES and exact_key(found) == exact_key(value)


def _is_of_engine(value: Any) -> bool:
    return str(value.__module__).partition(".")[0] == "engine"


def _array(tensor: Tensor) -> Any:
    array = tensor._array
    return array.value if type(array) is Deferred else array


__all__ = [
    "PLAIN_TYPES",
    "AccessPath",
    "GuardedObjects",
    "ReplayUnsupported",
    "StatePart",
    "TensorSource",
    "object_arguments",
    "path_text",
    "resolve_path",
    "tensor_arguments",
]

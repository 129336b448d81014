"""An interpreter of pickles that only builds data. It imports nothing, executes nothing and does not recurse.

`pickletools` splits the pickle into opcodes. Each opcode checks the types of what it takes from the stack; that a
SETITEM of PyTorch's own restricted reader did not was CVE-2026-24747. Work and memory are bounded by a budget.
"""

from __future__ import annotations

import pickletools
import struct
from collections import Counter, OrderedDict
from collections.abc import Callable, Mapping
from typing import Any, BinaryIO

from engine.io.pytorch.allowed_globals import find_global, hashable_key
from engine.io.pytorch.records import (
    Arguments,
    Constructor,
    PickleError,
    Record,
    RefusedError,
    StorageRecord,
    TensorFactory,
)

MAX_BYTES = 64 << 20
"""Largest pickle. Tensors are not in it."""
_BUDGET = 4_000_000
"""Opcodes, and items that constructors copy."""
_CONTAINER_COST = 4
_TUPLE_KEY_COST = 100
"""Cost of a key whose hash is known to attackers, so that many equal hashes take no long time."""
_MAX_STACK = 1 << 20
_MAX_LINE = 1 << 16

_DICTS = (dict, OrderedDict, Counter)
_DAMAGE = (ValueError, struct.error, OverflowError, IndexError, KeyError, EOFError)
"""Exceptions of pickletools for damaged pickles."""

StorageReader = Callable[[tuple[Any, ...]], StorageRecord]


def read_pickle(file: BinaryIO, factory: TensorFactory, storage: StorageReader) -> Any:
    """Read one pickle at the position of a file, which then is behind it.

    Args:
        factory: makes the tensors of the result
        storage: makes a storage of the persistent id that stands for it

    Raises:
        PickleError: the pickle is damaged.
        RefusedError: it contains something else than data.
    """
    return _Interpreter(factory, storage).run(_BoundedFile(file, MAX_BYTES))


class _BoundedFile:
    """A part of a file. Reading more than is there returns less, whatever size a pickle declares."""

    def __init__(self, file: BinaryIO, size: int) -> None:
        self._file = file
        self._start = file.tell()
        self._left = size

    def read(self, count: int) -> bytes:
        content = self._file.read(min(count, self._left))
        self._left -= len(content)
        return content

    def readline(self) -> bytes:
        content = self._file.readline(min(_MAX_LINE, self._left))
        self._left -= len(content)
        return content

    def tell(self) -> int:
        return self._file.tell() - self._start


class _Interpreter:
    """The state of a pickle machine: a stack, the positions of marks in it, and a memo."""

    def __init__(self, factory: TensorFactory, storage: StorageReader) -> None:
        self._factory, self._storage = factory, storage
        self._stack: list[Any] = []
        self._marks: list[int] = []
        self._memo: dict[int, Any] = {}
        self._left = _BUDGET

    def run(self, file: _BoundedFile) -> Any:
        name, position = "PROTO", 0
        try:
            for opcode, argument, start in pickletools.genops(file):  # pyright: ignore[reportArgumentType]
                name, position = opcode.name, start
                self._spend(1)
                if name == "STOP":
                    break
                if name in _PUSHES:
                    self._push(argument)
                elif (action := _ACTIONS.get(name)) is not None:
                    action(self, argument)
                else:
                    raise PickleError(f"the opcode {name} does not occur in checkpoints")
            result = self._pop()
            if self._stack or self._marks or not self._is_value(result):
                raise PickleError("the pickle does not end with one value")
            return result
        except PickleError as error:
            raise PickleError(f"{error} (opcode {name} at byte {position} of the pickle)") from None
        except RefusedError:
            raise
        except _DAMAGE as error:
            problem = f"the pickle is incomplete or damaged after byte {position}"
            raise PickleError(f"{problem} ({str(error)[:120]})") from None

    # -- stack

    def _spend(self, cost: int) -> None:
        self._left -= cost
        if self._left < 0:
            raise PickleError(f"the pickle takes more than {_BUDGET:,} steps")

    def _push(self, value: Any) -> None:
        if len(self._stack) >= _MAX_STACK:
            raise PickleError(f"the stack has more than {_MAX_STACK:,} values")
        self._stack.append(value)

    def _pop(self) -> Any:
        if len(self._stack) <= (self._marks[-1] if self._marks else 0):
            raise PickleError("the stack has too few values")
        return self._stack.pop()

    def _top(self) -> Any:
        value = self._pop()
        self._stack.append(value)
        return value

    def _pop_mark(self) -> list[Any]:
        if not self._marks:
            raise PickleError("a mark is missing")
        start = self._marks.pop()
        items = self._stack[start:]
        del self._stack[start:]
        self._spend(len(items))
        return items

    def _is_value(self, value: Any) -> bool:
        return not isinstance(value, Record)

    # -- opcodes

    def mark(self, _: Any) -> None:
        self._marks.append(len(self._stack))
        if len(self._marks) > _MAX_STACK:
            raise PickleError("there are too many marks")

    def pop(self, _: Any) -> None:
        if self._marks and self._marks[-1] == len(self._stack):
            self._marks.pop()
        else:
            self._pop()

    def pop_mark(self, _: Any) -> None:
        self._pop_mark()

    def duplicate(self, _: Any) -> None:
        self._push(self._top())

    def get(self, index: int) -> None:
        if index not in self._memo:
            raise PickleError(f"the memo has no entry {index}")
        self._push(self._memo[index])

    def put(self, index: int) -> None:
        self._memo[index] = self._top()

    def memoize(self, _: Any) -> None:
        self._memo[len(self._memo)] = self._top()

    def text(self, value: str) -> None:
        """A string of Python 2, which pickletools decodes as Latin-1."""
        try:
            value = value.encode("latin-1").decode()
        except UnicodeError:
            pass  # keep it as Latin-1
        self._push(value)

    def container(self, value: Any) -> None:
        self._spend(_CONTAINER_COST)
        self._push(value)

    def tuple_of(self, items: list[Any]) -> None:
        self._spend(_CONTAINER_COST)
        self._push(tuple(items) if all(map(self._is_value, items)) else Arguments(items))

    def tuple_of_last(self, count: int) -> None:
        self.tuple_of([self._pop() for _ in range(count)][::-1])

    def extend(self, items: list[Any]) -> None:
        target = self._top()
        if type(target) is not list:
            raise PickleError(f"a value is appended to a {type(target).__name__}, not to a list")
        if not all(map(self._is_value, items)):
            raise PickleError("a list contains a part of a tensor")
        target.extend(items)

    def list_of(self, items: list[Any]) -> None:
        self.container([])
        self.extend(items)

    def dictionary_of(self, items: list[Any]) -> None:
        self.container({})
        self.set_items(items)

    def add(self, items: list[Any]) -> None:
        target = self._top()
        if type(target) is not set:
            raise PickleError(f"a value is added to a {type(target).__name__}, not to a set")
        for item in items:
            self._check_key(item)
            target.add(item)

    def frozen(self, items: list[Any]) -> None:
        for item in items:
            self._check_key(item)
        self.container(frozenset(items))

    def set_items(self, items: list[Any]) -> None:
        target = self._top()
        if type(target) not in _DICTS:
            raise PickleError(f"an item is set in a {type(target).__name__}, not in a dictionary")
        if len(items) % 2:
            raise PickleError("a key has no value")
        for key, value in zip(items[::2], items[1::2], strict=True):
            self._check_key(key)
            if not self._is_value(value):
                raise PickleError("a dictionary contains a part of a tensor")
            target[key] = value

    def _check_key(self, key: Any) -> None:
        if not hashable_key(key):
            raise PickleError(f"a {type(key).__name__} is a key")
        if type(key) is tuple:
            self._spend(_TUPLE_KEY_COST)

    def find(self, argument: str) -> None:
        module, _, name = argument.partition(" ")
        self._push(find_global(module, name))

    def find_on_stack(self, _: Any) -> None:
        name, module = self._pop(), self._pop()
        if type(module) is not str or type(name) is not str:
            raise PickleError("the name of a global is not text")
        self._push(find_global(module, name))

    def reduce(self, _: Any) -> None:
        arguments, constructor = self._pop(), self._pop()
        if not isinstance(constructor, Constructor):
            raise PickleError(f"a {type(constructor).__name__} is called")
        if not isinstance(arguments, tuple):
            raise PickleError(f"{constructor.name} is called with a {type(arguments).__name__}")
        copied = sum(len(each) for each in arguments if isinstance(each, (list, dict, tuple, set, frozenset)))
        self._spend(_CONTAINER_COST + copied)
        self._push(constructor.build(arguments, self._factory))

    def build(self, _: Any) -> None:
        """State of an object: only `_metadata` of a state dict, the versions of its modules."""
        state, target = self._pop(), self._top()
        if type(target) is not OrderedDict or type(state) is not dict or set(state) - {"_metadata"}:
            raise PickleError(f"the state of a {type(target).__name__} is set")
        for value in state.values():
            if type(value) not in _DICTS:
                raise PickleError("the metadata of a state dict are not a dictionary")
            target._metadata = value  # type: ignore[attr-defined]  # as PyTorch does

    def persistent(self, _: Any) -> None:
        identity = self._pop()
        if not isinstance(identity, tuple):
            raise PickleError("a persistent id is not a tuple")
        self._push(self._storage(identity))


_PUSHES = frozenset(
    [
        *("INT", "BININT", "BININT1", "BININT2", "LONG", "LONG1", "LONG4"),
        *("FLOAT", "BINFLOAT", "UNICODE", "BINUNICODE", "SHORT_BINUNICODE", "BINUNICODE8"),
        *("BINBYTES", "SHORT_BINBYTES", "BINBYTES8", "BYTEARRAY8"),
    ]
)
"""Opcodes that push their argument."""


def _constant(value: Any) -> Callable[[_Interpreter, Any], None]:
    return lambda machine, _: machine._push(value)


_ACTIONS: Mapping[str, Callable[[_Interpreter, Any], None]] = {
    "PROTO": lambda machine, _: None,
    "FRAME": lambda machine, _: None,
    "NONE": _constant(None),
    "NEWTRUE": _constant(True),
    "NEWFALSE": _constant(False),
    "MARK": _Interpreter.mark,
    "POP": _Interpreter.pop,
    "POP_MARK": _Interpreter.pop_mark,
    "DUP": _Interpreter.duplicate,
    **dict.fromkeys(("GET", "BINGET", "LONG_BINGET"), _Interpreter.get),
    **dict.fromkeys(("PUT", "BINPUT", "LONG_BINPUT"), _Interpreter.put),
    "MEMOIZE": _Interpreter.memoize,
    **dict.fromkeys(("STRING", "BINSTRING", "SHORT_BINSTRING"), _Interpreter.text),
    "EMPTY_LIST": lambda machine, _: machine.container([]),
    "EMPTY_TUPLE": lambda machine, _: machine._push(()),
    "EMPTY_DICT": lambda machine, _: machine.container({}),
    "EMPTY_SET": lambda machine, _: machine.container(set()),
    "TUPLE": lambda machine, _: machine.tuple_of(machine._pop_mark()),
    "TUPLE1": lambda machine, _: machine.tuple_of_last(1),
    "TUPLE2": lambda machine, _: machine.tuple_of_last(2),
    "TUPLE3": lambda machine, _: machine.tuple_of_last(3),
    "LIST": lambda machine, _: machine.list_of(machine._pop_mark()),
    "DICT": lambda machine, _: machine.dictionary_of(machine._pop_mark()),
    "APPEND": lambda machine, _: machine.extend([machine._pop()]),
    "APPENDS": lambda machine, _: machine.extend(machine._pop_mark()),
    "ADDITEMS": lambda machine, _: machine.add(machine._pop_mark()),
    "FROZENSET": lambda machine, _: machine.frozen(machine._pop_mark()),
    "SETITEM": lambda machine, _: machine.set_items([machine._pop(), machine._pop()][::-1]),
    "SETITEMS": lambda machine, _: machine.set_items(machine._pop_mark()),
    "GLOBAL": _Interpreter.find,
    "STACK_GLOBAL": _Interpreter.find_on_stack,
    "REDUCE": _Interpreter.reduce,
    "NEWOBJ": _Interpreter.reduce,
    "BUILD": _Interpreter.build,
    "BINPERSID": _Interpreter.persistent,
}

__all__ = ["MAX_BYTES", "read_pickle"]

"""Read `__init__` of a module class: its arguments, and the layers that it makes."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from studio.document import node_names as naming
from studio.lowering.source_import.reading.callables import ImportedNames, layer_type
from studio.lowering.source_import.reading.initial_weights import (
    Initialization,
    combined,
    read_initialization,
    sets_weights,
)
from studio.lowering.source_import.reading.literal_values import literal_value
from studio.lowering.source_import.reading.module_source import REQUIRED, Argument, Each, ModuleSource, Value
from studio.lowering.source_import.reading.source_errors import SourceError, refuse, shown
from studio.nodes.catalogue import Catalogue
from studio.nodes.initialization import NAMES as INITIALIZATION
from studio.nodes.python_node import DEFAULT_SOURCE, PYTHON, SOURCE
from studio.nodes.python_source import read_code
from studio.nodes.types import NodeType

_COPIES = "nn.ModuleList"
_SEQUENCE = "nn.Sequential"
_INITIALIZE = (
    "Set all weights of a layer with one function of nn.init, such as "
    'nn.init.kaiming_normal_(self.fc.weight, nonlinearity="relu"), and all biases with one number, or remove it.'
)


@dataclass(frozen=True, slots=True)
class Layer:
    """A layer or an instance of a block that `__init__` makes."""

    name: str
    target: str
    arguments: Mapping[str, Value]
    line: int
    is_instance: bool = False
    copies: Value = None
    frozen: bool = False
    tied_to: str = ""
    """The layer whose weight it uses."""


@dataclass(slots=True)
class Constructor:
    arguments: dict[str, Value] = field(default_factory=dict[str, Value])
    layers: dict[str, Layer] = field(default_factory=dict[str, Layer])
    sequences: dict[str, tuple[str, ...]] = field(default_factory=dict[str, tuple[str, ...]])
    """Names of the layers of each `nn.Sequential`."""
    stored: dict[str, Value] = field(default_factory=dict[str, Value])
    """Attributes with the value of an argument or a constant."""
    frozen_paths: dict[str, int] = field(default_factory=dict[str, int])
    initial_paths: dict[str, int] = field(default_factory=dict[str, int])
    """Lines of statements that set initial weights inside instances, by their text."""


def read_constructor(
    method: ast.FunctionDef | None,
    definition: ast.ClassDef,
    names: ImportedNames,
    classes: Mapping[str, ModuleSource],
    catalogue: Catalogue,
) -> Constructor:
    """Read `__init__`. Raises SourceError."""
    reader = _Reader(names, classes, catalogue)
    if method is None:
        return reader.made
    reader.arguments(method)
    for statement in method.body:
        reader.statement(statement)
    reader.initialize()
    return reader.made


class _Reader:
    def __init__(self, names: ImportedNames, classes: Mapping[str, ModuleSource], catalogue: Catalogue) -> None:
        self._names, self._classes, self._catalogue = names, classes, catalogue
        self.made = Constructor()
        self._scope: dict[str, Value] = {}
        self._initial: dict[str, list[Initialization]] = {}
        """Statements that set initial weights, by layer."""

    def arguments(self, method: ast.FunctionDef) -> None:
        arguments = method.args
        if arguments.vararg or arguments.kwarg or arguments.posonlyargs:
            refuse(method, "__init__ takes plain arguments only. Remove * and **.")
        listed = arguments.args[1:]
        defaults: list[ast.expr | None] = [None] * (len(listed) - len(arguments.defaults))
        defaults += arguments.defaults[-len(listed) :] if listed else []
        pairs = [*zip(listed, defaults, strict=True), *zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True)]
        for argument, default in pairs:
            self.made.arguments[argument.arg] = REQUIRED if default is None else literal_value(default, {})
            self._scope[argument.arg] = Argument(argument.arg)

    def statement(self, statement: ast.stmt) -> None:
        match statement:
            case ast.Expr(value=ast.Constant(value=str())):
                pass
            case ast.Expr(value=ast.Call(func=function)) if _is_base_init(function):
                pass
            case ast.Expr(
                value=ast.Call(
                    func=ast.Attribute(value=path, attr="requires_grad_"), args=[ast.Constant(value=False)], keywords=[]
                )
            ):
                self._freeze(statement, _layer_path(path))
            case ast.Assign(targets=[ast.Attribute(value=ast.Name(id="self"), attr=name)], value=value):
                self._attribute(statement, name, value)
            case ast.AnnAssign(target=ast.Attribute(value=ast.Name(id="self"), attr=name), value=ast.expr() as value):
                self._attribute(statement, name, value)
            case ast.Assign(
                targets=[ast.Attribute(value=ast.Attribute(value=ast.Name(id="self"), attr=name), attr="weight")],
                value=ast.Attribute(value=ast.Attribute(value=ast.Name(id="self"), attr=owner), attr="weight"),
            ) if name in self.made.layers and owner in self.made.layers:
                self.made.layers[name] = replace(self.made.layers[name], tied_to=owner)
            case ast.Assign(targets=[ast.Name(id=name)], value=value):
                self._scope[name] = literal_value(value, self._scope)
            case _ if (initial := read_initialization(statement, self._names, self._scope)) is not None:
                self._initialization(statement, initial)
            case _ if sets_weights(statement, self._names):
                refuse(statement, f"{shown(statement)} sets initial weights in a way that no node has. {_INITIALIZE}")
            case _:
                refuse(
                    statement,
                    f"{shown(statement)} has no node. __init__ may contain lines such as "
                    "self.fc = nn.Linear(in_features=64, out_features=10).",
                )

    def _initialization(self, statement: ast.stmt, initial: Initialization) -> None:
        name, *inner = initial.path
        if name not in self.made.layers:
            refuse(statement, f"{shown(statement)} sets the weights of no layer that __init__ made before.")
        if len(inner) > 1:
            self.made.initial_paths[ast.unparse(statement)] = statement.lineno
        else:
            self._initial.setdefault(name, []).append(initial)

    def initialize(self) -> None:
        """Give layers the parameters that the statements about their initial weights stand for."""
        for name, listed in self._initial.items():
            layer = self.made.layers[name]
            found = combined(layer.target, layer.arguments, listed)
            if isinstance(found, Initialization):
                raise SourceError(
                    f"The initial weights of {name} are set in a way that no node has. {_INITIALIZE}", found.line
                )
            self.made.layers[name] = replace(layer, arguments={**layer.arguments, **found})

    def _freeze(self, statement: ast.stmt, path: str | None) -> None:
        if path is None or path.partition(".")[0] not in self.made.layers:
            refuse(statement, f"{shown(statement)} freezes no layer that __init__ made before.")
        if path in self.made.layers:
            self.made.layers[path] = replace(self.made.layers[path], frozen=True)
        else:
            self.made.frozen_paths[path] = statement.lineno

    def _attribute(self, statement: ast.stmt, name: str, value: ast.expr) -> None:
        if (problem := naming.problem(name)) is not None:
            refuse(statement, f"The name {name!r} {problem}.")
        if name in self.made.layers or name in self.made.stored or name in self.made.sequences:
            refuse(statement, f"self.{name} is set twice. Rename one of the two.")
        match value:
            case ast.Call(func=function) if self._names.path(function) == _SEQUENCE:
                self._sequence(name, value)
            case ast.Call(func=function, args=[ast.ListComp() as copies], keywords=[]) if (
                self._names.path(function) == _COPIES
            ):
                self.made.layers[name] = self._copies(name, copies, statement.lineno)
            case ast.Call():
                self.made.layers[name] = self._layer(name, value, statement.lineno, self._scope)
            case _:
                self.made.stored[name] = literal_value(value, self._scope)

    def _sequence(self, name: str, call: ast.Call) -> None:
        """`nn.Sequential(nn.Linear(64, 32), nn.ReLU())`: its layers become nodes in a row."""
        if call.keywords or not call.args:
            refuse(call, "nn.Sequential takes its layers as arguments: nn.Sequential(nn.Linear(64, 10), nn.ReLU()).")
        members: list[str] = []
        used = naming.UniqueNames(self.made.layers)
        for part in call.args:
            if not isinstance(part, ast.Call):
                refuse(part, f"{shown(part)} makes no layer. Write one such as nn.ReLU().")
            title = part.func.attr if isinstance(part.func, ast.Attribute) else shown(part.func)
            member = used.reserve(f"{name}_{naming.to_identifier(title)}")
            self.made.layers[member] = self._layer(member, part, part.lineno, self._scope)
            members.append(member)
        self.made.sequences[name] = tuple(members)

    def _layer(self, name: str, call: ast.Call, line: int, scope: Mapping[str, Value]) -> Layer:
        function = call.func
        if isinstance(function, ast.Name) and function.id in self._classes:
            made = self._classes[function.id]
            return Layer(
                name, made.name, self._bound(call, tuple(made.arguments), scope, made.arguments), line, is_instance=True
            )
        if isinstance(function, ast.Name) and function.id in self._names.code:
            return self._of_code(name, call, function.id, line, scope)
        path = self._names.path(function)
        found = None if path is None else layer_type(self._catalogue, path)
        if found is None:
            refuse(
                function,
                f"{shown(function)} is neither a layer of the engine nor a class in this source. "
                "Use a layer of the palette, or add a class.",
            )
        return Layer(name, found.key, self._bound(call, _argument_names(found), scope), line)

    def _of_code(self, name: str, call: ast.Call, entry: str, line: int, scope: Mapping[str, Value]) -> Layer:
        """The module of a Python node."""
        source = self._names.code[entry]
        code = read_code(source)
        if not code.is_class:
            refuse(call, f"{entry} is a function. Call it in forward.")
        values = self._bound(call, [each.name for each in code.params], scope)
        return Layer(name, PYTHON, {**source_argument(source), **values}, line)

    def _bound(
        self,
        call: ast.Call,
        names: Sequence[str],
        scope: Mapping[str, Value],
        defaults: Mapping[str, Value] | None = None,
    ) -> dict[str, Value]:
        """Arguments of a call by name."""
        if len(call.args) > len(names):
            refuse(call, f"{shown(call.func)} takes {len(names)} arguments, not {len(call.args)}.")
        values: dict[str, Value] = {}
        for name, value in zip(names, call.args, strict=False):
            values[name] = literal_value(value, scope)
        for keyword in call.keywords:
            if keyword.arg is None:
                refuse(call, f"{shown(call)} passes arguments with **. Write them by name.")
            if keyword.arg not in names:
                listed = ", ".join(names) or "none"
                refuse(keyword, f"{shown(call.func)} has no parameter {keyword.arg}; it has {listed}.")
            if keyword.arg in values:
                refuse(keyword, f"{keyword.arg} is given twice.")
            values[keyword.arg] = literal_value(keyword.value, scope)
        for name, default in (defaults or {}).items():
            if name not in values:
                if default is REQUIRED:
                    refuse(call, f"{shown(call)} needs {name}.")
                values[name] = default
        return values

    def _copies(self, name: str, copies: ast.ListComp, line: int) -> Layer:
        """`[Block(width=width) for width in (16, 32)]`, or `[Block() for _ in range(3)]`."""
        match copies:
            case ast.ListComp(
                elt=ast.Call(func=ast.Name(id=title)) as made,
                generators=[ast.comprehension(target=target, iter=source, ifs=[], is_async=0)],
            ) if title in self._classes:
                pass
            case _:
                refuse(
                    copies,
                    f"{shown(copies)} repeats no block. Write a class for what is repeated: "
                    "nn.ModuleList([Block() for _ in range(3)]).",
                )
        variables = [target] if isinstance(target, ast.Name) else list(getattr(target, "elts", []))
        titles = [each.id for each in variables if isinstance(each, ast.Name)]
        match source:
            case ast.Call(func=ast.Name(id="range"), args=[count], keywords=[]):
                layer = self._layer(name, made, line, {**self._scope, **dict.fromkeys(titles)})
                uses = {each.id for each in ast.walk(made) if isinstance(each, ast.Name)} & set(titles)
                if uses:
                    refuse(made, f"{shown(made)} depends on the number of the copy. Write the values as a tuple.")
                return replace(layer, copies=literal_value(count, self._scope))
            case ast.Call(func=ast.Name(id="zip"), args=sequences, keywords=[]) if len(sequences) == len(titles):
                rows = [literal_value(each, self._scope) for each in sequences]
            case _:
                rows = [literal_value(source, self._scope)]
        if len(rows) != len(titles):
            refuse(copies, f"{shown(copies)} has {len(titles)} variables for {len(rows)} values.")
        per_copy = {title: _each(copies, row) for title, row in zip(titles, rows, strict=True)}
        counts = {len(each.values) for each in per_copy.values() if isinstance(each.values, tuple)}
        if len(counts) > 1:
            refuse(copies, f"{shown(copies)} has tuples of different lengths.")
        layer = self._layer(name, made, line, {**self._scope, **per_copy})
        return replace(layer, copies=next(iter(counts), Each(())))


def source_argument(source: str) -> dict[str, Value]:
    """The parameter of a Python node with a source; none for the source of new nodes."""
    return {} if source == DEFAULT_SOURCE else {SOURCE: source}


def _is_base_init(function: ast.expr) -> bool:
    """Whether it is `super().__init__`."""
    match function:
        case ast.Attribute(value=ast.Call(func=ast.Name(id="super")), attr="__init__"):
            return True
        case _:
            return False


def _each(node: ast.expr, row: Any) -> Each:
    if isinstance(row, Argument):
        return Each(row)
    if not isinstance(row, (tuple, list)):
        refuse(node, f"{shown(node)} repeats over something other than a tuple.")
    return Each(tuple(row))  # pyright: ignore[reportUnknownArgumentType]


def _argument_names(node_type: NodeType) -> tuple[str, ...]:
    """Parameters of a layer, in the order of its constructor."""
    names = [parameter.name for parameter in node_type.params if parameter.name not in INITIALIZATION]
    if node_type.target is None:
        return tuple(names)
    declared = [name for name in inspect.signature(node_type.target).parameters if name in names]
    return tuple(declared + [name for name in names if name not in declared])


def _layer_path(node: ast.expr) -> str | None:
    """ "encoder.3.query" for `self.encoder[3].query`."""
    match node:
        case ast.Attribute(value=ast.Name(id="self"), attr=name):
            return name
        case ast.Attribute(value=owner, attr=name):
            part = name
        case ast.Subscript(value=owner, slice=ast.Constant(value=int(index))) if not isinstance(index, bool):
            part = str(index)
        case _:
            return None
    before = _layer_path(owner)
    return None if before is None else f"{before}.{part}"


__all__ = ["Constructor", "Layer", "read_constructor", "source_argument"]

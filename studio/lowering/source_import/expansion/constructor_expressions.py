"""Evaluate expressions of constructors to constants, lists and calls that make layers."""

from __future__ import annotations

import ast
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Protocol, cast

from studio.lowering.source_import.expansion.expansion_values import (
    FUNCTIONS,
    Part,
    Scope,
    argument_defaults,
    arithmetic,
    bounded,
    called,
    compared,
    expressions,
    is_constant,
    selected,
    to_expression,
)
from studio.lowering.source_import.reading.callables import ImportedNames
from studio.lowering.source_import.reading.source_errors import refuse, shown

_TYPES = {"int": int, "float": float, "bool": bool, "str": str, "list": list, "tuple": tuple, "dict": dict}
SEQUENCE, LIST, IDENTITY = "nn.Sequential", "nn.ModuleList", "Identity"
_MOST_STEPS = 100_000
_DEPTH = 20
"""Deepest nesting of calls of functions."""


class NeedsConstants(Exception):  # noqa: N818 - a request, which the caller grants
    """The structure of a class depends on arguments of its constructor."""

    def __init__(self, names: frozenset[str], node: ast.AST) -> None:
        super().__init__()
        self.names, self.node = names, node


class File(Protocol):
    """What the expansion of a class needs of its file."""

    names: ImportedNames
    constants: Scope

    @property
    def functions(self) -> Mapping[str, ast.FunctionDef]: ...
    @property
    def classes(self) -> Mapping[str, ast.ClassDef]: ...

    def is_defined(self, name: str) -> bool: ...
    def class_constants(self, title: str) -> Scope: ...
    def instance(self, call: ast.Call, title: str, evaluator: Expressions) -> ast.Call: ...
    def is_repeatable(self, title: str) -> bool: ...


class Expressions(ABC):
    """Evaluates the expressions of one constructor.

    Args:
        arguments: the arguments of the constructor that are no constants
    """

    def __init__(self, file: File, methods: Mapping[str, ast.FunctionDef], arguments: Iterable[str]) -> None:
        self.file, self.methods, self.arguments = file, methods, frozenset(arguments)
        self.attributes: Scope = {}
        """Constants, arguments and lists of layers by attribute."""
        self._used: dict[int, ast.Call] = {}
        """Calls that make layers and were used, by identity. They are kept, so that no other has the identity."""
        self._depth = 0
        self._steps = 0

    @abstractmethod
    def run(self, body: Sequence[ast.stmt], scope: Scope, base: ast.ClassDef | None = None) -> tuple[bool, Part]:
        """Run statements. Whether one returned, and what."""

    def bind(self, target: ast.expr, part: Part, scope: Scope) -> None:
        match target:
            case ast.Name(id=name):
                scope[name] = part
            case ast.Tuple(elts=targets) | ast.List(elts=targets) if isinstance(part, (list, tuple)):
                parts = cast("Sequence[Part]", part)
                if len(parts) != len(targets):
                    refuse(target, f"{shown(target)} has {len(targets)} variables for {len(parts)} values.")
                for each, value in zip(targets, parts, strict=True):
                    self.bind(each, value, scope)
            case _:
                self.need(target, part)

    def constant(self, node: ast.expr, scope: Scope) -> Any:
        """The value of an expression that must be a constant."""
        part = self.evaluate(node, scope)
        return part if is_constant(part) else self.need(node, part)

    def known(self, node: ast.expr, scope: Scope) -> Part:
        """The value of a condition: a constant, or a layer, class or function, which is true."""
        part = self._peek(node, scope)
        named = part.func if isinstance(part, ast.Call) else part
        if isinstance(named, ast.Name) and named.id in self.arguments:
            return self.need(node, part)
        is_own = isinstance(named, ast.Name) and self.file.is_defined(named.id)
        is_made = is_own or (isinstance(named, ast.expr) and self.file.names.path(named) is not None)
        return part if is_made or is_constant(part) else self.need(node, part)

    def elements(self, node: ast.expr, scope: Scope) -> list[Part]:
        """The elements of a list, of the keys of a dictionary, or of the layers of an `nn.ModuleList`."""
        part = self.evaluate(node, scope)
        if not isinstance(part, (list, tuple, dict)):
            return self.need(node, part)
        return list(cast("Iterable[Part]", part))

    def need(self, node: ast.AST, part: Part) -> Any:
        """Refuse a part that is no constant, or request the arguments that it depends on."""
        names = {
            each.id
            for expression in expressions(part)
            for each in ast.walk(expression)
            if isinstance(each, ast.Name) and each.id in self.arguments
        }
        if names:
            raise NeedsConstants(frozenset(names), node)
        refuse(node, f"{shown(node)} is not a constant. Write a number, text, or a list of them.")

    def evaluate(self, node: ast.expr, scope: Scope) -> Part:
        self.count(node)
        match node:
            case ast.Constant(value=value):
                return value
            case ast.Name(id=name):
                return self._variable(node, name, scope)
            case ast.Attribute(value=owner, attr=name):
                return self._member(node, owner, name, scope)
            case ast.Tuple(elts=parts):
                return bounded(node, tuple(self._spliced(parts, scope)))
            case ast.List(elts=parts):
                return bounded(node, self._spliced(parts, scope))
            case ast.Dict(keys=keys, values=values):
                pairs = zip(keys, values, strict=True)
                parts = {self._key(key, scope): self.evaluate(value, scope) for key, value in pairs if key}
                return bounded(node, parts)
            case ast.Subscript(value=owner, slice=index):
                part = self.evaluate(owner, scope)
                if not isinstance(part, (list, tuple, dict, str)):
                    return self.need(node, part)
                return selected(node, cast("Part", part), self._index(index, scope))
            case ast.ListComp(elt=element, generators=[loop]) | ast.GeneratorExp(elt=element, generators=[loop]):
                return bounded(node, self._comprehension(element, loop, scope))
            case ast.Call():
                return self._call(node, scope)
            case _:
                return self._computed(node, scope)

    def _key(self, node: ast.expr, scope: Scope) -> Any:
        key = self.constant(node, scope)
        try:
            hash(key)
        except TypeError:
            refuse(node, f"{shown(node)} cannot be a key of a dictionary.")
        return key

    def _computed(self, node: ast.expr, scope: Scope) -> Part:
        """The result of operators."""
        match node:
            case ast.BinOp(left=left, op=op, right=right):
                first, second = self.evaluate(left, scope), self.evaluate(right, scope)
                for part in (first, second):
                    if isinstance(part, ast.AST):
                        self.need(node, part)
                return arithmetic(node, op, first, second)
            case ast.UnaryOp(op=ast.USub(), operand=operand):
                return arithmetic(node, ast.Sub(), 0, self.constant(operand, scope))
            case ast.UnaryOp(op=ast.Not(), operand=operand):
                return not self.known(operand, scope)
            case ast.Compare(left=left, ops=[ast.Is() | ast.IsNot() as op], comparators=[ast.Constant(value=None)]):
                return (self.known(left, scope) is None) is isinstance(op, ast.Is)
            case ast.Compare(left=left, ops=[op], comparators=[right]):
                return compared(node, op, self.constant(left, scope), self.constant(right, scope))
            case ast.BoolOp(op=op, values=values):
                return self._logic(op, values, scope)
            case ast.IfExp(test=test, body=then, orelse=otherwise):
                return self.evaluate(then if self.known(test, scope) else otherwise, scope)
            case _:
                return self.need(node, None)

    def _variable(self, node: ast.expr, name: str, scope: Scope) -> Part:
        part = scope[name] if name in scope else self.file.constants.get(name, node)
        for each in expressions(part):
            if isinstance(each, ast.Call):
                if id(each) in self._used:
                    refuse(node, f"{name} is used twice, so its weights are shared. Assign it to an attribute of self.")
                self._used[id(each)] = each
        return part

    def _member(self, node: ast.expr, owner: ast.expr, name: str, scope: Scope) -> Part:
        match owner:
            case ast.Name(id="self") if f"self.{name}" in self.attributes:
                return self.attributes[f"self.{name}"]
            case ast.Name(id="self"):
                return node
            case _:
                part = self.evaluate(owner, scope)
        if isinstance(part, ast.Name) and name in self.file.class_constants(part.id):
            return self.file.class_constants(part.id)[name]
        if not isinstance(part, ast.expr):
            return self.need(node, part)
        return ast.copy_location(ast.Attribute(part, name, ast.Load()), node)

    def _spliced(self, parts: Iterable[ast.expr], scope: Scope) -> list[Part]:
        found: list[Part] = []
        for each in parts:
            if isinstance(each, ast.Starred):
                found += self.elements(each.value, scope)
            else:
                found.append(self.evaluate(each, scope))
        return found

    def _index(self, index: ast.expr, scope: Scope) -> Part:
        if not isinstance(index, ast.Slice):
            return self.constant(index, scope)
        ends = (index.lower, index.upper, index.step)
        return slice(*(None if end is None else self.constant(end, scope) for end in ends))

    def _logic(self, op: ast.boolop, values: Iterable[ast.expr], scope: Scope) -> Part:
        value: Part = None
        for each in values:
            value = self.known(each, scope)
            if bool(value) is isinstance(op, ast.Or):
                break
        return value

    def _comprehension(self, element: ast.expr, loop: ast.comprehension, scope: Scope) -> list[Part]:
        found: list[Part] = []
        for each in self.elements(loop.iter, scope):
            inner = dict(scope)
            self.bind(loop.target, each, inner)
            if all(self.known(test, inner) for test in loop.ifs):
                found.append(self.evaluate(element, inner))
        return found

    # -- calls

    def _call(self, node: ast.Call, scope: Scope) -> Part:
        match node.func:
            case ast.Attribute(value=ast.Name(id="self"), attr=name) if name in self.methods:
                return self._inlined(node, self.methods[name], scope, skip=1)
            case ast.Attribute(value=owner, attr="get" | "items" | "values" | "keys" as name):
                part = self.evaluate(owner, scope)
                if isinstance(part, dict):
                    return self._of_dict(node, cast("dict[Any, Part]", part), name, scope)
            case ast.Name() | ast.Attribute(value=ast.Name(id="math")) if (
                name := ast.unparse(node.func)
            ) in FUNCTIONS and name not in scope:
                parts = (
                    [self._peek(node.args[0], scope)]
                    if name == "len" and node.args
                    else self._spliced(node.args, scope)
                )
                for part in parts:
                    if isinstance(part, ast.AST):
                        self.need(node, part)
                return called(node, name, parts)
            case _:
                pass
        function = self.evaluate(node.func, scope)
        if isinstance(function, ast.Name):
            return self._of_name(node, function, scope)
        if not isinstance(function, ast.expr):
            return self.need(node, function)
        return self._of_library(node, function, scope)

    def _of_name(self, node: ast.Call, function: ast.Name, scope: Scope) -> Part:
        """The call of a function or class of the file."""
        if function.id in self.arguments:
            raise NeedsConstants(frozenset({function.id}), node)
        if function.id in self.file.functions:
            return self._inlined(node, self.file.functions[function.id], scope)
        if function.id in self.file.classes:
            return self.file.instance(self._plain(node, function, scope), function.id, self)
        if function.id == "isinstance" and len(node.args) == 2:
            return self._is_instance(node, scope)
        if function.id == "hasattr" and len(node.args) == 2 and ast.unparse(node.args[0]) == "self":
            return self.has_attribute(self.constant(node.args[1], scope))
        if function.id == "dict" and not node.args:
            return bounded(node, {each.arg: self.evaluate(each.value, scope) for each in node.keywords if each.arg})
        return self._of_library(node, function, scope)

    def _is_instance(self, node: ast.Call, scope: Scope) -> bool:
        part, wanted = self._peek(node.args[0], scope), node.args[1]
        names = [each.id for each in ast.walk(wanted) if isinstance(each, ast.Name)]
        if isinstance(part, ast.AST) or not names or not all(name in _TYPES for name in names):
            return self.need(node, part)
        return isinstance(part, tuple(_TYPES[name] for name in names))

    @abstractmethod
    def has_attribute(self, name: object) -> bool:
        """Whether `self` has an attribute so far."""

    def _of_library(self, node: ast.Call, function: ast.expr, scope: Scope) -> Part:
        is_sequence = self.file.names.path(function) == SEQUENCE
        return self._sequence(node, function, scope) if is_sequence else self._plain(node, function, scope)

    def _peek(self, node: ast.expr, scope: Scope) -> Part:
        """The part of an expression that is not used as a layer."""
        used = dict(self._used)
        part = self.evaluate(node, scope)
        self._used = used
        return part

    def _of_dict(self, node: ast.Call, owner: dict[Any, Part], method: str, scope: Scope) -> Part:
        if method == "get":
            key = self._key(node.args[0], scope) if node.args else None
            return owner.get(key, self.evaluate(node.args[1], scope) if node.args[1:] else None)
        pairs = [tuple(each) for each in owner.items()]
        return pairs if method == "items" else list(owner.values() if method == "values" else owner)

    def _plain(self, node: ast.Call, function: ast.expr, scope: Scope) -> ast.Call:
        """A call with constants and expressions in place of variables."""
        args = [to_expression(part, node) for part in self._spliced(node.args, scope)]
        keywords: list[ast.keyword] = []
        for each in node.keywords:
            part = self.evaluate(each.value, scope)
            given = cast("dict[Any, Part]", part) if each.arg is None and isinstance(part, dict) else {each.arg: part}
            keywords += [
                ast.copy_location(ast.keyword(name, to_expression(value, each.value)), each)
                for name, value in given.items()
            ]
        return ast.copy_location(ast.Call(function, args, keywords), node)

    def _sequence(self, node: ast.Call, function: ast.expr, scope: Scope) -> ast.Call:
        """`nn.Sequential` with the layers of those inside it."""
        parts = self._spliced(node.args, scope)
        if len(parts) == 1 and isinstance(parts[0], dict):
            parts = list(cast("dict[Any, Part]", parts[0]).values())
        layers: list[ast.expr] = []
        for part in parts:
            if isinstance(part, ast.Call) and self.file.names.path(part.func) == SEQUENCE:
                layers += part.args
            else:
                layers.append(to_expression(part, node))
        if not layers:
            owner = function.value if isinstance(function, ast.Attribute) else ast.Name("nn", ast.Load())
            function = ast.Attribute(owner, IDENTITY, ast.Load())
        return ast.copy_location(ast.Call(function, layers, []), node)

    def _inlined(self, node: ast.Call, function: ast.FunctionDef, scope: Scope, skip: int = 0) -> Part:
        self._depth += 1
        if self._depth > _DEPTH:
            refuse(node, f"{shown(node.func)} calls itself too often.")
        part = self.run(function.body, self.bound(function, node, scope, skip, allow_more=skip == 0))[1]
        self._depth -= 1
        return part

    def bound(
        self, function: ast.FunctionDef, call: ast.Call, scope: Scope, skip: int = 0, *, allow_more: bool = False
    ) -> Scope:
        """The arguments of a call by name.

        Args:
            skip: number of leading arguments that the call does not give, such as `self`
            allow_more: whether the function may take other arguments by `**`
        """
        declared, defaults = argument_defaults(function, skip, allow_more=allow_more)
        given: Scope = dict(zip(declared, self._spliced(call.args, scope), strict=False))
        for keyword in call.keywords:
            part = self.evaluate(keyword.value, scope)
            given.update(
                cast("Scope", part) if keyword.arg is None and isinstance(part, dict) else {keyword.arg or "": part}
            )
        for name in declared:
            if name not in given:
                if name not in defaults:
                    refuse(call, f"{shown(call)} needs {name}.")
                given[name] = self.evaluate(defaults[name], {})
        if function.args.kwarg is not None:
            given[function.args.kwarg.arg] = {name: given.pop(name) for name in list(given) if name not in declared}
            return given
        if unknown := next((name for name in given if name not in declared), None):
            refuse(call, f"{shown(call.func)} has no argument {unknown}.")
        return given

    def count(self, node: ast.AST, steps: int = 1) -> None:
        self._steps += steps
        if self._steps > _MOST_STEPS:
            refuse(node, "The class has too many layers or calls to be expanded.")


__all__ = ["Expressions", "File", "NeedsConstants"]

"""Expand constructors: loops, conditions and calls of functions become the layers that they make."""

from __future__ import annotations

import ast
import copy
import inspect
from collections.abc import Iterable, Mapping, Sequence
from typing import cast

from engine import nn
from studio.lowering.source_import.expansion.constructor_expressions import Expressions, File
from studio.lowering.source_import.expansion.expansion_values import Part, Scope, bounded, is_constant, to_expression
from studio.lowering.source_import.reading.initial_weights import (
    Initialization,
    combined,
    read_initialization,
    sets_weights,
    value_of,
)
from studio.lowering.source_import.reading.module_source import Value
from studio.lowering.source_import.reading.source_errors import refuse, shown

LIST = "nn.ModuleList"


class Evaluator(Expressions):
    """Evaluates the statements of one constructor."""

    def __init__(self, file: File, methods: Mapping[str, ast.FunctionDef], arguments: Iterable[str]) -> None:
        super().__init__(file, methods, arguments)
        self.made: dict[str, ast.stmt] = {}
        """The last assignment to each attribute that is a layer."""
        self.rest: list[ast.stmt] = []
        """Statements that follow, such as those that freeze layers."""
        self.initializations: dict[str, list[tuple[ast.stmt, Initialization]]] = {}
        """Statements that set initial weights of a layer, by its attribute."""
        self.initial_weights: list[int] = []
        """Lines that set initial weights, which are left out."""

    def run(self, body: Sequence[ast.stmt], scope: Scope, base: ast.ClassDef | None = None) -> tuple[bool, Part]:
        """Run statements. Whether one returned, and what."""
        for statement in body:
            self.count(statement)
            match statement:
                case ast.Pass() | ast.Assert() | ast.Expr(value=ast.Constant()):
                    pass
                case ast.Return(value=value):
                    return True, None if value is None else self.evaluate(value, scope)
                case ast.If(test=test, body=then, orelse=otherwise):
                    branch = then if self.known(test, scope) else otherwise
                    if (ended := self.run(branch, scope, base))[0]:
                        return ended
                case _ if sets_weights(statement, self.file.names):
                    self._initialize(statement, scope)
                case ast.For(target=target, iter=source, body=inner, orelse=[]):
                    for each in self.elements(source, scope):
                        self.bind(target, each, scope)
                        if (ended := self.run(inner, scope, base))[0]:
                            return ended
                case _:
                    self._simple(statement, scope, base)
        return False, None

    def _initialize(self, statement: ast.stmt, scope: Scope) -> None:
        """Keep a statement that sets initial weights of a layer with constants, and leave others out."""
        statement = _Substitution({**self.file.constants, **scope}).visit(copy.deepcopy(statement))
        found = read_initialization(statement, self.file.names, {})
        if found is None or len(found.path) != 2 or found.path[0] not in self.made:
            self.initial_weights.append(statement.lineno)
            return
        self.initializations.setdefault(found.path[0], []).append((statement, found))

    def kept_initializations(self) -> list[ast.stmt]:
        """The statements that parameters of nodes express. The lines of others are added to `initial_weights`."""
        kept: list[ast.stmt] = []
        for name, listed in self.initializations.items():
            key, arguments = self._layer(name)
            if isinstance(combined(key, arguments, [found for _, found in listed]), Initialization):
                self.initial_weights += [statement.lineno for statement, _ in listed]
            else:
                kept += [statement for statement, _ in listed]
        return kept

    def _layer(self, name: str) -> tuple[str, dict[str, Value]]:
        """The type of a layer, and the arguments of its constructor."""
        match self.made.get(name):
            case ast.Assign(value=ast.Call(func=function, args=positional, keywords=named)):
                key = self.file.names.path(function) or ""
            case _:
                return "", {}
        target = getattr(nn, key.removeprefix("nn."), None)
        declared = [] if target is None else list(inspect.signature(target).parameters)
        values = {name: value_of(node) for name, node in zip(declared, positional, strict=False)}
        return key, values | {each.arg: value_of(each.value) for each in named if each.arg is not None}

    def has_attribute(self, name: object) -> bool:
        return name in self.made or f"self.{name}" in self.attributes or name in self.methods

    def _simple(self, statement: ast.stmt, scope: Scope, base: ast.ClassDef | None) -> None:
        match statement:
            case ast.Assign(targets=[ast.Attribute(value=ast.Name(id="self"), attr=name)], value=value):
                self._attribute(statement, name, value, scope)
            case ast.AnnAssign(target=ast.Attribute(value=ast.Name(id="self"), attr=name), value=ast.expr() as value):
                self._attribute(statement, name, value, scope)
            case ast.Assign(targets=[ast.Name() | ast.Tuple() | ast.List() as target], value=value):
                self.bind(target, self.evaluate(value, scope), scope)
            case ast.AnnAssign(target=ast.Name() as target, value=ast.expr() as value):
                self.bind(target, self.evaluate(value, scope), scope)
            case ast.AugAssign(target=ast.Name(id=name), op=ast.Add(), value=value) if isinstance(
                scope.get(name), list
            ):
                cast("list[Part]", scope[name]).extend(self.elements(value, scope))
                bounded(statement, scope[name])
            case ast.AugAssign(target=ast.Name() | ast.Attribute() as target, op=op, value=value):
                left = copy.copy(target)
                left.ctx = ast.Load()
                changed = ast.copy_location(ast.BinOp(left, op, value), statement)
                again = ast.copy_location(ast.Assign([target], changed), statement)
                self._simple(again, scope, base)
            case ast.Expr(value=ast.Call(func=ast.Attribute(value=ast.Call(func=ast.Name("super")))) as call):
                self._base_init(call, scope, base)
            case ast.Expr(value=ast.Call(func=ast.Attribute(value=owner, attr="append"), args=[value])):
                self._append(statement, owner, [self.evaluate(value, scope)], scope)
            case ast.Expr(value=ast.Call(func=ast.Attribute(value=owner, attr="extend"), args=[value])):
                self._append(statement, owner, self.elements(value, scope), scope)
            case ast.Expr(value=ast.Call(func=ast.Attribute(value=ast.Name(id=name), attr="pop"), args=[])) if (
                isinstance(listed := scope.get(name), list) and listed
            ):
                cast("list[Part]", listed).pop()
            case ast.Expr(value=ast.Call(func=ast.Attribute(value=ast.Name("self"), attr=name)) as call) if (
                name in self.methods
            ):
                self.evaluate(call, scope)
            case _:
                self.rest.append(statement)

    def _base_init(self, call: ast.Call, scope: Scope, base: ast.ClassDef | None) -> None:
        """`super().__init__(width)`. That of nn.Module does nothing here."""
        if base is None:
            return
        init = next((each for each in base.body if isinstance(each, ast.FunctionDef) and each.name == "__init__"), None)
        parent = next((each.id for each in base.bases if isinstance(each, ast.Name)), "")
        above = self.file.classes.get(parent)
        if init is None:
            self._base_init(call, scope, above)
            return
        given = self.bound(init, call, scope, skip=1)
        self.run(init.body, given, above)

    def _attribute(self, statement: ast.stmt, name: str, value: ast.expr, scope: Scope) -> None:
        key = f"self.{name}"
        match value:
            case ast.Call(func=function, args=args, keywords=[]) if self.file.names.path(function) == LIST:
                if args and self._is_repeated(args[0], scope):
                    copies = ast.copy_location(ast.Call(function, [self._repeated(args[0], scope)], []), value)
                    self._make(statement, name, copies)
                    return
                self.attributes[key] = []
                self._append(statement, value, self.elements(args[0], scope) if args else [], scope, name)
                return
            case _:
                part = self.evaluate(value, scope)
        self.attributes.pop(key, None)
        if isinstance(part, ast.Call):
            self._make(statement, name, part)
            return
        if isinstance(part, (list, dict)) and not is_constant(cast("Part", part)):
            refuse(statement, f"{shown(statement)} is a plain list or dictionary of layers. Use nn.ModuleList.")
        self.attributes[key] = part
        self.made.pop(name, None)

    def _append(
        self, statement: ast.stmt, owner: ast.expr, parts: Iterable[Part], scope: Scope, name: str | None = None
    ) -> None:
        """Add elements to a list, or layers to an `nn.ModuleList`, which become attributes."""
        match owner:
            case ast.Name(id=variable) if isinstance(scope.get(variable), list):
                cast("list[Part]", scope[variable]).extend(parts)
                bounded(statement, scope[variable])
                return
            case ast.Attribute(value=ast.Name(id="self"), attr=attribute):
                name = attribute
            case _:
                pass
        listed = self.attributes.get(f"self.{name}")
        if not isinstance(listed, list):
            refuse(statement, f"{shown(statement)} adds to something other than a list.")
        layers = cast("list[Part]", listed)
        for part in parts:
            if not isinstance(part, ast.Call):
                refuse(statement, f"{shown(statement)} adds something other than a layer.")
            title = f"{name}_{len(layers)}"
            self._make(statement, title, part)
            layers.append(ast.copy_location(_own(title), statement))

    def _make(self, statement: ast.stmt, name: str, call: ast.expr) -> None:
        target = _own(name)
        target.ctx = ast.Store()
        made = ast.copy_location(ast.Assign([target], call), statement)
        self.made[name] = ast.fix_missing_locations(made)

    # -- copies of a block

    def _is_repeated(self, node: ast.expr, scope: Scope) -> bool:
        """Whether it is `[Block(width) for _ in range(count)]`, which is one repeated instance."""
        match node:
            case ast.ListComp(
                elt=ast.Call(func=ast.Name(id=title)) as made,
                generators=[
                    ast.comprehension(
                        target=ast.Name(id=variable), iter=ast.Call(func=ast.Name(id="range"), keywords=[]), ifs=[]
                    )
                ],
            ) if title in self.file.classes and title not in scope:
                uses = {each.id for each in ast.walk(made) if isinstance(each, ast.Name)}
                return variable not in uses and self.file.is_repeatable(title)
            case _:
                return False

    def _repeated(self, node: ast.expr, scope: Scope) -> ast.expr:
        assert isinstance(node, ast.ListComp)
        assert isinstance(node.elt, ast.Call)
        loop = node.generators[0]
        assert isinstance(loop.iter, ast.Call)
        counts = [to_expression(self.evaluate(each, scope), each) for each in loop.iter.args]
        copies = ast.copy_location(ast.Call(loop.iter.func, counts, []), loop.iter)
        made = self.evaluate(node.elt, scope)
        assert isinstance(made, ast.expr)
        return ast.copy_location(ast.ListComp(made, [ast.comprehension(loop.target, copies, [], 0)]), node)


class _Substitution(ast.NodeTransformer):
    """Replaces variables by their values, where these are constants."""

    def __init__(self, scope: Scope) -> None:
        self._scope = scope

    def visit_Name(self, node: ast.Name) -> ast.expr:
        part = self._scope.get(node.id)
        is_plain = isinstance(part, (bool, int, float, str))
        return ast.copy_location(ast.Constant(part), node) if is_plain else node


def _own(name: str) -> ast.Attribute:
    return ast.Attribute(ast.Name("self", ast.Load()), name, ast.Load())


__all__ = ["Evaluator"]

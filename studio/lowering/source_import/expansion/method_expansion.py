"""Expand `forward`: loops over layers and conditions on constants become the calls that they make."""

from __future__ import annotations

import ast
import copy
from collections.abc import Mapping, Sequence
from typing import cast

from studio.lowering.source_import.expansion.constructor_expansion import Evaluator
from studio.lowering.source_import.expansion.constructor_expressions import NeedsConstants
from studio.lowering.source_import.expansion.expansion_values import (
    Part,
    Scope,
    expressions,
    is_constant,
    to_expression,
)
from studio.lowering.source_import.reading.source_errors import SourceError

_STEPS = 20
"""Steps of the evaluator that a statement counts as."""


def expand_method(method: ast.FunctionDef, evaluator: Evaluator) -> ast.FunctionDef:
    """A method with the layers that the constructor made, which `evaluator` ran."""
    expanded = copy.copy(method)
    expanded.decorator_list = list(method.decorator_list)
    expanded.body = _Method(evaluator).statements(method.body) or method.body
    return ast.fix_missing_locations(expanded)


def called_methods(methods: Mapping[str, ast.FunctionDef], first: str = "forward") -> set[str]:
    """The methods that `forward` calls, and those that they call."""
    found: set[str] = set()
    waiting = [first]
    while waiting:
        name = waiting.pop()
        if name in found or name not in methods:
            continue
        found.add(name)
        for node in ast.walk(methods[name]):
            match node:
                case ast.Attribute(value=ast.Name(id="self"), attr=attribute):
                    waiting.append(attribute)
                case _:
                    pass
    return found


class _Method:
    def __init__(self, evaluator: Evaluator) -> None:
        self._evaluator = evaluator
        self._scope: Scope = {}
        """Constants, layers and batch sizes by variable."""

    def statements(self, body: Sequence[ast.stmt]) -> list[ast.stmt]:
        expanded: list[ast.stmt] = []
        for statement in body:
            self._evaluator.count(statement, _STEPS)
            expanded += self._statement(statement)
            if _ends(expanded):
                break
        return expanded

    def _statement(self, statement: ast.stmt) -> list[ast.stmt]:
        match statement:
            case ast.Pass() | ast.Assert():
                return []
            case ast.For(target=target, iter=source, body=body, orelse=[]) if (
                elements := self._known(source)
            ) is not None and isinstance(elements, (list, tuple)):
                expanded: list[ast.stmt] = []
                for each in cast("Sequence[Part]", elements):
                    self._evaluator.bind(target, each, self._scope)
                    expanded += self.statements(body)
                    if _ends(expanded):
                        break
                return expanded
            case ast.If(test=test, body=then, orelse=otherwise) if is_constant(known := self._known(test, ...)):
                if known is not ...:
                    return self.statements(then if known else otherwise)
            case ast.Assign(targets=[ast.Name(id=name)], value=value) if is_constant(
                known := self._known(value, ...)
            ) and (known is not ...):
                self._scope[name] = known
                return []
            case ast.Assign(targets=[ast.Name() as variable], value=value) if (owner := _sized(value, 0)) is not None:
                return [self._batch_size(statement, variable, owner)]
            case ast.Assign(targets=[ast.Tuple(elts=[ast.Name() as variable, *_])], value=value) if (
                owner := _sized(value)
            ) is not None:
                return [self._batch_size(statement, variable, owner)]
            case _:
                pass
        return [self._rewritten(statement)]

    def _batch_size(self, statement: ast.stmt, variable: ast.Name, owner: ast.expr) -> ast.stmt:
        """`N = x` for `N = x.size(0)`, and `N.shape[0]` for `N`, which stays right after `x = …`."""
        made = self._rewritten(ast.copy_location(ast.Assign([variable], owner), statement))
        tensor = ast.copy_location(ast.Name(variable.id, ast.Load()), statement)
        self._scope[variable.id] = _first_size(tensor)
        return made

    def _rewritten(self, statement: ast.stmt) -> ast.stmt:
        statement = copy.deepcopy(statement)
        made = cast("ast.stmt", _Replacement(self._evaluator, self._scope).visit(statement))
        stored = {
            node.id for node in ast.walk(statement) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
        }
        for name, part in list(self._scope.items()):
            nodes = [node for each in expressions(part) for node in ast.walk(each)]
            if name in stored or any(isinstance(node, ast.Name) and node.id in stored for node in nodes):
                del self._scope[name]
        return made

    def _known(self, node: ast.expr, otherwise: Part = None) -> Part:
        """The constant or the list of layers of an expression."""
        try:
            part = self._evaluator.evaluate(node, self._scope)
        except SourceError:
            return otherwise
        return otherwise if isinstance(part, ast.AST) else part


class _Replacement(ast.NodeTransformer):
    """Replaces variables of loops, elements of lists of layers, and the size of a batch."""

    def __init__(self, evaluator: Evaluator, scope: Scope) -> None:
        self._evaluator, self._scope = evaluator, scope

    def visit_Name(self, node: ast.Name) -> ast.expr:
        if isinstance(node.ctx, ast.Load) and node.id in self._scope:
            return to_expression(self._scope[node.id], node)
        return node

    def visit_Subscript(self, node: ast.Subscript) -> ast.AST:
        return self._folded(node) if _mentions_self(node.value) else self.generic_visit(node)

    def visit_IfExp(self, node: ast.IfExp) -> ast.AST:
        try:
            test = self._evaluator.evaluate(node.test, self._scope)
        except SourceError:
            return self.generic_visit(node)
        return self.visit(node.body if test else node.orelse) if is_constant(test) else self.generic_visit(node)

    def visit_BinOp(self, node: ast.BinOp) -> ast.AST:
        return self._folded(node)

    def visit_Call(self, node: ast.Call) -> ast.AST:
        if (owner := _sized(node, 0)) is not None:
            return ast.copy_location(_first_size(cast("ast.expr", self.visit(owner))), node)
        return (
            self._folded(node)
            if isinstance(node.func, ast.Name) and node.func.id == "len"
            else self.generic_visit(node)
        )

    def _folded(self, node: ast.expr) -> ast.AST:
        """The constant or the layer that an expression is; otherwise the expression."""
        try:
            part = self._evaluator.evaluate(node, self._scope)
            if is_constant(part) or isinstance(part, ast.Attribute):
                return to_expression(part, node)
        except (SourceError, NeedsConstants):
            pass
        return self.generic_visit(node)


def _mentions_self(node: ast.expr) -> bool:
    return any(isinstance(each, ast.Name) and each.id == "self" for each in ast.walk(node))


def _sized(node: ast.expr, dimension: int | None = None) -> ast.expr | None:
    """The tensor in `x.size(0)` or `x.shape[0]`, without a dimension in `x.size()` or `x.shape`; None for others."""
    match node:
        case ast.Attribute(value=owner, attr="shape") if dimension is None:
            return owner
        case ast.Call(func=ast.Attribute(value=owner, attr="size"), args=[], keywords=[]) if dimension is None:
            return owner
        case ast.Call(func=ast.Attribute(value=owner, attr="size"), args=[ast.Constant(value=found)], keywords=[]):
            return owner if found == dimension else None
        case ast.Subscript(value=ast.Attribute(value=owner, attr="shape"), slice=ast.Constant(value=found)):
            return owner if found == dimension else None
        case _:
            return None


def _first_size(tensor: ast.expr) -> ast.expr:
    return ast.Subscript(ast.Attribute(tensor, "shape", ast.Load()), ast.Constant(0), ast.Load())


def _ends(body: Sequence[ast.stmt]) -> bool:
    """Whether statements end with a return."""
    return bool(body) and isinstance(body[-1], ast.Return)


__all__ = ["called_methods", "expand_method"]

"""Statements of constructors that set initial weights: those that parameters of nodes express, and the others."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from engine.nn import init
from studio.lowering.source_import.reading.callables import ImportedNames
from studio.lowering.source_import.reading.literal_values import literal_value
from studio.lowering.source_import.reading.module_source import Argument, Value
from studio.lowering.source_import.reading.source_errors import SourceError
from studio.nodes.initialization import is_parameter_name, parameter_names, parameters_of, read_values

_INIT = "nn.init."
_WEIGHTS = frozenset({"modules", "named_modules", "parameters", "named_parameters", "children"})
"""Methods of modules that loops over weights use."""


@dataclass(frozen=True, slots=True)
class Initialization:
    """`nn.init.normal_(self.fc.weight, std=0.02)`."""

    path: tuple[str, ...]
    """Path of the parameter below `self`: ("fc", "weight")."""
    row: object
    """The row that is set; None for the whole parameter."""
    parameters: Mapping[str, Any] | None
    """The parameters of a node that it stands for; None if there are none."""
    line: int

    @property
    def is_bias(self) -> bool:
        return self.path[-1].startswith("bias")


def read_initialization(
    statement: ast.stmt, names: ImportedNames, values: Mapping[str, Value]
) -> Initialization | None:
    """A call of a function of `nn.init` for a parameter of a layer; None for another statement.

    Args:
        values: values of variables
    """
    match statement:
        case ast.Expr(value=ast.Call(func=function, args=[target, *rest], keywords=keywords)):
            found = names.path(function) or ""
        case _:
            return None
    row: object = None
    match target:
        case ast.Subscript(value=owner, slice=index):
            target, row = owner, value_of(index, values)
        case _:
            pass
    path = _path(target)
    title = found.removeprefix(_INIT)
    called = getattr(init, title, None) if found.startswith(_INIT) and title.endswith("_") else None
    if called is None or len(path) < 2 or not is_parameter_name(path[-1]):
        return None
    given = {keyword.arg: value_of(keyword.value, values) for keyword in keywords if keyword.arg is not None}
    declared = list(inspect.signature(called).parameters)[1:]
    given |= dict(zip(declared, (value_of(each, values) for each in rest), strict=False))
    has_all = len(rest) <= len(declared) and None not in [keyword.arg for keyword in keywords]
    parameters = read_values(title, given, is_bias=path[-1].startswith("bias")) if has_all else None
    return Initialization(path, row, parameters, statement.lineno)


def combined(
    key: str, arguments: Mapping[str, Value], found: Sequence[Initialization]
) -> Mapping[str, Any] | Initialization:
    """The parameters of one layer, or the first statement that they cannot express.

    Args:
        key: type of the layer
        arguments: arguments of its constructor
    """
    declared = {parameter.name for parameter in parameters_of(key)}
    made: dict[bool, dict[str, Any]] = {}
    listed: dict[bool, set[str]] = {False: set(), True: set()}
    for each in found:
        if each.row is not None:
            is_padding = each.row == arguments.get("padding_idx") and each.path[-1] == "weight"
            if not is_padding or each.parameters != {"weight_init": "zeros"} or False not in made:
                return each
            continue
        name = each.path[-1]
        if each.parameters is None or not declared.issuperset(each.parameters):
            return each
        if made.setdefault(each.is_bias, dict(each.parameters)) != each.parameters or name in listed[each.is_bias]:
            return each
        listed[each.is_bias].add(name)
    known = {name: value for name, value in arguments.items() if not isinstance(value, Argument)}
    for is_bias, names in zip((False, True), parameter_names(key, known), strict=True):
        if listed[is_bias] and listed[is_bias] != set(names):
            return next(each for each in found if each.is_bias is is_bias)
    return {**made.get(False, {}), **made.get(True, {})}


def sets_weights(statement: ast.stmt, names: ImportedNames) -> bool:
    """Whether it is `nn.init.normal_(…)`, `self.fc.weight.data.zero_()`, `self.apply(…)`, or a loop of such calls."""
    match statement:
        case ast.Expr(value=ast.Call() as call):
            return _initializes(call, names)
        case ast.For(iter=ast.Call(func=ast.Attribute(attr=name)), body=body) if name in _WEIGHTS:
            return all(_is_harmless(each, names) for each in body)
        case _:
            return False


def value_of(node: ast.expr, values: Mapping[str, Value] = MappingProxyType({})) -> Value:
    """A constant, or an `Argument` for everything else, which no parameter accepts."""
    try:
        return literal_value(node, values)
    except SourceError:
        return Argument(ast.unparse(node))


def _path(node: ast.expr) -> tuple[str, ...]:
    """("encoder", "3", "fc", "weight") for `self.encoder[3].fc.weight`; empty for other expressions."""
    match node:
        case ast.Attribute(value=ast.Name(id="self"), attr=name):
            return (name,)
        case ast.Attribute(value=owner, attr=name) if before := _path(owner):
            return (*before, name)
        case ast.Subscript(value=owner, slice=ast.Constant(value=int(index))) if before := _path(owner):
            return (*before, str(index))
        case _:
            return ()


def _is_harmless(statement: ast.stmt, names: ImportedNames) -> bool:
    """Whether a statement in such a loop does nothing else."""
    match statement:
        case ast.If(body=then, orelse=otherwise):
            return all(_is_harmless(each, names) for each in (*then, *otherwise))
        case ast.Assign(targets=[ast.Name()]) | ast.Pass():
            return True
        case _:
            return sets_weights(statement, names)


def _initializes(call: ast.Call, names: ImportedNames) -> bool:
    if (names.path(call.func) or "").startswith(_INIT):
        return True
    match call.func:
        case ast.Attribute(value=ast.Name(id="self"), attr="apply"):
            return True
        case ast.Attribute(value=ast.Attribute(attr="weight" | "bias" | "data"), attr=method):
            return method.endswith("_") and method != "requires_grad_"
        case _:
            return False


__all__ = ["Initialization", "combined", "read_initialization", "sets_weights", "value_of"]

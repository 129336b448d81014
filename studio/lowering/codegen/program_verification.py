"""Verify the syntax tree of a program before it is compiled, with an allowlist.

Allowed are the statements and expressions that `write_program` generates, constants, names that the program defines,
and calls of functions in the catalogue. All other syntax, names and attributes are rejected.
"""

from __future__ import annotations

import ast
import functools
from collections.abc import Iterable, Sequence
from types import EllipsisType
from typing import Any, NoReturn

from engine.system.syntax import parse_source
from studio.lowering.codegen.safe_identifiers import (
    ENGINE,
    METHODS,
    MODULES,
    SUBPACKAGES,
    UnsafeSyntaxError,
    identifier,
    path_of,
)
from studio.lowering.codegen.task_source import STEP_SETTINGS
from studio.nodes.catalogue import catalogue
from studio.nodes.formula_functions import FUNCTIONS
from studio.nodes.formula_text import COMPARISONS, OPERATORS, SIGNS
from studio.nodes.initialization import FUNCTIONS as INIT_FUNCTIONS
from studio.nodes.initialization import is_parameter_name
from studio.nodes.operation_table import DTYPES

NODE_TYPES: tuple[type[ast.AST], ...] = (
    *(ast.Module, ast.Import, ast.ImportFrom, ast.alias, ast.ClassDef, ast.FunctionDef, ast.arguments, ast.arg),
    *(ast.Assign, ast.Expr, ast.Return, ast.Call, ast.keyword, ast.Name, ast.Attribute, ast.Constant, ast.List),
    *(ast.Tuple, ast.Dict, ast.Starred, ast.BinOp, ast.UnaryOp, ast.Load, ast.Store),
    *(*OPERATORS, *COMPARISONS, *SIGNS, ast.Compare),
    *(ast.ListComp, ast.comprehension, ast.For, ast.Subscript, ast.Slice),
)
"""Allowed AST node types."""

MODULE, TASK = ("nn", "Module"), ("fit", "Task")
"""Base classes: of the classes of blocks and the model, and of the task class, which is the last."""

COPIES = ("nn", "ModuleList")
"""What holds the copies of a repeated instance."""

JOINING = frozenset({("lr_scheduler", "SequentialLR"), ("checkpoint", "checkpoint"), ("data", "JointBatches"), COPIES})
"""Functions that programs may call besides those of the nodes."""

INIT = ("nn", "init")
"""Module with the functions that set initial weights."""

LOOPS = frozenset({"range", "zip"})
"""Functions over whose result a comprehension may loop."""

TIED, OWN = "weight", "bias"
"""Parameters of layers that programs may name: one that two layers share, and one that they do not."""

INHERITED = frozenset({"measure"})
"""Task methods that programs may call."""

SETTINGS = frozenset({*STEP_SETTINGS, "per_step"})
"""Class attributes that the task class may set."""


def verify_source(text: str, code: Iterable[str] = ()) -> ast.Module:
    """Parse and verify a program. Raises UnsafeSyntaxError with the line that is not allowed.

    Args:
        code: names of the trusted functions and classes that the model may call
    """
    try:
        tree = parse_source(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise UnsafeSyntaxError(f"text that is not valid Python ({error})", getattr(error, "lineno", None)) from None
    _verify_nodes(tree)
    classes = [statement for statement in tree.body if isinstance(statement, ast.ClassDef)]
    if len(classes) < 2 or tree.body[-len(classes) :] != classes:
        _reject(tree.body[0] if tree.body else tree, "statements other than imports and classes")
    imported = {name for statement in tree.body[: -len(classes)] for name in _imported(statement)}
    *modules, task = classes
    members: frozenset[str] = frozenset()
    for index, module in enumerate(modules):
        before = [each.name for each in modules[:index]]
        if module.name in before:
            _reject(module, f"a second class {module.name}")
        members |= _attributes(module)
        _Class(module, MODULE, imported, _attributes(module), members, [*before, *code]).verify()
    task_attributes = _attributes(task) | INHERITED
    _Class(task, TASK, imported, task_attributes, members, [modules[-1].name]).verify()
    return tree


@functools.cache
def allowed_functions() -> frozenset[tuple[str, str]]:
    """Functions of imported modules that programs may call."""
    of_nodes = {path_of(node_type) for node_type in catalogue() if node_type.target is not None}
    return JOINING | of_nodes | {(ENGINE, name) for name in FUNCTIONS}


# -- the whole tree ---------------------------------------------------------------------------


def _verify_nodes(tree: ast.Module) -> None:
    for node in ast.walk(tree):
        if type(node) not in NODE_TYPES:
            _reject(node, f"{type(node).__name__}, which no program has")
        if isinstance(node, ast.Constant):
            if type(node.value) not in (type(None), bool, int, float, str, EllipsisType) or node.kind is not None:
                _reject(node, f"the constant {node.value!r}")
            continue
        for field, value in ast.iter_fields(node):
            for text in value if isinstance(value, list) else [value]:  # pyright: ignore[reportUnknownVariableType]
                if isinstance(text, str):
                    parts = text.split(".") if field == "module" else [text]
                    for part in parts:
                        identifier(part, getattr(node, "lineno", None))


def _imported(statement: ast.stmt) -> Iterable[str]:
    match statement:
        case ast.Import(names=[ast.alias(name="engine", asname=None)]):
            return ["engine"]
        case ast.ImportFrom(module=str(package), names=names, level=0):
            modules = {name for name in MODULES - {"engine"} if SUBPACKAGES.get(name, "engine") == package}
            found = [each.name for each in names if each.asname is None and each.name in modules]
            if len(found) == len(names):
                return found
        case _:
            pass
    return _reject(statement, "an import of a module outside the engine")


def _attributes(definition: ast.ClassDef) -> frozenset[str]:
    """The methods of a class and the attributes of `self` that they set."""
    methods = [each.name for each in definition.body if isinstance(each, ast.FunctionDef)]
    attributes = (node for node in ast.walk(definition) if isinstance(node, ast.Attribute))
    stored = (node for node in attributes if isinstance(node.ctx, ast.Store) and isinstance(node.value, ast.Name))
    return frozenset([*methods, *(node.attr for node in stored)])


# -- one class --------------------------------------------------------------------------------


class _Class:
    def __init__(
        self,
        definition: ast.ClassDef,
        base: tuple[str, str],
        imported: set[str],
        attributes: frozenset[str],
        members: frozenset[str],
        classes: Sequence[str],
    ) -> None:
        self._definition, self._base, self._imported = definition, base, imported
        self._attributes = attributes
        """Attributes of `self`."""
        self._members = members
        """Attributes of the modules before, and of this one."""
        self._classes = frozenset(classes)
        """Classes that may be made here."""
        self._locals: set[str] = set()
        """Local names of the current method."""
        self._copies: set[str] = set()
        """Variables of its loops over the copies of an instance."""

    def verify(self) -> None:
        found = self._definition
        bases = [_path(each) for each in found.bases]
        if bases != [self._base] or self._base[0] not in self._imported or found.keywords or found.decorator_list:
            _reject(found, f"a class that does not derive from {'.'.join(self._base)} alone")
        if found.name in self._imported | {"self", "super"}:
            _reject(found, f"a class named {found.name}")
        for statement in found.body:
            match statement:
                case ast.FunctionDef():
                    self._method(statement)
                case ast.Assign(targets=[ast.Name(id=name)], value=value) if name in SETTINGS:
                    self._locals = set()
                    self._value(value)
                case _:
                    _reject(statement, "a statement in a class that is neither a setting nor a method")

    def _method(self, method: ast.FunctionDef) -> None:
        arguments = method.args
        others = (
            arguments.posonlyargs,
            arguments.kwonlyargs,
            arguments.defaults,
            arguments.kw_defaults,
            arguments.vararg,
            arguments.kwarg,
        )
        names = [each.arg for each in arguments.args]
        is_plain = not any(others) and all(each.annotation is None for each in arguments.args)
        if not is_plain or names[:1] != ["self"] or method.decorator_list or method.returns is not None:
            _reject(method, "a method that is not plain")
        used = [node for node in ast.walk(method) if isinstance(node, ast.Name)]
        self._locals = {*names[1:], *(node.id for node in used if isinstance(node.ctx, ast.Store))}
        self._copies = set()
        shadowed = self._locals & {*self._imported, *self._classes, *LOOPS, "self", "super", self._definition.name}
        if shadowed:
            _reject(method, f"a local name {min(map(str, shadowed))}, which is already defined")
        for statement in method.body:
            self._statement(statement)

    def _statement(self, statement: ast.stmt) -> None:
        match statement:
            case ast.Assign(targets=[target], value=value):
                self._target(target)
                self._value(value)
            case ast.Expr(value=ast.Call(func=function) as call) if _path(function)[:2] == INIT:
                self._initialization(call)
            case ast.Expr(value=ast.Call() as call):
                self._value(call)
            case ast.Return(value=ast.expr() as value):
                self._value(value)
            case ast.For(target=ast.Name(id=name), iter=ast.Attribute() as sequence, body=body, orelse=[]):
                self._value(sequence)
                self._copies.add(name)
                for inner in body:
                    self._statement(inner)
            case _:
                _reject(statement, "a statement that no method has")

    def _initialization(self, call: ast.Call) -> None:
        """`nn.init.normal_(self.encoder[0].fc.weight, std=0.02)`."""
        *_, function = _path(call.func)
        match call.args:
            case [ast.Subscript(value=ast.Attribute() as target, slice=row), *values]:
                _verify_index(row)
            case [ast.Attribute() as target, *values]:
                pass
            case _:
                _reject(call, "an initialization of something other than a parameter")
        match _path(target):
            case ("self", layer, *layers, parameter) if self._base == MODULE and INIT[0] in self._imported:
                is_known = layer in self._attributes and self._members.issuperset(layers)
                allowed = is_known and is_parameter_name(parameter) and _path(call.func) == (*INIT, function)
            case _:
                allowed = False
        if not allowed or function not in INIT_FUNCTIONS:
            _reject(call, f"a call of {ast.unparse(call)[:100]!r}")
        for value in (*values, *(each.value for each in call.keywords)):
            if not _is_constant(value):
                _reject(call, "an initialization with a value that is not a constant")

    def _target(self, target: ast.expr) -> None:
        match target:
            case ast.Name() | ast.Attribute(value=ast.Name(id="self")):
                pass
            case ast.Attribute() if self._is_tied_weight(target):
                pass
            case ast.Tuple(elts=parts) if all(isinstance(part, ast.Name) for part in parts):
                pass
            case _:
                _reject(target, "an assignment to something other than a local name or an attribute of self")

    def _value(self, value: ast.expr) -> None:
        match value:
            case ast.Constant(value=constant) if constant is not ...:
                pass
            case ast.List(elts=parts) | ast.Tuple(elts=parts):
                self._values(parts)
            case ast.Starred(value=inner):
                self._value(inner)
            case ast.Dict(keys=keys, values=values) if None not in keys:
                self._values([*(key for key in keys if key is not None), *values])
            case ast.Subscript(value=tensor, slice=index):
                self._subscript(tensor, index)
            case ast.BinOp() | ast.UnaryOp() | ast.Compare():
                self._values(_operands(value))
            case ast.Call(func=function, args=[ast.ListComp() as copies], keywords=[]) if _path(function) == COPIES:
                self._function(function, value)
                self._comprehension(copies)
            case ast.Call(func=function, args=positional, keywords=named):
                self._function(function, value)
                if any(each.arg is None for each in named):
                    _reject(value, "a call with **")
                self._values([*positional, *(each.value for each in named)])
            case ast.Name(id=name) if name in self._locals:
                pass
            case ast.Attribute(value=ast.Name(id="self"), attr=name) if name in self._attributes:
                pass
            case ast.Attribute(value=ast.Name(id="engine"), attr=name) if name in DTYPES and ENGINE in self._imported:
                pass
            case ast.Attribute() if self._is_tied_weight(value) or self._is_own_parameter(value):
                pass
            case _:
                _reject(value, f"{ast.unparse(value)[:100]!r}, which it does not define")

    def _is_tied_weight(self, value: ast.expr) -> bool:
        """Whether it is `self.layer.weight`."""
        match _path(value):
            case ("self", layer, parameter) if isinstance(value, ast.Attribute):
                return layer in self._attributes and parameter == TIED and self._base == MODULE
            case _:
                return False

    def _is_own_parameter(self, value: ast.expr) -> bool:
        """Whether it is `self.model.layer.bias`."""
        match _path(value):
            case ("self", "model", *layers, parameter) if self._base == TASK:
                return bool(layers) and self._members.issuperset(layers) and parameter == OWN
            case _:
                return False

    def _subscript(self, tensor: ast.expr, index: ast.expr) -> None:
        """`x[:, -1]`, or `x.shape[0]`."""
        match tensor, index:
            case ast.Attribute(value=ast.Name() as owner, attr="shape"), ast.Constant(value=0):
                self._value(owner)
            case ast.Name(), _:
                self._value(tensor)
                _verify_index(index)
            case _:
                _reject(tensor, f"an index of {ast.unparse(tensor)[:100]!r}")

    def _comprehension(self, copies: ast.ListComp) -> None:
        """`[Block(width=width) for width in …]`."""
        match copies:
            case ast.ListComp(
                elt=ast.Call(func=ast.Name(id=name)) as made,
                generators=[ast.comprehension(target=ast.Name() | ast.Tuple() as target, ifs=[], is_async=0) as loop],
            ) if name in self._classes:
                self._target(target)
                self._sequence(loop.iter)
                self._value(made)
            case _:
                _reject(copies, f"{ast.unparse(copies)[:100]!r}, which makes no copies of a block")

    def _sequence(self, value: ast.expr) -> None:
        """What a comprehension loops over: `range(n)`, `zip(a, b)` or a value."""
        match value:
            case ast.Call(func=ast.Name(id=name), args=values, keywords=[]) if name in LOOPS:
                self._values(values)
            case _:
                self._value(value)

    def _values(self, values: Iterable[ast.expr]) -> None:
        for each in values:
            self._value(each)

    def _function(self, function: ast.expr, call: ast.expr) -> None:
        match _path(function):
            case (name,):
                allowed = name in self._classes or name in self._copies
            case ("self", name):
                allowed = name in self._attributes
            case ("self", "model", *layers, "parameters"):
                allowed = self._members.issuperset(layers)
            case ("self", layer, *layers, "requires_grad_"):
                allowed = layer in self._attributes and (self._members | {OWN}).issuperset(layers)
            case (module, name) if module in self._imported:
                allowed = (module, name) in allowed_functions()
            case (name, "map"):
                allowed = name in self._locals
            case (name, method) if name in self._locals:
                allowed = (METHODS, method) in allowed_functions()
            case ():
                allowed = _is_base_init(call)
            case _:
                allowed = False
        if not allowed:
            _reject(call, f"a call of {ast.unparse(function)[:100]!r}")


def _operands(value: ast.BinOp | ast.UnaryOp | ast.Compare) -> list[ast.expr]:
    """The operands of an operator. Numbers alone are not compared, and have no powers, which may be very large."""
    match value:
        case ast.BinOp(left=left, op=operator, right=right):
            if isinstance(operator, ast.Pow) and not _has_name(left):
                _reject(value, f"{ast.unparse(value)[:100]!r}, the power of a number")
            return [left, right]
        case ast.UnaryOp(operand=operand):
            return [operand]
        case ast.Compare(left=left, comparators=[right]) if _has_name(value):
            return [left, right]
        case _:
            return _reject(value, f"the comparison {ast.unparse(value)[:100]!r}")


def _has_name(tree: ast.expr) -> bool:
    return any(isinstance(each, ast.Name) for each in ast.walk(tree))


def _verify_index(index: ast.expr) -> None:
    """Reject what `parse_slice` does not make."""
    match index:
        case ast.Tuple(elts=parts):
            for part in parts:
                _verify_index(part)
        case ast.Slice(lower=lower, upper=upper, step=step):
            for each in (lower, upper, step):
                if each is not None:
                    _verify_index(each)
        case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=int())) | ast.Constant(value=int()):
            pass
        case ast.Constant(value=value) if value is ...:
            pass
        case _:
            _reject(index, f"the index {ast.unparse(index)[:100]!r}")


def _is_constant(value: ast.expr) -> bool:
    match value:
        case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=int() | float())):
            return True
        case ast.Constant(value=int() | float() | str()):
            return True
        case _:
            return False


def _is_base_init(call: ast.expr) -> bool:
    """Whether it is `super().__init__()`."""
    match call:
        case ast.Call(func=ast.Attribute(value=ast.Call(func=ast.Name(id="super")) as parent, attr="__init__")):
            return not any([parent.args, parent.keywords, call.args, call.keywords])
        case _:
            return False


def _path(value: ast.expr) -> tuple[str, ...]:
    """("a", "b", "c") for `a.b.c` and for `a.b[0].c`; empty for other expressions."""
    match value:
        case ast.Name(id=name):
            return (name,)
        case ast.Attribute(value=owner, attr=name) if before := _path(owner):
            return (*before, name)
        case ast.Subscript(value=ast.Attribute() as owner, slice=ast.Constant(value=int())):
            return _path(owner)
        case _:
            return ()


def _reject(node: Any, description: str) -> NoReturn:
    raise UnsafeSyntaxError(description, getattr(node, "lineno", None))


__all__ = ["allowed_functions", "verify_source"]

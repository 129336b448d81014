"""Arguments of the function or class of a Python node: tensors, and values with a kind and a default."""

from __future__ import annotations

import ast
from dataclasses import dataclass, field
from typing import Any, NoReturn, cast

from engine.registry import REQUIRED, FromInput, Kind, Parameter
from engine.system.syntax import parse_source
from studio.nodes.python_errors import CodeError

ANNOTATIONS = "Tensor, int, float, bool, str, Literal[...] or tuple[int, ...]"
INFERRED = {"in_features": -1, "in_channels": 1}
"""Dimension of the first input that an argument without a default is inferred from, by its name."""
_SCALARS: dict[str, Kind] = {"int": "int", "float": "float", "bool": "bool", "str": "str"}
_LISTS: dict[str, Kind] = {"int": "ints", "float": "floats"}
_MAX_NUMBER = 1e30


@dataclass(frozen=True, slots=True)
class Annotation:
    """The type of an argument."""

    kind: Kind | None
    """None for a tensor."""
    is_optional: bool = False
    choices: tuple[Any, ...] = ()

    @property
    def is_tensor(self) -> bool:
        return self.kind is None


@dataclass(frozen=True, slots=True)
class CodeArgument:
    """An argument of the function, or of `__init__` or `forward` of the class."""

    name: str
    node: ast.arg = field(repr=False, compare=False)
    is_tensor: bool = False
    is_optional: bool = False
    """Whether a tensor may be left out, or a value may be None."""
    kind: Kind = "str"
    default: Any = None
    """The default as (value,); None if it is required."""
    choices: tuple[Any, ...] = ()

    @property
    def parameter(self) -> Parameter:
        """The parameter of the node."""
        is_required = self.default is None
        inferred = INFERRED.get(self.name) if is_required and self.kind == "int" else None
        return Parameter(
            self.name,
            self.kind,
            REQUIRED if is_required else self.default[0],
            optional=self.is_optional,
            choices=self.choices,
            single=False,
            from_input=None if inferred is None else FromInput(inferred),
        )


def read_annotation(tree: ast.expr | None) -> Annotation | None:
    """The type that an annotation names; None without one, or for one that is not known."""
    match tree:
        case ast.Constant(value=str() as text):
            return _quoted(text)
        case ast.Name(id=name) | ast.Attribute(attr=name):
            return Annotation(None) if name == "Tensor" else Annotation(_SCALARS[name]) if name in _SCALARS else None
        case ast.BinOp(left=left, op=ast.BitOr(), right=ast.Constant(value=None)):
            return _optional(read_annotation(left))
        case ast.BinOp(left=ast.Constant(value=None), op=ast.BitOr(), right=right):
            return _optional(read_annotation(right))
        case ast.Subscript(value=owner, slice=inner):
            name = owner.attr if isinstance(owner, ast.Attribute) else getattr(owner, "id", "")
            return _subscript(name.lower(), inner.elts if isinstance(inner, ast.Tuple) else [inner])
        case _:
            return None


def _quoted(text: str) -> Annotation | None:
    try:
        [statement] = parse_source(text.strip()).body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    tree = statement.value if isinstance(statement, ast.Expr) else None
    return None if isinstance(tree, ast.Constant) else read_annotation(tree)


def _subscript(name: str, parts: list[ast.expr]) -> Annotation | None:
    if name == "optional" and len(parts) == 1:
        return _optional(read_annotation(parts[0]))
    if name == "literal" and all(isinstance(part, ast.Constant) for part in parts):
        choices = tuple(part.value for part in parts if isinstance(part, ast.Constant))
        if all(type(choice) in (str, int, bool) for choice in choices):
            return Annotation("choice", choices=choices)
    if name in ("tuple", "list") and (kinds := {each.id for each in parts if isinstance(each, ast.Name)}):
        kind = _LISTS.get(kinds.pop()) if len(kinds) == 1 else None
        return None if kind is None else Annotation(kind)
    return None


def _optional(found: Annotation | None) -> Annotation | None:
    return None if found is None else Annotation(found.kind, is_optional=True, choices=found.choices)


def literal_default(node: ast.arg, annotation: Annotation | None, default: ast.expr | None) -> CodeArgument:
    """An argument that is not a tensor. Raises CodeError if its default is not a literal of its type."""
    name = node.arg
    if default is None:
        assert annotation is not None
        assert annotation.kind is not None
        return CodeArgument(
            name, node, is_optional=annotation.is_optional, kind=annotation.kind, choices=annotation.choices
        )
    try:
        value: Any = ast.literal_eval(default)
    except (ValueError, TypeError, RecursionError, MemoryError):
        _reject(default, f"the default of {name} must be a number, a text, True, False, None or a tuple of numbers")
    kind = _kind_of(value) if annotation is None or annotation.kind is None else annotation.kind
    if kind is None:
        _reject(node, f"{name} needs an annotation of {ANNOTATIONS}")
    if kind == "float" and isinstance(value, int) and not isinstance(value, bool) and abs(value) <= _MAX_NUMBER:
        value = float(value)
    elif kind == "floats" and isinstance(value, (tuple, list)):
        items = cast("list[Any]", list(value))
        value = tuple(float(item) if type(item) is int and abs(item) <= _MAX_NUMBER else item for item in items)
    elif isinstance(value, list):
        value = tuple(cast("list[Any]", value))
    is_optional = value is None or (annotation is not None and annotation.is_optional)
    choices = () if annotation is None else annotation.choices
    found = CodeArgument(name, node, is_optional=is_optional, kind=kind, default=(value,), choices=choices)
    if (problem := found.parameter.problem(value)) is not None:
        _reject(default, f"the default of {name} {problem}")
    return found


def _kind_of(value: Any) -> Kind | None:
    """The kind of parameter with a value."""
    if type(value).__name__ in _SCALARS:
        return _SCALARS[type(value).__name__]
    if isinstance(value, (tuple, list)) and value:
        items = cast("list[Any]", list(value))
        if all(type(item) is int for item in items):
            return "ints"
        if all(type(item) in (int, float) for item in items):
            return "floats"
    return None


def _reject(node: ast.AST, reason: str) -> NoReturn:
    raise CodeError(reason, getattr(node, "lineno", 1), getattr(node, "col_offset", 0) + 1)


__all__ = ["ANNOTATIONS", "Annotation", "CodeArgument", "literal_default", "read_annotation"]

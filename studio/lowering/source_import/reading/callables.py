"""Node types by the names that source uses for them: layers, functions, tensor methods and operators."""

from __future__ import annotations

import ast
import functools
import inspect
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import engine
from engine.nn import functional
from studio.lowering.codegen.safe_identifiers import METHODS
from studio.lowering.source_import.reading.source_errors import refuse
from studio.nodes.catalogue import Catalogue
from studio.nodes.types import NodeType, Role

LIBRARIES = frozenset({"engine", "torch"})
"""Packages whose names are those of the engine."""

KNOWN_NAMES = {
    **dict.fromkeys(LIBRARIES, ""),
    "nn": "nn",
    "F": "nn.functional",
    "functional": "nn.functional",
    "linalg": "linalg",
    "checkpoint": "utils.checkpoint",
}
"""Access paths below the package by name, for names that source may use without an import."""

OPERATORS: Mapping[type[ast.AST], str] = {
    ast.Add: "ops.add",
    ast.Sub: "ops.sub",
    ast.Mult: "ops.mul",
    ast.Div: "ops.div",
    ast.FloorDiv: "ops.floor_divide",
    ast.Mod: "ops.remainder",
    ast.Pow: "ops.pow",
    ast.MatMult: "ops.matmul",
    ast.BitAnd: "ops.logical_and",
    ast.BitOr: "ops.logical_or",
    ast.BitXor: "ops.logical_xor",
    ast.Invert: "ops.logical_not",
    ast.USub: "ops.neg",
    ast.Eq: "ops.eq",
    ast.NotEq: "ops.ne",
    ast.Lt: "ops.lt",
    ast.LtE: "ops.le",
    ast.Gt: "ops.gt",
    ast.GtE: "ops.ge",
}
"""Operations by operator."""

_SAME_FUNCTION = {
    "concat": "cat",
    "concatenate": "cat",
    "subtract": "sub",
    "multiply": "mul",
    "divide": "div",
    "view": "reshape",
    "swapaxes": "transpose",
    "moveaxis": "movedim",
    "clip": "clamp",
    "absolute": "abs",
}

_OWNERS: Mapping[str, tuple[str, ...]] = {
    "": ("ops",),
    METHODS: (METHODS, "ops", "functional"),
    "nn.functional": ("functional", "ops"),
    "linalg": ("linalg",),
}
"""First parts of keys by the path of the module."""


@dataclass(frozen=True, slots=True)
class FunctionTarget:
    """The node type that computes a function."""

    type: NodeType
    signature: inspect.Signature | None = None
    """Signature of a function whose node is a layer, such as `relu`; None for an operation."""


class ImportedNames:
    """The names that imports define, as access paths below the package: {"F": "nn.functional"}.

    Args:
        code: sources of Python nodes by the name of their function or class
    """

    def __init__(self, code: Mapping[str, str] | None = None) -> None:
        self._paths = dict(KNOWN_NAMES)
        self.code = code or {}

    def add(self, statement: ast.Import | ast.ImportFrom, *, is_strict: bool = True) -> None:
        """Add the names of an import.

        Args:
            is_strict: refuse other packages. Otherwise, their names stand for nothing
        """
        for alias in statement.names:
            module = alias.name if isinstance(statement, ast.Import) else f"{statement.module}.{alias.name}"
            package, _, path = module.partition(".")
            if package == "__future__" or package == "typing":
                continue
            if package not in LIBRARIES or (isinstance(statement, ast.ImportFrom) and statement.level):
                if not is_strict:
                    self._paths.pop(alias.asname or alias.name.partition(".")[0], None)
                    continue
                refuse(statement, f"{module} is not part of the engine. Remove the import, and what uses it.")
            if isinstance(statement, ast.Import) and alias.asname is None:
                self._paths[package] = ""
            else:
                self._paths[alias.asname or alias.name.rpartition(".")[2]] = path

    def path(self, node: ast.expr) -> str | None:
        """The access path of `nn.Linear`: "nn.Linear". None if the name is not one of the engine."""
        match node:
            case ast.Name(id=name):
                return self._paths.get(name)
            case ast.Attribute(value=owner, attr=attribute):
                before = self.path(owner)
                return None if before is None else f"{before}.{attribute}".removeprefix(".")
            case _:
                return None


def layer_type(catalogue: Catalogue, path: str) -> NodeType | None:
    """The layer with a path such as "nn.Linear"."""
    found = catalogue.get(path)
    return found if found is not None and found.role is Role.LAYER else None


def function_type(catalogue: Catalogue, path: str) -> FunctionTarget | None:
    """The node type that computes a function of the engine, of `nn.functional`, or a method of tensors."""
    package, _, name = path.rpartition(".")
    if package not in _OWNERS:
        return None
    for owner in _OWNERS[package]:
        operation = catalogue.get(f"{owner}.{_SAME_FUNCTION.get(name, name)}")
        if operation is not None and operation.role is Role.OPERATION:
            return FunctionTarget(operation)
    layer = _functional_layers(catalogue).get(name.replace("_", ""))
    called = getattr(engine if package in ("", METHODS) and hasattr(engine, name) else functional, name, None)
    if layer is None or called is None:
        return None
    signature = inspect.signature(called)
    return None if "weight" in signature.parameters else FunctionTarget(layer, signature)


@functools.lru_cache(maxsize=4)
def _functional_layers(catalogue: Catalogue) -> dict[str, NodeType]:
    """Layers by the name of their function, without underscores."""
    layers = [each for each in catalogue if each.role is Role.LAYER]
    return {each.key.rpartition(".")[2].lower(): each for each in layers}


def is_default(parameter: Any, value: object) -> bool:
    """Whether a value is the default of a parameter."""
    return type(parameter.default) is type(value) and parameter.default == value


__all__ = [
    "LIBRARIES",
    "OPERATORS",
    "FunctionTarget",
    "ImportedNames",
    "function_type",
    "is_default",
    "layer_type",
]

"""Statements of constructors that only set initial weights, which a graph does not have."""

from __future__ import annotations

import ast

from studio.lowering.source_import.reading.callables import ImportedNames

_INIT = "nn.init."
_WEIGHTS = frozenset({"modules", "named_modules", "parameters", "named_parameters", "children"})
"""Methods of modules that loops over weights use."""


def sets_weights(statement: ast.stmt, names: ImportedNames) -> bool:
    """Whether it is `nn.init.normal_(…)`, `self.fc.weight.data.zero_()`, `self.apply(…)`, or a loop of such calls."""
    match statement:
        case ast.Expr(value=ast.Call() as call):
            return _initializes(call, names)
        case ast.For(iter=ast.Call(func=ast.Attribute(attr=name)), body=body) if name in _WEIGHTS:
            return all(_is_harmless(each, names) for each in body)
        case _:
            return False


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


__all__ = ["sets_weights"]

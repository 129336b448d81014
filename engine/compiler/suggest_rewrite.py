"""Suggests what to write instead of a line that breaks a graph, with the names of that line where possible."""

from __future__ import annotations

import ast
import linecache
from collections.abc import Iterator

from engine.compiler.break_reasons import BOOL, ITERATION, LIST, NUMBER, PRINT, BreakReason
from engine.graph import SourceLocation
from engine.system.syntax import parse_source


def suggest_rewrite(reason: BreakReason, where: SourceLocation) -> str:
    """A suggestion for a break: for the line itself if its statement is understood, else the general advice."""
    found = None
    for statement in _around(where):
        found = found or _FOR.get(reason.id, _nothing)(statement)
    return found or reason.advice


def fullgraph_error(reason: BreakReason, where: SourceLocation) -> str:
    """The message of the error for a break under `fullgraph=True`."""
    location = "" if where is None else f" at {where[0]}:{where[1]}"
    return f"compile(fullgraph=True): graph break{location}, because {reason.what}. {suggest_rewrite(reason, where)}"


def line_text(where: SourceLocation) -> str:
    """The source text of a line; empty if it is not available."""
    return "" if where is None else linecache.getline(*where).strip()


def _around(where: SourceLocation) -> Iterator[ast.stmt]:
    """The statements that contain a line, innermost first, without functions, classes and `with` blocks."""
    if where is None:
        return
    filename, line = where
    try:
        tree = parse_source("".join(linecache.getlines(filename)))
    except SyntaxError:  # a notebook cell with magic commands, or a file that was edited
        return
    found = [
        node
        for node in ast.walk(tree)
        if isinstance(node, ast.stmt) and node.lineno <= line <= (node.end_lineno or node.lineno)
    ]
    inner = [node for node in found if not isinstance(node, (ast.FunctionDef, ast.ClassDef, ast.With))]
    yield from sorted(inner, key=lambda node: (-node.lineno, node.end_lineno or 0))


def _nothing(statement: ast.stmt) -> str | None:
    return None


def _choice(statement: ast.stmt) -> str | None:
    """For a branch on a tensor."""
    match statement:
        case ast.If(test=test, body=[ast.Assign(targets=[ast.Name(id=a)], value=yes)], orelse=[]):
            return f"Compute both and choose: `{a} = engine.where({_text(test)}, {_text(yes)}, {a})`"
        case ast.If(
            test=test,
            body=[ast.Assign(targets=[ast.Name(id=a)], value=yes)],
            orelse=[ast.Assign(targets=[ast.Name(id=b)], value=no)],
        ) if a == b:
            return f"Compute both and choose: `{a} = engine.where({_text(test)}, {_text(yes)}, {_text(no)})`"
        case ast.If(test=test, body=[ast.Return(value=ast.expr() as yes)], orelse=[ast.Return(value=ast.expr() as no)]):
            return f"Compute both and choose: `return engine.where({_text(test)}, {_text(yes)}, {_text(no)})`"
        case ast.If(test=test, body=[ast.AugAssign(target=target, op=op, value=value)], orelse=[]):
            changed = _text(ast.BinOp(target, op, value))
            return (
                f"Compute both and choose: `{_text(target)} = engine.where({_text(test)}, {changed}, {_text(target)})`"
            )
        case ast.While():
            return (
                "Loop a fixed number of times and select results with engine.where(), "
                "or check the condition only every few iterations."
            )
        case ast.Assert(test=test):
            return f"Return `{_text(test)}` as well and assert it after the call, or remove the check."
        case _:
            return _inline_choice(statement)


def _inline_choice(statement: ast.stmt) -> str | None:
    choices = [node for node in ast.walk(statement) if isinstance(node, ast.IfExp)]
    if len(choices) != 1:
        return None
    one = choices[0]
    inside = f"engine.where({_text(one.test)}, {_text(one.body)}, {_text(one.orelse)})"
    match statement:
        case ast.Assign(targets=[target], value=value) if value is one:
            return f"Compute both and choose: `{_text(target)} = {inside}`"
        case ast.Return(value=value) if value is one:
            return f"Compute both and choose: `return {inside}`"
        case _:
            return f"Compute both and choose: `{inside}`"


def _number(statement: ast.stmt) -> str | None:
    """For a conversion to a Python number."""
    match statement:
        case ast.AugAssign(target=target, op=ast.Add(), value=value):
            source = _without_reading(value)
            return source and (
                f"Accumulate tensors, `{_text(target)} += {source}.detach()`, and read the sum once, after the loop."
            )
        case ast.Expr(value=ast.Call(func=ast.Attribute(value=kept, attr="append"), args=[value])):
            source = _without_reading(value)
            kept_text = _text(kept)
            return source and (
                f"Keep tensors, `{kept_text}.append({source}.detach())`, and read them once, after the loop: "
                f"`engine.stack({kept_text}).tolist()`"
            )
        case ast.Return(value=ast.expr() as value):
            source = _without_reading(value)
            return source and f"Return the tensor, `return {source}`, and read it after the call."
        case ast.Assign(targets=[target], value=value):
            source = _without_reading(value)
            return source and (
                f"Use the tensor, `{_text(target)} = {source}`: ops accept it wherever they take a number."
            )
        case _:
            return None


def _without_reading(value: ast.expr) -> str | None:
    """`x` of `x.item()`, `float(x)` or `int(x)`."""
    match value:
        case ast.Call(func=ast.Attribute(value=source, attr="item" | "tolist"), args=[]):
            return _text(source)
        case ast.Call(func=ast.Name(id="float" | "int"), args=[source]):
            return _without_reading(source) or _text(source)
        case _:
            return None


def _loop(statement: ast.stmt) -> str | None:
    """For a loop over the elements of a tensor."""
    match statement:
        case ast.For(target=target, iter=source):
            return (
                f"Compute on the whole tensor `{_text(source)}`: ops process all elements at once. "
                f"If {_text(target)} must be a Python number, call `{_text(source)}.tolist()` after the function."
            )
        case _:
            return None


def _printing(statement: ast.stmt) -> str | None:
    match statement:
        case ast.Expr(value=ast.Call(func=ast.Name(id="print"))):
            return "Return the tensor and print it after the call. Shapes and dtypes can be printed anywhere."
        case _:
            return None


def _text(node: ast.AST) -> str:
    return ast.unparse(node)


_FOR = {BOOL.id: _choice, NUMBER.id: _number, LIST.id: _number, ITERATION.id: _loop, PRINT.id: _printing}

__all__ = ["line_text", "suggest_rewrite"]

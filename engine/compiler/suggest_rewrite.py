"""What to write in place of a line that breaks a graph, in that line's own words where they can be understood."""

from __future__ import annotations

import ast
import linecache
from collections.abc import Iterator

from engine.compiler.break_reasons import BOOL, ITERATION, LIST, NUMBER, PRINT, BreakReason
from engine.graph import Place
from engine.system.syntax import parsed


def suggest_rewrite(reason: BreakReason, where: Place) -> str:
    """A suggestion for a break: one for the line itself, else the reason's own."""
    found = None
    for statement in _around(where):
        found = found or _FOR.get(reason.id, _nothing)(statement)
    return found or reason.advice


def fullgraph_error(reason: BreakReason, where: Place) -> str:
    """What an error says where breaks are not allowed."""
    location = "" if where is None else f" at {where[0]}:{where[1]}"
    return f"compile(fullgraph=True): a graph break{location}, because {reason.what}. {suggest_rewrite(reason, where)}"


def line_text(where: Place) -> str:
    """The text of a line; empty if there is none to be had."""
    return "" if where is None else linecache.getline(*where).strip()


def _around(where: Place) -> Iterator[ast.stmt]:
    """The statements that a line is part of, the innermost first. For a compound one only its head counts as part."""
    if where is None:
        return
    filename, line = where
    try:
        tree = parsed("".join(linecache.getlines(filename)))
    except SyntaxError:  # a notebook's cell with magic, or a file that has changed
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
    """For a decision by a tensor."""
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
                "Repeat a fixed number of times and keep what is done with engine.where(), "
                "or look at the condition only every few rounds."
            )
        case ast.Assert(test=test):
            return f"Return `{_text(test)}` as a result too, and assert it after the call; or leave the check out."
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
    """For a number that was read."""
    match statement:
        case ast.AugAssign(target=target, op=ast.Add(), value=value):
            source = _without_reading(value)
            return source and (
                f"Add up tensors, `{_text(target)} += {source}.detach()`, and read the sum once, after the loop."
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
                f"Go on with the tensor, `{_text(target)} = {source}`: ops take it as they take a number."
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
    """For reading elements one by one."""
    match statement:
        case ast.For(target=target, iter=source):
            return (
                f"Compute on the whole of `{_text(source)}` at once: sums, products and comparisons take all elements. "
                f"If {_text(target)} must be a number, take `{_text(source)}.tolist()` after the compiled function."
            )
        case _:
            return None


def _printing(statement: ast.stmt) -> str | None:
    match statement:
        case ast.Expr(value=ast.Call(func=ast.Name(id="print"))):
            return "Return it, and print it after the call. Shapes and dtypes can be printed anywhere."
        case _:
            return None


def _text(node: ast.AST) -> str:
    return ast.unparse(node)


_FOR = {BOOL.id: _choice, NUMBER.id: _number, LIST.id: _number, ITERATION.id: _loop, PRINT.id: _printing}

__all__ = ["line_text", "suggest_rewrite"]

"""Branches on values of tensors, rewritten as a choice between the results of both branches."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from studio.lowering.user_code.graph_breaks.break_location import FORCED, BreakLocation, Rewrite
from studio.lowering.user_code.source_edits import TextEdit, replaced, start_of, without_statement

_TITLE = "Use {engine}.where"


def branches(at: BreakLocation) -> Iterator[Rewrite]:
    """`if` with assignments or results."""
    if not isinstance(at.statement, ast.If):
        return
    for build in (_assigned, _returned, _returned_later):
        plain, forced = build(at, _plain(at)), build(at, _forced(at))
        if plain is not None and forced is not None:
            inner = (each.test for each in ast.walk(at.statement) if isinstance(each, ast.If))
            before = tuple(replaced(test, _forced_text(test, at.text(test))) for test in inner)
            yield Rewrite(_TITLE.format(engine=at.engine), (plain,), before, (forced,))


def expressions(at: BreakLocation) -> Iterator[Rewrite]:
    """`a if test else b`, and max() and min() of two tensors."""
    for node in at.nodes():
        match node:
            case ast.IfExp(test=test, body=body, orelse=other):
                pass
            case ast.Call(func=ast.Name(id="max" | "min" as name), args=[first, second], keywords=[]):
                symbol = ">" if name == "max" else "<"
                left, right = at.operand(second), at.operand(first)
                chosen = f"{at.engine}.where({left} {symbol} {right}, {left}, {right})"
                yield Rewrite(_TITLE.format(engine=at.engine), (replaced(node, chosen),))
                continue
            case _:
                continue

        ends = f", {at.text(body)}, {at.text(other)})"
        before = (replaced(test, _forced_text(test, at.text(test))),)
        plain, forced = (
            replaced(node, f"{at.engine}.where({condition(test)}{ends}") for condition in (_plain(at), _forced(at))
        )
        yield Rewrite(_TITLE.format(engine=at.engine), (plain,), before, (forced,))


def conversions(at: BreakLocation) -> Iterator[Rewrite]:
    """`bool(x)`, `not x`, `all(x)` and `any(x)` in an expression."""
    for node in at.nodes():
        match node:
            case ast.Call(func=ast.Name(id="bool"), args=[value], keywords=[]):
                yield Rewrite("Keep the tensor", (replaced(node, at.operand(value)),))
            case ast.Call(func=ast.Name(id="all" | "any" as name), args=[value], keywords=[]):
                if not isinstance(value, (ast.GeneratorExp, ast.List, ast.ListComp)):
                    yield Rewrite(f"Use .{name}()", (replaced(node, f"{at.operand(value)}.{name}()"),))
            case ast.UnaryOp(op=ast.Not(), operand=value):
                yield Rewrite("Use logical_not", (replaced(node, f"{at.engine}.logical_not({at.text(value)})"),))
            case _:
                pass


def assertions(at: BreakLocation) -> Iterator[Rewrite]:
    if isinstance(at.statement, ast.Assert):
        note = "The condition is no longer checked."
        yield Rewrite("Remove the assertion", (without_statement(at.statement, at.body),), note=note)


def condition_text(at: BreakLocation, test: ast.expr) -> str:
    """A condition as an expression of tensors: `and`, `or` and `not` need bools."""
    match test:
        case ast.BoolOp(op=operator, values=values):
            name = "logical_and" if isinstance(operator, ast.And) else "logical_or"
            parts = [condition_text(at, value) for value in values]
            text = parts[0]
            for part in parts[1:]:
                text = f"{at.engine}.{name}({text}, {part})"
            return text
        case ast.UnaryOp(op=ast.Not(), operand=value):
            return f"{at.engine}.logical_not({condition_text(at, value)})"
        case ast.Compare(left=left, ops=[*operators], comparators=[*others]) if len(operators) > 1:
            values = [left, *others]
            pairs = [
                ast.Compare(values[index], [operator], [values[index + 1]]) for index, operator in enumerate(operators)
            ]
            return condition_text(at, ast.BoolOp(ast.And(), [*pairs]))
        case ast.Call(func=ast.Name(id="bool"), args=[value], keywords=[]):
            return condition_text(at, value)
        case ast.Compare() | ast.Name() | ast.Call() | ast.BinOp(op=ast.BitAnd() | ast.BitOr()):
            return at.text(test)
        case _:
            return f"{at.operand(test)} != 0"


_Condition = Callable[[ast.expr], str]


def _plain(at: BreakLocation) -> _Condition:
    return lambda test: condition_text(at, test)


def _forced(at: BreakLocation) -> _Condition:
    return lambda test: _forced_text(test, condition_text(at, test))


def _forced_text(test: ast.expr, text: str) -> str:
    """A condition that can be forced, with its position as its name."""
    return f'{FORCED}("{test.lineno}:{test.col_offset}", {text})'


@dataclass(frozen=True, slots=True)
class _Branch:
    """What a branch does: statements for variables that only it uses, and the values of other variables after it."""

    first: tuple[str, ...]
    values: dict[str, str]


def _assigned(at: BreakLocation, condition: _Condition) -> TextEdit | None:
    statement = at.statement
    assert isinstance(statement, ast.If)
    found = _choices(at, statement, condition)
    if found is None or not found.values:
        return None
    return at.replaced([*found.first, *(f"{name} = {value}" for name, value in found.values.items())])


def _choices(at: BreakLocation, statement: ast.If, condition: _Condition) -> _Branch | None:
    """The values of variables after `if`, each as one expression."""
    branches = [_branch(at, each, statement, condition) for each in (statement.body, statement.orelse)]
    yes, no = branches
    if yes is None or no is None:
        return None
    names = list(dict.fromkeys([*yes.values, *no.values]))
    test, first = condition(statement.test), [*yes.first, *no.first]
    if len(names) > 1 and not isinstance(statement.test, ast.Name):
        if any(isinstance(each, ast.If) for each in ast.walk(statement) if each is not statement):
            return None
        chosen = at.unused_name("is_chosen")
        test, first = chosen, [f"{chosen} = {test}", *first]
    values = {
        name: f"{at.engine}.where({test}, {yes.values.get(name, name)}, {no.values.get(name, name)})" for name in names
    }
    if len(names) > 1:
        # Values of the variables before the statement: none may be read after it has changed.
        targets, choices = ", ".join(values), ", ".join(values.values())
        return _Branch(tuple(first), {targets: choices})
    return _Branch(tuple(first), values)


def _branch(at: BreakLocation, body: list[ast.stmt], whole: ast.If, condition: _Condition) -> _Branch | None:
    first: list[str] = []
    values: dict[str, str] = {}
    temporary: set[str] = set()
    for statement in body:
        read = {each.id for each in ast.walk(statement) if isinstance(each, ast.Name)}
        match statement:
            case ast.Pass():
                continue
            case ast.If():
                inner = _choices(at, statement, condition)
                if inner is None or inner.first or (read & values.keys()) or len(body) > 1:
                    return None
                values |= inner.values
                continue
            case ast.Assign(targets=[ast.Name(id=name)], value=value):
                text, used = at.text(value), _names(value)
            case ast.AnnAssign(target=ast.Name(id=name), value=ast.expr() as value):
                text, used = at.text(value), _names(value)
            case ast.AugAssign(target=ast.Name(id=name) as target, op=operator, value=value):
                text, used = ast.unparse(ast.BinOp(target, operator, value)), _names(value) | {name}
            case _:
                return None
        if used & values.keys():
            return None  # it reads what the branch has changed before
        is_own = (not at.reads(name, body) and body is not whole.orelse) or name in temporary
        if is_own and statement is not body[-1]:
            if name in values:
                return None
            first.append(f"{name} = {text}")
            temporary.add(name)
        else:
            values[name] = text
    return _Branch(tuple(first), values)


def _names(node: ast.AST) -> set[str]:
    return {each.id for each in ast.walk(node) if isinstance(each, ast.Name)}


def _returned(at: BreakLocation, condition: _Condition) -> TextEdit | None:
    """`if test: return a`, with `return b` in `else` or next."""
    statement = at.statement
    assert isinstance(statement, ast.If)
    other = statement.orelse or at.following[:1]
    match statement.body, other:
        case [ast.Return(value=ast.expr() as yes)], [ast.Return(value=ast.expr() as no) as last]:
            text = _where_of(at, condition(statement.test), yes, no)
            return None if text is None else at.replaced([f"return {text}"], None if statement.orelse else last)
        case _:
            return None


def _returned_later(at: BreakLocation, condition: _Condition) -> TextEdit | None:
    """`if test: return a`, with further statements before the last `return`."""
    statement = at.statement
    assert isinstance(statement, ast.If)
    if statement.orelse or len(statement.body) != 1 or len(at.following) < 2:
        return None
    early, later = statement.body[0], at.following
    last = later[-1]
    if not isinstance(early, ast.Return) or not isinstance(last, ast.Return) or not (early.value and last.value):
        return None
    plain = (ast.Assign, ast.AnnAssign, ast.Expr)
    if not all(isinstance(each, plain) for each in later[:-1]):
        return None
    changed = {
        each.id
        for statement_later in later
        for each in ast.walk(statement_later)
        if isinstance(each, ast.Name) and isinstance(each.ctx, ast.Store)
    }
    if changed & (_names(statement.test) | _names(early.value)):
        return None
    text = _where_of(at, condition(statement.test), early.value, last.value)
    if text is None:
        return None
    begin, end = start_of(later[0]), start_of(last)
    lines = at.source.encode().splitlines(keepends=True)
    between = b"".join(lines[begin[0] - 1 : end[0] - 1]).decode()[begin[1] :].rstrip()
    return TextEdit(start_of(statement), at.replaced([], last).end, f"{between}\n{' ' * end[1]}return {text}")


def _where_of(at: BreakLocation, condition: str, yes: ast.expr, no: ast.expr) -> str | None:
    """A choice between results, or between tuples of the same length."""
    if isinstance(yes, ast.Tuple) != isinstance(no, ast.Tuple):
        return None
    if not isinstance(yes, ast.Tuple) or not isinstance(no, ast.Tuple):
        return f"{at.engine}.where({condition}, {at.text(yes)}, {at.text(no)})"
    if len(yes.elts) != len(no.elts):
        return None
    parts = (
        f"{at.engine}.where({condition}, {at.text(a)}, {at.text(b)})" for a, b in zip(yes.elts, no.elts, strict=True)
    )
    return ", ".join(parts)


__all__ = ["assertions", "branches", "condition_text", "conversions", "expressions"]

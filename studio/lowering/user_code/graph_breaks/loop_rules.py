"""Loops over the elements of a tensor, rewritten as ops on the whole tensor."""

from __future__ import annotations

import ast
import copy
from collections.abc import Iterator
from dataclasses import dataclass

from studio.lowering.codegen.syntax_trees import call, member
from studio.lowering.user_code.code_values import NAMESPACES, owner_name
from studio.lowering.user_code.graph_breaks.break_location import BreakLocation, Rewrite, locations_at
from studio.lowering.user_code.source_edits import replaced

_TITLE = "Compute on the whole tensor"


def element_loops(at: BreakLocation) -> Iterator[Rewrite]:
    """`for value in x: total += f(value)`, also with an index, and a list of `f(value)` that becomes a tensor."""
    for location in (at, *_outer_loops(at)):
        yield from _sum_loop(location)
    for node in at.nodes():
        match node:
            case ast.Call(
                func=ast.Attribute(attr="tensor" | "stack" | "as_tensor") as called,
                args=[ast.ListComp(elt=element, generators=[ast.comprehension(ifs=[], is_async=0) as generator])],
                keywords=[],
            ) if owner_name(called) in NAMESPACES:
                found = _element(generator.target, generator.iter)
                text = None if found is None else _whole(element, found)
                if text is not None:
                    yield Rewrite(_TITLE, (replaced(node, f"({text})"),))
            case ast.Call(
                func=ast.Name(id="sum"),
                args=[ast.GeneratorExp() | ast.ListComp() as values],
                keywords=[],
            ) if len(values.generators) == 1 and not values.generators[0].ifs:
                found = _element(values.generators[0].target, values.generators[0].iter)
                text = None if found is None else _whole(values.elt, found)
                if text is not None:
                    yield Rewrite(_TITLE, (replaced(node, f"({text}).sum()"),))
            case _:
                pass


def _outer_loops(at: BreakLocation) -> list[BreakLocation]:
    """The loops whose body is the statement: it may read the elements instead of the loop."""
    loops = [each for each in at.function.nodes() if isinstance(each, ast.For) and at.statement in each.body]
    found = [each for loop in loops for each in locations_at(at.source, loop.lineno)]
    return [each for each in found if isinstance(each.statement, ast.For)]


def _sum_loop(at: BreakLocation) -> Iterator[Rewrite]:
    match at.statement:
        case ast.For(
            target=target,
            iter=iterated,
            body=[ast.AugAssign(target=ast.Name(id=total), op=ast.Add(), value=value)],
            orelse=[],
        ):
            found = _element(target, iterated)
            if found is None or any(isinstance(each, ast.Name) and each.id == total for each in ast.walk(value)):
                return
            text = _whole(value, found)
            if text is not None:
                yield Rewrite(_TITLE, (at.replaced([f"{total} = {total} + ({text}).sum()"]),))
        case ast.For(
            target=target,
            iter=iterated,
            body=[
                ast.If(
                    test=test,
                    body=[ast.AugAssign(target=ast.Name(id=total), op=ast.Add(), value=value)],
                    orelse=[],
                )
            ],
            orelse=[],
        ):
            found = _element(target, iterated)
            mask = None if found is None else _whole(test, found)
            if found is None or mask is None:
                return
            if isinstance(value, ast.Constant):
                factor = "" if value.value == 1 else f"{ast.unparse(value)} * "
                yield Rewrite(_TITLE, (at.replaced([f"{total} = {total} + {factor}({mask}).sum()"]),))
            elif (text := _whole(value, found)) is not None:
                chosen = f"{at.engine}.where({mask}, {text}, 0)"
                yield Rewrite(_TITLE, (at.replaced([f"{total} = {total} + {chosen}.sum()"]),))
        case _:
            return


@dataclass(frozen=True, slots=True)
class _Element:
    """What stands for one element in a loop."""

    expression: ast.expr
    tensor: ast.expr
    """The tensor of all elements."""
    is_number: bool = False
    """Whether it is a number, without a gradient."""


def _element(target: ast.expr, iterated: ast.expr) -> _Element | None:
    match target, iterated:
        case ast.Name(), ast.Call(func=ast.Name(id="range"), args=[ast.Call(func=ast.Name(id="len"), args=[tensor])]):
            return _Element(ast.Subscript(tensor, target), tensor)
        case ast.Name(), ast.Call(
            func=ast.Name(id="range"),
            args=[
                ast.Subscript(value=ast.Attribute(value=tensor, attr="shape"))
                | ast.Call(func=ast.Attribute(value=tensor, attr="size" | "numel"))
            ],
        ):
            return _Element(ast.Subscript(tensor, target), tensor)
        case ast.Name(), ast.Call(func=ast.Attribute(value=tensor, attr="tolist"), args=[]):
            return _Element(target, tensor, is_number=True)
        case ast.Name(), ast.Call(func=ast.Name()):
            return None  # range(), zip() or enumerate()
        case ast.Name(), _:
            return _Element(target, iterated)
        case _:
            return None


class _Vectorizer(ast.NodeTransformer):
    """Replaces an element by the tensor of all elements."""

    def __init__(self, element: _Element) -> None:
        self.count = 0
        """Number of replaced elements."""
        self._element, self._text = element, ast.unparse(element.expression)
        self._is_detached = element.is_number

    def visit(self, node: ast.AST) -> ast.AST:
        if isinstance(node, ast.expr) and ast.unparse(node) == self._text:
            self.count += 1
            tensor = copy.deepcopy(self._element.tensor)
            return call(member(tensor, "detach")) if self._is_detached else tensor
        match node:
            case (
                ast.Call(func=ast.Attribute(value=inner, attr="item"), args=[])
                | ast.Call(func=ast.Name(id="float"), args=[inner])
            ):
                outer, self._is_detached = self._is_detached, True
                result = self.visit(inner)
                self._is_detached = outer
                return result
            case _:
                return super().generic_visit(node)


def _whole(value: ast.expr, element: _Element) -> str | None:
    """An expression of one element as one of all elements; None if it needs more than the element."""
    vectorizer = _Vectorizer(element)
    found = vectorizer.visit(copy.deepcopy(value))
    left = {each.id for each in ast.walk(found) if isinstance(each, ast.Name)}
    own = {each.id for each in ast.walk(element.expression) if isinstance(each, ast.Name)}
    own -= {each.id for each in ast.walk(element.tensor) if isinstance(each, ast.Name)}
    return ast.unparse(ast.fix_missing_locations(found)) if vectorizer.count and not left & own else None


__all__ = ["element_loops"]

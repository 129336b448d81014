"""Values of tensors that Python reads, rewritten so that the tensors themselves are used."""

from __future__ import annotations

import ast
from collections.abc import Iterator

import engine
from studio.lowering.user_code.code_values import NAMESPACES, owner_name
from studio.lowering.user_code.graph_breaks.break_location import BreakLocation, Rewrite
from studio.lowering.user_code.source_edits import TextEdit, end_of, replaced, start_of, without_statement

_FUNCTIONS = frozenset({"sqrt", "exp", "log", "sin", "cos", "tan", "tanh", "log10", "log1p", "expm1", "floor", "ceil"})
"""Functions of `math` that the engine has for tensors."""
_KEEP = "Keep the tensor"
_MOVES = frozenset({"cpu", "detach"})


def numbers(at: BreakLocation) -> Iterator[Rewrite]:
    """`x.item()`, `float(x)`, `int(x)` and functions of `math`: a tensor without a gradient is the same number."""
    tests = _decisions(at)
    edits: list[TextEdit] = []
    inner: set[ast.AST] = set()
    for node in at.nodes():
        if node in inner:
            continue
        found = _without_reading(at, node, is_decision=node in tests)
        if found is not None:
            edits += found
            inner |= {each for each in ast.walk(node) if isinstance(each, ast.Call) and each is not node}
    if edits:
        yield Rewrite(_KEEP, tuple(edits))


def _without_reading(at: BreakLocation, node: ast.AST, *, is_decision: bool) -> tuple[TextEdit, ...] | None:
    """Edits of a call that reads a number; None if it is none."""
    match node:
        case ast.Call(func=ast.Attribute(value=value, attr="item"), args=[], keywords=[]):
            return (TextEdit(end_of(value), end_of(node), "" if is_decision else ".detach()"),)
        case ast.Call(func=ast.Name(id="float" | "int" as name), args=[value], keywords=[]):
            source = _read_tensor(value) or (value if at.function.tensors.holds(value) else None)
            if source is None:
                return None
            text = f"{at.operand(source)}.detach()"
            return (replaced(node, text if name == "float" else f"{text}.long()"),)
        case ast.Call(func=ast.Attribute(value=ast.Name(id="math"), attr=name), args=[value], keywords=[]):
            source = _read_tensor(value) or (value if at.function.tensors.holds(value) else None)
            if source is None or name not in _FUNCTIONS:
                return None
            return (replaced(node, f"{at.engine}.{name}({at.operand(source)}.detach())"),)
        case _:
            return None


def _read_tensor(value: ast.expr) -> ast.expr | None:
    """`x` of `x.item()`."""
    match value:
        case ast.Call(func=ast.Attribute(value=source, attr="item"), args=[], keywords=[]):
            return source
        case _:
            return None


def _decisions(at: BreakLocation) -> set[ast.AST]:
    """What conditions consist of: no gradient flows through them."""
    tests = [each for each in at.nodes() if isinstance(each, ast.Compare)]
    tests += [each.test for each in at.nodes() if isinstance(each, ast.IfExp)]
    return {node for test in tests for node in ast.walk(test)}


def lists(at: BreakLocation) -> Iterator[Rewrite]:
    """`sum(x.tolist())` and others that the engine computes, and `engine.tensor(x.tolist())`."""
    for node in at.nodes():
        match node:
            case ast.Call(func=ast.Name(id="sum" | "max" | "min" | "len" as name), args=[argument], keywords=[]):
                source = _listed(argument)
                if source is not None:
                    text = (
                        f"{at.operand(source)}.shape[0]" if name == "len" else f"{at.operand(source)}.detach().{name}()"
                    )
                    yield Rewrite(f"Use .{name}()" if name != "len" else "Use .shape", (replaced(node, text),))
            case ast.Call(func=ast.Attribute(attr="tensor" | "as_tensor" | "asarray") as called, args=[argument]):
                source = _listed(argument)
                if source is not None and owner_name(called) in NAMESPACES:
                    text = f"{at.operand(source)}.detach().clone()"
                    yield Rewrite(_KEEP, (replaced(node, text),))
            case ast.Call(func=ast.Attribute(value=value, attr="tolist"), args=[], keywords=[]):
                yield Rewrite(_KEEP, (TextEdit(end_of(value), end_of(node), ".detach()"),))
            case _:
                pass


def _listed(value: ast.expr) -> ast.expr | None:
    """`x` of `x.tolist()`."""
    match value:
        case ast.Call(func=ast.Attribute(value=source, attr="tolist"), args=[], keywords=[]):
            return source
        case _:
            return None


def arrays(at: BreakLocation) -> Iterator[Rewrite]:
    """Functions of NumPy, rewritten as the ops of those names in the whole function."""
    edits: list[TextEdit] = []
    for node in at.function.nodes():
        match node:
            case ast.Call(func=ast.Attribute(value=value, attr="numpy"), args=[], keywords=[]):
                while (
                    isinstance(value, ast.Call) and isinstance(value.func, ast.Attribute) and value.func.attr in _MOVES
                ):
                    value = value.func.value
                edits.append(TextEdit(end_of(value), end_of(node), ".detach()"))
            case ast.Call(
                func=ast.Attribute(value=ast.Name(id="np" | "numpy"), attr="asarray" | "array"), args=[value]
            ):
                edits += [TextEdit(start_of(node), start_of(value), ""), TextEdit(end_of(value), end_of(node), "")]
            case ast.Attribute(value=ast.Name(id="np" | "numpy") as owner, attr=name) if hasattr(engine, name):
                if name not in ("asarray", "array"):
                    edits.append(replaced(owner, at.engine))
            case ast.Call(func=ast.Attribute(attr="from_numpy" | "tensor" | "as_tensor") as called, args=[value]):
                is_list = isinstance(value, (ast.List, ast.Tuple, ast.Constant))
                if owner_name(called) in NAMESPACES and not is_list and not node.keywords:
                    edits += [
                        TextEdit(start_of(node), start_of(value), "("),
                        TextEdit(end_of(value), end_of(node), ")"),
                    ]
            case _:
                pass
    if edits:
        yield Rewrite("Use the engine’s ops", tuple(edits))


def prints(at: BreakLocation) -> Iterator[Rewrite]:
    """Text of tensors that is printed, or not used."""
    match at.statement:
        case ast.Expr(value=ast.Call(func=ast.Name(id="print"))):
            note = "Nothing is printed. Hover over the wire to see its values."
            yield Rewrite("Remove print()", (without_statement(at.statement, at.body),), note=note)
        case ast.Assign(targets=[ast.Name(id=name)]) if not at.reads(name, [at.statement]):
            yield Rewrite(f"Remove {name}", (without_statement(at.statement, at.body),))
        case _:
            pass


def selections(at: BreakLocation) -> Iterator[Rewrite]:
    """`x[mask].sum()` and `x[mask].mean()`, whose shapes depend on values."""
    for node in at.nodes():
        match node:
            case ast.Call(
                func=ast.Attribute(
                    value=ast.Subscript(value=value, slice=(ast.Compare() | ast.Name()) as mask),
                    attr="sum" | "mean" as name,
                ),
                args=[],
                keywords=[],
            ):
                condition = at.text(mask)
                text = f"{at.engine}.where({condition}, {at.text(value)}, 0).sum()"
                if name == "mean":
                    text = f"({text} / {at.operand(mask)}.sum())"
                yield Rewrite(f"Use {at.engine}.where", (replaced(node, text),))
            case _:
                pass


def explicit_breaks(at: BreakLocation) -> Iterator[Rewrite]:
    match at.statement:
        case ast.Expr(value=ast.Call(func=ast.Attribute(attr="graph_break"))):
            yield Rewrite("Remove graph_break()", (without_statement(at.statement, at.body),))
        case _:
            pass


def copies(at: BreakLocation) -> Iterator[Rewrite]:
    """`copy.deepcopy(x)`."""
    for node in at.nodes():
        match node:
            case ast.Call(func=ast.Attribute(attr="deepcopy") | ast.Name(id="deepcopy"), args=[value], keywords=[]):
                yield Rewrite("Use .clone()", (replaced(node, f"{at.operand(value)}.clone()"),))
            case _:
                pass


__all__ = ["arrays", "copies", "explicit_breaks", "lists", "numbers", "prints", "selections"]

"""Initial weights that the source of a Python node sets to one value, or to far too large ones."""

from __future__ import annotations

import ast
import math
from collections.abc import Iterator
from dataclasses import dataclass

from studio.lowering.user_code.code_findings import CodeFunction, Finding, shown
from studio.lowering.user_code.code_values import NAMESPACES, owner_name
from studio.lowering.user_code.source_edits import replaced, without_statement

CODE = "code-initialization"
LARGEST = 10.0
"""Factor between input and output of a layer above which its initial weights are a mistake, as for layer nodes."""
_USUAL_INPUTS = 16
"""Number of inputs of a layer where it is not written as a number."""
_FILLED = {"zeros": 0.0, "zeros_like": 0.0, "ones": 1.0, "ones_like": 1.0, "zeros_": 0.0, "ones_": 1.0, "zero_": 0.0}
_WEIGHT = ("weight", "weight_ih", "weight_hh")


@dataclass(frozen=True, slots=True)
class _Values:
    """Values that weights are set to: all equal, or with a spread."""

    target: ast.expr
    equal: float | None = None
    std: float = 0.0


def unusual_weights(function: CodeFunction) -> Iterator[Finding]:
    for body in function.bodies():
        for statement in body:
            if (values := _set_values(statement)) is not None:
                yield from _checked(function, statement, body, values)
            if (parameter := _own_parameter(statement)) is not None:
                yield from _checked_parameter(function, *parameter)


# -- weights of layers ------------------------------------------------------------------------


def _set_values(statement: ast.stmt) -> _Values | None:
    """What a statement sets weights to, as `nn.init.zeros_(w)`, `w.data.fill_(0)` or `w.data = engine.zeros(…)`."""
    match statement:
        case ast.Expr(value=ast.Call(func=ast.Attribute(value=owner, attr=method), args=arguments, keywords=named)):
            if owner_name(owner) in NAMESPACES:  # nn.init.normal_(w, 0, 1)
                target, rest = (arguments[0], arguments[1:]) if arguments else (None, [])
            else:
                target, rest = _tensor(owner), arguments
            keywords = {each.arg: each.value for each in named}
            return None if target is None else _of_method(target, method, rest, keywords)
        case ast.Assign(targets=[ast.Attribute(attr="data") as data], value=value):
            return _of_creator(_tensor(data), value)
        case _:
            return None


def _of_method(
    target: ast.expr, method: str, rest: list[ast.expr], keywords: dict[str | None, ast.expr]
) -> _Values | None:
    def number(index: int, name: str, default: float) -> float | None:
        given = keywords.get(name, rest[index] if index < len(rest) else None)
        return default if given is None else _number(given)

    match method:
        case "zeros_" | "ones_" | "zero_":
            return _Values(target, equal=_FILLED[method])
        case "constant_" | "fill_":
            value = _number(rest[0]) if rest else number(0, "val", math.nan)
            return None if value is None else _Values(target, equal=value)
        case "normal_" | "trunc_normal_":
            std = number(1, "std", 1.0)
            return None if std is None else _Values(target, std=std)
        case "uniform_":
            low, high = number(0, "a", 0.0), number(1, "b", 1.0)
            return None if low is None or high is None else _Values(target, std=(high - low) / math.sqrt(12))
        case "copy_" if rest:
            return _of_creator(target, rest[0])
        case _:
            return None


def _checked(function: CodeFunction, statement: ast.stmt, body: list[ast.stmt], values: _Values) -> Iterator[Finding]:
    weight = _weight_of(values.target)
    if weight is None or _is_normalization(function, statement, weight):
        return
    edits = (without_statement(statement, body),)
    what = shown(statement)
    inputs = _inputs_of(function, weight)
    if values.equal is not None and not (values.equal == 0 and _is_added(function, weight)):
        message = f"{what} sets all weights to {values.equal:g}, {_effect(values.equal)}. Remove it"
        yield Finding(CODE, statement, message, "Use the default initial weights", edits)
    elif values.equal is None and values.std * math.sqrt(inputs) > LARGEST:
        message = f"{what} {_too_large(values.std, inputs)}. Remove it"
        yield Finding(CODE, statement, message, "Use the default initial weights", edits)


def _weight_of(target: ast.expr) -> ast.expr | None:
    """The layer of a weight, or a parameter in a loop over all; None for biases and others."""
    match target:
        case ast.Attribute(value=layer, attr=attribute) if attribute.startswith(_WEIGHT):
            return layer
        case ast.Name():
            return target
        case _:
            return None


def _is_normalization(function: CodeFunction, statement: ast.stmt, weight: ast.expr) -> bool:
    """Whether it is the weight of a normalization, which begins as 1, or an unknown variable."""
    name = ast.unparse(weight)
    if name.startswith("self."):
        return "Norm" in ast.unparse(_made(function, name) or weight)
    branches = (each for each in function.nodes() if isinstance(each, ast.If))
    conditions = [ast.unparse(each.test) for each in branches if statement in ast.walk(each)]
    if any("Norm" in test or "bias" in test for test in conditions):
        return True
    if any("Linear" in test or "Conv" in test for test in conditions):
        return False
    loops = (each for each in function.nodes() if isinstance(each, ast.For) and statement in ast.walk(each))
    return not any(name == ast.unparse(each.target) and ".parameters()" in ast.unparse(each.iter) for each in loops)


# -- own parameters ---------------------------------------------------------------------------


def _own_parameter(statement: ast.stmt) -> tuple[ast.stmt, ast.expr, ast.expr] | None:
    """The name and the first value of `self.w = nn.Parameter(engine.zeros(32, 32))`."""
    match statement:
        case ast.Assign(targets=[ast.Attribute() as name], value=ast.Call(func=called, args=[value, *_])) if (
            ast.unparse(called).endswith("Parameter")
        ):
            return statement, name, value
        case _:
            return None


def _checked_parameter(
    function: CodeFunction, statement: ast.stmt, name: ast.expr, value: ast.expr
) -> Iterator[Finding]:
    """Matrices only: zeros and ones are usual for biases and gains."""
    values, sizes = _of_creator(name, value), _sizes(value)
    if values is None or sizes is None or len(sizes) < 2:
        return
    better = f"engine.randn({', '.join(map(str, sizes))}) * {1 / math.sqrt(sizes[0]):.2g}"
    edits = (replaced(value, better),)
    if values.equal is not None and _is_multiplied(function, name) and not _is_added(function, name):
        message = f"{shown(statement)} begins with equal weights, {_effect(values.equal)}. Use {better}"
        yield Finding(CODE, statement, message, "Begin with random weights", edits)
    elif values.equal is None and values.std * math.sqrt(sizes[0]) > LARGEST:
        message = f"{shown(statement)} {_too_large(values.std, sizes[0])}. Use {better}"
        yield Finding(CODE, statement, message, "Begin with smaller weights", edits)


def _of_creator(target: ast.expr, value: ast.expr) -> _Values | None:
    match value:
        case ast.BinOp(left=inner, op=ast.Mult(), right=factor) if (number := _number(factor)) is not None:
            pass
        case ast.BinOp(left=factor, op=ast.Mult(), right=inner) if (number := _number(factor)) is not None:
            pass
        case _:
            inner, number = value, 1.0
    match inner:
        case ast.Call(func=ast.Attribute(attr=name) as called) if owner_name(called) in NAMESPACES:
            pass
        case _:
            return None
    if name in _FILLED:
        return _Values(target, equal=_FILLED[name] * number)
    if name == "full" and len(inner.args) > 1 and (filled := _number(inner.args[1])) is not None:
        return _Values(target, equal=filled * number)
    return _Values(target, std=abs(number)) if name == "randn" else None


def _sizes(value: ast.expr) -> list[int] | None:
    """The shape of a tensor that is created, if it is written as numbers."""
    created = next((each for each in ast.walk(value) if isinstance(each, ast.Call)), None)
    given = [] if created is None else list(created.args)
    if given and isinstance(given[0], (ast.Tuple, ast.List)):
        given = given[0].elts
    elif created is not None and ast.unparse(created.func).endswith("full"):
        return None
    sizes = [each.value for each in given if isinstance(each, ast.Constant) and isinstance(each.value, int)]
    return sizes if len(sizes) == len(given) else None


# -- use --------------------------------------------------------------------------------------


def _uses(function: CodeFunction, name: str) -> Iterator[list[ast.AST]]:
    """Each use of an attribute in `forward`, with the expressions around it, the innermost first."""
    methods = (
        [] if function.owner is None else [each for each in function.owner.body if isinstance(each, ast.FunctionDef)]
    )
    for method in methods:
        if method.name == "forward":
            parents = {child: node for node in ast.walk(method) for child in ast.iter_child_nodes(node)}
            for node in ast.walk(method):
                if isinstance(node, ast.Attribute) and ast.unparse(node) == name:
                    path: list[ast.AST] = [node]
                    while (parent := parents.get(path[-1])) is not None and isinstance(parent, (ast.expr, ast.keyword)):
                        path.append(parent)
                    yield [*path, *([parents[path[-1]]] if path[-1] in parents else [])]


def _is_added(function: CodeFunction, weight: ast.expr) -> bool:
    """Whether what a layer outputs is a result, or is added to or multiplied with other values: zeros are usual."""
    for path in _uses(function, ast.unparse(weight)):
        around = [each for each in path[1:] if not _is_product(each)]
        if any(isinstance(each, ast.BinOp) and isinstance(each.op, (ast.Add, ast.Sub, ast.Mult)) for each in around):
            return True
        calls = [each for each in around if isinstance(each, ast.Call)]
        if len(calls) <= (0 if any(map(_is_product, path)) else 1) and not isinstance(path[-1], ast.expr):
            return True  # returned, or kept in a variable
    return False


def _is_multiplied(function: CodeFunction, name: ast.expr) -> bool:
    return any(any(map(_is_product, path)) for path in _uses(function, ast.unparse(name)))


def _is_product(node: ast.AST) -> bool:
    """Whether it multiplies matrices."""
    match node:
        case ast.BinOp(op=ast.MatMult()):
            return True
        case ast.Call(func=called):
            return ast.unparse(called).endswith(("matmul", ".linear", ".mm", ".bmm", "einsum"))
        case _:
            return False


# -- numbers and words ------------------------------------------------------------------------


def _inputs_of(function: CodeFunction, layer: ast.expr) -> int:
    """The number of inputs of a layer that the constructor makes, if it is written as a number."""
    match _made(function, ast.unparse(layer)):
        case ast.Call(args=[ast.Constant(value=int() as count), *_]):
            return max(count, 1)
        case _:
            return _USUAL_INPUTS


def _made(function: CodeFunction, name: str) -> ast.expr | None:
    """What an attribute is set to."""
    owner: ast.AST = function.tree if function.owner is None else function.owner
    for node in ast.walk(owner):
        if isinstance(node, ast.Assign) and any(ast.unparse(target) == name for target in node.targets):
            return node.value
    return None


def _tensor(owner: ast.expr) -> ast.expr:
    """A tensor without `.data` or `.detach()`."""
    match owner:
        case ast.Attribute(value=value, attr="data"):
            return value
        case ast.Call(func=ast.Attribute(value=value, attr="detach"), args=[]):
            return value
        case _:
            return owner


def _number(tree: ast.expr) -> float | None:
    try:
        value = ast.literal_eval(tree)
    except ValueError:
        return None
    return float(value) if isinstance(value, (int, float)) and not isinstance(value, bool) else None


def _effect(value: float) -> str:
    return "so its output is 0 for every input" if value == 0 else "so all its outputs are equal and stay equal"


def _too_large(std: float, inputs: int) -> str:
    factor = std * math.sqrt(inputs)
    return (
        f"sets weights of about {std:.3g}, so outputs are about {factor:,.0f} times the input, and activations "
        "saturate or the loss diverges"
    )


__all__ = ["unusual_weights"]

"""The call of an operation as a syntax tree: `engine.gather(x, 1, index)`. What is checked is what is generated."""

from __future__ import annotations

import ast
import copy
import inspect
from collections.abc import Callable, Mapping
from typing import Any, cast

from studio.lowering.codegen import syntax_trees
from studio.lowering.codegen.safe_identifiers import ENGINE, METHODS, path_of
from studio.nodes.adapted_ports import NamedInputs
from studio.nodes.formula_constants import CONSTANTS
from studio.nodes.formula_functions import FUNCTIONS
from studio.nodes.formula_text import Formula, parse_formula
from studio.nodes.growing_inputs import GrowingInputs
from studio.nodes.operation_nodes import BATCH_PORT, BATCH_SIZE, declared_arguments, takes_list
from studio.nodes.slice_text import parse_slice
from studio.nodes.syntax_nodes import FORMULA, SLICE
from studio.nodes.types import NodeType

DTYPE = "dtype"
"""Arguments of this name are the name of a dtype."""


def operation_call(
    node_type: NodeType,
    arguments: Mapping[str, Any],
    tensors: Mapping[str, ast.expr],
    module: Callable[[str], str] = str,
) -> ast.expr:
    """The call with some arguments.

    Args:
        arguments: values or syntax trees by argument
        tensors: variables by connected input
        module: returns the name of a module, after it has been recorded as imported
    """
    if node_type.key == FORMULA:
        return formula_tree(parse_formula(str(arguments["expression"])), tensors, module)
    if node_type.key == SLICE:
        return ast.Subscript(tensors["x"], parse_slice(str(arguments["index"])), ast.Load())
    arguments, tensors = _sized(arguments, tensors)
    owner, title = path_of(node_type)
    if isinstance(node_type.adapt, NamedInputs):
        written = [_tree(arguments[node_type.adapt.param]), *tensors.values()]
        return syntax_trees.call(syntax_trees.attribute(module(owner), title), written)
    if isinstance(node_type.adapt, GrowingInputs) and node_type.target is not None and not takes_list(node_type.target):
        return _fold(node_type, arguments, tensors, module(owner))
    positional, keywords = _arguments(node_type, arguments, tensors, module)
    if owner == METHODS:
        return syntax_trees.call(syntax_trees.member(positional[0], title), positional[1:], keywords)
    return syntax_trees.call(syntax_trees.attribute(module(owner), title), positional, keywords)


def formula_tree(formula: Formula, tensors: Mapping[str, ast.expr], module: Callable[[str], str] = str) -> ast.expr:
    """A formula with functions of the engine in place of their names, and variables in place of the inputs."""

    class Names(ast.NodeTransformer):
        def visit_Name(self, node: ast.Name) -> ast.expr:
            if node.id in CONSTANTS:
                return ast.Constant(CONSTANTS[node.id])
            if node.id in FUNCTIONS:
                return syntax_trees.attribute(module(ENGINE), node.id)
            return tensors[node.id]

    return Names().visit(copy.deepcopy(formula.tree))


def _sized(
    arguments: Mapping[str, Any], tensors: Mapping[str, ast.expr]
) -> tuple[Mapping[str, Any], Mapping[str, ast.expr]]:
    """Arguments with `x.shape[0]` in place of N, and the tensors without the one that N is taken from."""
    others = {name: tensor for name, tensor in tensors.items() if name != BATCH_PORT}
    if not any(isinstance(value, tuple) and BATCH_SIZE in value for value in arguments.values()):
        return arguments, others
    source = tensors.get(BATCH_PORT, next(iter(tensors.values())))
    size = ast.Subscript(syntax_trees.member(source, "shape"), ast.Constant(0), ast.Load())

    def sized(value: Any) -> Any:
        if not isinstance(value, tuple):
            return value
        return tuple(size if item == BATCH_SIZE else item for item in cast("tuple[Any, ...]", value))

    return {name: sized(value) for name, value in arguments.items()}, others


def _fold(node_type: NodeType, arguments: Mapping[str, Any], tensors: Mapping[str, ast.expr], module: str) -> ast.expr:
    """`engine.add(engine.add(x, y), z)`; the number in place of an input is the last operand."""
    free = [name for name in arguments if node_type.input(name) is not None and name not in tensors]
    operands = [*tensors.values(), *(_tree(arguments[name]) for name in free if arguments[name] is not None)]
    keywords = {name: value for name, value in arguments.items() if node_type.input(name) is None}
    function = syntax_trees.attribute(module, path_of(node_type)[1])
    result = operands[0]
    for operand in operands[1:]:
        result = syntax_trees.call(function, [result, operand], keywords)
    return result


def _arguments(
    node_type: NodeType, arguments: Mapping[str, Any], tensors: Mapping[str, ast.expr], module: Callable[[str], str]
) -> tuple[list[ast.expr], dict[str, ast.expr]]:
    """Positional arguments up to the first omitted one or the first with a default; the others are keywords."""
    target = node_type.target
    assert target is not None
    if takes_list(target):
        listed: list[ast.expr] = [ast.List(list(tensors.values()), ast.Load())]
        return listed, {name: _tree(value) for name, value in arguments.items()}
    positional: list[ast.expr] = []
    keywords: dict[str, ast.expr] = {}
    is_gap = False
    for name, argument in signature_of(node_type, target):
        is_input = node_type.input(name) is not None
        value = tensors.get(name, arguments.get(name) if is_input else None)
        if value is None and (is_input or name not in arguments):
            is_gap = True
            continue
        tree = _tree(arguments[name] if value is None else value)
        if name == DTYPE and isinstance(tree, ast.Constant):
            tree = syntax_trees.attribute(module(ENGINE), str(tree.value))
        is_keyword = argument.kind is argument.KEYWORD_ONLY or not (is_input or argument.default is argument.empty)
        if is_gap or is_keyword:
            keywords[name] = tree
            is_gap = True
        else:
            positional.append(tree)
    return positional, keywords


def signature_of(node_type: NodeType, target: Callable[..., Any]) -> list[tuple[str, inspect.Parameter]]:
    """The arguments in order; of a function that takes any, the inputs and the parameters of the node."""
    found = declared_arguments(target)
    if all(argument.kind is not argument.VAR_POSITIONAL for argument in found.values()):
        return list(found.items())
    kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
    names = [port.name for port in node_type.inputs] + [each.name for each in node_type.params]
    return [(name, inspect.Parameter(name, kind)) for name in names]


def _tree(value: Any) -> ast.expr:
    if isinstance(value, tuple):
        return ast.Tuple([_tree(item) for item in value], ast.Load())  # pyright: ignore[reportUnknownVariableType]
    return value if isinstance(value, ast.expr) else syntax_trees.literal(value)


__all__ = ["DTYPE", "operation_call", "signature_of"]

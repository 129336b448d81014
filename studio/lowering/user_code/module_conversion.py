"""Functions of Python nodes as modules, which know whether they train."""

from __future__ import annotations

import ast
import textwrap

from studio.lowering.user_code.code_findings import CodeFunction
from studio.lowering.user_code.source_edits import TextEdit, edited, end_of, replaced, start_of
from studio.nodes.python_source import read_code

_INDENT = " " * 4


def as_module(function: CodeFunction, edits: tuple[TextEdit, ...]) -> tuple[TextEdit, ...]:
    """An edit that makes a module class of the function that a node calls; empty if that is not possible.

    Args:
        edits: changes within its body
    """
    tree, code = function.tree, read_code(function.source)
    inputs = [each.name for each in code.inputs]
    is_entry = code.entry == tree.name and not code.is_class and not tree.decorator_list and not tree.args.kwonlyargs
    if not is_entry or "\n" in _texts(tree) or any(isinstance(each, ast.Lambda) for each in ast.walk(tree)):
        return ()
    names = [each for each in function.nodes() if isinstance(each, ast.Name)]
    params = {each.name: each.node for each in code.params}
    if any(isinstance(each.ctx, ast.Store) and each.id in params for each in names):
        return ()
    used = tuple(replaced(each, f"self.{each.id}") for each in names if each.id in params)
    first, last = tree.body[0], tree.body[-1]
    body = _part(edited(function.source, (*edits, *used)), first.lineno, last)
    made = [f"def forward(self, {', '.join(inputs)}):", textwrap.indent(textwrap.dedent(body), _INDENT).rstrip()]
    if params:
        made = [_constructor(tree, params), *made]
    text = f"class {tree.name}(nn.Module):\n" + textwrap.indent("\n".join(made), _INDENT)
    return (TextEdit(start_of(tree), end_of(tree), text),)


def _constructor(tree: ast.FunctionDef, params: dict[str, ast.arg]) -> str:
    arguments = tree.args
    with_default = arguments.args[len(arguments.args) - len(arguments.defaults) :]
    defaults = {each.arg: ast.unparse(value) for each, value in zip(with_default, arguments.defaults, strict=True)}
    texts = [ast.unparse(node) + (f" = {defaults[name]}" if name in defaults else "") for name, node in params.items()]
    lines = [f"def __init__(self, {', '.join(texts)}):", f"{_INDENT}super().__init__()"]
    return "\n".join([*lines, *(f"{_INDENT}self.{name} = {name}" for name in params), ""])


def _part(source: str, first: int, last: ast.stmt) -> str:
    """The lines of the body, in which no edit adds or removes lines."""
    return "\n".join(source.splitlines()[first - 1 : last.end_lineno])


def _texts(tree: ast.FunctionDef) -> str:
    """Constant texts with several lines, which indentation would change."""
    values = (each.value for each in ast.walk(tree) if isinstance(each, ast.Constant))
    return "".join(each for each in values if isinstance(each, str))


__all__ = ["as_module"]

"""Whether the code of Python nodes can run once more for the same batch, without another effect than its outputs."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping

from studio.lowering.user_code.code_findings import shown
from studio.lowering.user_code.code_values import NAMESPACES, owner_name
from studio.nodes.python_source import CodeError, code_tree

# fmt: off
_BUILTINS = frozenset({
    "abs", "all", "any", "bool", "dict", "enumerate", "float", "int", "isinstance", "len", "list", "map", "max", "min",
    "range", "reversed", "round", "set", "slice", "sorted", "str", "sum", "super", "tuple", "type", "zip",
})
"""Built-in functions without effects."""
# fmt: on
_MODULES = frozenset({"engine", "torch", "math", "numpy", "einops", "functools", "itertools", "typing", "__future__"})
"""Modules whose functions have no effects, apart from random numbers of NumPy."""
# fmt: off
_CHANGING = frozenset({
    "add", "append", "appendleft", "backward", "clear", "discard", "eval", "extend", "insert", "load",
    "load_state_dict", "manual_seed", "pop", "popitem", "popleft", "remove", "reverse", "save", "seed", "setdefault",
    "sort", "step", "train", "update", "write", "writelines", "zero_grad",
})
"""Methods that change their object, unless it is made in the same call, or a file."""
# fmt: on


def state_change(source: str) -> str | None:
    """The first line of a source with another effect than its outputs, as in "line 7 sets self.calls"; else None."""
    try:
        tree = code_tree(source)
    except CodeError:
        return None
    imported = dict(_imports(tree))
    shared = {each.name for each in tree.body if isinstance(each, (ast.FunctionDef, ast.ClassDef))}
    for node in ast.walk(tree):
        if isinstance(node, ast.ClassDef) and not all(_is_known(base, shared) for base in node.bases):
            return f"line {node.lineno} derives a class from {shown(node.bases[0])}"
        if isinstance(node, ast.Attribute) and node.attr.startswith("register_") and node.attr.endswith("_hook"):
            return f"line {node.lineno} registers a hook"
    functions = (each for each in ast.walk(tree) if isinstance(each, ast.FunctionDef) and each.name != "__init__")
    found = (each for function in functions for each in _changes(function, imported, shared))
    return next(found, None)


def _is_known(base: ast.expr, shared: set[str]) -> bool:
    name = owner_name(base)
    return name in NAMESPACES or name in shared or name == "Module"


def _imports(tree: ast.Module) -> Iterator[tuple[str, str]]:
    """Imported names with their modules."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from ((each.asname or each.name.partition(".")[0], each.name) for each in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield from ((each.asname or each.name, f"{node.module}.{each.name}") for each in node.names)


def _changes(function: ast.FunctionDef, imported: Mapping[str, str], shared: set[str]) -> Iterator[str]:
    names = {each.id for each in ast.walk(function) if isinstance(each, ast.Name) and isinstance(each.ctx, ast.Store)}
    local = names | {each.arg for each in ast.walk(function) if isinstance(each, ast.arg)}
    made, aliases = _containers(function), set(_aliases(function))
    for node in ast.walk(function):
        match node:
            case ast.Global() | ast.Nonlocal():
                yield f"line {node.lineno} changes {node.names[0]}"
            case ast.Yield() | ast.YieldFrom() | ast.Await() | ast.AsyncFor() | ast.AsyncWith():
                yield f"line {node.lineno} suspends the function"
            case ast.Attribute(ctx=ast.Store() | ast.Del()):
                yield f"line {node.lineno} sets {shown(node)}"
            case ast.Subscript(ctx=ast.Store() | ast.Del(), value=value) if owner_name(value) not in made:
                yield f"line {node.lineno} changes {shown(value)}"
            case ast.AugAssign(target=ast.Name(id=name)) if name in aliases:
                yield f"line {node.lineno} changes {name} in place"
            case ast.Call(func=function_called) if not _is_harmless(function_called, local, made, imported, shared):
                yield f"line {node.lineno} calls {shown(function_called)}"
            case _:
                pass


def _containers(function: ast.FunctionDef) -> set[str]:
    """Names of lists, dicts and sets that a call makes itself."""
    made: set[str] = set()
    for node in ast.walk(function):
        match node:
            case ast.Assign(
                targets=[ast.Name(id=name)], value=ast.List() | ast.Dict() | ast.Set() | ast.ListComp() | ast.DictComp()
            ):
                made.add(name)
            case _:
                pass
    return made


def _aliases(function: ast.FunctionDef) -> Iterator[str]:
    """Names that can stand for a tensor of the caller: arguments, and other names of what they hold."""
    for node in ast.walk(function):
        match node:
            case (
                ast.arg(arg=name)
                | ast.Assign(targets=[ast.Name(id=name)], value=ast.Name() | ast.Attribute() | ast.Subscript())
            ):
                yield name
            case ast.For(target=ast.Name(id=name)):
                yield name
            case _:
                pass


def _is_harmless(
    called: ast.expr, local: set[str], made: set[str], imported: Mapping[str, str], shared: set[str]
) -> bool:
    """Whether a called function only computes a result."""
    if isinstance(called, ast.Name):
        is_plain = called.id in local or called.id in shared or called.id in _BUILTINS
        return is_plain or _is_pure_module(imported.get(called.id, ""))
    if not isinstance(called, ast.Attribute):
        return True  # the result of another call, such as a layer that is made in the call
    name, owner = called.attr, owner_name(called)
    if owner in imported and not _is_pure_module(f"{imported[owner]}.{ast.unparse(called)}"):
        return False
    is_own = owner in made and isinstance(called.value, ast.Name)
    is_sum = name == "add" and owner != "self" and (owner in local | NAMESPACES or isinstance(called.value, ast.Call))
    return is_own or is_sum or (name not in _CHANGING and not _is_in_place(name))


def _is_pure_module(path: str) -> bool:
    parts = path.split(".")
    return parts[0] in _MODULES and not (parts[0] == "numpy" and "random" in parts)


def _is_in_place(name: str) -> bool:
    return name.endswith("_") and not name.endswith("__")


__all__ = ["state_change"]

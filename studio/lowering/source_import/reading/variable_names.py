"""Variables of a method: which are assigned, and which name the node whose outputs they are."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from studio.lowering.source_import.reading.source_errors import refuse, shown


def name_of(variables: tuple[str, ...], ports: Sequence[str]) -> str | None:
    """The node whose outputs have these variables: "top" for `top_values, top_indices`. None if there is none."""
    if len(variables) != len(ports) or not variables:
        return None
    if len(variables) == 1:
        return variables[0]
    ends = [f"_{port}" for port in ports]
    names = {each.removesuffix(end) for each, end in zip(variables, ends, strict=True) if each.endswith(end)}
    return names.pop() if len(names) == 1 and all(ports) else None


def is_call_of(layer: str, variables: tuple[str, ...]) -> bool:
    """Whether variables are those that generated code has for the outputs of a layer."""
    return all(each == layer or each.startswith(f"{layer}_") for each in variables) and bool(variables)


def owner_calls(methods: Iterable[ast.FunctionDef]) -> Iterator[str]:
    """The layers whose output is assigned to a variable of their name, which is assigned once."""
    for method in methods:
        assigned = Counter(assigned_names(method))
        for node in ast.walk(method):
            match node:
                case ast.Assign(targets=[ast.Name(id=name)], value=ast.Call(func=ast.Attribute(attr=attribute))):
                    if name == attribute and assigned[name] == 1:
                        yield name
                case _:
                    pass


def target_names(target: ast.expr) -> list[str]:
    parts = target.elts if isinstance(target, (ast.Tuple, ast.List)) else [target]
    names = [part.id for part in parts if isinstance(part, ast.Name)]
    if any(isinstance(part, (ast.Tuple, ast.List)) for part in parts):
        refuse(
            target,
            f"{shown(target)} takes a state apart, which a graph cannot do. Use the output: output, state = …, and "
            "output[:, -1] for the last step.",
        )
    if len(names) != len(parts):
        refuse(target, f"{shown(target)} is no variable. Assign to names only: x = self.fc(x).")
    return names


def plain_arguments(method: ast.FunctionDef, *, allow_defaults: bool = False) -> tuple[str, ...]:
    arguments = method.args
    others = (arguments.vararg, arguments.kwarg, arguments.posonlyargs, arguments.kwonlyargs)
    if any(others) or (arguments.defaults and not allow_defaults) or not arguments.args:
        refuse(method, f"{method.name} takes tensors by plain arguments. Remove *, ** and defaults.")
    return tuple(argument.arg for argument in arguments.args[1:])


def assigned_names(method: ast.FunctionDef) -> Iterator[str]:
    for node in ast.walk(method):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.id
    yield from (argument.arg for argument in method.args.args)


__all__ = ["assigned_names", "is_call_of", "name_of", "owner_calls", "plain_arguments", "target_names"]

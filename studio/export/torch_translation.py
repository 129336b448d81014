"""Translate generated code from the engine's names to those of PyTorch."""

from __future__ import annotations

import ast
from collections.abc import Callable, Collection, Iterable
from typing import Any, cast

from studio.export.export_error import ExportError
from studio.export.shipped_source import shipped
from studio.export.torch_names import ENGINE_ONLY, LAYERS, METRICS, MODULES, exists
from studio.lowering.codegen import syntax_trees

RECURRENT = frozenset({"RNN", "LSTM", "GRU"})
CARRY = "carry_state"
"""Parameter of recurrent layers that only the engine has."""

NodeOf = Callable[[int], str | None]
"""The node of a line."""

COUNTED = frozenset(
    {
        "RunningAverage",
        "CarriedState",
        "CarriedRNN",
        "CarriedLSTM",
        "CarriedGRU",
        "BatchNorm1d",
        "BatchNorm2d",
        "BatchNorm3d",
        "SyncBatchNorm",
    }
)
"""Layers whose buffers change in each forward pass, so that a recomputed pass would change them twice."""


class TorchNames(ast.NodeTransformer):
    """Replaces names of the engine in generated classes.

    Args:
        node_of: the node of a line, for errors
        recomputes: keep activation checkpointing; otherwise activations are stored, with the same results
        narrow: nodes whose input has integers that PyTorch does not accept as indices
    """

    def __init__(self, node_of: NodeOf, *, recomputes: bool = True, narrow: Collection[str] = ()) -> None:
        self._node_of = node_of
        self._narrow = narrow
        self._recomputes = recomputes

    def visit_Call(self, node: ast.Call) -> ast.expr:
        call = cast("ast.Call", self.generic_visit(node))
        name = dotted(call.func)
        if name[:1] == ("nn",) and name[-1] in RECURRENT:
            return self._recurrent(call, name[-1], self._node_of(_line_of(node)))
        if name[:1] == ("self",) and self._node_of(_line_of(node)) in self._narrow:
            indices = syntax_trees.call(syntax_trees.member(call.args[0], "long"))
            return ast.Call(call.func, [indices, *call.args[1:]], call.keywords)
        if name != ("checkpoint", "checkpoint"):
            return call
        if not self._recomputes:
            return ast.Call(call.args[0], call.args[1:], call.keywords)
        keywords = {each.arg: each.value for each in call.keywords if each.arg is not None}
        return syntax_trees.call(call.func, call.args, {**keywords, "use_reentrant": False})

    def _recurrent(self, call: ast.Call, kind: str, node: str | None) -> ast.expr:
        """A recurrent layer, which PyTorch does not have with `carry_state`."""
        keywords = [each for each in call.keywords if each.arg != CARRY]
        carries = next((each.value for each in call.keywords if each.arg == CARRY), ast.Constant(value=False))
        if not isinstance(carries, ast.Constant):
            raise ExportError(
                f"{node}: {CARRY} differs between instances of its block, and PyTorch needs another class for it. Set "
                "it to the same value in all instances, or export with --to engine.",
                node,
            )
        function = syntax_trees.attribute(LAYERS, f"Carried{kind}") if carries.value else call.func
        return ast.Call(function, call.args, keywords)

    def visit_Attribute(self, node: ast.Attribute) -> ast.expr:
        path = dotted(node)
        if not path or path[0] not in MODULES.keys() | {METRICS} | ENGINE_ONLY:
            return cast("ast.expr", self.generic_visit(node))
        found = translated(path)
        if isinstance(found, str):
            raise unsupported(".".join(path), found, self._node_of(_line_of(node)))
        return syntax_trees.attribute(*found)


def _line_of(node: ast.expr) -> int:
    """The line in the program; 0 for an expression that this package made."""
    return getattr(node, "lineno", 0)


def dotted(node: ast.expr) -> tuple[str, ...]:
    """The names of `a.b.c`; empty for other expressions."""
    parts: list[str] = []
    while isinstance(node, ast.Attribute):
        parts.append(node.attr)
        node = node.value
    return (node.id, *reversed(parts)) if isinstance(node, ast.Name) else ()


def translated(path: tuple[str, ...]) -> tuple[str, ...] | str:
    """A path in a PyTorch package, or the reason why there is none.

    Args:
        path: such as ("nn", "Linear") or ("engine", "nn", "functional", "relu")
    """
    first, *rest = path
    if first == METRICS:
        return path if rest and rest[0] in shipped("pytorch/metrics.py").definitions else "PyTorch has no such metric"
    if first in ENGINE_ONLY:
        return "PyTorch has no such module"
    namespace, shown = MODULES[first]
    if first in ("nn", "engine", "torch") and rest:
        name = rest[-1]
        is_layer = (first == "nn" and len(rest) == 1) or rest[:-1] == ["nn"]
        if is_layer and not exists(f"torch.nn.{name}") and name in shipped("pytorch/layers.py").definitions:
            return (LAYERS, name)
    known = namespace
    for name in rest:
        if not exists(f"{known}.{name}"):
            if known == namespace or exists_as_module(known):
                return f"PyTorch has no {known}.{name}"
            break  # an attribute of a class or function
        known = f"{known}.{name}"
    return (*shown.split("."), *rest)


def exists_as_module(path: str) -> bool:
    return path in {namespace for namespace, _ in MODULES.values()} | {"torch.nn.init"}


def unsupported(name: str, reason: str, node: str | None) -> ExportError:
    subject = "The project" if node is None else node
    return ExportError(
        f"{subject} uses {name}, and {reason}. Replace or delete the node, or export with --to engine.", node
    )


def has_counted_layers(classes: Iterable[ast.ClassDef]) -> bool:
    """Whether layers of a model count forward passes."""
    nodes = (node for each in classes for node in ast.walk(each))
    return any(isinstance(node, ast.Attribute) and node.attr in COUNTED for node in nodes)


# -- the code of Python nodes


def translated_code(tree: ast.Module, node: str) -> ast.Module:
    """The code of a Python node with PyTorch's names. Raises ExportError for names that PyTorch does not have."""
    own = {each.id for each in ast.walk(tree) if isinstance(each, ast.Name) and isinstance(each.ctx, ast.Store)}
    own |= {each.arg for each in ast.walk(tree) if isinstance(each, ast.arg)}
    return cast("ast.Module", _CodeNames(node, own).visit(tree))


class _CodeNames(ast.NodeTransformer):
    def __init__(self, node: str, own: set[str]) -> None:
        self._node, self._own = node, own

    def visit_Import(self, node: ast.Import) -> Any:
        for alias in node.names:
            alias.name = self._module(alias.name)
            if alias.name == "torch" and alias.asname == "torch":
                alias.asname = None
        return node

    def visit_ImportFrom(self, node: ast.ImportFrom) -> Any:
        source = node.module or ""
        node.module = self._module(source)
        if source.partition(".")[0] == "engine":
            for alias in node.names:
                if not exists(f"{node.module}.{alias.name}"):
                    raise unsupported(
                        f"{source}.{alias.name}", f"PyTorch has no {node.module}.{alias.name}", self._node
                    )
        return node

    def _module(self, path: str) -> str:
        first, dot, rest = path.partition(".")
        if first != "engine":
            return path
        moved = {"engine.data": "torch.utils.data"}.get(path, f"torch{dot}{rest}")
        if not exists(moved):
            raise unsupported(path, "PyTorch has no such module", self._node)
        return moved

    def visit_Attribute(self, node: ast.Attribute) -> Any:
        path = dotted(node)
        if not path or path[0] in self._own or path[0] not in MODULES.keys() | {METRICS} | ENGINE_ONLY:
            return self.generic_visit(node)
        found = translated(path)
        if isinstance(found, str):
            raise unsupported(".".join(path), found, self._node)
        return syntax_trees.attribute(*found)

    def visit_Name(self, node: ast.Name) -> Any:
        is_engine = node.id == "engine" and node.id not in self._own
        return syntax_trees.name("torch") if is_engine else node


__all__ = ["TorchNames", "dotted", "has_counted_layers", "translated_code", "unsupported"]

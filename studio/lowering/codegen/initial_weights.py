"""The statements that set initial weights: `nn.init.kaiming_normal_(self.conv.weight, nonlinearity='relu')`."""

from __future__ import annotations

import ast
from collections.abc import Iterable

from studio.document.blocks.block_expansion import Scope
from studio.document.weight_sharing import is_same_layer, tied_to
from studio.lowering.analysis.dataflow import Dataflow
from studio.lowering.codegen import syntax_trees
from studio.nodes.initialization import NAMES, InitialValues, initial_values


class InitialWeights:
    """Layers whose initial weights are not those of their constructors.

    The class of a block sets those that are alike in all instances, and the class of the model the rest.
    """

    def __init__(self, flow: Dataflow) -> None:
        nodes = self._nodes = flow.document.nodes
        self._calls: dict[str, tuple[InitialValues, ...]] = {}
        """By path of a layer."""
        for path, facts in flow.facts.items():
            is_set = not NAMES.isdisjoint(facts.arguments.explicit)
            if not is_set or path not in flow.graph.needed or is_same_layer(nodes, path):
                continue
            is_tied = tied_to(nodes, path) is not None
            if calls := initial_values(facts.type.key, facts.arguments.values, is_tied=is_tied):
                self._calls[path] = calls
        self._left = dict.fromkeys(self._calls)
        """Layers whose weights no class has set yet."""

    def take(self, scopes: Iterable[Scope], name: str) -> bool:
        """Whether a class has to set the weights of one of its nodes: because they are alike in all scopes."""
        given = (scope.prefix + name for scope in scopes)
        paths = [path for path in given if not (path in self._nodes and is_same_layer(self._nodes, path))]
        calls = {self._calls.get(path, ()) for path in paths}
        if len(calls) != 1 or not next(iter(calls)):
            return False
        for path in paths:
            self._left.pop(path, None)
        return True

    def rest(self) -> list[str]:
        """Paths of layers that `take` did not include."""
        return list(self._left)

    def statements(self, path: str, attribute: str) -> list[ast.stmt]:
        """The calls for a layer.

        Args:
            path: path of the layer
            attribute: path from `self`: "fc", or "encoder.3.fc" in the class of the model
        """
        layer = syntax_trees.submodule(syntax_trees.attribute("self"), attribute)
        return [ast.Expr(_call(layer, values)) for values in self._calls[path]]


def _call(layer: ast.expr, values: InitialValues) -> ast.Call:
    tensor = syntax_trees.member(layer, values.parameter)
    if values.row is not None:
        tensor = ast.Subscript(tensor, syntax_trees.literal(values.row), ast.Load())
    positional = [tensor, *map(syntax_trees.literal, values.positional)]
    function = syntax_trees.attribute("nn", "init", values.function)
    return syntax_trees.call(function, positional, dict(values.keywords))


__all__ = ["InitialWeights"]

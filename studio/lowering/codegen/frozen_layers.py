"""Which layers of a program are not trained, and where the generated code says so."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable

from studio.document.blocks.block_expansion import Scope
from studio.document.blocks.block_nodes import path_and_outer
from studio.document.weight_sharing import is_same_layer
from studio.lowering.analysis.dataflow import Dataflow
from studio.lowering.checks.training_goal_checks import untrained_layers


class FrozenLayers:
    """Layers that are frozen or that no optimizer trains.

    The class of a block freezes what is frozen in all instances, the class around it an instance as a whole, and the
    class of the model the rest.
    """

    def __init__(self, flow: Dataflow) -> None:
        untrained = set(untrained_layers(flow))
        nodes = flow.document.nodes
        layers = [name for name, facts in flow.facts.items() if facts.info.parameters and name in flow.graph.needed]
        self._inside: dict[str, list[str]] = defaultdict(list)
        """By path of a layer or an instance: the layers of the run in it that have parameters."""
        for layer in layers:
            for path in path_and_outer(layer):
                self._inside[path].append(layer)
        self._nodes = nodes
        self._left = dict.fromkeys(name for name in layers if nodes[name].frozen or name in untrained)
        """Frozen layers about which no class says so yet."""

    def take(self, scopes: Iterable[Scope], name: str) -> bool:
        """Whether a class has to freeze one of its nodes: because it is frozen in all scopes."""
        paths = (scope.prefix + name for scope in scopes)
        inside = [self._inside.get(path, []) for path in paths if not self._is_shared(path)]
        if not all(inside) or any(path not in self._left for paths in inside for path in paths):
            return False
        for paths in inside:
            for path in paths:
                del self._left[path]
        return True

    def _is_shared(self, path: str) -> bool:
        """Whether a node in a block, which uses the weights of another instance, has no weights to freeze."""
        return path in self._nodes and is_same_layer(self._nodes, path)

    def rest(self) -> list[str]:
        """Paths of frozen layers that `take` did not include."""
        return list(self._left)

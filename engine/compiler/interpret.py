"""Runs a graph node by node with NumPy or CuPy: what passes changed, before any kernel is generated for it."""

from __future__ import annotations

from typing import Any

from engine.backend import namespace_of
from engine.compiler.arrays import most_at_once, own, own_or_same, owner
from engine.compiler.changes import Change, Settle, make, nothing, written
from engine.compiler.description import Description, of_node
from engine.compiler.graph import Graph, Node, Output, Value
from engine.compiler.instruction import filled, has_scalars, operand
from engine.compiler.sequential import compute_call, noted
from engine.modes import MODES


class Interpreter:
    """A plan that fuses nothing. What is not needed any more is freed.

    Args:
        note: why there is no better plan, to be told by `explain`
    """

    def __init__(self, graph: Graph, note: str = "") -> None:
        self.graph = graph
        self._note = note
        last: dict[Value, Node] = {value: node for node in graph.nodes for value in (*node.outputs, *node.values)}
        kept = set(graph.results()) | set(graph.inputs.values())
        self._steps = [
            (node, has_scalars(node.statics), [v for v, end in last.items() if end is node and v not in kept])
            for node in graph.nodes
        ]

    def run(self, externals: dict[int, Any], scalars: list[Any], settle: Settle = nothing) -> list[Any]:
        """The outputs, in their order; writes reach the external arrays themselves, once all is computed."""
        arrays: dict[Value, Any] = {value: externals[slot] for slot, value in self.graph.inputs.items()}
        for node, changing, done in self._steps:
            statics = filled(node.statics, scalars) if changing else node.statics
            inputs = [operand(one, arrays, scalars) for one in node.inputs]
            with noted(node.op, node.where[0] if node.where else None):
                found = compute_call(node.op, inputs, statics, node.out.device, node.mixed)
            arrays.update(zip(node.outputs, found, strict=True))
            inputs = found = None  # nothing is to be held longer than needed
            for value in done:
                del arrays[value]
        values, changes = hand_over(self.graph, arrays, externals)
        MODES.quiet(make, [*changes, *settle(values)])
        return values

    def wait(self) -> None:
        """Nothing is compiled for it."""

    def describe(self) -> Description:
        """What it does, for `explain`."""
        return Description("unfused", tuple(map(of_node, self.graph.nodes)), self._peak(), self._note)

    def _peak(self) -> int:
        """Bytes of the values that are there at one time at most, those that are results not counted."""
        results = set(self.graph.results())
        return most_at_once(
            ({one: one.nbytes for one in node.outputs if not (node.op.view or one in results)}, done)
            for node, _, done in self._steps
        )


def hand_over(graph: Graph, arrays: dict[Value, Any], externals: dict[int, Any]) -> tuple[list[Any], list[Change]]:
    """Gives each output memory of its own, in the layout that was foretold; and what is to be written outside."""
    outside = {id(owner(array)) for array in externals.values()}
    taken: set[int] = set()
    roots: dict[int, Any] = {}
    for output in graph.outputs:
        if output.external is None and output.root not in roots:
            array = arrays[output.value]
            is_free = id(array) not in taken and id(array) not in outside
            roots[output.root] = own_or_same(array, output.form) if is_free else own(array, output.form)
            taken.add(id(owner(roots[output.root])))
    # What is to be written may be the old content of memory that is written to before it.
    changes = [
        written(externals[slot], array.copy() if len(graph.writes) > 1 and id(owner(array)) in outside else array)
        for slot, array in ((slot, arrays[value]) for slot, value in graph.writes.items())
    ]
    return [_view(output, roots, externals) for output in graph.outputs], changes


def _view(output: Output, roots: dict[int, Any], externals: dict[int, Any]) -> Any:
    array = roots[output.root] if output.external is None else externals[output.external]
    for op, statics in output.chain:
        array = op.kernel(namespace_of(array), array, **(statics or {}))
    return array


__all__ = ["Interpreter", "hand_over"]

"""Runs a graph node by node with NumPy or CuPy: what passes changed, before any kernel is generated for it."""

from __future__ import annotations

from math import prod
from typing import Any

from engine.backend import namespace_of
from engine.compiler.description import Description, of_node
from engine.compiler.graph import Graph, Node, Operand, Output, Value
from engine.compiler.instruction import Scalar, filled, has_scalars
from engine.compiler.sequential import compute_call, noted
from engine.deferred import Form


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

    def run(self, externals: dict[int, Any], scalars: list[Any]) -> list[Any]:
        """The outputs, in their order; writes reach the external arrays themselves."""
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
        return hand_over(self.graph, arrays, externals)

    def wait(self) -> None:
        """Nothing is compiled for it."""

    def describe(self) -> Description:
        """What it does, for `explain`."""
        return Description("unfused", tuple(map(of_node, self.graph.nodes)), self._peak(), self._note)

    def _peak(self) -> int:
        """Bytes of the values that are there at one time at most, those that are results not counted."""
        results, peak = set(self.graph.results()), 0
        sizes: dict[Value, int] = {}
        for node, _, done in self._steps:
            if not node.op.view:
                sizes.update({one: nbytes(one) for one in node.outputs if one not in results})
            peak = max(peak, sum(sizes.values()))
            for value in done:
                sizes.pop(value, None)
        return peak


def operand(one: Operand, arrays: dict[Value, Any], scalars: Any) -> Any:
    """What an input of a node stands for in this run."""
    if isinstance(one, Scalar):
        return scalars[one.place]
    return arrays[one] if isinstance(one, Value) else one.value


def nbytes(value: Value) -> int:
    """Memory that a value takes."""
    return prod(value.shape) * value.dtype.itemsize


def hand_over(graph: Graph, arrays: dict[Value, Any], externals: dict[int, Any]) -> list[Any]:
    """Writes what is to be written outside; gives each output memory of its own, in the layout that was foretold."""
    outside = {id(_owner(array)) for array in externals.values()}
    taken: set[int] = set()
    roots: dict[int, Any] = {}
    for output in graph.outputs:
        if output.external is None and output.root not in roots:
            roots[output.root] = _own(arrays[output.value], output.form, taken | outside)
            taken.add(id(_owner(roots[output.root])))
    # What is to be written may be the old content of memory that is written to before it.
    fresh = [
        (slot, array.copy() if len(graph.writes) > 1 and id(_owner(array)) in outside else array)
        for slot, array in ((slot, arrays[value]) for slot, value in graph.writes.items())
    ]
    for slot, array in fresh:
        externals[slot][...] = array
    return [_view(output, roots, externals) for output in graph.outputs]


def _owner(array: Any) -> Any:
    """The array whose memory a view is of."""
    while getattr(array.base, "strides", None) is not None:
        array = array.base
    return array


def _own(array: Any, form: Form, taken: set[int]) -> Any:
    if array.base is None and id(array) not in taken and tuple(array.strides) == form.strides:
        return array
    made = _empty(array, form)
    made[...] = array
    return made


def _empty(like: Any, form: Form) -> Any:
    """Memory whose elements lie in the order that `form` tells."""
    xp = namespace_of(like)
    order = sorted(range(len(form.shape)), key=lambda axis: -form.strides[axis])
    made = xp.empty([form.shape[axis] for axis in order], form.dtype)
    back = sorted(range(len(order)), key=order.__getitem__)
    return made.transpose(back)


def _view(output: Output, roots: dict[int, Any], externals: dict[int, Any]) -> Any:
    array = roots[output.root] if output.external is None else externals[output.external]
    for op, statics in output.chain:
        array = op.kernel(namespace_of(array), array, **(statics or {}))
    return array


__all__ = ["Interpreter", "hand_over", "operand"]

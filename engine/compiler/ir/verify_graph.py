"""Checks that a graph is consistent. Tests run this after every pass."""

from __future__ import annotations

from engine.compiler.ir.ir_graph import IRGraph, IRValue


def verify_graph(graph: IRGraph) -> None:
    """Raises AssertionError for an inconsistent graph."""
    computed: set[IRValue] = set(graph.inputs.values())
    for slot, value in graph.inputs.items():
        assert value.producer is None, f"input {slot} has a producer"
        assert value.index == slot, f"input {slot} has index {value.index}"
    for node in graph.nodes:
        for value in node.values:
            assert value in computed, f"{node.op.name} uses a value before it is computed"
        assert node.outputs, f"{node.op.name} has no outputs"
        for index, value in enumerate(node.outputs):
            assert value.producer is node, f"a result of {node.op.name} names another producer"
            assert value.index == index, f"result {index} of {node.op.name} has index {value.index}"
            assert value not in computed, f"{node.op.name} appears twice in the graph"
        computed.update(node.outputs)
    for slot, value in graph.writes.items():
        target = graph.inputs[slot]
        assert value in computed, f"the value written to {slot} is not computed"
        assert (value.shape, value.dtype) == (target.shape, target.dtype), f"{value} does not fit {target}"
    for output in graph.outputs:
        assert output.external is not None or output.value in computed, f"output {output.slot} is not computed"


__all__ = ["verify_graph"]

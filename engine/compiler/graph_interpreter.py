"""Runs a graph node by node with NumPy or CuPy, without generated kernels."""

from __future__ import annotations

from typing import Any

from engine.backend import namespace_of
from engine.compiler.array_memory import copy_in_layout, in_layout, memory_owner, peak_bytes
from engine.compiler.atomic_changes import Change, CommitChanges, apply_changes, no_changes, write_change
from engine.compiler.instruction import fill_template, has_scalars, resolve_operand
from engine.compiler.ir import IRGraph, IRNode, IROutput, IRValue
from engine.compiler.plan_description import PlanDescription, describe_node
from engine.compiler.sequential_executor import compute_call, note_origin
from engine.modes import MODES


class GraphInterpreter:
    """Runs a graph without fusion. Values are freed after their last use.

    Args:
        note: why there is no execution plan, for `explain`
    """

    def __init__(self, graph: IRGraph, note: str = "") -> None:
        self.graph = graph
        self._note = note
        last: dict[IRValue, IRNode] = {value: node for node in graph.nodes for value in (*node.outputs, *node.values)}
        needed = set(graph.results()) | set(graph.inputs.values())
        self._steps = [
            (node, has_scalars(node.statics), [v for v, end in last.items() if end is node and v not in needed])
            for node in graph.nodes
        ]

    def run(self, externals: dict[int, Any], scalars: list[Any], commit: CommitChanges = no_changes) -> list[Any]:
        """Runs the graph. Returns the outputs; writes to inputs are applied at the end."""
        arrays: dict[IRValue, Any] = {value: externals[slot] for slot, value in self.graph.inputs.items()}
        for node, varies, freed in self._steps:
            statics = fill_template(node.statics, scalars) if varies else node.statics
            inputs = [resolve_operand(one, arrays, scalars) for one in node.inputs]
            with note_origin(node.op, node.where[0] if node.where else None):
                found = compute_call(node.op, inputs, statics, node.out.device, node.mixed)
            arrays.update(zip(node.outputs, found, strict=True))
            inputs = found = None  # hold no array longer than needed
            for value in freed:
                del arrays[value]
        values, changes = separate_outputs(self.graph, arrays, externals)
        MODES.call_silently(apply_changes, [*changes, *commit(values)])
        return values

    def wait(self) -> None:
        """Nothing to wait for."""

    def describe(self) -> PlanDescription:
        """Describes the run for `explain`."""
        return PlanDescription("unfused", tuple(map(describe_node, self.graph.nodes)), self._peak(), self._note)

    def _peak(self) -> int:
        """Peak bytes of intermediate values."""
        results = set(self.graph.results())
        return peak_bytes(
            ({one: one.nbytes for one in node.outputs if not (node.op.view or one in results)}, freed)
            for node, _, freed in self._steps
        )


def separate_outputs(
    graph: IRGraph, arrays: dict[IRValue, Any], externals: dict[int, Any]
) -> tuple[list[Any], list[Change]]:
    """Gives each output separate memory in the traced layout. Returns the outputs and the writes to inputs."""
    outside = {id(memory_owner(array)) for array in externals.values()}
    used: set[int] = set()
    roots: dict[int, Any] = {}
    for output in graph.outputs:
        if output.external is None and output.root not in roots:
            array = arrays[output.value]
            is_free = id(array) not in used and id(array) not in outside
            roots[output.root] = in_layout(array, output.form) if is_free else copy_in_layout(array, output.form)
            used.add(id(memory_owner(roots[output.root])))
    # A written value may be the old content of memory that an earlier write changes.
    changes = [
        write_change(
            externals[slot], array.copy() if len(graph.writes) > 1 and id(memory_owner(array)) in outside else array
        )
        for slot, array in ((slot, arrays[value]) for slot, value in graph.writes.items())
    ]
    return [_view(output, roots, externals) for output in graph.outputs], changes


def _view(output: IROutput, roots: dict[int, Any], externals: dict[int, Any]) -> Any:
    array = roots[output.root] if output.external is None else externals[output.external]
    for op, statics in output.chain:
        array = op.kernel(namespace_of(array), array, **(statics or {}))
    return array


__all__ = ["GraphInterpreter", "separate_outputs"]

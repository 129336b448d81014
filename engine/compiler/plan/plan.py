"""A plan: a function written for one recording."""

from __future__ import annotations

import linecache
import threading
from itertools import count
from typing import Any

from engine.backend import CPU
from engine.compiler.description import Description, of_fused, of_node
from engine.compiler.graph import Graph, Node, Unplanned
from engine.compiler.instruction import Scalar, filled
from engine.compiler.interpret import operand
from engine.compiler.kernels.fused import Fused
from engine.compiler.plan.emit import Emission
from engine.compiler.plan.fusion import Accepts, fuse
from engine.compiler.plan.steps import decide
from engine.compiler.sequential import compute_call, noted
from engine.modes import MODES

_numbers = count()


class Plan:
    """Runs a graph: matrix products and ops with NumPy, the rest in kernels, in memory laid out ahead.

    One run at a time: threads that share a plan take turns.

    Raises:
        Unplanned: something is not on the CPU.
    """

    def __init__(self, graph: Graph, accepts: Accepts) -> None:
        if any(v.device is not CPU for v in (*graph.inputs.values(), *(v for n in graph.nodes for v in n.outputs))):
            raise Unplanned("plans are for the CPU so far")
        self.graph = graph
        self.steps = fuse(graph, accepts)
        emission = Emission(decide(graph, self.steps), _launch)
        self.source = emission.source
        self.memory = emission.memory.nbytes
        """Bytes of its own."""
        self._step_of_line, self._operands = emission.step_of_line, emission.operands
        self._file = f"<plan {next(_numbers)}>"
        linecache.cache[self._file] = (len(self.source), None, self.source.splitlines(True), self._file)
        exec(compile(self.source, self._file, "exec"), emission.known)  # noqa: S102 - written above, of names alone
        self._run: Any = emission.known["run"]
        self._lock = threading.Lock()

    def run(self, externals: dict[int, Any], scalars: list[Any]) -> list[Any]:
        """The wanted arrays; writes reach the external arrays themselves."""
        with self._lock:
            try:
                return MODES.quiet(self._run, externals, scalars)
            except Exception as error:
                self._explain(error, scalars)
                raise

    def describe(self) -> Description:
        """What it does, for `explain`."""
        steps = [of_node(step) if isinstance(step, Node) else of_fused(step, "") for step in self.steps]
        return Description("fused", tuple(steps), self.memory)

    def _explain(self, error: BaseException, scalars: list[Any]) -> None:
        """Has the op behind the line that failed say what was wrong, as it does in eager mode."""
        trace = error.__traceback__
        while trace is not None and trace.tb_frame.f_code.co_filename != self._file:
            trace = trace.tb_next
        step = None if trace is None else self._step_of_line.get(trace.tb_lineno)
        if trace is None or not isinstance(step, Node):
            return
        names = {**trace.tb_frame.f_globals, **trace.tb_frame.f_locals}
        arrays = [eval(one, names, {"s": scalars}) for one in self._operands[trace.tb_lineno]]  # noqa: S307 - as above
        with noted(step.op, step.where[0] if step.where else None):
            compute_call(step.op, arrays, filled(step.statics, scalars) or {}, CPU, step.mixed)
            raise error


def _launch(fused: Fused, number: int) -> Any:
    """What is called for a kernel that is not there yet: its nodes one by one."""
    places = {value: i for i, value in enumerate(fused.inputs)}
    scalars = {scalar: len(places) + i for i, scalar in enumerate(fused.scalars)}
    first = len(places) + len(scalars)

    def run(*given: Any) -> None:
        arrays = {value: given[place] for value, place in places.items()}
        numbers = _Numbers(given, scalars)
        for node in fused.nodes:
            inputs = [operand(one, arrays, numbers) for one in node.inputs]
            found = compute_call(node.op, inputs, filled(node.statics, numbers), node.out.device, node.mixed)
            arrays.update(zip(node.outputs, found, strict=True))
        for place, value in enumerate(fused.outputs):
            given[first + place][...] = arrays[value]

    return run


class _Numbers:
    """The numbers of a kernel by their places in the recording."""

    def __init__(self, given: Any, scalars: dict[Scalar, int]) -> None:
        self._given, self._places = given, {scalar.place: place for scalar, place in scalars.items()}

    def __getitem__(self, place: int) -> Any:
        return self._given[self._places[place]]


__all__ = ["Plan"]

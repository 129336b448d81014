"""Compiled functions: their ops are traced, looked up among known traces, and run by plans."""

from __future__ import annotations

import copy
import functools
import inspect
import sys
import weakref
from collections.abc import Callable, Collection
from threading import Lock
from time import perf_counter
from types import FunctionType
from typing import Any, Protocol

from engine.compiler.atomic_changes import CommitChanges, apply_changes, no_changes
from engine.compiler.capture import Capture
from engine.compiler.compile_report import CompileReport, SegmentRun
from engine.compiler.graph_interpreter import GraphInterpreter
from engine.compiler.instruction import TraceNode
from engine.compiler.ir import PlanUnsupported, build_graph, verify_graph
from engine.compiler.passes import optimize
from engine.compiler.plan import ExecutionPlan
from engine.compiler.plan_description import PlanDescription
from engine.compiler.replay import GuardFailed, RecordedCall, Replay, ReplayCache
from engine.compiler.sequential_executor import SequentialExecutor
from engine.dtypes import DType, get_default_dtype
from engine.errors import CompileError
from engine.graph import SourceLocation
from engine.modes import MODES

DEFAULT_BACKEND = "inductor"
"""The backend that fuses ops, with PyTorch's name."""


class SegmentExecutor(Protocol):
    """Runs a segment."""

    def run(self, externals: dict[int, Any], scalars: list[Any], commit: CommitChanges = no_changes) -> list[Any]:
        """Runs the segment. Returns the arrays in the requested slots.

        Writes to input arrays are applied at the end, together with the changes that `commit` returns. If an exception
        ends the run, nothing has changed.

        Args:
            externals: input arrays by slot
            scalars: numbers and random states of this call
        """
        ...

    def wait(self) -> None:
        """Waits until its kernels are compiled."""
        ...

    def describe(self) -> PlanDescription:
        """Describes the executor for `explain`."""
        ...


class CompiledFunction:
    """A compiled function. Python runs on every call; ops are traced and run together."""

    def __init__(
        self,
        function: Callable[..., Any],
        *,
        fullgraph: bool = False,
        exact: bool = False,
        replay_classes: Collection[type] | None = None,
        backend: str = DEFAULT_BACKEND,
        name: str | None = None,
    ) -> None:
        if replay_classes is not None and (not isinstance(function, FunctionType) or function.__closure__):
            raise CompileError(
                f"{function!r} cannot be replayed. Use a plain function that gets everything it uses as arguments."
            )
        # The attributes of a module are its state and are not copied.
        updated = ("__dict__",) if inspect.isroutine(function) else ()
        functools.update_wrapper(self, function, updated=updated)
        self.function = function
        self.fullgraph = fullgraph
        self.exact = exact
        """Whether all results come from plans: a new trace is undone and run again by its plan."""
        self.replay_classes = replay_classes
        """If not None, the function, the methods of these classes and the engine depend only on their arguments and on
        objects reachable from them, so that calls can be replayed without Python. Only generated code can promise this;
        `engine.compile` does not.
        """
        self.may_replay = replay_classes is not None
        self.backend = backend
        """Name of the backend that runs traces."""
        self.name = name or str(getattr(function, "__qualname__", type(function).__name__))
        self._lock = Lock()
        COMPILED_FUNCTIONS.add(self)
        self.roots: dict[tuple[SourceLocation, DType], TraceNode] = {}
        """Location of a break (None for the function's start) and default dtype → root of the traces from there."""
        self.report = CompileReport()
        self.replays = ReplayCache(replay_classes or ())
        self.recorded = 0
        """Number of ops in all traces."""
        self.plans: list[SegmentExecutor] = []
        """Executors of all segments."""
        self.last: tuple[SegmentRun, ...] = ()
        """The segments of the last call that ran Python."""
        self.replayed: Replay | None = None
        """The replay that ran the last call, if any."""
        self.seconds = 0.0
        """Duration of the last call."""

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if MODES.capture is not None:  # called by another compiled function
            return self.function(*args, **kwargs)
        began = perf_counter()
        try:
            if self.may_replay:
                return self._replay_or_capture(args, kwargs)
            return self._capture_call(Capture(self), args, kwargs)
        finally:
            self.seconds = perf_counter() - began

    def _replay_or_capture(self, args: Any, kwargs: Any) -> Any:
        """Replays a call if possible; else captures it."""
        key, replay = self.replays.find(args, kwargs)
        if replay is not None:
            try:
                result = replay.run(args, kwargs)
                self.replays.count += 1
                self.replayed = replay
                return result
            except GuardFailed as failure:
                self.replays.miss(key, str(failure))
        had_gradient = self.replays.leaves_with_gradients(key, args, kwargs)
        capture = Capture(self)
        result = self._capture_call(capture, args, kwargs)
        segment = capture.sole_segment
        if segment is not None and had_gradient is not None:
            self.replays.add_candidate(
                key, RecordedCall(args, kwargs, result, segment, segment.plan, capture.events, had_gradient)
            )
        return result

    def trace_call(self, *args: Any, **kwargs: Any) -> list[SegmentRun]:
        """Calls the function. Returns its segments in order."""
        self._capture_call(Capture(self, for_explain=True), args, kwargs)
        return list(self.last)

    def _capture_call(self, capture: Capture, args: Any, kwargs: Any) -> Any:
        try:
            return self._run_captured(capture, args, kwargs)
        except BaseException as error:
            capture.abandon(error)
            raise
        finally:
            apply_changes(capture.undo.restore_modes())
            self.last, self.replayed = tuple(capture.runs), None
            capture.close()

    def _run_captured(self, capture: Capture, args: Any, kwargs: Any) -> Any:
        """Calls the function and captures its ops.

        If the function raises an exception, the ops before it are run, as in eager mode. After an interruption such as
        Ctrl+C, the state is that after the last graph break.
        """
        try:
            try:
                MODES.undo = capture.undo.changes
                MODES.capture = capture
                result = self.function(*args, **kwargs)
            except Exception:
                capture.finish()
                raise
            capture.finish()
            return result
        except BaseException as error:
            capture.abandon(error)
            raise
        finally:
            apply_changes(capture.undo.restore_modes())

    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        return self if instance is None else functools.partial(self, instance)

    def root_at(self, where: SourceLocation) -> TraceNode:
        """The root of the traces that start at a graph break, or at the function's start."""
        return self.roots.setdefault((where, get_default_dtype()), TraceNode(None, None, ()))

    def plan(self, node: TraceNode, output_slots: tuple[int, ...]) -> SegmentExecutor:
        """The executor that computes `output_slots` of the trace that ends at `node`."""
        found = node.plans.get(output_slots)
        if found is None:
            with self._lock:  # several threads may request it at once
                found = node.plans.get(output_slots)
                if found is None:
                    found = node.plans[output_slots] = self._make_executor(node, output_slots)
                    self.plans.append(found)
        return found

    def _make_executor(self, node: TraceNode, output_slots: tuple[int, ...]) -> SegmentExecutor:
        if self.backend == "eager":
            return SequentialExecutor(node, output_slots, "backend='eager'")
        try:
            graph = build_graph(node, output_slots)
        except PlanUnsupported as why:
            return SequentialExecutor(node, output_slots, str(why))
        optimize(graph)
        verify_graph(graph)
        if self.backend == "aot_eager":
            return GraphInterpreter(graph, "backend='aot_eager'")
        try:
            return ExecutionPlan(graph)
        except PlanUnsupported as why:
            return GraphInterpreter(graph, str(why))

    def reset(self) -> None:
        """Removes all traces and plans."""
        self.report, self.recorded = CompileReport(), 0
        self.roots, self.plans, self.last = {}, [], ()
        self.replays = ReplayCache(self.replay_classes or ())

    def __reduce__(self) -> Any:
        """The qualified name if it refers to this object, as after decorating; else the arguments to rebuild it."""
        found: Any = sys.modules.get(self.__module__)
        path = getattr(self, "__qualname__", "")  # functools.partial objects have none
        for part in path.split("."):
            found = getattr(found, part, None)
        return path if found is self else (_rebuild, (self.function, *self._settings()))

    def __deepcopy__(self, memo: dict[int, Any]) -> CompiledFunction:
        return _rebuild(copy.deepcopy(self.function, memo), *self._settings())

    def _settings(self) -> tuple[bool, bool, Collection[type] | None, str, str]:
        return self.fullgraph, self.exact, self.replay_classes, self.backend, self.name

    def __repr__(self) -> str:
        return f"<compiled {self.name}>"


def _rebuild(
    function: Callable[..., Any],
    fullgraph: bool,
    exact: bool,
    replay_classes: Collection[type] | None,
    backend: str,
    name: str,
) -> CompiledFunction:
    return CompiledFunction(
        function, fullgraph=fullgraph, exact=exact, replay_classes=replay_classes, backend=backend, name=name
    )


COMPILED_FUNCTIONS: weakref.WeakSet[CompiledFunction] = weakref.WeakSet()
"""All compiled functions, for `engine.compiler.reset`."""

__all__ = ["COMPILED_FUNCTIONS", "CompiledFunction", "SegmentExecutor"]

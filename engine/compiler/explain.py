"""`engine.compiler.explain`: reports how a function is compiled, with measured times."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from statistics import median
from time import perf_counter
from typing import Any

from engine.compiler.compile_api import compiled_of
from engine.compiler.compile_report import Recompile, SegmentRun
from engine.compiler.compiled_function import CompiledFunction
from engine.compiler.explanation import (
    Explanation,
    GraphBreak,
    GuardInfo,
    KernelInfo,
    OperationInfo,
    RecompileInfo,
    ReplayInfo,
    SegmentInfo,
    SourceLine,
)
from engine.compiler.instruction import ExternalInput, Scalar, Slot, TraceNode
from engine.compiler.plan_description import StepDescription
from engine.compiler.recompile_differences import (
    actual_text,
    describe_differences,
    expected_text,
    form_text,
    known_forms,
    operand_text,
)
from engine.compiler.sequential_executor import SequentialExecutor
from engine.compiler.suggest_rewrite import line_text, suggest_rewrite
from engine.errors import CompileError
from engine.graph import SourceLocation
from engine.modes import MODES

MAX_RECORDING_CALLS = 5
"""Calls in which a function may still take new paths."""


def explain(function: Callable[..., Any], *, repeat: int = 5, wait: bool = True) -> Callable[..., Explanation]:
    """Explains how `function` is compiled: ``explain(function)(*args)``.

    The function is called, with all its side effects: until it takes no new path, then `repeat` times each to be
    explained, to be timed compiled, and to be timed in eager mode.

    Args:
        function: a function or module, or a result of `compile`, whose traces and counts are then used
        repeat: number of timed calls per mode
        wait: wait for kernels; otherwise NumPy may compute the timed calls
    """
    compiled = compiled_of(function) or CompiledFunction(function)

    @functools.wraps(compiled.function, updated=())
    def explained(*args: Any, **kwargs: Any) -> Explanation:
        if MODES.capture is not None:
            raise CompileError("explain() was called inside a compiled function. Call it outside.")
        return _explain_call(compiled, repeat, wait, args, kwargs)

    return explained


def _explain_call(compiled: CompiledFunction, repeat: int, wait: bool, args: Any, kwargs: Any) -> Explanation:
    is_new = not compiled.report.calls
    first = 0.0
    for number in range(MAX_RECORDING_CALLS):
        before, began = compiled.recorded, perf_counter()
        trace = compiled.trace_call(*args, **kwargs)
        first = perf_counter() - began if is_new and number == 0 else first
        if compiled.recorded == before:
            for run in trace if wait else ():
                if run.plan is not None:
                    run.plan.wait()
            break
    traces = [compiled.trace_call(*args, **kwargs) for _ in range(repeat)]
    raises_at_break = compiled.fullgraph and any(run.reason is not None for run in traces[-1])
    call = compiled.trace_call if raises_at_break else compiled
    times = [_time_call(call, args, kwargs) for _ in range(repeat)]
    eager = [_time_call(compiled.function, args, kwargs) for _ in range(repeat)]
    return _assemble(compiled, traces, median(eager), median(times), first)


def explanation_of(compiled: CompiledFunction) -> Explanation:
    """Explains the last call of a compiled function that ran Python, without another call.

    `eager_seconds` is 0, because it was not measured.
    """
    return _assemble(compiled, [list(compiled.last)], 0.0, compiled.seconds, 0.0)


def _assemble(
    compiled: CompiledFunction,
    traces: Sequence[list[SegmentRun]],
    eager_seconds: float,
    compiled_seconds: float,
    first_seconds: float,
) -> Explanation:
    replays = compiled.replays
    return Explanation(
        name=compiled.name,
        segments=tuple(_segments(traces)),
        breaks=tuple(_breaks(traces[-1])),
        recompiles=tuple(map(_recompiled, compiled.report.recompiles)),
        replays=ReplayInfo(replays.count, tuple(replays.missed), tuple(replays.refused.values())),
        calls=compiled.report.calls + replays.count,
        recorded=compiled.recorded,
        eager_seconds=eager_seconds,
        compiled_seconds=compiled_seconds,
        first_seconds=first_seconds,
        settings={"backend": compiled.backend, "fullgraph": compiled.fullgraph},
    )


def _time_call(function: Callable[..., Any], args: Any, kwargs: Any) -> float:
    began = perf_counter()
    function(*args, **kwargs)
    return perf_counter() - began


def _segments(traces: Sequence[list[SegmentRun]]) -> list[SegmentInfo]:
    """The segments of the last call. Times are medians over all calls along the same path."""
    last = traces[-1]
    same_path = [trace for trace in traces if [run.node for run in trace] == [run.node for run in last]]
    found: list[SegmentInfo] = []
    for index, run in enumerate(last):
        if run.node.depth:
            seconds = median(trace[index].seconds for trace in same_path)
            found.append(_segment(len(found) + 1, run, seconds))
    return found


def _segment(number: int, run: SegmentRun, seconds: float) -> SegmentInfo:
    path = run.node.path()
    described = None if run.plan is None else run.plan.describe()
    return SegmentInfo(
        number=number,
        operations=tuple(_operations(run)),
        guards=tuple(_guards(path)),
        numbers=len({one.number for node in path for one in _scalars((node.call.inputs, node.call.statics))}),
        how="recorded" if described is None else described.kind,
        note="" if described is None else described.note,
        kernels=() if described is None else tuple(map(_kernel, described.steps)),
        plans=len(run.node.plans),
        memory=0 if described is None else described.memory,
        held=SequentialExecutor(run.node, ()).describe().memory,
        seconds=seconds,
        ended_by=None if run.reason is None else run.reason.id,
    )


def _operations(run: SegmentRun) -> list[OperationInfo]:
    """The ops of a segment, with the lines of this call, since another path may have created the trace."""
    forms, found = known_forms(run.node), []
    path = run.node.path()
    origins = run.origins or [(node.call.where, node.call.backward) for node in path]
    for node, (where, backward) in zip(path, origins, strict=True):
        call = node.call
        inputs = tuple(f"%{one.number}" if isinstance(one, Slot) else operand_text(one, forms) for one in call.inputs)
        outputs = tuple(form_text(forms[slot]) for slot in call.outputs)
        found.append(OperationInfo(call.op.name, inputs, call.outputs, outputs, line(where), backward, call.in_place))
    return found


def _guards(path: Sequence[TraceNode]) -> list[GuardInfo]:
    written = {node.call.outputs[0] for node in path if node.call.in_place}
    return [_guard(external, node, external.slot in written) for node in path for external in node.externals]


def _guard(external: ExternalInput, node: TraceNode, written: bool) -> GuardInfo:
    form, call = external.form, node.call
    device = str(external.device)
    strides = tuple(stride // form.dtype.itemsize for stride in form.strides)
    return GuardInfo(external.slot, form_text(form), strides, device, call.op.name, line(call.where), written)


def _scalars(value: Any) -> list[Scalar]:
    if isinstance(value, Scalar):
        return [value]
    items = value.values() if isinstance(value, dict) else value if type(value) in (tuple, list) else ()
    return [found for item in items for found in _scalars(item)]


def _kernel(step: StepDescription) -> KernelInfo:
    lines = tuple(one for location in step.lines if (one := line(location)) is not None)
    return KernelInfo(step.ops, step.kind, step.reads, step.makes, lines, step.source, step.note)


def _breaks(trace: list[SegmentRun]) -> list[GraphBreak]:
    """Graph breaks by cause: one for each reason and line."""
    rows: dict[tuple[str, SourceLocation], list[int]] = {}
    for index, run in enumerate(trace):
        if run.reason is not None:
            rows.setdefault((run.reason.id, run.where), []).append(index)
    return [_break(trace, indices) for indices in rows.values()]


def _break(trace: list[SegmentRun], indices: list[int]) -> GraphBreak:
    first = trace[indices[0]]
    assert first.reason is not None
    return GraphBreak(
        reason=first.reason.id,
        what=first.reason.what,
        line=line(first.where),
        op=first.op,
        count=len(indices),
        before=first.node.depth,
        after=trace[indices[-1] + 1].node.depth if indices[-1] + 1 < len(trace) else 0,
        seconds=sum(trace[index].cost for index in indices),
        rewrite=suggest_rewrite(first.reason, first.where),
    )


def _recompiled(found: Recompile) -> RecompileInfo:
    there = None if found.expected is None else line(found.expected.call.where)
    here = line(found.node.call.where)
    return RecompileInfo(
        found.call, here, found.depth, expected_text(found), there, actual_text(found), describe_differences(found)
    )


def line(where: SourceLocation) -> SourceLine | None:
    """A line with its source text."""
    return None if where is None else SourceLine(*where, line_text(where))


__all__ = ["explain", "explanation_of"]

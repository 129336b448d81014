"""Execution plans: a generated Python function for each segment."""

from __future__ import annotations

import linecache
import threading
import weakref
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import replace
from functools import cached_property
from itertools import count
from types import MappingProxyType
from typing import Any

import numpy as np

from engine.backend import CPU
from engine.compiler.atomic_changes import CommitChanges, apply_changes, no_changes
from engine.compiler.graph_interpreter import GraphInterpreter
from engine.compiler.instruction import fill_template
from engine.compiler.ir import IRGraph, IRNode, IRValue
from engine.compiler.kernels import CpuKernel, FusedGroup, LoweringUnsupported
from engine.compiler.kernels.kernel_program import program_of
from engine.compiler.kernels.kernel_schedule import schedule_program
from engine.compiler.kernels.library import start_thread_pool
from engine.compiler.plan.buffer_placement import BufferPlacement, place_buffers
from engine.compiler.plan.fusion import PlanStep, fuse_nodes
from engine.compiler.plan.fusion_candidate import fusion_candidate
from engine.compiler.plan.plan_device import GpuTarget, device_of, kernel_for
from engine.compiler.plan.plan_source import KernelCallWriter, PlanSource, aligned
from engine.compiler.plan.plan_timing import PlanTiming
from engine.compiler.plan_description import PlanDescription, describe_kernel, describe_node
from engine.compiler.sequential_executor import compute_call, note_origin
from engine.modes import MODES

_numbers = count()


class ExecutionPlan:
    """Runs a graph: matrix products and ops with NumPy or CuPy, the rest in kernels, in planned memory.

    NumPy computes the same values, bit for bit, while kernels compile or if they cannot be compiled; a GPU waits for
    them. Threads that share a plan take turns. If an exception ends a run on the CPU, no input has changed.

    Raises:
        PlanUnsupported: the graph uses several devices, or one without kernels
    """

    def __init__(self, graph: IRGraph) -> None:
        self.device = device_of(graph)
        self._gpu = None if self.device is CPU else GpuTarget(self.device)
        self.graph = graph
        self._notes: dict[IRNode, str] = {}
        """Why nodes are in no kernel."""
        placement, self.kernels = self._place_and_lower(fuse_nodes(graph, fusion_candidate))
        self.steps = placement.steps
        self._placement = placement
        size = placement.layout.size
        self._memory = aligned(size) if self._gpu is None else self._gpu.allocate(size)
        self.memory = self._memory.nbytes + (0 if self._gpu is None else self._gpu.scratch_bytes(self.kernels.values()))
        """Bytes of memory that the plan owns."""
        self._lock = threading.Lock()
        self._waiting = list(reversed(self.kernels.values()))
        """Kernels that are not compiled yet; the last one is compiled first."""
        self._fallback: GraphInterpreter | None = None
        self._run: Any = None
        self._timing: PlanTiming | None = None
        """The times of its runs, while it is timed."""
        self._write_call: KernelCallWriter | None = None
        """Writes calls of GPU kernels."""
        self._remove_source: Any = None
        """Removes the current function from `linecache`."""
        self._is_final = False
        """Whether the current function waits for no kernel."""
        if self._gpu is None:
            self._is_final = self._are_kernels_done()
            self._install_source()

    def _place_and_lower(self, steps: list[PlanStep]) -> tuple[BufferPlacement, dict[FusedGroup, Any]]:
        """The storage of values, and a kernel for each group. Groups without a kernel become single nodes."""
        while True:
            placement = place_buffers(self.graph, steps)
            kernels: dict[FusedGroup, Any] = {}
            found: list[PlanStep] = []
            for step in placement.steps:
                if isinstance(step, IRNode):
                    found.append(step)
                    continue
                try:
                    step = _with_overwritten_inputs(step, placement)
                    arguments = [placement.strides[value] for value in (*step.inputs, *step.outputs)]
                    kernels[step] = kernel_for(self._gpu, step, arguments)
                    found.append(step)
                except LoweringUnsupported as why:
                    self._notes.update(dict.fromkeys(step.nodes, str(why)))
                    found += step.nodes
            if len(kernels) == sum(isinstance(step, FusedGroup) for step in steps):
                placement.steps = found
                return placement, kernels
            steps = found

    @property
    def is_fused(self) -> bool:
        """Whether its kernels are compiled and in use."""
        return not self._waiting and all(kernel.ready for kernel in self.kernels.values())

    def wait(self) -> None:
        """Waits until the next run will use kernels."""
        for kernel in list(self._waiting):
            with suppress(LoweringUnsupported):
                kernel.wait()

    @cached_property
    def reusable_outputs(self) -> frozenset[int]:
        """Indices of outputs for which a run accepts memory."""
        return frozenset(self._placement.caller_buffers.values() if self._gpu is None else ())

    def run(
        self,
        externals: dict[int, Any],
        scalars: list[Any],
        commit: CommitChanges = no_changes,
        memory: Mapping[int, Any] = MappingProxyType({}),
    ) -> list[Any]:
        """Runs the graph. Returns the outputs; all writes to inputs are applied together at the end.

        Args:
            commit: returns further changes, which are applied together with the writes
            memory: arrays for outputs with an index in `reusable_outputs`, with no other reference
        """
        with self._lock:
            if self._gpu is not None:
                return self._run_on_gpu(self._gpu, externals, scalars, commit)
            if not self._is_final and self._are_kernels_done():
                self._install_source()
                self._is_final = True
            try:
                return self._run_silently(externals, scalars, commit, memory)
            except Exception as error:
                self._explain_error(error, scalars)
                raise

    def start_timing(self) -> PlanTiming:
        """Times the steps of each run from now on, until `stop_timing`. Results stay the same."""
        with self._lock:
            self._timing = PlanTiming(None if self._gpu is None else self._gpu.synchronize)
            self._install_again()
            return self._timing

    def stop_timing(self) -> None:
        """Runs as before `start_timing`."""
        with self._lock:
            self._timing = None
            self._install_again()

    def _install_again(self) -> None:
        if self._run is not None and self._gpu is None:
            self._install_source()
        elif self._run is not None and self._gpu is not None:
            with self._gpu.device_context():
                self._install_source()

    def _are_kernels_done(self) -> bool:
        """Whether no kernel is waited for. Only the next one is checked, since they compile in order."""
        while self._waiting and (self._waiting[-1].ready or self._waiting[-1].failure):
            self._waiting.pop()
        return not self._waiting

    def _run_on_gpu(
        self, gpu: GpuTarget, externals: dict[int, Any], scalars: list[Any], commit: CommitChanges
    ) -> list[Any]:
        """Runs the graph on a GPU. If NVRTC fails, the graph runs node by node."""
        if self._fallback is None and self._run is None:
            self._prepare_gpu(gpu)
        if self._fallback is not None:
            return self._fallback.run(externals, scalars, commit)
        try:
            return gpu.run(self._run, externals, scalars, commit)
        except Exception as error:
            self._explain_error(error, scalars)
            raise

    def _prepare_gpu(self, gpu: GpuTarget) -> None:
        self.wait()
        failure = next((kernel.failure for kernel in self.kernels.values() if kernel.failure), None)
        if failure is not None:
            self._fallback = GraphInterpreter(self.graph, failure)
            return
        self._waiting = []
        bound = gpu.bind_kernels(list(self.kernels.values()))

        def launched(plan_source: PlanSource, number: int, fused: FusedGroup) -> None:
            plan_source.call(
                number, fused, plan_source.bind(f"kernel{number}", bound[fused]), _kernel_arguments(plan_source, fused)
            )

        self._write_call = launched
        with gpu.device_context():
            self._install_source()

    def _run_silently(
        self, externals: dict[int, Any], scalars: list[Any], commit: CommitChanges, memory: Mapping[int, Any]
    ) -> list[Any]:
        try:
            return MODES.call_silently(self._run_and_commit, externals, scalars, commit, memory)
        except RuntimeError as error:
            inside = error.__traceback__ is not None and error.__traceback__.tb_next is not None
            if inside or "cannot enter context" not in str(error):
                raise
        with np.errstate(all="ignore"):  # a finalizer called a compiled function during a kernel
            return self._run_and_commit(externals, scalars, commit, memory)

    def _run_and_commit(
        self, externals: dict[int, Any], scalars: list[Any], commit: CommitChanges, memory: Mapping[int, Any]
    ) -> list[Any]:
        values, changes, _held = self._run(externals, scalars, memory)
        changes += commit(values)
        apply_changes(changes)
        return values

    def _install_source(self) -> None:
        """Writes the plan's function, and runs it from now on."""
        timing = self._timing
        stamp = None if timing is None else timing.stamp
        write_call = self._write_call or self._add_kernel_call
        plan_source = PlanSource(self._placement, self._memory, write_call, self.device, stamp)
        start_thread_pool()
        self.source = plan_source.source
        self._step_of_line, self._operands = plan_source.step_of_line, plan_source.operands
        self._file = f"<plan {next(_numbers)}>"
        linecache.cache[self._file] = (len(self.source), None, self.source.splitlines(True), self._file)
        if self._remove_source is not None:
            self._remove_source()
        self._remove_source = weakref.finalize(self, linecache.cache.pop, self._file, None)
        self._remove_source.atexit = False
        exec(compile(self.source, self._file, "exec"), plan_source.namespace)  # noqa: S102 - written above, of names alone
        run = plan_source.namespace["run"]
        self._run = run if timing is None else _timed(run, timing.begin_run(plan_source.stamps))

    def _add_kernel_call(self, plan_source: PlanSource, number: int, fused: FusedGroup) -> None:
        """Adds the call of a kernel with the ids of arrays, or of its reference kernel."""
        kernel = self.kernels[fused]
        if self._waiting or not kernel.ready:
            self._add_reference_call(plan_source, number, fused)
            return
        function, layout = kernel.entry
        name = plan_source.bind(f"kernel{number}", function)
        replaced = {output for output, _ in fused.in_place}
        written = [value for index, value in enumerate(fused.outputs) if index not in replaced]
        arguments = [str(layout), *(_id(plan_source, value) for value in fused.inputs)]
        arguments += [f"s[{one.number}]" for one in fused.scalars]
        plan_source.call(number, fused, name, [*arguments, *(_id(plan_source, value) for value in written)])

    def _add_reference_call(self, plan_source: PlanSource, number: int, fused: FusedGroup) -> None:
        """Adds the call of a reference kernel, which computes the same values.

        It is Python code and may be interrupted, so writes to inputs go to temporary arrays first.
        """
        kernel = self.kernels[fused]
        arguments = [
            *(plan_source.names[value] for value in fused.inputs),
            *(f"s[{one.number}]" for one in fused.scalars),
        ]
        outputs = [plan_source.names[value] for value in fused.outputs]
        if not plan_source.is_late(number):
            name = plan_source.bind(f"group{number}", _kernel_or_reference(kernel))
            plan_source.call(number, fused, name, [*arguments, *outputs])
            return
        for index, value in enumerate(fused.outputs):
            if self._placement.kind[value] == "target":
                plan_source.changes.append(f"(setitem, {outputs[index]}, ..., w{number}_{index}),  # {fused}")
                outputs[index] = f"w{number}_{index}"
                plan_source.add(f"{outputs[index]} = {plan_source.empty(value)}")
        name = plan_source.bind(f"group{number}", _reference_call(kernel))
        plan_source.add(f"{name}({', '.join([*arguments, *outputs])})  # {fused}")

    def _explain_error(self, error: BaseException, scalars: list[Any]) -> None:
        """Repeats a failed step with the eager op, whose error message names the op and its line."""
        trace = error.__traceback__
        while trace is not None and trace.tb_frame.f_code.co_filename != self._file:
            trace = trace.tb_next
        step = None if trace is None else self._step_of_line.get(trace.tb_lineno)
        if trace is None or not isinstance(step, IRNode):
            return
        names = {**trace.tb_frame.f_globals, **trace.tb_frame.f_locals}
        arrays = [eval(one, names, {"s": scalars}) for one in self._operands[trace.tb_lineno]]  # noqa: S307 - as above
        with note_origin(step.op, step.where[0] if step.where else None):
            compute_call(step.op, arrays, fill_template(step.statics, scalars) or {}, self.device, step.mixed)
            raise error

    def describe(self) -> PlanDescription:
        """Describes the plan for `explain`."""
        if self._fallback is not None:
            return self._fallback.describe()
        steps = [
            describe_node(one, self._notes.get(one))
            if isinstance(one, IRNode)
            else describe_kernel(one, self.kernels[one])
            for one in self.steps
        ]
        return PlanDescription("fused", tuple(steps), self.memory)


def _timed(run: Callable[..., Any], begin: Callable[[], None]) -> Callable[..., Any]:
    def timed(*arguments: Any) -> Any:
        begin()
        return run(*arguments)

    return timed


def _with_overwritten_inputs(step: FusedGroup, placement: BufferPlacement) -> FusedGroup:
    """A group with the outputs that overwrite inputs.

    An output that would overwrite a value that is still read goes to a buffer and is copied at the end.
    """
    targets = [(index, value) for index, value in enumerate(step.outputs) if placement.kind[value] == "target"]
    olds = [(index, value, placement.graph.inputs[placement.target[value]]) for index, value in targets]
    olds = [one for one in olds if one[2] in step.inputs]
    if not olds:
        return step
    schedule = schedule_program(program_of(step))
    pairs: list[tuple[int, int]] = []
    for index, value, old in olds:
        source = step.inputs.index(old)
        try:
            schedule.check_overwrite(index, source)
            pairs.append((index, source))
        except LoweringUnsupported:
            placement.kind[value] = "buffer"
            del placement.target[value]
    return replace(step, in_place=tuple(pairs)) if pairs else step


def _kernel_arguments(plan_source: PlanSource, fused: FusedGroup) -> list[str]:
    """The arguments of a kernel: inputs, numbers, and outputs that overwrite no input."""
    replaced = {output for output, _ in fused.in_place}
    written = [value for index, value in enumerate(fused.outputs) if index not in replaced]
    numbers = [f"s[{one.number}]" for one in fused.scalars]
    return [*(plan_source.names[one] for one in fused.inputs), *numbers, *(plan_source.names[one] for one in written)]


def _id(plan_source: PlanSource, value: IRValue) -> str:
    """The id of a value's array: a literal if it is the same object in every run."""
    name = plan_source.names[value]
    return str(id(plan_source.namespace[name])) if value in plan_source.static else f"id({name})"


def _kernel_or_reference(kernel: CpuKernel) -> Any:
    """Calls the kernel once it is compiled, and the reference kernel before."""
    reference = _reference_call(kernel)
    inputs = len(kernel.fused.inputs)
    first = inputs + len(kernel.fused.scalars)

    def run(*arguments: Any) -> None:
        if kernel.ready:
            kernel(arguments[:inputs], arguments[inputs:first], arguments[first:])
        else:
            reference(*arguments)

    return run


def _reference_call(kernel: CpuKernel) -> Any:
    inputs = len(kernel.fused.inputs)
    first = inputs + len(kernel.fused.scalars)

    def run(*arguments: Any) -> None:
        kernel.reference(arguments[:inputs], arguments[inputs:first], arguments[first:])

    return run


__all__ = ["ExecutionPlan"]

"""The state of compilation of a function that is called repeatedly."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

from engine.compiler.compiled_function import CompiledFunction
from engine.compiler.plan import ExecutionPlan

Tier: TypeAlias = Literal["recording", "interpreted", "compiled", "replayed"]
"""How a step runs: "recording" op by op while it is traced; "interpreted" by a plan with NumPy in place of kernels that
are still compiling; "compiled" by a plan with its kernels; "replayed" without Python, too.
"""


@dataclass(frozen=True, slots=True)
class CompileState:
    """How training steps run from now on. Sent after the first step in this state; never if steps are not compiled."""

    step: int
    """Number of the step in the run."""
    tier: Tier
    breaks: int
    """Graph breaks in that step."""
    recompiles: int
    """Steps that took a new path, without the first one."""
    kernels: int
    """Kernels of all traces of the step."""
    kernels_ready: int
    """Compiled kernels."""
    kernels_failed: int
    """Kernels that cannot be compiled; NumPy computes them."""


def compile_state(compiled: CompiledFunction, step: int) -> CompileState:
    """The state after the call that is step `step` of a training."""
    plans = [plan for plan in compiled.plans if isinstance(plan, ExecutionPlan)]
    kernels = [kernel for plan in plans for kernel in plan.kernels.values()]
    return CompileState(
        step=step,
        tier=tier(compiled),
        breaks=sum(run.reason is not None for run in compiled.last),
        recompiles=compiled.report.recompiled,
        kernels=len(kernels),
        kernels_ready=sum(kernel.ready for kernel in kernels),
        kernels_failed=sum(kernel.failure is not None for kernel in kernels),
    )


def tier(compiled: CompiledFunction) -> Tier:
    """The state of the last call, by its slowest segment."""
    if compiled.replayed is not None:
        return "replayed" if compiled.replayed.plan.is_fused else "interpreted"
    segments = [run for run in compiled.last if run.node.depth]
    if any(not run.is_known for run in segments):
        return "recording"
    if not all(isinstance(run.plan, ExecutionPlan) and run.plan.is_fused for run in segments):
        return "interpreted"
    return "compiled"


__all__ = ["CompileState", "Tier", "compile_state", "tier"]

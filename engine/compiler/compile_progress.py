"""How far a compiled function has come, for whoever shows that while it is called again and again."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

from engine.compiler.compiled_function import CompiledFunction
from engine.compiler.plan import ExecutionPlan

Tier: TypeAlias = Literal["recording", "interpreted", "compiled", "replayed"]
"""How a step runs: op by op while it is recorded; by a plan whose kernels are still being compiled; by a plan with its
kernels; by a plan without Python."""


@dataclass(frozen=True, slots=True)
class CompileState:
    """How training steps run from now on. Sent after the first step that this is true of; never if none is compiled."""

    step: int
    """In the whole run."""
    tier: Tier
    breaks: int
    """Graph breaks in that step."""
    recompiles: int
    """Steps so far that did something no earlier one had done, the first one left out."""
    kernels: int
    """Of all recordings of the step."""
    kernels_ready: int
    """Those that are compiled."""
    kernels_failed: int
    """Those that cannot be compiled; the plan does without them for good."""


def compile_state(compiled: CompiledFunction, step: int) -> CompileState:
    """How a function runs after the call that is step `step` of a training."""
    plans = [plan for plan in compiled.plans if isinstance(plan, ExecutionPlan)]
    kernels = [kernel for plan in plans for kernel in plan.kernels.values()]
    return CompileState(
        step=step,
        tier=tier(compiled),
        breaks=sum(ran.reason is not None for ran in compiled.last),
        recompiles=compiled.report.recompiled,
        kernels=len(kernels),
        kernels_ready=sum(kernel.ready for kernel in kernels),
        kernels_failed=sum(kernel.failure is not None for kernel in kernels),
    )


def tier(compiled: CompiledFunction) -> Tier:
    """How the last call ran, by the slowest of its segments."""
    if compiled.replayed is not None:
        return "replayed" if compiled.replayed.plan.is_fused else "interpreted"
    segments = [ran for ran in compiled.last if ran.node.depth]
    if any(not ran.known for ran in segments):
        return "recording"
    if not all(isinstance(ran.plan, ExecutionPlan) and ran.plan.is_fused for ran in segments):
        return "interpreted"
    return "compiled"


__all__ = ["CompileState", "Tier", "compile_state", "tier"]

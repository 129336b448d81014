"""From a graph to a function that runs it: fused kernels, memory planned ahead, no look-ups on the way."""

from engine.compiler.plan.execution_plan import ExecutionPlan as ExecutionPlan

__all__ = ["ExecutionPlan"]

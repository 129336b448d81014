"""Execution plans: functions that run a graph with fused kernels and planned memory."""

from engine.compiler.plan.execution_plan import ExecutionPlan as ExecutionPlan

__all__ = ["ExecutionPlan"]

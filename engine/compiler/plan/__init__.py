"""From a graph to a function that runs it: fused kernels, memory planned ahead, no look-ups on the way."""

from engine.compiler.plan.plan import Plan as Plan

__all__ = ["Plan"]

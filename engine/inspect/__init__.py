"""Recorded ops and autograd graphs as plain data."""

from __future__ import annotations

from engine.inspect.graph_data import AutogradGraph as AutogradGraph
from engine.inspect.graph_nodes import GraphCut as GraphCut
from engine.inspect.graph_nodes import GraphEdge as GraphEdge
from engine.inspect.graph_nodes import GraphHook as GraphHook
from engine.inspect.graph_nodes import GraphNode as GraphNode
from engine.inspect.graph_nodes import SavedTensor as SavedTensor
from engine.inspect.graph_nodes import memory_of as memory_of
from engine.inspect.graph_reader import autograd_graph as autograd_graph
from engine.inspect.graph_recording import GraphRecording as GraphRecording
from engine.inspect.graph_recording import Model
from engine.observe import Call as Call
from engine.observe import Observer


def trace() -> Observer:
    """Context manager that collects the ops called inside as `.calls`."""
    return Observer()


def recording(model: Model | None = None) -> GraphRecording:
    """Context manager that records source lines of autograd nodes, cuts, and gradient norms in backward passes.

    Args:
        model: module whose parts are recorded for the nodes of their ops
    """
    return GraphRecording(model)


__all__ = [
    "Call", "AutogradGraph", "GraphCut", "GraphEdge", "GraphHook", "GraphNode", "GraphRecording", "SavedTensor",
    "autograd_graph", "memory_of", "recording", "trace",
]  # fmt: skip

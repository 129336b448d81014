"""Traces of models as graphs of ops, with symbolic sizes, which exports write to files."""

from engine.tracing.errors import TraceError as TraceError
from engine.tracing.model_trace import trace_model as trace_model
from engine.tracing.traced_graph import TracedGraph as TracedGraph
from engine.tracing.tracer import Tracer as Tracer

__all__ = ["TraceError", "TracedGraph", "Tracer", "trace_model"]

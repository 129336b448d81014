"""Errors of the ONNX export."""

from __future__ import annotations

from engine.tracing.errors import TraceError


class OnnxExportError(TraceError):
    """A model that cannot be written as an ONNX file. `node`, `op` and `reason` tell which part and why."""


__all__ = ["OnnxExportError"]

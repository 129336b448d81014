"""Errors of artifacts."""

from __future__ import annotations

from engine.tracing.errors import TraceError


class ArtifactError(TraceError):
    """A model that cannot be exported as an artifact, a file that is no valid artifact, or inputs that do not fit."""


__all__ = ["ArtifactError"]

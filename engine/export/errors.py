"""Errors of artifacts."""

from __future__ import annotations

from engine.tracing.errors import TraceError


class ArtifactError(TraceError):
    """A model that cannot be exported as an artifact, a file that is no valid artifact, or inputs that do not fit."""


def printable(text: str, most: int = 80) -> str:
    """The start of a text of a file, for errors. Control characters are escaped, since terminals act on them."""
    return "".join(each if each.isprintable() else repr(each)[1:-1] for each in text[:most])


__all__ = ["ArtifactError", "printable"]

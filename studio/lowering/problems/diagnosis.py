"""A diagnosis: the kind of a problem, with what its help page says."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

Severity: TypeAlias = Literal["error", "warning", "hint"]
"""An error prevents a run. With a warning it trains badly or its figures mislead. A hint is true and harmless."""

SEVERITIES: tuple[Severity, ...] = ("error", "warning", "hint")
"""The most severe first."""


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """A kind of problem."""

    code: str
    """Stable identifier in records."""
    title: str
    """Noun phrase: "Sequence along the batch"."""
    help: str
    """Why it matters, in one or two sentences."""


__all__ = ["SEVERITIES", "Diagnosis", "Severity"]

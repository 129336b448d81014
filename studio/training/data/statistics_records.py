"""Records of the statistics of samples at a node."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from engine.shape import Spec
from studio.lowering.problems.problem import Fix, Problem
from studio.training.data.histogram import Counts
from studio.training.data.sample_display import Kind
from studio.training.data.sample_preview import Part


@dataclass(frozen=True, slots=True)
class ChannelFigures:
    """Statistics of a column or image channel."""

    name: str
    numbers: int
    """Count of finite values, from which the other statistics are computed; those are 0 if there is none."""
    missing: int
    """NaN."""
    infinite: int
    low: float
    high: float
    mean: float
    std: float
    histogram: Counts


@dataclass(frozen=True, slots=True)
class PartFigures:
    """One part of the data."""

    part: Part
    samples: int
    looked_at: int
    """How many of them the figures of channels are of, and were compared with the other part's."""
    classes: tuple[int, ...]
    """Samples of each class; empty if targets are no single classes."""
    strays: tuple[tuple[int, int], ...]
    """Some samples with class numbers beyond the classes: their rows and numbers."""
    channels: tuple[ChannelFigures, ...]
    targets: tuple[ChannelFigures, ...]
    """Of targets that are numbers, each of their columns; of larger ones all numbers together."""
    repeated: int
    """Samples that another one of this part equals."""
    unreadable: int
    """Samples that cannot be read, such as damaged images."""
    reasons: tuple[tuple[int, str], ...]
    """Some of their rows, and why."""
    missing: tuple[int, ...]
    """Rows of some samples in which a number is NaN."""
    infinite: tuple[int, ...]
    """Rows of some samples with an infinite number."""
    points: tuple[tuple[float, float, int], ...]
    """Of samples that are points in a plane: some of them, with their classes; -1 for none."""
    is_stream: bool
    """Whether these are the first samples of a stream of unknown length."""


@dataclass(frozen=True, slots=True)
class Overlap:
    """Inputs that training and validation have in common."""

    count: int
    """Validation samples whose input a training sample has. Equal ones count each."""
    inputs: int
    """Different inputs among them."""
    examples: tuple[tuple[int, int], ...]
    """Rows in training and in validation."""
    contradictions: int
    """Validation samples among them whose target no training sample with this input has."""


@dataclass(frozen=True, slots=True)
class Finding:
    """A finding about the data."""

    code: str
    severity: Literal["error", "warning"]
    message: str
    """The finding with its figures, and how to fix it."""
    examples: tuple[tuple[Part, int], ...] = ()
    """Samples to look at."""
    fix: Fix | None = None

    def problem(self, node: str) -> Problem:
        """The finding as a problem of the node whose samples it is about."""
        return Problem(self.severity, self.code, self.message, node=node, fix=self.fix)


@dataclass(frozen=True, slots=True)
class Statistics:
    node: str
    kind: Kind
    spec: Spec
    target: Spec
    class_names: tuple[str, ...]
    parts: tuple[PartFigures, ...]
    overlap: Overlap | None
    """None if there is nothing to validate with."""
    classes: int | None = None
    """Number of classes of the targets; None if they are not classes."""
    skipped: tuple[str, ...] = ()
    """Images that cannot be decoded and are replaced by others, each with the reason."""
    findings: tuple[Finding, ...] = ()
    """What looks wrong, the worst first."""

    def part(self, part: Part) -> PartFigures | None:
        return next((figures for figures in self.parts if figures.part == part), None)


__all__ = ["ChannelFigures", "Finding", "Overlap", "PartFigures", "Statistics"]

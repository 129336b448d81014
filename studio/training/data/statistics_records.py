"""Records of the statistics of samples at a node."""

from __future__ import annotations

from dataclasses import dataclass

from engine.shape import Spec
from studio.lowering.problems.problem import Problem
from studio.training.data.histogram import Counts
from studio.training.data.sample_display import Kind
from studio.training.data.sample_preview import Part


@dataclass(frozen=True, slots=True)
class ChannelFigures:
    """Statistics of a column or image channel."""

    name: str
    numbers: int
    """Number of finite values. The statistics below are computed from these, and are 0 if there are none."""
    missing: int
    """Number of NaN values."""
    infinite: int
    low: float
    high: float
    mean: float
    std: float
    histogram: Counts


@dataclass(frozen=True, slots=True)
class PartFigures:
    """Statistics of the training or validation samples."""

    part: Part
    samples: int
    looked_at: int
    """Number of samples read for channel statistics and for the overlap with the other part."""
    classes: tuple[int, ...]
    """Number of samples per class; empty if the targets are not classes."""
    strays: tuple[tuple[int, int], ...]
    """Examples of invalid class indices: row and index."""
    channels: tuple[ChannelFigures, ...]
    targets: tuple[ChannelFigures, ...]
    """Numeric targets: statistics per column, or one for all values of large targets."""
    repeated: int
    """Number of duplicates within this part."""
    unreadable: int
    """Number of samples that cannot be read, such as damaged images."""
    reasons: tuple[tuple[int, str], ...]
    """Examples of unreadable samples: row and reason."""
    missing: tuple[int, ...]
    """Rows of example samples that contain NaN."""
    infinite: tuple[int, ...]
    """Rows of example samples that contain infinity."""
    points: tuple[tuple[float, float, int], ...]
    """For two-dimensional samples: examples as (x, y, class), with class -1 if there are no classes."""
    is_stream: bool
    """Whether these are the first samples of a stream of unknown length."""


@dataclass(frozen=True, slots=True)
class Overlap:
    """Inputs that occur in both training and validation data."""

    count: int
    """Number of validation samples whose input occurs in the training data, duplicates included."""
    inputs: int
    """Number of distinct inputs among them."""
    examples: tuple[tuple[int, int], ...]
    """Examples: training row and validation row."""
    contradictions: int
    """Number of these validation samples with a target that no training sample with the same input has."""


@dataclass(frozen=True, slots=True)
class Statistics:
    """Statistics of the samples at a node."""

    node: str
    kind: Kind
    spec: Spec
    target: Spec
    class_names: tuple[str, ...]
    parts: tuple[PartFigures, ...]
    overlap: Overlap | None
    """None without validation samples."""
    classes: int | None = None
    """Number of classes of the targets; None if they are not classes."""
    skipped: tuple[str, ...] = ()
    """Images that cannot be decoded and are replaced by others, each with the reason."""
    problems: tuple[Problem, ...] = ()
    """Problems of the data, errors first."""

    def part(self, part: Part) -> PartFigures | None:
        return next((figures for figures in self.parts if figures.part == part), None)


__all__ = ["ChannelFigures", "Overlap", "PartFigures", "Statistics"]

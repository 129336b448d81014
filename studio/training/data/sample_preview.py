"""Sample previews: training or validation samples before and after a node, reduced for display."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from engine.data.sample_stream import first_samples
from engine.data.samples import MappedSamples, Samples
from engine.data.splits import Splits
from engine.data.tables.table_splits import TableSplits
from engine.data.text_file import Text
from engine.data.transforms.transform import Augmentation
from engine.shape import Spec, count, format_shape
from studio.nodes.types import Role
from studio.training.data.data_chain import Chain, DataProblem, error_text
from studio.training.data.sample_display import Kind, Scale, kind_of, reduced

Part: TypeAlias = Literal["training", "validation"]

PARTS: tuple[Part, ...] = ("training", "validation")

STREAM_SAMPLES = 1000
"""Number of samples of a stream that are shown; its length is unknown."""

MAX_UNNAMED_CLASSES = 10_000
"""Maximum number of unnamed classes; targets with more are shown as numbers."""

_BATCH_BYTES = 16 * 2**20
_TARGETS_PER_READ = 65_536
"""Number of targets per read."""
_MAX_TARGETS = 20_000_000
_SCALE_SAMPLES = 64
"""Number of samples that determine the gray scale."""


@dataclass(frozen=True, slots=True)
class SampleSelection:
    """The selection of samples to show."""

    part: Part = "training"
    category: int | None = None
    """Show only samples of this class."""
    draw: int = 0
    """The epoch whose augmentations are shown."""


@dataclass(frozen=True, slots=True)
class Facts:
    """Information about the samples at a node that does not require a selected sample."""

    node: str
    title: str
    """Title of the node type."""
    kind: Kind
    kind_before: Kind
    input: Spec
    target: Spec
    input_before: Spec | None
    """None if the node is not a transform."""
    target_before: Spec | None
    counts: Mapping[Part, int]
    is_stream: bool
    """Whether these are the first samples of a stream."""
    class_names: tuple[str, ...]
    """Class names, or numbers for unnamed classes; empty if the targets are not classes."""
    columns: tuple[str, ...]
    """Names of the elements of a vector from a table; otherwise empty."""
    vocabulary: tuple[str, ...]
    """Characters or words of a text by token number."""
    varies: bool
    """Whether the samples have augmentations, so that they differ in each epoch."""
    scale: Scale
    scale_before: Scale

    @property
    def pairs(self) -> bool:
        """Whether inputs are shown before and after the node."""
        return self.input_before is not None


@dataclass(frozen=True, slots=True)
class Sample:
    """One sample before and after a node. A sample that cannot be decoded has a problem and no numbers."""

    row: int
    """Index in its part of the data."""
    input: NDArray[Any] | None = None
    target: NDArray[Any] | None = None
    before: NDArray[Any] | None = None
    """The input before the node; None if there is none, or if the node does not change it."""
    target_before: NDArray[Any] | None = None
    label: str = ""
    """The target as a short text, if possible."""
    problem: str = ""


class Preview:
    """A preview of an opened data chain. Not thread-safe.

    Args:
        chain: chain from the source to the previewed node
        splits: output of each node of the chain
        seed: random seed of the training
    """

    def __init__(self, chain: Chain, splits: tuple[Splits, ...], seed: int) -> None:
        self.chain = chain
        self.splits = splits
        self.seed = seed
        self.measured: dict[Any, Any] = {}
        """Measurements of these samples that rules make, by key."""
        self._rows: dict[tuple[Part, int], NDArray[np.int64]] = {}

    @property
    def after(self) -> Splits:
        return self.splits[-1]

    @property
    def before(self) -> Splits | None:
        """The input splits of the node, if it is a transform."""
        return self.splits[-2] if self.chain[-1].type.role is Role.TRANSFORM else None

    @cached_property
    def kind(self) -> Kind:
        return kind_of(self.splits[0], self.after.input)

    @cached_property
    def class_names(self) -> tuple[str, ...]:
        after = self.after
        if (
            after.target.ndim
            or after.classes is None
            or (after.classes > MAX_UNNAMED_CLASSES and not after.class_names)
        ):
            return ()
        return after.class_names or tuple(map(str, range(after.classes)))

    @cached_property
    def columns(self) -> tuple[str, ...]:
        source, spec = self.splits[0], self.after.input
        if not isinstance(source, TableSplits) or spec.ndim != 1 or spec.shape[0] != len(source.feature_names):
            return ()
        return source.feature_names

    @cached_property
    def facts(self) -> Facts:
        """Read the classes and the first samples.

        Raises:
            DataProblem: the source cannot be read.
        """
        source, before, link = self.splits[0], self.before, self.chain[-1]
        try:
            return Facts(
                node=link.name,
                title=link.type.title,
                kind=self.kind,
                kind_before=self._kind_before,
                input=self.after.input,
                target=self.after.target,
                input_before=before.input if before is not None and not self._on_targets else None,
                target_before=before.target if before is not None and self._on_targets else None,
                counts={part: self.count(SampleSelection(part)) for part in PARTS},
                is_stream=self.after.train.stream is not None,
                class_names=self.class_names,
                columns=self.columns,
                vocabulary=source.class_names if isinstance(source, Text) else (),
                varies=self._varies,
                scale=self._scale(before=False),
                scale_before=self._scale(before=True),
            )
        except DataProblem:
            raise
        except Exception as error:
            raise DataProblem(link.name, error_text(error)) from error

    def count(self, selection: SampleSelection) -> int:
        """Number of samples in the selection."""
        samples = self._samples(selection)
        if samples is None:
            return 0
        return len(samples) if selection.category is None else len(self.rows(selection))

    def rows(self, selection: SampleSelection, stop: Callable[[], bool] = lambda: False) -> NDArray[np.int64]:
        """Row indices of the samples of a class. Reads all targets once, at most the first 20 million.

        Args:
            stop: called between blocks; once it returns true, the rows so far are returned and not cached
        """
        assert selection.category is not None
        key = (selection.part, selection.category)
        if key in self._rows:
            return self._rows[key]
        samples = self._samples(selection)
        found: list[NDArray[np.int64]] = []
        total = 0 if samples is None else min(len(samples), _MAX_TARGETS)
        for start in range(0, total, _TARGETS_PER_READ):
            if stop():
                break
            assert samples is not None
            rows = np.arange(start, min(start + _TARGETS_PER_READ, total))
            targets = np.asarray(samples.targets(rows))
            found.append(rows[targets.reshape(len(rows), -1)[:, 0] == selection.category])
        result = np.concatenate(found) if found else np.empty(0, np.int64)
        if not stop():
            self._rows[key] = result
        return result

    def fetch(self, selection: SampleSelection, first: int, number: int, *, small: bool = True) -> tuple[Sample, ...]:
        """Read samples of the selection from index `first`.

        Args:
            small: reduce samples to thumbnail size; otherwise keep all numbers
        """
        samples = self._samples(selection)
        if samples is None:
            return ()
        indices = np.arange(first, min(first + number, self.count(selection)))
        rows = indices if selection.category is None else self.rows(selection)[indices]
        step = max(1, _BATCH_BYTES // max(self._sample_bytes(), 1))
        pieces = (rows[start : start + step] for start in range(0, len(rows), step))
        return tuple(
            self._reduced(sample) if small else sample for piece in pieces for sample in self._read(samples, piece)
        )

    # -- reading

    @property
    def _on_targets(self) -> bool:
        return self.chain[-1].values.get("on") == "targets"

    @property
    def _varies(self) -> bool:
        kinds = (link.type.target for link in self.chain if link.type.role is Role.TRANSFORM)
        return any(isinstance(kind, type) and issubclass(kind, Augmentation) for kind in kinds)

    @property
    def _kind_before(self) -> Kind:
        return self.kind if self.before is None else kind_of(self.splits[0], self.before.input)

    @cached_property
    def _scale_samples(self) -> tuple[Sample, ...]:
        return self.fetch(SampleSelection(), 0, _SCALE_SAMPLES)

    def _scale(self, *, before: bool) -> Scale:
        """The gray scale, determined from the first training samples."""
        values = [sample.before if before else sample.input for sample in self._scale_samples]
        return Scale.of([value for value in values if value is not None])

    def _samples(self, selection: SampleSelection) -> Samples | None:
        """Copies of the samples, because other threads may read the originals."""
        try:
            part = self.after.train if selection.part == "training" else self.after.validation
        except Exception as error:
            raise DataProblem(self.chain[-1].name, error_text(error)) from error
        if part is None:
            return None
        samples = first_samples(part, STREAM_SAMPLES).with_augmentations(selection.part == "training")
        samples.set_epoch(selection.draw, self.seed)
        return samples

    def _read(self, samples: Samples, rows: NDArray[np.int64]) -> list[Sample]:
        try:
            return self._pairs(samples, rows)
        except Exception as error:  # noqa: BLE001 - the one that fails is found and shown with its problem
            if len(rows) > 1:
                return [sample for row in rows for sample in self._read(samples, row[np.newaxis])]
            return [Sample(int(row), problem=error_text(error)) for row in rows]

    def _pairs(self, samples: Samples, rows: NDArray[np.int64]) -> list[Sample]:
        if self.before is None or not isinstance(samples, MappedSamples):
            inputs, targets = samples.arrays(rows)
            earlier: list[Any] = [None] * len(rows)
            earlier_targets: list[Any] = [None] * len(rows)
        else:
            source_inputs, source_targets = samples.sources[0].arrays(rows)
            inputs, targets = samples.applied(source_inputs, source_targets, rows)
            on_targets = self._on_targets
            earlier = [None] * len(rows) if on_targets else list(source_inputs)
            earlier_targets = list(source_targets) if on_targets else [None] * len(rows)
        quadruples = zip(rows.tolist(), inputs, targets, earlier, earlier_targets, strict=True)
        return [
            Sample(row, np.asarray(input), np.asarray(target), before, target_before, self._label(target))
            for row, input, target, before, target_before in quadruples
        ]

    def _label(self, target: Any) -> str:
        value = np.asarray(target)
        names = self.class_names
        if value.ndim == 0 and names:
            number = int(value)
            return names[number] if 0 <= number < len(names) else str(number)
        return f"{value.item():.4g}" if value.size == 1 else format_shape(value.shape)

    def _reduced(self, sample: Sample) -> Sample:
        if sample.input is None:
            return sample
        before = sample.before
        return replace(
            sample,
            input=reduced(sample.input, self.kind),
            before=None if before is None else reduced(before, self._kind_before),
        )

    def _sample_bytes(self) -> int:
        specs = [splits.input for splits in (self.after, self.before) if splits is not None]
        if any(spec.is_open for spec in specs):
            return _BATCH_BYTES  # one by one
        return sum(int(count(spec.shape)) * spec.dtype.itemsize for spec in specs)


__all__ = ["PARTS", "STREAM_SAMPLES", "Facts", "Part", "Preview", "Sample", "SampleSelection"]

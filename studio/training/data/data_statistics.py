"""Statistics of the samples at a node: counts, classes, ranges and data problems."""

from __future__ import annotations

import math
import threading
import time
from collections import Counter
from collections.abc import Generator, Iterator
from dataclasses import dataclass, replace
from hashlib import blake2b
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from engine.data.sample_stream import first_samples
from engine.data.samples import Samples
from engine.data.transforms.transform import Batch
from engine.errors import DataError
from engine.shape import Spec, count
from studio.document.model import Document, Node
from studio.lowering.analysis.dataflow import Dataflow
from studio.lowering.checks.data.data_source_checks import data_problem
from studio.lowering.problems.fix_conflicts import deduplicate_problems
from studio.lowering.problems.problem import Problem
from studio.training.data.data_chain import DataProblem, error_text
from studio.training.data.findings.find_problems import find_data_problems
from studio.training.data.histogram import Histogram
from studio.training.data.row_sampling import rows_at_intervals
from studio.training.data.sample_display import Kind
from studio.training.data.sample_preview import PARTS, STREAM_SAMPLES, Part, Preview
from studio.training.data.statistics_records import ChannelFigures, Overlap, PartFigures, Statistics
from studio.training.warning_capture import capture_warnings

MAX_CHANNELS = 256
"""Maximum number of columns or channels with separate statistics."""
_MAX_POINTS = 1000
_MAX_ROWS = 5
_CHUNK_BYTES = 8 * 2**20
_CHUNK_SAMPLES = 4096
_TARGETS_PER_READ = 65_536
_DIGEST = 16
"""Size of a digest in bytes."""


@dataclass(frozen=True, slots=True)
class ReadingLimits:
    """How many samples of each part are read. Larger parts are sampled at even intervals."""

    bytes: int = 256 * 2**20
    samples: int = 200_000
    targets: int = 20_000_000
    """Number of targets that are read to count classes."""
    deadline: float = math.inf
    """Time of `time.monotonic()` at which reading ends, with what was read so far."""

    @property
    def is_over(self) -> bool:
        return time.monotonic() > self.deadline


@dataclass(frozen=True, slots=True)
class Progress:
    """Progress of the computation."""

    done: int
    total: int
    """Number of samples to read."""


StatisticsUpdate: TypeAlias = Progress | Statistics


def compute_statistics(preview: Preview, flow: Dataflow | None = None) -> Generator[StatisticsUpdate, None, None]:
    """Compute the statistics and problems of the samples at a node without augmentations, step by step while iterated.

    Args:
        preview: the opened chain to the node
        flow: the graph that uses the samples, so that problems of their use are found too

    Yields:
        Progress, and finally Statistics.

    Raises:
        DataProblem: the source cannot be read.
    """
    for item in collect_statistics(preview):
        if isinstance(item, Progress):
            yield item
            continue
        try:
            problems = [*_source_problems(preview), *find_data_problems(item, preview, flow)]
        except Exception as error:
            raise DataProblem(item.node, error_text(error)) from error
        yield replace(item, problems=tuple(sorted(problems, key=lambda problem: problem.rank)))


def collect_statistics(
    preview: Preview, limits: ReadingLimits = ReadingLimits()
) -> Generator[StatisticsUpdate, None, None]:
    """Like `compute_statistics`, without problems."""
    node = preview.chain[-1].name
    skipped: list[str] = []
    reader = threading.current_thread()

    def note(text: str) -> None:
        if threading.current_thread() is reader:  # a training may report others at the same time
            skipped.append(text)

    try:
        parts: dict[Part, Samples] = {}
        for part in PARTS:
            samples = _samples(preview, part)
            if samples is not None:
                parts[part] = samples
        chosen = {part: _rows_to_read(samples, preview.after.input, limits) for part, samples in parts.items()}
        total, done = sum(map(len, chosen.values())), 0
        yield Progress(0, total)
        collectors: list[_PartCollector] = []
        with capture_warnings(note):
            for part, samples in parts.items():
                collector = _PartCollector(part, samples, preview)
                collectors.append(collector)
                for rows in _target_rows(samples, limits) if preview.class_names else ():
                    collector.count_classes(rows)
                    yield Progress(done, total)
                for rows in _chunks(chosen[part], preview.after.input, limits):
                    if collector.looked_at and limits.is_over:
                        break
                    collector.add_rows(rows)
                    done += len(rows)
                    yield Progress(done, total)
    except Exception as error:
        raise DataProblem(node, error_text(error)) from error
    figures = tuple(collector.figures() for collector in collectors)
    overlap = _overlap(*collectors) if len(collectors) == 2 else None
    after = preview.after
    names, classes = preview.class_names, None if after.target.ndim else after.classes
    yield Statistics(
        node, preview.kind, after.input, after.target, names, figures, overlap, classes, skipped=tuple(skipped)
    )


def _source_problems(preview: Preview) -> list[Problem]:
    """The problems of the data source as in the project check; fixes change only the source."""
    source = preview.chain[0]
    problems = [data_problem(source.name, each) for each in preview.splits[0].diagnostics(read_all=True)]
    return deduplicate_problems(problems, Document({source.name: Node(source.key, source.values)}))


def _samples(preview: Preview, part: Part) -> Samples | None:
    samples = preview.after.train if part == "training" else preview.after.validation
    return None if samples is None else first_samples(samples, STREAM_SAMPLES).with_augmentations(False)


def _bytes(spec: Spec) -> int:
    """Size of one sample in bytes; an upper estimate for images of different sizes."""
    return 2**20 if spec.is_open else max(int(count(spec.shape)) * spec.dtype.itemsize, 1)


def _rows_to_read(samples: Samples, spec: Spec, limits: ReadingLimits) -> NDArray[np.int64]:
    return rows_at_intervals(len(samples), min(limits.samples, max(limits.bytes // _bytes(spec), 1)))


def _target_rows(samples: Samples, limits: ReadingLimits) -> Iterator[NDArray[np.int64]]:
    """Blocks of rows whose classes are counted."""
    rows = rows_at_intervals(len(samples), limits.targets)
    for start in range(0, len(rows), _TARGETS_PER_READ):
        if start and limits.is_over:
            return
        yield rows[start : start + _TARGETS_PER_READ]


def _chunks(rows: NDArray[np.int64], spec: Spec, limits: ReadingLimits) -> list[NDArray[np.int64]]:
    """Blocks of rows. With a deadline each is spread over all rows, so that reading can end after any of them."""
    step = min(max(_CHUNK_BYTES // _bytes(spec), 1), _CHUNK_SAMPLES)
    number = -(-len(rows) // step)
    if limits.deadline < math.inf:
        return [rows[start::number] for start in range(number)]
    return [rows[start : start + step] for start in range(0, len(rows), step)]


class _PartCollector:
    """Accumulates the statistics of one part."""

    def __init__(self, part: Part, samples: Samples, preview: Preview) -> None:
        self.part: Part = part
        self._samples = samples
        self._kind: Kind = preview.kind
        self._classes = np.zeros(len(preview.class_names), np.int64)
        self._strays: list[tuple[int, int]] = []
        self._inputs = _ChannelCollector(
            channel_names(preview), is_integer=not preview.after.input.dtype.is_floating_point
        )
        names = target_names(preview)
        self._targets = (
            _ChannelCollector(names, is_integer=not preview.after.target.dtype.is_floating_point) if names else None
        )
        self.rows: dict[bytes, int] = {}
        """Index of the first sample by the digest of its input."""
        self.pairs: Counter[bytes] = Counter()
        """Samples by the digests of input and target."""
        self._repeated = 0
        self.looked_at = 0
        self._unreadable: list[tuple[int, str]] = []
        self._missing: list[int] = []
        self._infinite: list[int] = []
        self._are_points = preview.kind == "vectors" and preview.after.input.shape == (2,)
        self._points: list[tuple[float, float, int]] = []

    def count_classes(self, rows: NDArray[np.int64]) -> None:
        targets = np.asarray(self._samples.targets(rows)).reshape(-1)
        is_valid = (targets >= 0) & (targets < len(self._classes))
        self._classes += np.bincount(targets[is_valid].astype(np.int64), minlength=len(self._classes))
        self._strays += [(int(rows[index]), int(targets[index])) for index in np.flatnonzero(~is_valid)[:5]]

    def add_rows(self, rows: NDArray[np.int64]) -> None:
        self.looked_at += len(rows)
        self._add(rows)

    def _add(self, rows: NDArray[np.int64]) -> None:
        try:
            inputs, targets = self._samples.arrays(rows)
        except DataError as error:
            if len(rows) > 1:
                for row in rows:
                    self._add(row[np.newaxis])
                return
            self._unreadable.append((int(rows[0]), str(error)))
            return
        for row, input, target in zip(rows.tolist(), inputs, targets, strict=True):
            key = _digest(input)
            self._repeated += key in self.rows
            self.rows.setdefault(key, row)
            self.pairs[key + _digest(np.asarray(target))] += 1
        for values in (inputs, targets):
            self._record_nonfinite(rows, values)
        if self._are_points and len(self._points) < _MAX_POINTS:
            classes = np.asarray(targets).tolist() if len(self._classes) else [-1] * len(rows)
            pairs = zip(np.asarray(inputs, np.float64).tolist(), classes, strict=True)
            self._points += [(x, y, number) for (x, y), number in pairs][: _MAX_POINTS - len(self._points)]
        for batch in _batches(inputs):
            self._inputs.add(by_channel(batch, self._kind, len(self._inputs.names)))
        if self._targets is not None:
            for batch in _batches(targets):
                columns = len(self._targets.names)
                self._targets.add(batch.reshape(1, -1) if columns == 1 else batch.reshape(len(batch), columns).T)

    def _record_nonfinite(self, rows: NDArray[np.int64], values: Batch) -> None:
        """Keep some rows with NaN or infinity as examples."""
        if not isinstance(values, np.ndarray) or values.dtype.kind != "f" or not len(values):
            return
        for examples, test in ((self._missing, np.isnan), (self._infinite, np.isinf)):
            if len(examples) < _MAX_ROWS:
                is_nonfinite = test(values).reshape(len(values), -1).any(1)
                examples += [row for row in rows[is_nonfinite].tolist() if row not in examples][
                    : _MAX_ROWS - len(examples)
                ]

    def figures(self) -> PartFigures:
        return PartFigures(
            self.part,
            len(self._samples),
            self.looked_at,
            tuple(self._classes.tolist()),
            tuple(self._strays[:5]),
            self._inputs.figures(),
            self._targets.figures() if self._targets is not None else (),
            self._repeated,
            len(self._unreadable),
            tuple(self._unreadable[:5]),
            tuple(self._missing),
            tuple(self._infinite),
            tuple(self._points),
            self._samples.stream is not None,
        )


class _ChannelCollector:
    """Accumulates statistics per channel."""

    def __init__(self, names: tuple[str, ...], *, is_integer: bool) -> None:
        self.names = names
        size = len(names)
        self._finite, self._missing, self._infinite = (np.zeros(size, np.int64) for _ in range(3))
        self._mean, self._squares = np.zeros(size), np.zeros(size)
        self._low, self._high = np.full(size, np.inf), np.full(size, -np.inf)
        self._histograms = [Histogram(is_integer=is_integer) for _ in names]

    def add(self, values: NDArray[Any]) -> None:
        """Add C×… numbers. Moments are combined as in Chan, Golub, LeVeque, 1979."""
        values = values.reshape(len(self.names), -1).astype(np.float64)
        for channel, row in enumerate(values):
            finite = row[np.isfinite(row)]
            missing = int(np.isnan(row).sum())
            self._missing[channel] += missing
            self._infinite[channel] += row.size - missing - finite.size
            if not finite.size:
                continue
            before, new = int(self._finite[channel]), finite.size
            mean = float(finite.mean())
            delta = mean - self._mean[channel]
            self._mean[channel] += delta * new / (before + new)
            self._squares[channel] += float(((finite - mean) ** 2).sum()) + delta**2 * before * new / (before + new)
            self._finite[channel] += new
            self._low[channel] = min(self._low[channel], finite.min())
            self._high[channel] = max(self._high[channel], finite.max())
            self._histograms[channel].add(finite)

    def figures(self) -> tuple[ChannelFigures, ...]:
        std = np.sqrt(self._squares / np.maximum(self._finite, 1))
        return tuple(
            ChannelFigures(
                name,
                int(self._finite[channel]),
                int(self._missing[channel]),
                int(self._infinite[channel]),
                float(self._low[channel]) if self._finite[channel] else 0.0,
                float(self._high[channel]) if self._finite[channel] else 0.0,
                float(self._mean[channel]),
                float(std[channel]),
                self._histograms[channel].result,
            )
            for channel, name in enumerate(self.names)
        )


def channel_names(preview: Preview) -> tuple[str, ...]:
    """The columns, image channels or series features with separate statistics; a single one if there are too many."""
    spec = preview.after.input
    if preview.columns and len(preview.columns) <= MAX_CHANNELS:
        return preview.columns
    if preview.kind == "images":
        size = 1 if spec.ndim == 2 else spec.shape[_channel_axis(spec.shape)]
        names = {1: ("brightness",), 3: ("red", "green", "blue"), 4: ("red", "green", "blue", "opacity")}
        return names.get(size, _numbered("channel", size)) if isinstance(size, int) else ("brightness",)
    if preview.kind == "text":
        return ("number",)
    size = spec.shape[-1] if spec.ndim else 1
    if isinstance(size, int) and 1 < size <= MAX_CHANNELS and spec.ndim <= 2:
        return _numbered("feature" if preview.kind == "series" else "number", size)
    return ("all numbers",)


def target_names(preview: Preview) -> tuple[str, ...]:
    """The target columns with separate statistics, or all values as one; none for classes."""
    spec = preview.after.target
    if preview.class_names or preview.kind == "text":
        return ()
    size = 1 if spec.is_open else int(count(spec.shape))
    if size == 1:
        return ("target",)
    return _numbered("target", size) if spec.ndim == 1 and size <= MAX_CHANNELS else ("all targets",)


def _numbered(noun: str, size: int) -> tuple[str, ...]:
    return tuple(f"{noun} {number}" for number in range(size)) if size <= MAX_CHANNELS else ("all numbers",)


def by_channel(batch: NDArray[Any], kind: Kind, channels: int) -> NDArray[Any]:
    """N×… → one row per channel."""
    if channels == 1:
        return batch.reshape(1, -1)
    axis = 1 + _channel_axis(batch.shape[1:]) if kind == "images" else batch.ndim - 1
    return np.moveaxis(batch, axis, 0).reshape(channels, -1)


def _channel_axis(shape: tuple[Any, ...]) -> int:
    """The channel axis of an image: the first, unless only the last has a valid size."""
    return 2 if shape[-1] in (1, 3, 4) and shape[0] not in (1, 3, 4) else 0


def _batches(inputs: Batch) -> list[NDArray[Any]]:
    return [inputs] if isinstance(inputs, np.ndarray) else [value[np.newaxis] for value in inputs]


def _digest(values: NDArray[Any]) -> bytes:
    array = np.ascontiguousarray(values)
    return blake2b(array.tobytes(), digest_size=_DIGEST, person=str(array.shape).encode()[:16]).digest()


def _overlap(training: _PartCollector, validation: _PartCollector) -> Overlap:
    shared = [key for key in validation.rows if key in training.rows]
    examples = tuple((training.rows[key], validation.rows[key]) for key in shared[:5])
    count = sum(number for pair, number in validation.pairs.items() if pair[:_DIGEST] in training.rows)
    same = sum(number for pair, number in validation.pairs.items() if pair in training.pairs)
    return Overlap(count, len(shared), examples, count - same)


__all__ = [
    "Progress",
    "ReadingLimits",
    "StatisticsUpdate",
    "by_channel",
    "channel_names",
    "collect_statistics",
    "compute_statistics",
    "target_names",
]

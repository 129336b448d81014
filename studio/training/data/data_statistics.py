"""Statistics of the samples at a node: counts, classes, ranges and data problems."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Generator
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
from studio.lowering.checks.data_source_checks import data_problem
from studio.lowering.problems.fix_conflicts import deduplicate_problems
from studio.lowering.problems.problem import Problem
from studio.training.data.data_chain import DataProblem, error_text
from studio.training.data.data_findings import find_data_problems
from studio.training.data.histogram import Histogram
from studio.training.data.sample_display import Kind
from studio.training.data.sample_preview import FIRST, PARTS, Part, Preview
from studio.training.data.statistics_records import ChannelFigures, Finding, Overlap, PartFigures, Statistics
from studio.training.warning_capture import capture_warnings

MOST_BYTES = 256 * 2**20
"""Maximum size of the samples that are read per part; larger parts are sampled at even intervals."""
MOST_SAMPLES = 200_000
MOST_CHANNELS = 256
"""Maximum number of columns or channels with separate statistics."""
MOST_TARGETS = 20_000_000

_MOST_POINTS = 1000
_MOST_ROWS = 5
_CHUNK_BYTES = 8 * 2**20
_CHUNK_SAMPLES = 4096
_TARGETS_AT_ONCE = 65_536
_DIGEST = 16
"""Size of a digest in bytes."""


@dataclass(frozen=True, slots=True)
class Progress:
    """Progress of the computation."""

    done: int
    total: int
    """Number of samples to read."""


Found: TypeAlias = Progress | Statistics


def compute_statistics(preview: Preview) -> Generator[Found, None, None]:
    """Compute the statistics of the samples at a node without augmentations, step by step while iterated.

    Yields:
        Progress, and finally Statistics.

    Raises:
        DataProblem: the source cannot be read.
    """
    node = preview.chain[-1].name
    skipped: list[str] = []
    reader = threading.current_thread()

    def note(text: str) -> None:
        if threading.current_thread() is reader:  # a training may skip others meanwhile
            skipped.append(text)

    try:
        parts: dict[Part, Samples] = {}
        for part in PARTS:
            samples = _samples(preview, part)
            if samples is not None:
                parts[part] = samples
        chosen = {part: _chosen(samples, preview.after.input) for part, samples in parts.items()}
        total, done = sum(map(len, chosen.values())), 0
        yield Progress(0, total)
        collectors: list[_Part] = []
        with capture_warnings(note):
            for part, samples in parts.items():
                collector = _Part(part, samples, preview)
                collectors.append(collector)
                for start in range(0, min(len(samples), MOST_TARGETS) if preview.class_names else 0, _TARGETS_AT_ONCE):
                    collector.count_classes(np.arange(start, min(start + _TARGETS_AT_ONCE, len(samples), MOST_TARGETS)))
                    yield Progress(done, total)
                for rows in _pieces(chosen[part], preview.after.input):
                    collector.look_at(rows)
                    done += len(rows)
                    yield Progress(done, total)
        problems = _source_problems(preview)
    except Exception as error:
        raise DataProblem(node, error_text(error)) from error
    figures = tuple(collector.figures(len(chosen[collector.part])) for collector in collectors)
    overlap = _overlap(*collectors) if len(collectors) == 2 else None
    after = preview.after
    names, classes = preview.class_names, None if after.target.ndim else after.classes
    told = (node, preview.kind, after.input, after.target, names, figures, overlap, classes)
    found = Statistics(*told, skipped=tuple(skipped))
    found = replace(found, findings=(*map(_finding, problems), *find_data_problems(found)))
    yield replace(found, findings=tuple(sorted(found.findings, key=lambda finding: finding.severity)))


def _source_problems(preview: Preview) -> list[Problem]:
    """The problems of the data source as in the project check; fixes change only the source."""
    source = preview.chain[0]
    problems = [data_problem(source.name, each) for each in preview.splits[0].diagnostics(read_all=True)]
    return deduplicate_problems(problems, Document({source.name: Node(source.key, source.values)}))


def _finding(problem: Problem) -> Finding:
    return Finding(problem.code, problem.severity, problem.message, fix=problem.fix)


def _samples(preview: Preview, part: Part) -> Samples | None:
    samples = preview.after.train if part == "training" else preview.after.validation
    return None if samples is None else first_samples(samples, FIRST).with_augmentations(False)


def _bytes(spec: Spec) -> int:
    """Size of one sample in bytes; an upper estimate for images of different sizes."""
    return 2**20 if spec.is_open else max(int(count(spec.shape)) * spec.dtype.itemsize, 1)


def _chosen(samples: Samples, spec: Spec) -> NDArray[np.int64]:
    """All rows, or one row from each of `most` equal intervals."""
    total = len(samples)
    wanted = min(total, MOST_SAMPLES, max(MOST_BYTES // _bytes(spec), 1))
    if wanted == total:
        return np.arange(total)
    edges = np.linspace(0, total, wanted + 1)
    within = np.random.default_rng(0).random(wanted)  # so that classes that take turns are met alike
    return (edges[:-1] + within * np.diff(edges)).astype(np.int64)


def _pieces(rows: NDArray[np.int64], spec: Spec) -> list[NDArray[np.int64]]:
    step = min(max(_CHUNK_BYTES // _bytes(spec), 1), _CHUNK_SAMPLES)
    return [rows[start : start + step] for start in range(0, len(rows), step)]


class _Part:
    """Accumulates the statistics of one part."""

    def __init__(self, part: Part, samples: Samples, preview: Preview) -> None:
        self.part: Part = part
        self._samples = samples
        self._kind: Kind = preview.kind
        self._classes = np.zeros(len(preview.class_names), np.int64)
        self._strays: list[tuple[int, int]] = []
        self._inputs = _Channels(channel_names(preview), whole=not preview.after.input.dtype.is_floating_point)
        names = target_names(preview)
        self._targets = _Channels(names, whole=not preview.after.target.dtype.is_floating_point) if names else None
        self.rows: dict[bytes, int] = {}
        """Index of the first sample by the digest of its input."""
        self.pairs: Counter[bytes] = Counter()
        """Samples by the digests of input and target."""
        self._repeated = 0
        self._unreadable: list[tuple[int, str]] = []
        self._missing: list[int] = []
        self._infinite: list[int] = []
        self._is_plane = preview.kind == "vectors" and preview.after.input.shape == (2,)
        self._points: list[tuple[float, float, int]] = []

    def count_classes(self, rows: NDArray[np.int64]) -> None:
        targets = np.asarray(self._samples.targets(rows)).reshape(-1)
        known = (targets >= 0) & (targets < len(self._classes))
        self._classes += np.bincount(targets[known].astype(np.int64), minlength=len(self._classes))
        self._strays += [(int(rows[place]), int(targets[place])) for place in np.flatnonzero(~known)[:5]]

    def look_at(self, rows: NDArray[np.int64]) -> None:
        try:
            inputs, targets = self._samples.arrays(rows)
        except DataError as error:
            if len(rows) > 1:
                for row in rows:
                    self.look_at(row[np.newaxis])
                return
            self._unreadable.append((int(rows[0]), str(error)))
            return
        for row, input, target in zip(rows.tolist(), inputs, targets, strict=True):
            key = _digest(input)
            self._repeated += key in self.rows
            self.rows.setdefault(key, row)
            self.pairs[key + _digest(np.asarray(target))] += 1
        for values in (inputs, targets):
            self._note_numberless(rows, values)
        if self._is_plane and len(self._points) < _MOST_POINTS:
            classes = np.asarray(targets).tolist() if len(self._classes) else [-1] * len(rows)
            pairs = zip(np.asarray(inputs, np.float64).tolist(), classes, strict=True)
            self._points += [(x, y, number) for (x, y), number in pairs][: _MOST_POINTS - len(self._points)]
        for batch in _batches(inputs):
            self._inputs.add(by_channel(batch, self._kind, len(self._inputs.names)))
        if self._targets is not None:
            for batch in _batches(targets):
                columns = len(self._targets.names)
                self._targets.add(batch.reshape(1, -1) if columns == 1 else batch.reshape(len(batch), columns).T)

    def _note_numberless(self, rows: NDArray[np.int64], values: Batch) -> None:
        """Keep some rows with NaN or infinity as examples."""
        if not isinstance(values, np.ndarray) or values.dtype.kind != "f" or not len(values):
            return
        for known, test in ((self._missing, np.isnan), (self._infinite, np.isinf)):
            if len(known) < _MOST_ROWS:
                wrong = test(values).reshape(len(values), -1).any(1)
                known += [row for row in rows[wrong].tolist() if row not in known][: _MOST_ROWS - len(known)]

    def figures(self, looked_at: int) -> PartFigures:
        return PartFigures(
            self.part,
            len(self._samples),
            looked_at,
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


class _Channels:
    """Accumulates statistics per channel."""

    def __init__(self, names: tuple[str, ...], *, whole: bool) -> None:
        self.names = names
        size = len(names)
        self._finite, self._missing, self._infinite = (np.zeros(size, np.int64) for _ in range(3))
        self._mean, self._squares = np.zeros(size), np.zeros(size)
        self._low, self._high = np.full(size, np.inf), np.full(size, -np.inf)
        self._histograms = [Histogram(whole=whole) for _ in names]

    def add(self, values: NDArray[Any]) -> None:
        """Add C×… numbers. Moments are combined as in Chan, Golub, LeVeque, 1979."""
        values = values.reshape(len(self.names), -1).astype(np.float64)
        for place, row in enumerate(values):
            there = row[np.isfinite(row)]
            missing = int(np.isnan(row).sum())
            self._missing[place] += missing
            self._infinite[place] += row.size - missing - there.size
            if not there.size:
                continue
            before, new = int(self._finite[place]), there.size
            mean = float(there.mean())
            apart = mean - self._mean[place]
            self._mean[place] += apart * new / (before + new)
            self._squares[place] += float(((there - mean) ** 2).sum()) + apart**2 * before * new / (before + new)
            self._finite[place] += new
            self._low[place] = min(self._low[place], there.min())
            self._high[place] = max(self._high[place], there.max())
            self._histograms[place].add(there)

    def figures(self) -> tuple[ChannelFigures, ...]:
        std = np.sqrt(self._squares / np.maximum(self._finite, 1))
        return tuple(
            ChannelFigures(
                name,
                int(self._finite[place]),
                int(self._missing[place]),
                int(self._infinite[place]),
                float(self._low[place]) if self._finite[place] else 0.0,
                float(self._high[place]) if self._finite[place] else 0.0,
                float(self._mean[place]),
                float(std[place]),
                self._histograms[place].result,
            )
            for place, name in enumerate(self.names)
        )


def channel_names(preview: Preview) -> tuple[str, ...]:
    """The columns, image channels or series features with separate statistics; a single one if there are too many."""
    spec = preview.after.input
    if preview.columns and len(preview.columns) <= MOST_CHANNELS:
        return preview.columns
    if preview.kind == "images":
        size = 1 if spec.ndim == 2 else spec.shape[_channel_axis(spec.shape)]
        names = {1: ("brightness",), 3: ("red", "green", "blue"), 4: ("red", "green", "blue", "opacity")}
        return names.get(size, _numbered("channel", size)) if isinstance(size, int) else ("brightness",)
    if preview.kind == "text":
        return ("number",)
    size = spec.shape[-1] if spec.ndim else 1
    if isinstance(size, int) and 1 < size <= MOST_CHANNELS and spec.ndim <= 2:
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
    return _numbered("target", size) if spec.ndim == 1 and size <= MOST_CHANNELS else ("all targets",)


def _numbered(noun: str, size: int) -> tuple[str, ...]:
    return tuple(f"{noun} {number}" for number in range(size)) if size <= MOST_CHANNELS else ("all numbers",)


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


def _overlap(training: _Part, validation: _Part) -> Overlap:
    shared = [key for key in validation.rows if key in training.rows]
    examples = tuple((training.rows[key], validation.rows[key]) for key in shared[:5])
    count = sum(number for pair, number in validation.pairs.items() if pair[:_DIGEST] in training.rows)
    same = sum(number for pair, number in validation.pairs.items() if pair in training.pairs)
    return Overlap(count, len(shared), examples, count - same)


__all__ = ["Found", "Progress", "by_channel", "channel_names", "compute_statistics", "target_names"]

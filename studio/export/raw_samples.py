"""Samples before the transforms of their inputs, beside the transformed ones."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from engine import Tensor, fit
from engine.data.batches import Batches
from engine.data.samples import JoinedSamples, MappedSamples, PickedSamples, Samples
from engine.data.transforms import Transform


class UnsupportedSamplesError(Exception):
    """Samples whose transforms cannot be separated from them. The message tells why."""


@dataclass(frozen=True)
class RawSamples:
    """The validation samples of a task, or its training samples if there is no validation."""

    raw: Samples
    """Without the transforms of the inputs."""
    transformed: Samples
    transforms: tuple[Transform, ...]
    """In the order of application."""

    def batches(self, samples: int, size: int) -> Iterator[tuple[Tensor, Tensor]]:
        """Raw and transformed inputs, up to a number of samples."""
        total = min(samples, len(self.raw))
        for start in range(0, total, size):
            rows = np.arange(start, min(start + size, total))
            yield self.raw.batch(rows)[0], self.transformed.batch(rows)[0]


def raw_samples(task: fit.Task) -> RawSamples:
    """The samples of a task with one data source. Raises UnsupportedSamplesError."""
    loaders = task.setup()
    if not isinstance(loaders, Batches):
        raise UnsupportedSamplesError("the project has several data sources")
    splits = loaders.splits
    if splits.is_stream:
        raise UnsupportedSamplesError("the samples are a stream")
    samples = (splits.train if splits.validation is None else splits.validation).with_augmentations(False)
    transforms: list[Transform] = []
    raw = _without_transforms(samples, transforms)
    return RawSamples(raw, samples, tuple(transforms))


def _without_transforms(samples: Samples, transforms: list[Transform]) -> Samples:
    """The samples without transforms of inputs, which are added to `transforms`."""
    match samples:
        case MappedSamples():
            source = _without_transforms(samples.sources[0], transforms)
            if samples.on == "inputs":
                transforms.append(samples.transform)
                return source
            return MappedSamples(source, samples.transform, samples.on)
        case PickedSamples():
            return PickedSamples(_without_transforms(samples.sources[0], transforms), samples.rows)
        case JoinedSamples() if not any(True for _ in _transforms_in(samples)):
            return samples
        case JoinedSamples():
            raise UnsupportedSamplesError("each of the joined sources has transforms")
        case _:
            return samples


def _transforms_in(samples: Samples) -> Iterator[MappedSamples]:
    if isinstance(samples, MappedSamples) and samples.on == "inputs":
        yield samples
    for source in samples.sources:
        yield from _transforms_in(source)


__all__ = ["RawSamples", "UnsupportedSamplesError", "raw_samples"]

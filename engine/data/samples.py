"""Samples that are read and transformed as whole batches."""

from __future__ import annotations

import copy
from abc import abstractmethod
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from engine.data.dataset import Dataset, Indices
from engine.data.diagnostics import Diagnostic
from engine.data.memory_map import TruncationGuard, from_pickle, to_pickle
from engine.data.transforms.transform import Augmentation, Batch, Transform
from engine.errors import DataError
from engine.random import Generator
from engine.shape import format_shape
from engine.tensors import Tensor
from engine.tensors.creation.from_data import from_array

_BLOCK = 2**18
_BINS, _SHIFT = 2**16, np.uint64(48)
"""Number of bins, and the shift that gives the bin of a 64-bit key."""

Arrays: TypeAlias = tuple[NDArray[Any], NDArray[Any]]
Side: TypeAlias = Literal["inputs", "targets"]


class Samples(Dataset):
    """Pairs of input and target. Subclasses implement `__len__`, `arrays` and `targets`.

    Subclasses must be thread-safe, and small when pickled because each worker process gets a copy.
    """

    sources: tuple[Samples, ...] = ()
    """The samples that these are computed from."""
    epoch: int = 0
    seed: int = 0
    augmented: bool = True
    """Whether augmentations are applied."""

    @abstractmethod
    def __len__(self) -> int: ...

    @abstractmethod
    def arrays(self, rows: Indices) -> tuple[Batch, Batch]:
        """Inputs and targets of these rows, N×…, or lists if sizes differ. The arrays are new and may be changed."""

    @abstractmethod
    def targets(self, rows: Indices) -> Batch:
        """The targets of these rows, without reading inputs."""

    def set_epoch(self, epoch: int, seed: int) -> None:
        """Set the epoch and seed that the random numbers of augmentations depend on."""
        self.epoch, self.seed = epoch, seed
        for source in self.sources:
            source.set_epoch(epoch, seed)

    def with_augmentations(self, augmented: bool) -> Samples:
        """A copy with or without augmentations."""
        other = copy.copy(self)
        other.augmented = augmented
        other.sources = tuple(source.with_augmentations(augmented) for source in self.sources)
        return other

    @property
    def stream(self) -> Samples | None:
        """The SampleStream that these samples come from; None if they can be indexed."""
        return next((found for source in self.sources if (found := source.stream) is not None), None)

    @property
    def diagnostics(self) -> tuple[Diagnostic, ...]:
        """Warnings about values of unlabeled samples that the training data do not have."""
        return tuple(found for source in self.sources for found in source.diagnostics)

    @property
    def depth(self) -> int:
        """Number of transforms and selections between the file and these samples."""
        return max((source.depth + 1 for source in self.sources), default=0)

    def batch(self, indices: Indices) -> list[Tensor]:
        return [_tensor(values) for values in self.arrays(indices)]

    def __getitem__(self, index: Any) -> tuple[Tensor, Tensor]:
        return self.__getitems__([range(len(self))[index]])[0]

    def __getitems__(self, indices: Sequence[int]) -> list[Any]:
        inputs, targets = self.arrays(np.asarray(indices, np.int64))
        pairs = zip(inputs, targets, strict=True)
        return [tuple(from_array(np.ascontiguousarray(part)) for part in sample) for sample in pairs]


class ArraySamples(Samples):
    """Rows of two arrays, in memory or mapped from a file.

    Args:
        inputs: N×…
        targets: N×…
        rows: rows to use, in this order; all rows if None
    """

    def __init__(self, inputs: NDArray[Any], targets: NDArray[Any], rows: Indices | None = None) -> None:
        if len(inputs) != len(targets):
            raise ValueError(f"inputs and targets must have equal lengths, but have {len(inputs)} and {len(targets)}")
        self._inputs = inputs
        self._targets = targets
        self.rows = rows
        self._guard = TruncationGuard(inputs, targets)

    def __len__(self) -> int:
        return len(self._inputs if self.rows is None else self.rows)

    def __copy__(self) -> ArraySamples:
        """A shallow copy that shares the arrays; the default copy would pickle and reopen them."""
        other = object.__new__(type(self))
        vars(other).update(vars(self))
        return other

    def __getstate__(self) -> dict[str, Any]:
        attributes = {name: value for name, value in vars(self).items() if name != "_guard"}
        return {name: to_pickle(value) if _is_array(value) else value for name, value in attributes.items()}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update({name: from_pickle(value) for name, value in state.items()})
        self._guard = TruncationGuard(self._inputs, self._targets)

    def arrays(self, rows: Indices) -> tuple[Batch, Batch]:
        self._guard.check()
        if self.rows is not None:
            rows = self.rows[rows]
        return _select_rows(self._inputs, rows), _select_rows(self._targets, rows)

    def targets(self, rows: Indices) -> Batch:
        self._guard.check()
        return _select_rows(self._targets, rows if self.rows is None else self.rows[rows])


class MappedSamples(Samples):
    """Samples with a transform applied to inputs or targets when a batch is read."""

    def __init__(self, samples: Samples, transform: Transform, on: Side = "inputs") -> None:
        self.sources = (samples,)
        self.transform = transform
        self.on: Side = on

    def __len__(self) -> int:
        return len(self.sources[0])

    def arrays(self, rows: Indices) -> tuple[Batch, Batch]:
        return self.applied(*self.sources[0].arrays(rows), rows)

    def applied(self, inputs: Batch, targets: Batch, rows: Indices) -> tuple[Batch, Batch]:
        """Transform inputs and targets that were already read from these rows of the source."""
        if self.on == "inputs":
            return self._transformed(inputs, rows), targets
        return inputs, self._transformed(targets, rows)

    def targets(self, rows: Indices) -> Batch:
        targets = self.sources[0].targets(rows)
        return targets if self.on == "inputs" else self._transformed(targets, rows)

    def _transformed(self, values: Batch, rows: Indices) -> Batch:
        if not (self.augmented and isinstance(self.transform, Augmentation)):
            return self.transform(values)
        generator = _augmentation_generator(self.seed, self.epoch, self.depth)
        return self.transform.vary(values, generator.uniform_rows(numbers_of(rows), self.transform.numbers))


class PickedSamples(Samples):
    """A selection of rows of other samples, in the given order."""

    def __init__(self, samples: Samples, rows: Indices) -> None:
        self.sources = (samples,)
        self.rows = rows

    def __len__(self) -> int:
        return len(self.rows)

    def arrays(self, rows: Indices) -> tuple[Batch, Batch]:
        return self.sources[0].arrays(self.rows[rows])

    def targets(self, rows: Indices) -> Batch:
        return self.sources[0].targets(self.rows[rows])


class JoinedSamples(Samples):
    """Samples of several sources, one source after the other."""

    def __init__(self, sources: Sequence[Samples]) -> None:
        self.sources = tuple(sources)
        self._ends = np.cumsum([len(source) for source in sources])

    def __len__(self) -> int:
        return int(self._ends[-1])

    def arrays(self, rows: Indices) -> tuple[Batch, Batch]:
        parts, order = self._parts(rows)
        found = [source.arrays(own) for source, own in parts]
        return _joined([inputs for inputs, _ in found], order), _joined([targets for _, targets in found], order)

    def targets(self, rows: Indices) -> Batch:
        parts, order = self._parts(rows)
        return _joined([source.targets(own) for source, own in parts], order)

    def _parts(self, rows: Indices) -> tuple[list[tuple[Samples, Indices]], Indices]:
        """The sources with the rows to read from each, and the position of each row in the batch."""
        owners = np.searchsorted(self._ends, rows, side="right")
        order = np.argsort(owners, kind="stable")
        starts = np.concatenate([[0], self._ends[:-1]])
        used = [int(owner) for owner in np.unique(owners)] or [0]
        return [(self.sources[owner], rows[owners == owner] - starts[owner]) for owner in used], order


def numbers_of(rows: NDArray[Any]) -> Indices:
    """The numbers of samples: row indices, or the numbers in the records of a stream."""
    return rows if rows.dtype.names is None else rows["number"]


def validation_split(count: int, share: float) -> tuple[Indices, Indices]:
    """Random row indices for training and validation, independent of the run's seed.

    Runs with different seeds are therefore validated on the same samples.
    """
    if not 0 <= share < 1:
        raise ValueError(f"validation must be at least 0 and less than 1, not {share}")
    validation = _random_subset(count, validation_count(count, share))
    rest = np.ones(count, bool)
    rest[validation] = False
    return np.flatnonzero(rest), validation


def _random_subset(count: int, size: int) -> Indices:
    """The first `size` elements of a random permutation of `count` rows, sorted.

    These are the rows with the smallest random keys. They are selected block by block, which for many rows takes a
    fraction of the time and memory of sorting all keys.
    """

    def keys() -> Iterator[tuple[int, NDArray[np.uint64]]]:
        generator = Generator(0).fork("validation")
        return ((start, generator.bits(min(_BLOCK, count - start))) for start in range(0, count, _BLOCK))

    in_bin = np.zeros(_BINS, np.int64)
    for _, block in keys():
        in_bin += np.bincount((block >> _SHIFT).astype(np.int64), minlength=_BINS)
    last = int(np.searchsorted(np.cumsum(in_bin), size))
    found = [np.empty(0, np.int64)]
    rows, values = [np.empty(0, np.int64)], [np.empty(0, np.uint64)]
    for start, block in keys() if size else ():
        bins = block >> _SHIFT
        found.append(start + np.flatnonzero(bins < last))
        rows.append(start + (in_last_bin := np.flatnonzero(bins == last)))
        values.append(block[in_last_bin])
    before = np.concatenate(found)
    order = np.argsort(np.concatenate(values), kind="stable")[: size - len(before)]
    return np.sort(np.concatenate([before, np.concatenate(rows)[order]]))


def validation_count(count: int, share: float) -> int:
    """The number of validation samples: `share` of `count`, at least 1 and at most count - 1; 0 if the share is 0."""
    return min(max(round(count * share), 1), count - 1) if share and count else 0


@lru_cache(maxsize=64)
def _augmentation_generator(seed: int, epoch: int, depth: int) -> Generator:
    """The generator of augmentations. Cached because `uniform_rows` does not change its state."""
    return Generator(seed).fork("augmentation", epoch, depth)


def _tensor(values: Batch) -> Tensor:
    if isinstance(values, np.ndarray):
        return from_array(np.ascontiguousarray(values))
    shapes = [format_shape(value.shape) for value in values]
    other = next((shape for shape in shapes if shape != shapes[0]), None)
    if other is not None:
        raise DataError(f"samples of {shapes[0]} and {other} cannot be stacked into a batch. Add Resize or a crop.")
    return from_array(np.stack(values))


def _is_array(value: Any) -> bool:
    return isinstance(value, np.ndarray)


def _select_rows(array: NDArray[Any], rows: Indices) -> NDArray[Any]:
    """A copy of these rows in native byte order."""
    selected = np.asarray(array[rows])
    return selected.astype(selected.dtype.newbyteorder("="), copy=False)


def _joined(parts: list[Batch], order: Indices) -> Batch:
    """Concatenate parts and move row `i` to index `order[i]`."""
    if any(isinstance(part, list) for part in parts):
        values = [value for part in parts for value in part]
        by_index = dict(zip(order.tolist(), values, strict=True))
        return [by_index[index] for index in range(len(values))]
    if len(parts) == 1:
        return parts[0]
    joined = np.concatenate(parts)
    result = np.empty_like(joined)
    result[order] = joined
    return result

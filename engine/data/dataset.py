"""Map-style and iterable-style data sets."""

from __future__ import annotations

from abc import ABC, abstractmethod
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from engine.data.collate import default_collate
from engine.tensors import Tensor
from engine.tensors.creation import from_numpy

Indices = NDArray[np.int64]
T_co = TypeVar("T_co", covariant=True)


class Dataset(ABC, Generic[T_co]):
    """A map-style data set. Subclasses implement `__getitem__` and, for shuffling, `__len__`.

    Subclasses may override `batch` to read many samples at once. A subclass that overrides only `__getitem__` does not
    inherit the `batch` of its parent, so that both always agree.
    """

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        if "__getitem__" in vars(cls) and "batch" not in vars(cls):
            cls.batch = Dataset.batch

    @abstractmethod
    def __getitem__(self, index: Any) -> Any: ...

    def __add__(self, other: Dataset[Any]) -> ConcatDataset:
        return ConcatDataset([self, other])

    def __getitems__(self, indices: Sequence[int]) -> list[Any]:
        """A list of samples."""
        return [self[index] for index in indices]

    def batch(self, indices: Indices) -> Any:
        """A collated batch of samples."""
        return default_collate(self.__getitems__(indices.tolist()))


class IterableDataset(ABC, Generic[T_co]):
    """A data set of samples in sequence, such as lines of a stream. A DataLoader does not shuffle them."""

    @abstractmethod
    def __iter__(self) -> Iterator[Any]: ...

    def __add__(self, other: IterableDataset[Any]) -> ChainDataset:
        return ChainDataset([self, other])


class TensorDataset(Dataset):
    """Rows of tensors of equal length: sample ``i`` is ``(tensors[0][i], tensors[1][i], …)``."""

    def __init__(self, *tensors: Tensor) -> None:
        lengths = [len(tensor) for tensor in tensors]
        if len(set(lengths)) != 1:
            found = f"have lengths {', '.join(map(str, lengths))}" if tensors else "are missing"
            raise ValueError(f"TensorDataset needs tensors of one length, but they {found}.")
        self.tensors = tensors

    def __len__(self) -> int:
        return len(self.tensors[0])

    def __getitem__(self, index: Any) -> tuple[Tensor, ...]:
        return tuple(tensor[index] for tensor in self.tensors)

    def batch(self, indices: Indices) -> list[Tensor]:
        rows = from_numpy(indices)
        return [tensor[rows] for tensor in self.tensors]


class Subset(Dataset):
    """The samples of another data set at `indices`, in that order."""

    def __init__(self, dataset: Any, indices: Sequence[int] | Indices) -> None:
        self.dataset = dataset
        self.indices = np.asarray(indices, dtype=np.int64)

    def __len__(self) -> int:
        return len(self.indices)

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, (list, slice)):
            return self.batch(np.arange(len(self))[index])
        return self.dataset[int(self.indices[index])]

    def batch(self, indices: Indices) -> Any:
        return fetch(self.dataset, self.indices[indices])


class ConcatDataset(Dataset):
    """The concatenation of several data sets."""

    def __init__(self, datasets: Iterable[Any]) -> None:
        self.datasets = list(datasets)
        if not self.datasets:
            raise ValueError("ConcatDataset needs at least one data set.")
        if any(isinstance(dataset, IterableDataset) for dataset in self.datasets):
            raise TypeError("ConcatDataset needs map-style data sets. Use ChainDataset for an IterableDataset.")
        self.cumulative_sizes: list[int] = np.cumsum([len(dataset) for dataset in self.datasets]).tolist()

    def __len__(self) -> int:
        return self.cumulative_sizes[-1]

    def __getitem__(self, index: Any) -> Any:
        position = range(len(self))[index]  # the range handles negative indices and raises IndexError
        part = bisect_right(self.cumulative_sizes, position)
        return self.datasets[part][position - (self.cumulative_sizes[part - 1] if part else 0)]


class ChainDataset(IterableDataset):
    """The concatenation of several iterable data sets."""

    def __init__(self, datasets: Iterable[Any]) -> None:
        super().__init__()
        self.datasets = datasets

    def __iter__(self) -> Iterator[Any]:
        for dataset in self.datasets:
            if not isinstance(dataset, IterableDataset):
                raise TypeError(f"ChainDataset takes iterable data sets, not {type(dataset).__name__}.")
            yield from dataset

    def __len__(self) -> int:
        return sum(len(dataset) for dataset in self.datasets)


class StackDataset(Dataset):
    """Data sets of equal length in parallel. A sample is a tuple, or a dict for data sets given by keyword."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        if bool(args) == bool(kwargs):
            raise ValueError("StackDataset takes data sets either by position or by keyword, and at least one.")
        self.datasets: Any = args or kwargs
        lengths = {len(dataset) for dataset in (args or kwargs.values())}
        if len(lengths) != 1:
            raise ValueError(f"StackDataset needs data sets of one length, but they have {sorted(lengths)}.")
        self._length = lengths.pop()

    def __len__(self) -> int:
        return self._length

    def __getitem__(self, index: Any) -> Any:
        if isinstance(self.datasets, dict):
            return {key: dataset[index] for key, dataset in self.datasets.items()}
        return tuple(dataset[index] for dataset in self.datasets)


def fetch(dataset: Any, indices: Indices) -> Any:
    """A collated batch of any map-style data set, such as a list. Uses `Dataset.batch` if available."""
    if isinstance(dataset, Dataset):
        return dataset.batch(indices)
    return default_collate(samples(dataset, indices.tolist()))


def samples(dataset: Any, indices: Sequence[int]) -> list[Any]:
    """A list of samples of any map-style data set."""
    if isinstance(dataset, Dataset):
        return dataset.__getitems__(indices)
    return [dataset[index] for index in indices]

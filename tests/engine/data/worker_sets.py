"""Data sets for worker processes, which import this module."""

from __future__ import annotations

import os
import random
import signal
import sys
import threading
from typing import Any

import numpy as np

import engine
from engine.data import Dataset, IterableDataset, get_worker_info

STOPS = threading.Event()
"""Never set."""


class OddError(Exception):
    """Needs more than a message to be made, as some exceptions do."""

    def __init__(self, first: str, second: str) -> None:
        super().__init__(f"{first} and {second}")
        self.second = second


class Pictures(Dataset):
    """Sample by sample: an array, the number, a text, and what chance adds."""

    def __init__(self, size: int, fails: dict[int, Any] | None = None) -> None:
        self.size = size
        self.fails = fails or {}

    def __len__(self) -> int:
        return self.size

    def __getitem__(self, index: int) -> Any:
        met = self.fails.get(index)
        if met == "odd":
            raise OddError("one", "two")
        if met == "killed":
            os.kill(os.getpid(), signal.SIGKILL)
        if met == "ends":
            os._exit(3)
        if met == "stops":
            STOPS.wait()
        if met is not None:
            raise met
        return np.full((2, 30, 30), index, np.float32), index, f"picture {index}", engine.rand(2)


class Chance(Dataset):
    """What chance gives in each worker."""

    def __len__(self) -> int:
        return 6

    def __getitem__(self, index: int) -> Any:
        return random.random(), float(np.random.rand()), float(engine.rand(1))  # noqa: NPY002 - as user data sets do


class Told(Dataset):
    """Returns the epoch that was set."""

    def __init__(self) -> None:
        self.epoch = -1

    def set_epoch(self, epoch: int, seed: int) -> None:
        self.epoch = 100 * seed + epoch

    def __len__(self) -> int:
        return 4

    def __getitem__(self, index: int) -> int:
        return self.epoch


class Numbers(IterableDataset):
    """Each worker gives its share."""

    def __init__(self, size: int) -> None:
        self.size = size

    def __iter__(self) -> Any:
        info = get_worker_info()
        numbers = range(self.size)
        yield from numbers if info is None else numbers[info.id :: info.num_workers]


class Whole(Numbers):
    """Every worker gives all, as in PyTorch when a data set does not ask who it is."""

    def __iter__(self) -> Any:
        yield from range(self.size)


class Process(Dataset):
    """Says who makes the samples."""

    def __init__(self, size: int) -> None:
        self.size = size

    def __len__(self) -> int:
        return self.size

    def __getitem__(self, index: int) -> Any:
        return index, os.getpid()


class Unreadable(Dataset):
    """Can be sent, but not be read again."""

    def __init__(self) -> None:
        self.path = "somewhere"

    def __len__(self) -> int:
        return 3

    def __getitem__(self, index: int) -> Any:
        return index

    def __setstate__(self, state: Any) -> None:
        raise OSError("the file is gone")


class Loaded(Dataset):
    """Which modules a worker has."""

    def __len__(self) -> int:
        return 1

    def __getitem__(self, index: int) -> Any:
        heavy = ("numba", "llvmlite", "PySide6", "cupy", "torch", "hypothesis")
        return [[name for name in heavy if name in sys.modules]]


def who(number: int) -> None:
    """A worker_init_fn that leaves something to be seen."""
    info = get_worker_info()
    assert info is not None
    info.dataset.fails["who"] = (number, info.id, info.num_workers)


def refuses(number: int) -> None:
    raise LookupError(f"worker {number} is not wanted")


class Asked(Pictures):
    def __getitem__(self, index: int) -> Any:
        info = get_worker_info()
        assert info is not None
        return (*self.fails["who"], info.seed, engine.get_num_threads())

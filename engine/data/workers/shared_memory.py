"""Memory that two processes see and that nobody has to remove.

On POSIX systems a segment has a file descriptor and no name, on Windows a name that vanishes with its last user. So
nothing is left behind, however a process ends, and the size of /dev/shm does not matter.
"""

from __future__ import annotations

import contextlib
import importlib
import mmap
import os
import secrets
import sys
from collections.abc import Iterator, Sequence
from multiprocessing import reduction
from multiprocessing.connection import Connection
from pickle import PickleBuffer
from typing import Any

import numpy as np

_ALIGNMENT = 64  # a cache line, and the widest vector of a CPU
MemorySpan = tuple[int, int]
"""Where a block of bytes lies in a segment: its first byte, and how many there are."""


class SharedMemoryBlock:
    """`size` bytes of memory. Pickled while a process is being started, it is the same memory there.

    Args:
        size: bytes
        descriptor: what another process has sent; new memory unless given
        private: keep what is written to it from other processes
    """

    def __init__(self, size: int, descriptor: int | str | None = None, *, private: bool = False) -> None:
        access = mmap.ACCESS_COPY if private else mmap.ACCESS_WRITE
        self.size = size
        if sys.platform == "win32":
            self.descriptor: Any = descriptor or f"gradwire-{secrets.token_hex(16)}"
            self.memory = mmap.mmap(-1, size, tagname=self.descriptor, access=access)  # pyright: ignore[reportCallIssue]
            return
        self.descriptor = descriptor
        if descriptor is None:
            self.descriptor = _nameless()
            os.ftruncate(self.descriptor, size)
        try:
            self.memory = mmap.mmap(self.descriptor, size, access=access)
        except BaseException:
            self.forget_descriptor()
            raise

    def forget_descriptor(self) -> None:
        """Once nobody else will be given the memory; what is mapped stays."""
        if isinstance(self.descriptor, int):
            os.close(self.descriptor)
            self.descriptor = None

    def __del__(self) -> None:
        with contextlib.suppress(AttributeError, OSError):
            self.forget_descriptor()

    def __reduce__(self) -> tuple[Any, ...]:
        place = self.descriptor if sys.platform == "win32" else reduction.DupFd(self.descriptor)
        return _inherited, (self.size, place)

    def send(self, to: Connection) -> None:
        """Give the memory to the process at the other end, which calls `received`."""
        if sys.platform == "win32":
            to.send(self.descriptor)
        else:
            reduction.send_handle(to, self.descriptor, 0)
            self.forget_descriptor()

    @classmethod
    def received(cls, source: Connection, size: int) -> SharedMemoryBlock:
        """The memory that another process sends."""
        if sys.platform == "win32":
            return cls(size, source.recv())
        segment = cls(size, reduction.recv_handle(source))
        segment.forget_descriptor()
        return segment

    def write(self, buffers: Sequence[PickleBuffer], places: Sequence[MemorySpan]) -> None:
        whole = np.frombuffer(self.memory, np.uint8)
        for buffer, (start, size) in zip(buffers, places, strict=True):
            whole[start : start + size] = np.frombuffer(buffer.raw(), np.uint8)


def plan_spans(buffers: Sequence[PickleBuffer]) -> tuple[list[MemorySpan], int]:
    """Where buffers go in a segment, one after the other, and how large it has to be."""
    places: list[MemorySpan] = []
    end = 0
    for buffer in buffers:
        start = -(-end // _ALIGNMENT) * _ALIGNMENT
        places.append((start, buffer.raw().nbytes))
        end = start + places[-1][1]
    return places, end


def span_views(memory: Any, places: Sequence[MemorySpan]) -> Iterator[Any]:
    """The blocks of bytes at these places."""
    return (memory[start : start + size] for start, size in places)


def _inherited(size: int, place: Any) -> SharedMemoryBlock:
    """What a process is started with. It may write there without anybody else seeing it."""
    segment = SharedMemoryBlock(size, place if isinstance(place, str) else place.detach(), private=True)
    segment.forget_descriptor()
    return segment


def _nameless() -> int:
    """A file descriptor of memory that has no name, or has lost it already."""
    if hasattr(os, "memfd_create"):
        return os.memfd_create("gradwire")
    shared = importlib.import_module("_posixshmem")
    name = f"/gradwire-{secrets.token_hex(8)}"  # macOS takes 31 characters
    descriptor = shared.shm_open(name, os.O_CREAT | os.O_EXCL | os.O_RDWR, mode=0o600)
    shared.shm_unlink(name)
    return descriptor

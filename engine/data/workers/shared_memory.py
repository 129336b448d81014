"""Anonymous shared memory that the operating system frees with its last user.

On POSIX systems a block is an unnamed file descriptor; on Windows its name disappears with the last handle. A killed
process therefore leaks nothing, and the size of /dev/shm does not matter.
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
"""Byte offset and size of a part of a block."""


class SharedMemoryBlock:
    """A block of shared memory. Pickling it while a process is spawned shares the block with that process.

    Args:
        size: size in bytes
        descriptor: file descriptor or Windows name from another process; None allocates a new block
        private: map copy-on-write, so that other processes do not see changes
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
        """Close the file descriptor; the mapping stays valid. The block cannot be shared afterwards."""
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
        """Send the block to the process at the other end, which calls `received`."""
        if sys.platform == "win32":
            to.send(self.descriptor)
        else:
            reduction.send_handle(to, self.descriptor, 0)
            self.forget_descriptor()

    @classmethod
    def received(cls, source: Connection, size: int) -> SharedMemoryBlock:
        """Receive a block that another process sent with `send`."""
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
    """Aligned consecutive spans for buffers, and the total size in bytes."""
    places: list[MemorySpan] = []
    end = 0
    for buffer in buffers:
        start = -(-end // _ALIGNMENT) * _ALIGNMENT
        places.append((start, buffer.raw().nbytes))
        end = start + places[-1][1]
    return places, end


def span_views(memory: Any, places: Sequence[MemorySpan]) -> Iterator[Any]:
    """Views of the spans in `memory`."""
    return (memory[start : start + size] for start, size in places)


def _inherited(size: int, place: Any) -> SharedMemoryBlock:
    """Unpickle a block in a spawned process, mapped copy-on-write."""
    segment = SharedMemoryBlock(size, place if isinstance(place, str) else place.detach(), private=True)
    segment.forget_descriptor()
    return segment


def _nameless() -> int:
    """A file descriptor of unnamed memory; without memfd, of a named block that is unlinked at once."""
    if hasattr(os, "memfd_create"):
        return os.memfd_create("gradwire")
    shared = importlib.import_module("_posixshmem")
    name = f"/gradwire-{secrets.token_hex(8)}"  # macOS takes 31 characters
    descriptor = shared.shm_open(name, os.O_CREAT | os.O_EXCL | os.O_RDWR, mode=0o600)
    shared.shm_unlink(name)
    return descriptor

"""Anonymous shared memory that the operating system frees with its last user.

On POSIX systems a segment is an unnamed file descriptor; on Windows its name disappears with the last handle. A killed
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
"""Byte offset and size of a part of a segment."""


class SharedMemorySegment:
    """A segment of shared memory. Pickling it while a process is spawned shares the segment with that process.

    Args:
        size: size in bytes
        descriptor: file descriptor or Windows name from another process; None allocates a new segment
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
            self.descriptor = _anonymous_descriptor()
            os.ftruncate(self.descriptor, size)
        try:
            self.memory = mmap.mmap(self.descriptor, size, access=access)
        except BaseException:
            self.forget_descriptor()
            raise

    def forget_descriptor(self) -> None:
        """Close the file descriptor; the mapping stays valid. The segment cannot be shared afterwards."""
        if isinstance(self.descriptor, int):
            os.close(self.descriptor)
            self.descriptor = None

    def __del__(self) -> None:
        with contextlib.suppress(AttributeError, OSError):
            self.forget_descriptor()

    def __reduce__(self) -> tuple[Any, ...]:
        handle = self.descriptor if sys.platform == "win32" else reduction.DupFd(self.descriptor)
        return _rebuild_segment, (self.size, handle)

    def send(self, to: Connection) -> None:
        """Send the segment to the process at the other end, which calls `received`."""
        if sys.platform == "win32":
            to.send(self.descriptor)
        else:
            reduction.send_handle(to, self.descriptor, 0)
            self.forget_descriptor()

    @classmethod
    def received(cls, source: Connection, size: int) -> SharedMemorySegment:
        """Receive a segment that another process sent with `send`."""
        if sys.platform == "win32":
            return cls(size, source.recv())
        segment = cls(size, reduction.recv_handle(source))
        segment.forget_descriptor()
        return segment

    def write(self, buffers: Sequence[PickleBuffer], spans: Sequence[MemorySpan]) -> None:
        content = np.frombuffer(self.memory, np.uint8)
        for buffer, (start, size) in zip(buffers, spans, strict=True):
            content[start : start + size] = np.frombuffer(buffer.raw(), np.uint8)


def plan_spans(buffers: Sequence[PickleBuffer]) -> tuple[list[MemorySpan], int]:
    """Aligned consecutive spans for buffers, and the total size in bytes."""
    spans: list[MemorySpan] = []
    end = 0
    for buffer in buffers:
        start = -(-end // _ALIGNMENT) * _ALIGNMENT
        spans.append((start, buffer.raw().nbytes))
        end = start + spans[-1][1]
    return spans, end


def span_views(memory: Any, spans: Sequence[MemorySpan]) -> Iterator[Any]:
    """Views of the spans in `memory`."""
    return (memory[start : start + size] for start, size in spans)


def _rebuild_segment(size: int, handle: Any) -> SharedMemorySegment:
    """Unpickle a segment in a spawned process, mapped copy-on-write."""
    segment = SharedMemorySegment(size, handle if isinstance(handle, str) else handle.detach(), private=True)
    segment.forget_descriptor()
    return segment


def _anonymous_descriptor() -> int:
    """A file descriptor of unnamed memory; without memfd, of a named segment that is unlinked at once."""
    if hasattr(os, "memfd_create"):
        return os.memfd_create("gradwire")
    shared = importlib.import_module("_posixshmem")
    name = f"/gradwire-{secrets.token_hex(8)}"  # macOS takes 31 characters
    descriptor = shared.shm_open(name, os.O_CREAT | os.O_EXCL | os.O_RDWR, mode=0o600)
    shared.shm_unlink(name)
    return descriptor

"""Reuse of the shared memory segments of workers after their batches are freed."""

from __future__ import annotations

import weakref
from collections import deque
from multiprocessing.connection import Connection
from typing import Any, NamedTuple

import numpy as np

from engine.data.workers.packing import unpack
from engine.data.workers.shared_memory import SharedMemorySegment, span_views
from engine.data.workers.worker_messages import Reply

_MAX_SEGMENTS_IN_USE = 64
"""Segments in use above which batches are copied to private memory, to limit the number of file descriptors."""


class _LoanedMemory(np.ndarray):
    """The bytes of a segment. Arrays over them keep it alive; when it is freed, the segment is reusable."""


class _LoanedSegment(NamedTuple):
    segment: SharedMemorySegment
    loan: Any


class SharedMemoryPool:
    """The shared memory segments of one worker.

    Args:
        spare: number of free segments to keep for later batches
    """

    def __init__(self, spare: int) -> None:
        self._spare = spare
        self._segments: dict[int, _LoanedSegment] = {}
        self._free: deque[int] = deque()
        self._dropped: list[int] = []

    def offer(self) -> tuple[int | None, tuple[int, ...]]:
        """A free segment for the next batch, or None, and the segments that the worker can unmap."""
        offered = self._free.pop() if self._free else None
        while len(self._free) > self._spare:
            self._dropped.append(unused := self._free.popleft())
            del self._segments[unused]
        dropped, self._dropped = tuple(self._dropped), []
        return offered, dropped

    def map_new_segment(self, reply: Reply, offered: int | None, replies: Connection) -> None:
        """Map the new segment of a reply, if the worker allocated one because the offered segment was too small."""
        if reply.new_size:
            if offered is not None:
                del self._segments[offered]
            assert reply.segment is not None
            self._segments[reply.segment] = _LoanedSegment(SharedMemorySegment.received(replies, reply.new_size), None)

    def give_back(self, segment: int | None) -> None:
        if segment is not None:
            self._free.append(segment)

    def open(self, reply: Reply) -> Any:
        """The batch of a reply, sharing the memory of its segment."""
        if reply.segment is None or not reply.spans:
            self.give_back(reply.segment)
            return unpack(reply.content)
        number = reply.segment
        segment = self._segments[number].segment
        if len(self._segments) - len(self._free) > _MAX_SEGMENTS_IN_USE:
            memory = np.array(np.frombuffer(segment.memory, np.uint8))
            self._free.append(number)
        else:
            free = self._free
            memory = _LoanedMemory((segment.size,), np.uint8, segment.memory)
            self._segments[number] = _LoanedSegment(segment, weakref.ref(memory, lambda _: free.append(number)))
        return unpack(reply.content, span_views(memory, reply.spans))

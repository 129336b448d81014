"""Thread-safe queue of events from the training thread to its observers."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Generic, TypeVar

T = TypeVar("T")


class EventQueue(Generic[T]):
    """A bounded queue that thins out frequent events.

    Args:
        is_droppable: events that are thinned to every 2nd, 4th, 8th, … when more than `most` of them wait; the newest
            of each type is always kept. All other events are kept
        is_transient: events that are dropped as soon as another event arrives
        most: maximum number of waiting droppable events; at least 2
    """

    def __init__(
        self, is_droppable: Callable[[T], bool], is_transient: Callable[[T], bool], max_waiting: int = 1000
    ) -> None:
        self._is_droppable = is_droppable
        self._is_transient = is_transient
        self._max_waiting = max_waiting
        self._arrived = threading.Condition()
        self._empty()

    def put(self, event: T) -> None:
        with self._arrived:
            if self._events and self._is_transient(self._events[-1][1]):
                self._events.pop()
            if self._is_droppable(event):
                self._put_droppable(event)
            else:
                self._events.append((None, event))
            self._arrived.notify_all()

    def take(self, timeout: float = 0.0) -> list[T]:
        """Remove and return all events, oldest first; waits up to `timeout` seconds for the first."""
        with self._arrived:
            if timeout > 0:
                self._arrived.wait_for(lambda: self._events, timeout)
            events = [event for _, event in self._events]
            self._empty()
            return events

    def _put_droppable(self, event: T) -> None:
        before, last = self._events[-1] if self._events else (None, None)
        if before is not None and before % self._stride != 0 and type(last) is type(event):
            self._events.pop()  # it was kept only as the newest
            self._waiting -= 1
        self._events.append((self._count, event))
        self._count += 1
        self._waiting += 1
        while self._waiting > self._max_waiting:
            self._stride *= 2
            self._thin_out()

    def _empty(self) -> None:
        self._events: list[tuple[int | None, T]] = []
        """Events with a sequence number if droppable, else None."""
        self._count = 0
        self._waiting = 0
        self._stride = 1

    def _thin_out(self) -> None:
        newest = {type(event): number for number, event in self._events if number is not None}.values()
        self._events = [
            (number, event)
            for number, event in self._events
            if number is None or number in newest or number % self._stride == 0
        ]
        self._waiting = sum(number is not None for number, _ in self._events)

"""Events on their way from the training thread to whoever watches."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Generic, TypeVar

T = TypeVar("T")


class EventQueue(Generic[T]):
    """A queue that stays short however rarely it is emptied.

    Args:
        is_frequent: events of which every second, fourth, eighth, … is enough when more than `most` wait; the newest is
            always among them. All other events are kept
        is_momentary: events that only count until the next event of any kind
        most: how many frequent events may wait; at least 2
    """

    def __init__(self, is_frequent: Callable[[T], bool], is_momentary: Callable[[T], bool], most: int = 1000) -> None:
        self._is_frequent = is_frequent
        self._is_momentary = is_momentary
        self._most = most
        self._arrived = threading.Condition()
        self._empty()

    def put(self, event: T) -> None:
        with self._arrived:
            if self._events and self._is_momentary(self._events[-1][1]):
                self._events.pop()
            if self._is_frequent(event):
                self._put_frequent(event)
            else:
                self._events.append((None, event))
            self._arrived.notify_all()

    def take(self, timeout: float = 0.0) -> list[T]:
        """All that waits, oldest first; waits up to `timeout` seconds for the first."""
        with self._arrived:
            if timeout > 0:
                self._arrived.wait_for(lambda: self._events, timeout)
            events = [event for _, event in self._events]
            self._empty()
            return events

    def _put_frequent(self, event: T) -> None:
        before = self._events[-1][0] if self._events else None
        if before is not None and before % self._stride != 0:
            self._events.pop()  # it was only there as the newest
            self._waiting -= 1
        self._events.append((self._count, event))
        self._count += 1
        self._waiting += 1
        while self._waiting > self._most:
            self._stride *= 2
            self._thin_out()

    def _empty(self) -> None:
        self._events: list[tuple[int | None, T]] = []
        """Frequent events have the number that they came as."""
        self._count = 0
        self._waiting = 0
        self._stride = 1

    def _thin_out(self) -> None:
        newest = self._count - 1
        self._events = [
            (number, event)
            for number, event in self._events
            if number is None or number == newest or number % self._stride == 0
        ]
        self._waiting = sum(number is not None for number, _ in self._events)

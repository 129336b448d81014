from __future__ import annotations

import itertools
import threading

from hypothesis import given
from hypothesis import strategies as st

from studio.training.event_queue import EventQueue

# Numbers are frequent events, small letters momentary ones, capitals must arrive.
Event = int | str
letters = st.sampled_from("abAB")


def mailbox(max_waiting: int = 10) -> EventQueue[Event]:
    return EventQueue(
        lambda event: isinstance(event, int), lambda event: isinstance(event, str) and event.islower(), max_waiting
    )


@given(st.lists(st.integers(0, 99) | letters, max_size=200), st.integers(2, 12))
def test_what_must_arrive_arrives_in_order(events: list[Event], max_waiting: int) -> None:
    box = mailbox(max_waiting)
    for event in events:
        box.put(event)
    taken = box.take()
    assert [event for event in taken if event in ("A", "B")] == [event for event in events if event in ("A", "B")]
    assert sum(isinstance(event, int) for event in taken) <= max_waiting
    assert taken[-1:] == events[-1:]
    assert not any(isinstance(event, str) and event.islower() for event in taken[:-1])
    rest = iter(events)
    assert all(event in rest for event in taken), "the order is kept"
    assert box.take() == []


def test_thinning_is_even() -> None:
    box = mailbox(max_waiting=8)
    for number in range(64):
        box.put(number)
    taken = box.take()
    assert taken[-1] == 63
    assert max(b - a for a, b in itertools.pairwise(taken)) <= 16


def test_taking_waits_for_the_first() -> None:
    box = mailbox()
    thread = threading.Timer(0.05, box.put, [7])
    thread.start()
    assert box.take(timeout=600) == [7]
    thread.join()
    assert box.take(timeout=0.01) == []

"""Observers: whom they watch, how they nest, and what they leave out."""

from __future__ import annotations

import threading

import pytest

import engine
from engine import inspect
from engine.modes import MODES
from engine.observe import norm_of


def test_observers_nest_and_may_be_entered_again() -> None:
    x = engine.ones(1)
    outer, inner = inspect.trace(), inspect.trace()
    with outer:
        x + 1
        with inner:
            x * 1
        with outer:
            x - 1
        x / 1
    assert MODES.observer is None
    assert ([call.op for call in outer.calls], [call.op for call in inner.calls]) == (["add", "sub", "div"], ["mul"])
    with pytest.raises(ZeroDivisionError), outer:
        raise ZeroDivisionError
    assert MODES.observer is None


def test_an_observer_sees_only_its_thread() -> None:
    with inspect.trace() as seen:
        thread = threading.Thread(target=lambda: engine.ones(1) + 1)
        thread.start()
        thread.join()
    assert seen.calls == []


def test_a_refused_call_is_not_listed() -> None:
    with inspect.trace() as seen, pytest.raises(engine.errors.ShapeError):
        engine.ones(2) + engine.ones(3)
    assert seen.calls == []


def test_norms_do_not_overflow_in_half_precision() -> None:
    assert norm_of(engine.full((4,), 300.0, dtype=engine.float16)) == 600.0
    assert norm_of(None) is None
    assert norm_of(engine.ones(2, device="meta")) is None

"""Gradient modes: nesting, decorators, threads."""

from __future__ import annotations

import threading
from typing import Any

import pytest

import engine
from engine.modes import MODES


def test_modes_nest() -> None:
    x = engine.ones(1, requires_grad=True)
    with engine.no_grad():
        assert not (x * 2).requires_grad
        with engine.enable_grad():
            assert (x * 2).requires_grad
            with engine.set_grad_enabled(False):
                assert not (x * 2).requires_grad
            assert (x * 2).requires_grad
        assert not engine.is_grad_enabled()
    assert engine.is_grad_enabled()


def test_modes_as_decorators() -> None:
    @engine.no_grad()
    def called() -> bool:
        """Kept."""
        return engine.is_grad_enabled()

    @engine.no_grad
    def bare() -> bool:
        return engine.is_grad_enabled()

    @engine.set_grad_enabled(False)
    def chosen() -> bool:
        return engine.is_grad_enabled()

    assert engine.is_grad_enabled()
    assert (called(), bare(), chosen()) == (False, False, False)
    assert (called.__name__, called.__doc__) == ("called", "Kept.")
    assert engine.is_grad_enabled()


def test_a_decorated_generator_has_the_mode_only_while_it_runs() -> None:
    @engine.no_grad()
    def steps() -> Any:
        received = yield engine.is_grad_enabled()
        yield received, engine.is_grad_enabled()
        return "end"

    generator = steps()
    assert next(generator) is False
    assert engine.is_grad_enabled()
    assert generator.send("sent") == ("sent", False)
    assert engine.is_grad_enabled()
    with pytest.raises(StopIteration) as stop:
        next(generator)
    assert stop.value.value == "end"


def test_an_exception_restores_the_mode() -> None:
    mode = engine.no_grad()
    for _ in range(2):
        with pytest.raises(KeyError), mode:
            raise KeyError
        assert engine.is_grad_enabled()


def test_set_grad_enabled_as_a_call() -> None:
    engine.set_grad_enabled(False)
    try:
        assert not engine.is_grad_enabled()
    finally:
        engine.set_grad_enabled(True)


def test_the_mode_is_per_thread() -> None:
    inside = threading.Barrier(2)
    result: dict[str, bool] = {}

    def other() -> None:
        inside.wait(10)
        result["other"] = engine.is_grad_enabled()
        with engine.no_grad():
            inside.wait(10)
            inside.wait(10)

    thread = threading.Thread(target=other)
    thread.start()
    with engine.no_grad():
        inside.wait(10)
        inside.wait(10)
    result["this"] = engine.is_grad_enabled()
    inside.wait(10)
    thread.join()
    assert result == {"other": True, "this": True}


@pytest.mark.parametrize("name", ["observer", "autocast", "capture"])
def test_interceptor_disables_fast_calls_of_its_thread(name: str) -> None:
    assert MODES.fast_call is MODES.call_silently
    result: list[Any] = []
    setattr(MODES, name, "somebody")
    try:
        assert MODES.fast_call is None
        thread = threading.Thread(
            target=lambda: result.append((MODES.fast_call is MODES.call_silently, getattr(MODES, name)))
        )
        thread.start()
        thread.join()
    finally:
        setattr(MODES, name, None)
    assert MODES.fast_call is MODES.call_silently
    assert result == [(True, None)]

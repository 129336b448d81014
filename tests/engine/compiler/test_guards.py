"""What a replay depends on besides tensors: numbers and objects that a function's code can name."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import pytest

import engine
from engine import nn
from engine.compiler import Compiled
from engine.compiler.replay import MOST_WAYS

REPLAYED = functools.partial(Compiled, replays=True)

SCALE = 2.0
TABLE = {"scale": 2.0}


class Rate:
    def __init__(self, scale: float) -> None:
        self.scale = scale


class Trainer:
    def __init__(self) -> None:
        self.scale, self.rate, self.model = 2.0, Rate(2.0), scaling(2.0)

    def by_attribute(self, x: Any) -> Any:
        return x * self.scale

    def by_method(self, x: Any) -> Any:
        return self.by_attribute(x)

    def by_object(self, x: Any) -> Any:
        return x * self.rate.scale

    def by_model(self, x: Any) -> Any:
        return self.model(x)


def scaling(scale: float) -> nn.Linear:
    model = nn.Linear(2, 2, bias=False)
    model.load_state_dict({"weight": engine.eye(2) * scale})
    return model.requires_grad_(False)


RATE, MODEL = Rate(2.0), scaling(2.0)


def by_global(x: Any) -> Any:
    return x * SCALE


def by_table(x: Any) -> Any:
    return x * TABLE["scale"]


def by_helper(x: Any) -> Any:
    return by_global(x)


def by_comprehension(x: Any) -> Any:
    return sum(one * SCALE for one in (x,))


def by_object(x: Any) -> Any:
    return x * RATE.scale


def by_model(x: Any) -> Any:
    return MODEL(x)


def setting(name: str, make: Callable[[float], Any] = float) -> Callable[[Any, pytest.MonkeyPatch, float], None]:
    """Gives a variable of this module another value."""
    return lambda trainer, patch, scale: patch.setitem(globals(), name, make(scale))


CASES: dict[str, tuple[Callable[[Any], Any], Callable[[Any, pytest.MonkeyPatch, float], None]]] = {
    "global": (lambda trainer: by_global, setting("SCALE")),
    "global of a helper": (lambda trainer: by_helper, setting("SCALE")),
    "global in a comprehension": (lambda trainer: by_comprehension, setting("SCALE")),
    "entry": (lambda trainer: by_table, lambda trainer, patch, scale: patch.setitem(TABLE, "scale", scale)),
    "attribute of a global": (lambda trainer: by_object, lambda t, patch, scale: patch.setattr(RATE, "scale", scale)),
    "another object": (lambda trainer: by_object, setting("RATE", Rate)),
    "another model": (lambda trainer: by_model, setting("MODEL", scaling)),
    "attribute": (lambda trainer: trainer.by_attribute, lambda t, patch, scale: patch.setattr(t, "scale", scale)),
    "attribute in a method": (lambda t: t.by_method, lambda t, patch, scale: patch.setattr(t, "scale", scale)),
    "attribute of an attribute": (
        lambda trainer: trainer.by_object,
        lambda trainer, patch, scale: patch.setattr(trainer.rate, "scale", scale),
    ),
    "attribute that is another object": (
        lambda trainer: trainer.by_object,
        lambda trainer, patch, scale: patch.setattr(trainer, "rate", Rate(scale)),
    ),
    "attribute that is another model": (
        lambda trainer: trainer.by_model,
        lambda trainer, patch, scale: patch.setattr(trainer, "model", scaling(scale)),
    ),
}
"""How a function comes by a number → the function of a trainer, and what gives that number another value."""


@pytest.mark.parametrize("case", CASES)
def test_a_number_that_changes_is_seen(case: str, monkeypatch: pytest.MonkeyPatch) -> None:
    trainer, (choose, change) = Trainer(), CASES[case]
    f, x = REPLAYED(choose(trainer)), engine.ones(2)
    for _ in range(5):
        assert f(x).tolist() == [2.0, 2.0]
    assert f.replays.count > 0
    change(trainer, monkeypatch, 3.0)
    for _ in range(5):
        assert f(x).tolist() == [3.0, 3.0]


def test_a_variable_of_an_enclosing_function_that_changes_is_seen() -> None:
    scale, x = 2.0, engine.ones(2)

    @REPLAYED
    def f() -> Any:
        return x * scale

    for _ in range(5):
        assert f().tolist() == [2.0, 2.0]
    assert f.replays.count > 0
    scale = 3.0
    assert f().tolist() == [3.0, 3.0]


def test_an_equal_number_is_no_change() -> None:
    trainer, x = Trainer(), engine.ones(2)
    f = REPLAYED(trainer.by_attribute)
    for number in range(6):
        trainer.scale = float(f"{2 + number - number}")
        f(x)
    assert f.replays.count > 0
    assert not f.replays.missed


def test_another_object_in_the_memory_of_an_argument_is_another_argument() -> None:
    @REPLAYED
    def f(x: Any, rate: Rate) -> Any:
        return x * rate.scale

    x = engine.ones(2)
    for scale in (2.0, 2.0, 2.0, 2.0, 2.0, 3.0, 3.0, 2.0):  # each lies where the one before it did
        assert f(x, Rate(scale)).tolist() == [scale, scale]


def test_an_argument_that_is_always_the_same_object_is_replayed() -> None:
    @REPLAYED
    def f(x: Any, rate: Rate) -> Any:
        return x * rate.scale

    x, rates = engine.ones(2), [Rate(2.0), Rate(3.0)]
    for number in range(12):
        rate = rates[number % 2]
        assert f(x, rate).tolist() == [rate.scale] * 2
    assert f.replays.count > 0


def test_zeros_of_both_signs_are_two_arguments() -> None:
    f = REPLAYED(lambda x, number: x * number)
    for number in (0.0, 0.0, 0.0, 0.0, -0.0):
        assert str(f(engine.ones(1), number).item()) == str(number)


def test_arguments_that_never_come_again_are_forgotten() -> None:
    f, x = REPLAYED(lambda x, number: x * number), engine.ones(1)
    for number in range(2 * MOST_WAYS):
        f(x, number / 8)
    assert len(f.replays._before) == MOST_WAYS  # pyright: ignore[reportPrivateUsage]
    for _ in range(4):
        f(x, 0.5)
    assert f.replays.count == 2

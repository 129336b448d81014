from __future__ import annotations

import math

import pytest

from studio.document.json_values import DEEPEST, JsonError, checked, same


def nested(depth: int) -> object:
    """This many lists in each other."""
    value: object = []
    for _ in range(depth - 1):
        value = [value]
    return value


def test_a_copy_comes_back() -> None:
    value = {"a": [1, 2.5, None, True, "é"], "b": (1, 2)}
    copy = checked(value)
    assert copy == {"a": [1, 2.5, None, True, "é"], "b": [1, 2]}
    assert isinstance(copy, dict)
    assert copy["a"] is not value["a"]


@pytest.mark.parametrize(
    ("value", "location", "problem"),
    [
        (math.nan, "", "nan is not a finite number"),
        ({"a": [0, -math.inf]}, ".a[1]", "-inf is not a finite number"),
        (2**64, "", "a whole number does not fit in 64 bits"),
        (-(2**63) - 1, "", "a whole number does not fit in 64 bits"),
        ({1: 2}, "", "the key 1 is not a text"),
        ([b"x"], "[0]", "bytes is not a JSON value"),
        (["\ud800"], "[0]", "the text contains half a surrogate pair (U+D800) at character 1"),
        ({"\ud800": 1}, "", "the text contains half a surrogate pair"),
        (nested(DEEPEST + 1), "", f"nested more than {DEEPEST} levels"),
        (nested(100_000), "", f"nested more than {DEEPEST} levels"),
        ([0] * 100_000, "", "holds more than 100,000 values and characters"),
        ("x" * 100_000, "", "holds more than 100,000 values and characters"),
    ],
)
def test_refusals(value: object, location: str, problem: str) -> None:
    with pytest.raises(JsonError) as caught:
        checked(value)
    assert caught.value.location == location
    assert problem in caught.value.problem


@pytest.mark.parametrize("value", [2**64 - 1, -(2**63), nested(DEEPEST), "x" * 99_999])
def test_bounds_are_inclusive(value: object) -> None:
    assert checked(value) == value


def test_same_tells_types_apart() -> None:
    assert same([1, {"a": 2}], [1, {"a": 2}])
    assert same({"a": 1, "b": 2}, {"b": 2, "a": 1})
    assert not same(1, 1.0)
    assert not same(True, 1)
    assert not same([0.0], [-0.0])

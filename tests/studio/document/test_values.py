from __future__ import annotations

import math

import pytest

from studio.document.files.json_values import MAX_DEPTH, JsonError, equal_json, validated_copy


def nested(depth: int) -> object:
    """This many lists in each other."""
    value: object = []
    for _ in range(depth - 1):
        value = [value]
    return value


def test_a_copy_comes_back() -> None:
    value = {"a": [1, 2.5, None, True, "é"], "b": (1, 2)}
    copy = validated_copy(value)
    assert copy == {"a": [1, 2.5, None, True, "é"], "b": [1, 2]}
    assert isinstance(copy, dict)
    assert copy["a"] is not value["a"]


@pytest.mark.parametrize(
    ("value", "location", "problem"),
    [
        (math.nan, "", "must be a finite number, not nan"),
        ({"a": [0, -math.inf]}, ".a[1]", "must be a finite number, not -inf"),
        (2**64, "", "must be a whole number of at most 64 bits"),
        (-(2**63) - 1, "", "must be a whole number of at most 64 bits"),
        ({1: 2}, "", "has the key 1, but keys must be text"),
        ([b"x"], "[0]", "must be a JSON value, not bytes"),
        (["\ud800"], "[0]", "contains half a surrogate pair (U+D800) at character 1"),
        ({"\ud800": 1}, "", "contains half a surrogate pair"),
        (nested(MAX_DEPTH + 1), "", f"nested more than {MAX_DEPTH} levels"),
        (nested(100_000), "", f"nested more than {MAX_DEPTH} levels"),
        ([0] * 100_000, "", "contains more than 100,000 values and characters"),
        ("x" * 100_000, "", "contains more than 100,000 values and characters"),
    ],
)
def test_refusals(value: object, location: str, problem: str) -> None:
    with pytest.raises(JsonError) as caught:
        validated_copy(value)
    assert caught.value.location == location
    assert problem in caught.value.problem


@pytest.mark.parametrize("value", [2**64 - 1, -(2**63), nested(MAX_DEPTH), "x" * 99_999])
def test_bounds_are_inclusive(value: object) -> None:
    assert validated_copy(value) == value


def test_same_tells_types_apart() -> None:
    assert equal_json([1, {"a": 2}], [1, {"a": 2}])
    assert equal_json({"a": 1, "b": 2}, {"b": 2, "a": 1})
    assert not equal_json(1, 1.0)
    assert not equal_json(True, 1)
    assert not equal_json([0.0], [-0.0])

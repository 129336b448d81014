"""Sizes relative to the input."""

from __future__ import annotations

from fractions import Fraction

import pytest

from engine import nn
from engine.registry import parameters
from engine.relative_sizes import normalized, parse_factor, relative_size


@pytest.mark.parametrize(
    ("text", "factor", "size"),
    [
        ("input", Fraction(1), 48),
        ("4 * input", Fraction(4), 192),
        ("0.5 * input", Fraction(1, 2), 24),
        ("2 * input / 3", Fraction(2, 3), 32),
        ("input / 16", Fraction(1, 16), 3),
        ("input / 5", Fraction(1, 5), 9),
        ("input / 100", Fraction(1, 100), 1),
    ],
)
def test_size_of_an_input_of_48(text: str, factor: Fraction, size: int) -> None:
    assert parse_factor(text) == factor
    assert relative_size(text, 48) == size


@pytest.mark.parametrize(
    "text",
    ["", "4", "4 input", "0 * input", "-1 * input", "input / 0", "input * 4", "10001 * input", "inputs", "1e3 * input"],
)
def test_other_texts_are_no_relative_sizes(text: str) -> None:
    assert parse_factor(text) is None
    with pytest.raises(ValueError, match="a relative size is written as"):
        relative_size(text, 48)


@pytest.mark.parametrize("text", ["4*input", "4x input", "4 ×input", " 4  *  input "])
def test_typed_forms_are_normalized(text: str) -> None:
    assert normalized(text) == "4 * input"
    assert normalized("input/2") == "input / 2"
    assert normalized("64") == "64"


def test_sizes_of_outputs_can_be_relative() -> None:
    [width] = [each for each in parameters(nn.Linear) if each.name == "out_features"]
    assert width.problem("4 * input") is None
    assert width.problem("4 * output") == "must be a whole number or a size such as '4 * input', not '4 * output'"
    assert not width.accepts_text("64")

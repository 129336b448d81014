"""Random programs give what PyTorch gives: values, gradients, and refusals; and the meta device foretells them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import engine
import engine.nn
from tests.engine.programs import Machine, Step, steps

REFUSALS = (RuntimeError, TypeError, ValueError, IndexError)
PROGRAMS = st.lists(steps(), min_size=1, max_size=14)


def _attempt(machine: Machine, step: Step) -> Exception | None:
    try:
        machine.run(step)
    except REFUSALS as error:
        return error
    return None


@pytest.mark.filterwarnings("ignore::UserWarning")  # warnings of PyTorch; some appear once per process
@settings(max_examples=300)
@given(PROGRAMS)
def test_random_program_matches_pytorch(program: list[Step]) -> None:
    torch = pytest.importorskip("torch")
    ours, theirs = Machine(engine), Machine(torch)
    for step in program:
        error, wanted = _attempt(ours, step), _attempt(theirs, step)
        if _differs_on_purpose(str(error), str(wanted)):
            return
        assert (error is None) == (wanted is None), f"{step}: {error!r} but PyTorch {wanted!r}"
        if error is not None and step.name == "backward":
            return  # PyTorch leaves the gradients of some leaves behind, the engine none
        for a, b in zip(ours.values, theirs.values, strict=True):
            _assert_same(a, b)


def _differs_on_purpose(error: str, wanted: str) -> bool:
    return (
        # Writes between overlapping views: NumPy copies first, PyTorch refuses.
        "some elements of the input tensor and the written-to tensor" in wanted
        # Filling a tensor that repeats elements: the engine refuses that, too.
        or "on an expanded tensor" in error
        # Where a result lies in memory is not always the same, so nor is what view() can do without a copy.
        or "without a copy" in error
        or "view size is not compatible" in wanted
        # PyTorch does not check indices of empty selections.
        or ("out of bounds" in error and wanted == "None")
        # PyTorch's logsumexp and a few more keep more than their gradients need, and refuse when that is changed.
        or (error == "None" and "modified by an inplace operation" in wanted)
    )


def _assert_same(ours: Any, theirs: Any) -> None:
    assert tuple(ours.shape) == tuple(theirs.shape)
    assert (ours.requires_grad, ours.is_leaf) == (theirs.requires_grad, theirs.is_leaf)
    np.testing.assert_allclose(ours.detach().numpy(), theirs.detach().numpy(), rtol=1e-7, atol=1e-9)
    if ours.is_leaf:
        assert (ours.grad is None) == (theirs.grad is None)
        if ours.grad is not None:
            np.testing.assert_allclose(ours.grad.numpy(), theirs.grad.numpy(), rtol=1e-6, atol=1e-8)


@settings(max_examples=200)
@given(PROGRAMS)
def test_meta_device_predicts_shapes_and_errors(program: list[Step]) -> None:
    real, meta = Machine(engine), Machine(engine, "meta")
    for step in program:
        if "mask" in step.name:
            return  # the numbers decide on the shape
        error = _attempt(real, step)
        if any(words in str(error) for words in ("outside dim", "out of bounds", "without a copy", "expanded tensor")):
            return  # numbers and strides, which meta tensors do not have
        foretold = _attempt(meta, step)
        assert (error is None) == (foretold is None), f"{step}: {error!r}, on meta {foretold!r}"
        assert [value.spec for value in meta.values] == [value.spec for value in real.values]


@settings(max_examples=100)
@given(PROGRAMS)
def test_program_is_reproducible(program: list[Step]) -> None:
    """A program changes only its tensors, not modes, caches or op records."""
    first, second = Machine(engine), Machine(engine)
    errors = [str(_attempt(first, step)) for step in program]
    assert errors == [str(_attempt(second, step)) for step in program]
    assert engine.is_grad_enabled()
    for a, b in zip(first.values, second.values, strict=True):
        np.testing.assert_array_equal(a.detach().numpy(), b.detach().numpy())

"""Norms of parameters before a step and of their changes, by a kernel and by tensor ops."""

from __future__ import annotations

import numpy as np
import pytest

import engine
from engine import Tensor, nn
from engine.fit.parameter_changes import ParameterChanges


def parameters(dtype: engine.dtype = engine.float32) -> list[Tensor]:
    engine.manual_seed(0)
    shapes = (5, 3), (7,), (1,), (4, 3, 2, 2)
    return [nn.Parameter(engine.randn(*shape).to(dtype)) for shape in shapes]


def arrays(tensors: list[Tensor]) -> list[np.ndarray]:
    return [each.detach().to(engine.float64).numpy().copy() for each in tensors]


def change(tensors: list[Tensor]) -> None:
    with engine.no_grad():
        for tensor in tensors:
            tensor += 1e-2 * engine.randn(*tensor.shape).to(tensor.dtype)


def expected(before: list[np.ndarray], after: list[np.ndarray]) -> list[float]:
    changes = [new - old for old, new in zip(before, after, strict=True)]
    return [float(np.sqrt((each * each).sum())) for each in (*before, *changes)]


@pytest.mark.parametrize("compile", [True, False], ids=["kernel", "ops"])
@pytest.mark.parametrize("dtype", [engine.float32, engine.float64, engine.bfloat16], ids=str)
def test_norms_and_changes(dtype: engine.dtype, compile: bool) -> None:
    tensors = parameters(dtype)
    changes = ParameterChanges(tensors, compile=compile)
    for _ in range(3):
        before = arrays(tensors)
        changes.begin()
        change(tensors)
        assert changes.norms().tolist() == pytest.approx(expected(before, arrays(tensors)), rel=1e-5)
        assert (changes._kernel is not None) == (compile and dtype is engine.float32)  # pyright: ignore[reportPrivateUsage]


def test_float64_parameters_keep_small_changes() -> None:
    tensor = nn.Parameter(engine.ones(4, dtype=engine.float64))
    changes = ParameterChanges([tensor], compile=True)
    changes.begin()
    with engine.no_grad():
        tensor += 1e-12
    assert changes.norms()[1] == pytest.approx(2e-12, rel=1e-3)


def test_parameters_with_new_memory_are_found() -> None:
    """Assigning `data` within a step replaces the memory; a transposed array is not in the order of the kernel."""
    for new in (engine.full((5, 3), 2.0), engine.full((3, 5), 2.0).T):
        tensors = parameters()
        changes = ParameterChanges(tensors, compile=True)
        changes.begin()
        before = arrays(tensors)
        tensors[0].data = new
        assert changes.norms().tolist() == pytest.approx(expected(before, arrays(tensors)), rel=1e-5)


@pytest.mark.parametrize("compile", [True, False], ids=["kernel", "ops"])
def test_parameters_with_another_size_cannot_be_compared(compile: bool) -> None:
    tensors = parameters()
    changes = ParameterChanges(tensors, compile=compile)
    changes.begin()
    tensors[1].data = engine.ones(8)
    with pytest.raises(ValueError, match=r"A parameter had 7 elements before the step and has 8 after it"):
        changes.norms()
    changes.begin()
    before = arrays(tensors)
    change(tensors)
    assert changes.norms().tolist() == pytest.approx(expected(before, arrays(tensors)), rel=1e-5)


def test_measuring_does_not_mark_parameters_as_shared() -> None:
    """Compiled steps copy tensors that other libraries may change."""
    tensors = parameters()
    changes = ParameterChanges(tensors, compile=True)
    changes.begin()
    changes.norms()
    assert not any(each._storage.is_exposed for each in tensors)  # pyright: ignore[reportPrivateUsage]


@pytest.mark.parametrize("compile", [True, False], ids=["kernel", "ops"])
def test_sizes_that_are_exchanged_are_noticed(compile: bool) -> None:
    tensors = [nn.Parameter(engine.ones(2)), nn.Parameter(engine.ones(3))]
    changes = ParameterChanges(tensors, compile=compile)
    changes.begin()
    tensors[0].data, tensors[1].data = engine.ones(3), engine.ones(2)
    with pytest.raises(ValueError, match="had 2 elements before the step and has 3"):
        changes.norms()


@pytest.mark.parametrize("compile", [True, False], ids=["kernel", "ops"])
@pytest.mark.parametrize("count", [0, 1, 2])
def test_parameters_without_elements(count: int, compile: bool) -> None:
    changes = ParameterChanges([nn.Parameter(engine.ones(0, 3)) for _ in range(count)], compile=compile)
    changes.begin()
    assert changes.norms().tolist() == [0.0] * (2 * count)

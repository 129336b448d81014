"""Every declared loss against PyTorch's of the same name, and what it refuses."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest

import engine
from engine import nn
from engine.errors import DTypeError, ShapeError
from engine.nn import functional as F
from engine.registry import LOSSES
from engine.shape import Dim

torch = pytest.importorskip("torch")

Array = np.ndarray[Any, Any]
Draw = Callable[[np.random.Generator], Array]


def normal(*shape: int) -> Draw:
    return lambda random: random.standard_normal(shape)


def unit(*shape: int) -> Draw:
    return lambda random: random.uniform(0.01, 0.99, shape)


def classes(count: int, *shape: int, ignored: int | None = None) -> Draw:
    def draw(random: np.random.Generator) -> Array:
        drawn = random.integers(0, count, shape)
        if ignored is not None:
            drawn.reshape(-1)[::3] = ignored
        return drawn

    return draw


def log_probabilities(*shape: int) -> Draw:
    def draw(random: np.random.Generator) -> Array:
        x = random.standard_normal(shape)
        return x - np.log(np.exp(x).sum(1, keepdims=True))

    return draw


@dataclass(frozen=True)
class Case:
    name: str
    input: Draw
    target: Draw
    kwargs: dict[str, Any] = field(default_factory=dict)
    title: str = ""

    def __str__(self) -> str:
        arguments = ", ".join(f"{k}={'…' if callable(v) else v}" for k, v in self.kwargs.items())
        return f"{self.name}({arguments}){self.title}"


CASES = [
    Case("MSELoss", normal(4, 3), normal(4, 3)),
    Case("L1Loss", normal(4, 3), normal(4, 3)),
    Case("SmoothL1Loss", normal(4, 3), normal(4, 3)),
    Case("SmoothL1Loss", normal(4, 3), normal(4, 3), {"beta": 0.5}),
    Case("SmoothL1Loss", normal(4, 3), normal(4, 3), {"beta": 0.0}),
    Case("HuberLoss", normal(4, 3), normal(4, 3)),
    Case("HuberLoss", normal(4, 3), normal(4, 3), {"delta": 0.5}),
    Case("BCELoss", unit(4, 3), unit(4, 3)),
    Case("BCELoss", unit(4, 3), unit(4, 3), {"weight": unit(3)}),
    Case("BCEWithLogitsLoss", normal(4, 3), unit(4, 3)),
    Case("BCEWithLogitsLoss", normal(4, 3), unit(4, 3), {"weight": unit(4, 1), "pos_weight": unit(3)}),
    Case("BCEWithLogitsLoss", lambda random: np.array([-200.0, -30, 0, 30, 200]), lambda random: np.arange(5) % 2),
    Case("NLLLoss", log_probabilities(6, 4), classes(4, 6)),
    Case("NLLLoss", log_probabilities(6, 4, 2, 3), classes(4, 6, 2, 3, ignored=-100), {"weight": unit(4)}, " images"),
    Case("NLLLoss", normal(4), classes(4), title=" one sample"),
    Case("CrossEntropyLoss", normal(6, 4), classes(4, 6)),
    Case("CrossEntropyLoss", normal(6, 4), classes(4, 6), {"weight": unit(4)}),
    Case("CrossEntropyLoss", normal(6, 4), classes(4, 6, ignored=-100)),
    Case("CrossEntropyLoss", normal(6, 4), classes(4, 6, ignored=2), {"ignore_index": 2, "weight": unit(4)}),
    Case("CrossEntropyLoss", normal(6, 4), classes(4, 6), {"label_smoothing": 0.1}),
    Case(
        "CrossEntropyLoss",
        normal(6, 4),
        classes(4, 6, ignored=1),
        {"label_smoothing": 0.3, "weight": unit(4), "ignore_index": 1},
    ),
    Case("CrossEntropyLoss", normal(4, 3, 2, 2), classes(3, 4, 2, 2), {"label_smoothing": 0.2}, " images"),
    Case("CrossEntropyLoss", normal(6, 4), unit(6, 4)),
    Case("CrossEntropyLoss", normal(6, 4), unit(6, 4), {"label_smoothing": 0.2, "weight": unit(4)}),
    Case("CrossEntropyLoss", normal(4, 3, 2), unit(4, 3, 2), {"weight": unit(3)}, " soft images"),
    Case("CrossEntropyLoss", lambda random: random.standard_normal((4, 3)) * 1e3, classes(3, 4), title=" large"),
]


def as_dtype(values: Array, dtype: str) -> Array:
    return values.astype(dtype) if values.dtype.kind == "f" else values


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("reduction", ["mean", "sum", "none"])
@pytest.mark.parametrize("case", CASES, ids=str)
def test_values_and_gradients(case: Case, reduction: Any, dtype: str) -> None:
    random = np.random.default_rng(0)
    arrays = {k: as_dtype(v(random), dtype) if callable(v) else v for k, v in case.kwargs.items()}

    def build(library: Any, tensor: Any) -> Any:
        arguments = {k: tensor(v) if isinstance(v, np.ndarray) else v for k, v in arrays.items()}
        return getattr(library.nn, case.name)(reduction=reduction, **arguments)

    values, target = as_dtype(case.input(random), dtype), as_dtype(case.target(random), dtype)
    if target.dtype.kind != "f" and "BCE" in case.name:
        target = target.astype(dtype)
    x, y = engine.tensor(values, requires_grad=True), torch.tensor(values, requires_grad=True)
    ours = build(engine, engine.tensor)(x, engine.tensor(target))
    theirs = build(torch, torch.tensor)(y, torch.tensor(target))
    gradient = as_dtype(np.asarray(random.standard_normal(tuple(theirs.shape))), dtype)
    ours.backward(engine.tensor(gradient))
    theirs.backward(torch.tensor(gradient))
    assert x.grad is not None
    assert ours.dtype.name == dtype
    assert tuple(ours.shape) == tuple(theirs.shape)
    tolerance = {"rtol": 1e-5, "atol": 1e-6} if dtype == "float32" else {"rtol": 1e-12, "atol": 1e-12}
    np.testing.assert_allclose(ours.detach().numpy(), theirs.detach().numpy(), **tolerance)
    np.testing.assert_allclose(x.grad.numpy(), y.grad.numpy(), **tolerance)


@pytest.mark.parametrize("case", CASES, ids=str)
def test_gradients_of_gradients(case: Case) -> None:
    random = np.random.default_rng(1)
    arrays = {k: v(random) if callable(v) else v for k, v in case.kwargs.items()}
    values, target = case.input(random), case.target(random)
    if "BCE" in case.name:
        target = target.astype(float)
    leaves = []
    for library, grad in ((engine, engine.grad), (torch, torch.autograd.grad)):
        arguments = {k: library.tensor(v) if isinstance(v, np.ndarray) else v for k, v in arrays.items()}
        leaf = library.tensor(values, requires_grad=True)
        # Squared, so that the first gradient depends on the input even if the loss is linear.
        loss = getattr(library.nn, case.name)(**arguments)(leaf, library.tensor(target)) ** 2
        (gradient,) = grad(loss, [leaf], create_graph=True)
        (gradient**2).sum().backward()
        leaves.append(leaf.grad.numpy())
    np.testing.assert_allclose(*leaves, rtol=1e-10, atol=1e-12)


def test_every_loss_has_a_case() -> None:
    assert {entry.target.__name__ for entry in LOSSES} == {case.name for case in CASES}


@pytest.mark.parametrize("case", CASES, ids=str)
def test_on_meta(case: Case) -> None:
    """A symbolic batch gives a scalar."""
    random = np.random.default_rng(0)
    values, target = case.input(random), case.target(random)
    if values.ndim == 1:
        pytest.skip("a single sample has no batch")
    N = Dim("N")
    loss = getattr(nn, case.name)()
    whole = target.dtype.kind != "f"
    x = engine.zeros(N, *values.shape[1:], device="meta")
    y = engine.zeros(N, *target.shape[1:], device="meta", dtype=engine.int64 if whole else engine.float32)
    assert loss(x, y).shape == ()


@pytest.mark.parametrize("entry", LOSSES, ids=lambda entry: entry.key)
def test_is_documented(entry: Any) -> None:
    assert entry.summary
    assert all(parameter.help for parameter in entry.parameters)
    assert [p.choices for p in entry.parameters if p.name == "reduction"] == [("mean", "sum", "none")]


def test_class_weights_are_buffers() -> None:
    loss = nn.CrossEntropyLoss(engine.ones(3))
    assert list(loss.state_dict()) == ["weight"]
    assert not list(loss.parameters())


# -- what PyTorch lets pass, and what is refused with a remedy ------------------------------------


@pytest.mark.parametrize("name", ["MSELoss", "L1Loss", "SmoothL1Loss", "HuberLoss", "BCELoss", "BCEWithLogitsLoss"])
@pytest.mark.parametrize(
    ("input", "target", "remedy"),
    [
        ((64, 1), (64,), r"input\.squeeze\(-1\)"),
        ((64,), (64, 1), r"target\.squeeze\(-1\)"),
        ((64, 3), (3,), "same shape"),
    ],
)
def test_shapes_that_would_broadcast_are_refused(name: str, input: Any, target: Any, remedy: str) -> None:
    with pytest.raises(ShapeError, match=remedy):
        getattr(nn, name)()(engine.zeros(*input), engine.zeros(*target))


@pytest.mark.parametrize(
    ("input", "target", "message"),
    [
        ((5, 3), (4,), "needs a target of 5"),
        ((5, 3), (5, 1), r"target\.squeeze\(1\)"),
        ((5, 3, 2, 2), (5,), "5×2×2"),
    ],
)
def test_class_targets_of_another_shape(input: Any, target: Any, message: str) -> None:
    with pytest.raises(ShapeError, match=message):
        F.cross_entropy(engine.zeros(*input), engine.zeros(*target, dtype=engine.int64))


def test_probabilities_of_another_shape() -> None:
    with pytest.raises(ShapeError, match="whole numbers if the target names classes"):
        F.cross_entropy(engine.zeros(5, 3), engine.zeros(5))


def test_nll_needs_whole_numbers() -> None:
    with pytest.raises(DTypeError, match=r"target\.long\(\)"):
        F.nll_loss(engine.zeros(5, 3), engine.zeros(5))


@pytest.mark.parametrize("wrong", [3, -1])
def test_a_class_that_does_not_exist(wrong: int) -> None:
    with pytest.raises((IndexError, ShapeError)):
        F.cross_entropy(engine.zeros(2, 3), engine.tensor([0, wrong]))


def test_weight_of_another_length() -> None:
    with pytest.raises(ShapeError, match="3 classes"):
        F.cross_entropy(engine.zeros(2, 3), engine.tensor([0, 1]), weight=engine.ones(4))


def test_unknown_reduction() -> None:
    with pytest.raises(ValueError, match="'mean', 'sum' or 'none'"):
        F.mse_loss(engine.zeros(2), engine.zeros(2), reduction="average")  # pyright: ignore[reportArgumentType]


def test_an_ignored_target_does_not_count_even_if_its_loss_is_infinite() -> None:
    log_probabilities = engine.tensor([[-np.inf, 0.0], [-0.5, -1.0]], requires_grad=True)
    loss = F.nll_loss(log_probabilities, engine.tensor([-100, 1]))
    loss.backward()
    assert loss.item() == 1
    assert log_probabilities.grad is not None
    np.testing.assert_array_equal(log_probabilities.grad.numpy(), [[0, 0], [0, -1]])


def test_binary_cross_entropy_stays_finite_for_certain_answers() -> None:
    loss = F.binary_cross_entropy(engine.tensor([0.0, 1.0]), engine.tensor([1.0, 0.0]), reduction="none")
    np.testing.assert_allclose(loss.numpy(), [100, 100], rtol=1e-3)

"""CTC against PyTorch's: lengths, forms of targets, reductions, impossible targets."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import engine
from engine import nn
from engine.autograd import gradgradcheck
from engine.errors import AutogradError, ShapeError
from engine.nn import functional as F
from engine.shape import Dim

torch = pytest.importorskip("torch")
T, N, C, S = 9, 4, 5, 4
RANDOM = np.random.default_rng(0)
LOGITS = RANDOM.standard_normal((T, N, C))
TARGETS = np.array([[1, 2, 3, 4], [2, 2, 2, 1], [4, 3, 3, 3], [1, 1, 1, 1]])
FRAMES = np.array([9, 7, 5, 4])
COUNTS = np.array([4, 4, 1, 3])


def compare(call: Any, values: Any = LOGITS, rtol: float = 1e-9) -> None:
    result = []
    for library in (engine, torch):
        logits = library.tensor(values, requires_grad=True)
        log_probs = logits.log_softmax(-1)
        log_probs.retain_grad()
        loss = call(library, log_probs)
        loss.sum().backward()
        result.append((loss.detach().numpy(), logits.grad.numpy(), log_probs.grad.numpy()))
    for ours, theirs in zip(*result, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=rtol, atol=rtol)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("reduction", ["mean", "sum", "none"])
def test_values_and_gradients(reduction: Any, dtype: str) -> None:
    lengths = (FRAMES, np.array([4, 3, 1, 2]))
    compare(
        lambda lib, x: lib.nn.CTCLoss(reduction=reduction)(x, lib.tensor(TARGETS), *map(lib.tensor, lengths)),
        LOGITS.astype(dtype),
        1e-9 if dtype == "float64" else 2e-5,
    )


def test_concatenated_targets() -> None:
    row = np.concatenate([labels[:count] for labels, count in zip(TARGETS, [4, 3, 0, 2], strict=True)])
    compare(
        lambda lib, x: lib.nn.functional.ctc_loss(
            x, lib.tensor(row), tuple(FRAMES.tolist()), (4, 3, 0, 2), reduction="none"
        )
    )


def test_another_blank() -> None:
    compare(
        lambda lib, x: lib.nn.functional.ctc_loss(
            x, lib.tensor(TARGETS - 1), lib.tensor(FRAMES), lib.tensor([3, 3, 1, 2]), blank=4
        )
    )


def test_one_sample() -> None:
    compare(
        lambda lib, x: lib.nn.functional.ctc_loss(x, lib.tensor([1, 2, 2]), lib.tensor(T), lib.tensor(3)), LOGITS[:, 0]
    )


@pytest.mark.parametrize("reduction", ["mean", "sum", "none"])
def test_targets_longer_than_the_input(reduction: Any) -> None:
    """Four frames cannot hold 1 1 1 with the blanks between."""
    ours = F.ctc_loss(*arguments(engine), reduction="none")
    assert np.isinf(ours.numpy()).tolist() == [False, False, False, True]
    compare(lambda lib, x: lib.nn.functional.ctc_loss(x, *arguments(lib)[1:], reduction=reduction, zero_infinity=True))


def arguments(library: Any) -> list[Any]:
    return [library.tensor(LOGITS).log_softmax(-1), *map(library.tensor, (TARGETS, FRAMES, COUNTS))]


def test_on_meta() -> None:
    log_probs = engine.zeros(7, Dim("N"), C, device="meta")
    targets = engine.zeros(Dim("N"), S, device="meta", dtype=engine.int64)
    lengths = engine.zeros(Dim("N"), device="meta", dtype=engine.int64)
    assert nn.CTCLoss()(log_probs, targets, lengths, lengths).shape == ()


@pytest.mark.parametrize("zero_infinity", [False, True])
def test_second_gradients_equal_finite_differences_and_third_are_refused(zero_infinity: bool) -> None:
    scores = engine.tensor(LOGITS, dtype=engine.float64, requires_grad=True)

    def loss(scores: Any) -> Any:
        counts = engine.tensor([4, 3, 1, 2] if not zero_infinity else COUNTS)
        rest = (engine.tensor(TARGETS), engine.tensor(FRAMES), counts)
        return F.ctc_loss(scores.log_softmax(-1), *rest, zero_infinity=zero_infinity)

    assert gradgradcheck(loss, [scores], eps=1e-5, atol=1e-6, rtol=1e-4)
    first = engine.grad(loss(scores), [scores], create_graph=True)[0]
    second = (first * first).sum()
    with pytest.raises(AutogradError, match="first and second derivatives only"):
        engine.grad(second, [scores], create_graph=True)


@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        ({"blank": 7}, ValueError, "blank=7"),
        (
            {"input_lengths": engine.tensor([10, 7, 5, 4])},
            ShapeError,
            "the input length 10 exceeds the size 9 of log_probs",
        ),
        (
            {"target_lengths": engine.tensor([5, 1, 1, 1])},
            ShapeError,
            "the target length 5 exceeds the size 4 of targets",
        ),
        ({"target_lengths": engine.tensor([1, 1])}, ShapeError, "4 samples, but there are 2 lengths"),
        ({"targets": engine.tensor([1, 2, 3])}, ShapeError, "targets has 3 labels, but target_lengths sum to 12"),
        ({"log_probs": engine.zeros(3)}, ShapeError, "T×N×C"),
    ],
)
def test_refused_arguments(change: dict[str, Any], error: type[Exception], message: str) -> None:
    names = ("log_probs", "targets", "input_lengths", "target_lengths")
    with pytest.raises(error, match=message):
        F.ctc_loss(**{**dict(zip(names, arguments(engine), strict=True)), **change})


def test_lengths_are_all_frames_and_labels_by_default() -> None:
    log_probs = engine.randn(7, 3, 5).log_softmax(-1)
    targets = engine.tensor([[1, 2, 3], [2, 2, 4], [4, 1, 1]])
    full = nn.CTCLoss()(log_probs, targets, engine.tensor([7, 7, 7]), engine.tensor([3, 3, 3]))
    assert nn.CTCLoss()(log_probs, targets).item() == full.item()
    short = nn.CTCLoss()(log_probs, targets, target_lengths=engine.tensor([3, 2, 1]))
    expected = nn.CTCLoss()(log_probs, targets, engine.tensor([7, 7, 7]), engine.tensor([3, 2, 1]))
    assert short.item() == expected.item()

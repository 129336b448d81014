"""The loss of a sequence of labels whose alignment with the input is unknown."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from engine.amp.cast_policy import listed
from engine.errors import ShapeError
from engine.nn.functional.reduction import Reduction, reduce_loss
from engine.ops.ctc import ctc_loss_op
from engine.ops.elementwise.selection import where
from engine.shape import format_shape
from engine.tensors import Tensor
from engine.tensors.creation import as_tensor


@listed
def ctc_loss(
    log_probs: Tensor,
    targets: Tensor,
    input_lengths: Tensor | Sequence[int],
    target_lengths: Tensor | Sequence[int],
    blank: int = 0,
    reduction: Reduction = "mean",
    zero_infinity: bool = False,
) -> Tensor:
    """How surprising `targets` are, over all alignments (Graves et al., ICML 2006).

    Args:
        log_probs: ``T×N×C`` or ``T×C``, log-probabilities as `log_softmax` gives them
        targets: ``N×S``, or the labels of all samples in a row
        input_lengths: how many frames each sample has, at most T
        target_lengths: how many labels each sample has
        blank: the label that stands for no label
        reduction: the mean divides each loss by its target's length first
        zero_infinity: targets that are too long for their input count as 0 instead of ∞
    """
    batched = log_probs.ndim == 3
    if log_probs.ndim not in (2, 3):
        raise ShapeError(f"ctc_loss: log_probs must be T×N×C or T×C, not {format_shape(log_probs.shape)}")
    if not 0 <= blank < log_probs.shape[-1]:
        raise ValueError(f"ctc_loss: blank={blank} is none of the {log_probs.shape[-1]} labels")
    if not batched:
        log_probs, targets = log_probs.unsqueeze(1), targets.reshape(1, -1)
    frames, counts = _lengths(input_lengths, log_probs), _lengths(target_lengths, log_probs)
    if not log_probs.is_meta:
        targets = _padded(targets, counts)
        _check(log_probs, targets, frames, counts)
    elif targets.ndim == 1:
        targets = targets.new_zeros((log_probs.shape[1], 1))
    loss = ctc_loss_op(log_probs, targets, frames, counts, blank=blank)
    possible = loss.detach().isfinite()
    loss = loss + _as_after_log_softmax(log_probs, frames, possible)
    if zero_infinity:
        loss = where(possible, loss, 0.0)
    if reduction == "mean":
        loss = loss / counts.clamp(min=1).to(loss.dtype)
    return reduce_loss(loss if batched else loss.squeeze(0), reduction)


def _as_after_log_softmax(log_probs: Tensor, frames: Tensor, possible: Tensor) -> Tensor:
    """0, with the gradient that PyTorch adds: it takes `log_probs` to come from log_softmax, and is 0 before that."""
    if not log_probs.requires_grad:
        return log_probs.new_zeros(())
    time = as_tensor(np.arange(log_probs.shape[0])).to(device=log_probs.device)
    counted = (time.unsqueeze(1) < frames) & possible
    chances = where(counted, log_probs.exp().sum(-1), 0.0).sum(0)
    return chances - chances.detach()


def _lengths(given: Any, log_probs: Tensor) -> Tensor:
    lengths = as_tensor(given).reshape(-1).to(device=log_probs.device)
    if not log_probs.is_meta and lengths.numel() != log_probs.shape[1]:
        raise ShapeError(f"ctc_loss: {log_probs.shape[1]} samples need as many lengths, not {lengths.numel()}")
    return lengths.long()


def _padded(targets: Tensor, counts: Tensor) -> Tensor:
    """Labels in a row as samples × places; places past the end repeat some label, which nobody looks at."""
    if targets.ndim != 1:
        return targets.long()
    numbers = np.asarray(counts.tolist())
    if targets.numel() != numbers.sum():
        raise ShapeError(
            f"ctc_loss: there are {targets.numel()} labels in a row, but the lengths add up to {numbers.sum()}"
        )
    places = (np.cumsum(numbers) - numbers)[:, None] + np.arange(max(numbers, default=0))
    at = as_tensor(np.minimum(places, max(targets.numel() - 1, 0))).to(device=targets.device)
    return targets.long()[at]


def _check(log_probs: Tensor, targets: Tensor, frames: Tensor, counts: Tensor) -> None:
    for name, lengths, most in (("input", frames, log_probs.shape[0]), ("target", counts, targets.shape[1])):
        longest = max(lengths.tolist(), default=0)
        if longest > most:
            raise ShapeError(f"ctc_loss: a length of {longest} is longer than the {name}, which has {most}")

"""Connectionist temporal classification (CTC) loss."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from engine.amp.cast_policy import cast_by_name
from engine.errors import ShapeError
from engine.nn.functional.reduction import Reduction, reduce_loss
from engine.ops.ctc import ctc_loss_op
from engine.ops.elementwise.selection import where
from engine.shape import format_shape
from engine.tensors import Tensor
from engine.tensors.creation import as_tensor


@cast_by_name
def ctc_loss(
    log_probs: Tensor,
    targets: Tensor,
    input_lengths: Tensor | Sequence[int],
    target_lengths: Tensor | Sequence[int],
    blank: int = 0,
    reduction: Reduction = "mean",
    zero_infinity: bool = False,
) -> Tensor:
    """Negative log likelihood of label sequences, summed over all alignments (Graves et al., ICML 2006).

    Args:
        log_probs: log probabilities ``(T, N, C)`` or ``(T, C)``, for example from `log_softmax`
        targets: labels ``(N, S)``, or the concatenated labels of all samples
        input_lengths: number of frames of each sample, at most T
        target_lengths: number of labels of each sample
        blank: index of the blank label
        reduction: reduction over the samples; the mean first divides each loss by its target length
        zero_infinity: replace infinite losses of targets that are too long for their input by 0
    """
    batched = log_probs.ndim == 3
    if log_probs.ndim not in (2, 3):
        raise ShapeError(f"ctc_loss: log_probs must be T×N×C or T×C, not {format_shape(log_probs.shape)}")
    if not 0 <= blank < log_probs.shape[-1]:
        raise ValueError(f"ctc_loss: blank={blank} is out of range for {log_probs.shape[-1]} labels")
    if not batched:
        log_probs, targets = log_probs.unsqueeze(1), targets.reshape(1, -1)
    frames, counts = _lengths(input_lengths, log_probs), _lengths(target_lengths, log_probs)
    if not log_probs.is_meta:
        targets = _padded(targets, counts)
        _check(log_probs, targets, frames, counts)
    elif targets.ndim == 1:
        targets = targets.new_zeros((log_probs.shape[1], 1))
    loss = ctc_loss_op(log_probs, targets, frames, counts, blank=blank)
    is_finite = loss.detach().isfinite()
    loss = loss + _softmax_gradient_correction(log_probs, frames, is_finite)
    if zero_infinity:
        loss = where(is_finite, loss, 0.0)
    if reduction == "mean":
        loss = loss / counts.clamp(min=1).to(loss.dtype)
    return reduce_loss(loss if batched else loss.squeeze(0), reduction)


def _softmax_gradient_correction(log_probs: Tensor, frames: Tensor, is_finite: Tensor) -> Tensor:
    """Zero with the extra gradient of PyTorch, which assumes that `log_probs` are outputs of log_softmax."""
    if not log_probs.requires_grad:
        return log_probs.new_zeros(())
    time = as_tensor(np.arange(log_probs.shape[0])).to(device=log_probs.device)
    counted = (time.unsqueeze(1) < frames) & is_finite
    probability_sums = where(counted, log_probs.exp().sum(-1), 0.0).sum(0)
    return probability_sums - probability_sums.detach()


def _lengths(values: Any, log_probs: Tensor) -> Tensor:
    lengths = as_tensor(values).reshape(-1).to(device=log_probs.device)
    if not log_probs.is_meta and lengths.numel() != log_probs.shape[1]:
        raise ShapeError(
            f"ctc_loss: log_probs has {log_probs.shape[1]} samples, but there are {lengths.numel()} lengths"
        )
    return lengths.long()


def _padded(targets: Tensor, counts: Tensor) -> Tensor:
    """Concatenated labels as (samples, positions); positions past the end hold arbitrary labels."""
    if targets.ndim != 1:
        return targets.long()
    numbers = np.asarray(counts.tolist())
    if targets.numel() != numbers.sum():
        raise ShapeError(f"ctc_loss: targets has {targets.numel()} labels, but target_lengths sum to {numbers.sum()}")
    positions = (np.cumsum(numbers) - numbers)[:, None] + np.arange(max(numbers, default=0))
    indices = as_tensor(np.minimum(positions, max(targets.numel() - 1, 0))).to(device=targets.device)
    return targets.long()[indices]


def _check(log_probs: Tensor, targets: Tensor, frames: Tensor, counts: Tensor) -> None:
    for name, tensor, lengths, limit in (
        ("input", "log_probs", frames, log_probs.shape[0]),
        ("target", "targets", counts, targets.shape[1]),
    ):
        longest = max(lengths.tolist(), default=0)
        if longest > limit:
            raise ShapeError(f"ctc_loss: the {name} length {longest} exceeds the size {limit} of {tensor}")

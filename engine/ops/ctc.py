"""Connectionist temporal classification (CTC): the likelihood of labels over all alignments, in log space."""

from __future__ import annotations

from typing import Any

from engine.errors import AutogradError
from engine.modes import MODES
from engine.ops.record import op
from engine.shape import Spec


def _samples(s: Any) -> Any:
    logits = s.normal(5, 2, 4)
    labels, frames, counts = s.integers(3, 2, 2) + 1, s.integers(1, 2) + 5, s.integers(1, 2) + 2
    return [((logits, labels, frames, counts), {"blank": 0}), ((logits, labels, frames - 1, counts - 1), {"blank": 3})]


@op("other", floats=True, method=False, unpromoted=("targets", "frames", "counts"), sample=_samples)
def ctc_loss_op(xp, log_probs, targets, frames, counts, blank: int):
    """Negative log-likelihood of `targets` for each sample (Graves et al., ICML 2006).

    Args:
        log_probs: frames × samples × labels
        targets: samples × positions
        frames: number of valid frames of each sample
        counts: number of valid targets of each sample
        blank: label of the blank
    """
    states, can_skip = _extended_labels(xp, targets, blank)
    return -_log_likelihood(xp, _forward(xp, _label_log_probs(xp, log_probs, states), can_skip, counts), frames, counts)


@ctc_loss_op.shape
def _(log_probs: Spec, targets: Spec, frames: Spec, counts: Spec, blank: int):
    return Spec((log_probs.shape[1],), log_probs.dtype)


@ctc_loss_op.gradient("log_probs")
def _(g, log_probs, targets, frames, counts, blank):
    return -g.unsqueeze(0).unsqueeze(-1) * ctc_posterior(log_probs, targets, frames, counts, blank)


@op("other", floats=True, method=False, unpromoted=("targets", "frames", "counts"), sample=_samples)
def ctc_posterior(xp, log_probs, targets, frames, counts, blank: int):
    """Posterior probability of each label in each frame, given `targets`. Arguments are those of `ctc_loss`."""
    states, can_skip = _extended_labels(xp, targets, blank)
    emissions = _label_log_probs(xp, log_probs, states)
    forward, backward = _forward(xp, emissions, can_skip, counts), _backward(xp, emissions, can_skip, frames, counts)
    total = _log_likelihood(xp, forward, frames, counts)
    posterior_terms = xp.exp(forward + backward - xp.where(xp.isfinite(total), total, xp.inf)[:, None])
    posterior = xp.zeros_like(log_probs)
    frame, sample = xp.arange(len(log_probs))[:, None, None], xp.arange(len(states))[:, None]
    xp.add.at(posterior, (frame, sample, states), posterior_terms)
    return posterior


@ctc_posterior.shape
def _(log_probs: Spec, targets: Spec, frames: Spec, counts: Spec, blank: int):
    return log_probs


@ctc_posterior.gradient("log_probs")
def _(g, log_probs, targets, frames, counts, blank):
    if MODES.grad and (log_probs.requires_grad or g.requires_grad):
        raise AutogradError(
            "ctc_loss supports first and second derivatives only.", in_code="Leave out create_graph=True."
        )
    return ctc_posterior_jvp(log_probs, g, targets, frames, counts, blank=blank)


@op("other", floats=True, method=False, unpromoted=("targets", "frames", "counts"), sample=lambda s: [
    ((args[0], s.normal(*args[0].shape), *args[1:]), kwargs) for args, kwargs in _samples(s)
])  # fmt: skip
def ctc_posterior_jvp(xp, log_probs, direction, targets, frames, counts, blank: int):
    """Derivative of the posterior along `direction` of the log-probabilities. Other arguments are those of `ctc_loss`.

    This is a product with the Hessian, which is symmetric, so it is the vector-Jacobian product as well.
    """
    states, can_skip = _extended_labels(xp, targets, blank)
    emissions, tangents = _label_log_probs(xp, log_probs, states), _label_log_probs(xp, direction, states)
    forward, backward = _forward(xp, emissions, can_skip, counts), _backward(xp, emissions, can_skip, frames, counts)
    total = _log_likelihood(xp, forward, frames, counts)
    posterior_terms = xp.exp(forward + backward - xp.where(xp.isfinite(total), total, xp.inf)[:, None])
    forward_tangents = _forward_tangents(xp, emissions, forward, tangents, can_skip)
    backward_tangents = _backward_tangents(xp, emissions, backward, tangents, can_skip, frames)
    out = xp.zeros_like(log_probs)
    if not len(log_probs):
        return out
    tangent = forward_tangents + backward_tangents
    total_tangent = (posterior_terms * tangent)[0].sum(axis=-1)  # all alignments pass through the first frame
    frame, sample = xp.arange(len(log_probs))[:, None, None], xp.arange(len(states))[:, None]
    xp.add.at(out, (frame, sample, states), posterior_terms * (tangent - total_tangent[:, None]))
    return out


@ctc_posterior_jvp.shape
def _(log_probs: Spec, direction: Spec, targets: Spec, frames: Spec, counts: Spec, blank: int):
    return log_probs


# -- forward-backward algorithm ---------------------------------------------------------------


def _extended_labels(xp: Any, targets: Any, blank: int) -> tuple[Any, Any]:
    """Labels with blanks between them, and a mask of the labels that can follow the previous label without a blank."""
    states = xp.full((len(targets), 2 * targets.shape[1] + 1), blank, dtype=xp.int64)
    states[:, 1::2] = targets
    can_skip = xp.zeros(states.shape, dtype=bool)
    can_skip[:, 2:] = (states[:, 2:] != blank) & (states[:, 2:] != states[:, :-2])
    return states, can_skip


def _label_log_probs(xp: Any, log_probs: Any, states: Any) -> Any:
    """Log-probability of each state in each frame, frames × samples × states."""
    return log_probs[:, xp.arange(len(states))[:, None], states]


def _log_likelihood(xp: Any, forward: Any, frames: Any, counts: Any) -> Any:
    """Log-likelihood of all alignments, which end in the last label or the blank after it."""
    impossible = xp.asarray(-xp.inf, forward.dtype)
    if not len(forward):
        return xp.where(counts > 0, impossible, 0)
    last, sample = xp.maximum(frames - 1, 0), xp.arange(len(counts))
    label = xp.where(counts > 0, forward[last, sample, xp.maximum(2 * counts - 1, 0)], impossible)
    total = xp.logaddexp(forward[last, sample, 2 * counts], label)
    return xp.where(frames > 0, total, xp.where(counts > 0, impossible, 0))


def _forward(xp: Any, emissions: Any, can_skip: Any, counts: Any) -> Any:
    """Log-probability of the frames up to each frame, ending in each state."""
    alpha = xp.full_like(emissions, -xp.inf)
    if not len(emissions):
        return alpha
    alpha[0, :, :1] = emissions[0, :, :1]
    alpha[0, :, 1:2] = xp.where(counts[:, None] > 0, emissions[0, :, 1:2], -xp.inf)
    for t in range(1, len(emissions)):
        before, current = alpha[t - 1], alpha[t]
        current[...] = before
        current[:, 1:] = xp.logaddexp(current[:, 1:], before[:, :-1])
        current[:, 2:] = xp.where(can_skip[:, 2:], xp.logaddexp(current[:, 2:], before[:, :-2]), current[:, 2:])
        current += emissions[t]
    return alpha


def _backward(xp: Any, emissions: Any, can_skip: Any, frames: Any, counts: Any) -> Any:
    """Log-probability of the frames after each frame, starting in each state."""
    beta = xp.full_like(emissions, -xp.inf)
    state, end = xp.arange(emissions.shape[2]), 2 * counts[:, None]
    last = xp.where((state == end) | (state == end - 1), xp.asarray(0.0, emissions.dtype), -xp.inf)
    for t in range(len(emissions) - 1, -1, -1):
        current = beta[t]
        if t + 1 < len(emissions):
            after = beta[t + 1] + emissions[t + 1]
            current[...] = after
            current[:, :-1] = xp.logaddexp(current[:, :-1], after[:, 1:])
            skipped = xp.logaddexp(current[:, :-2], after[:, 2:])
            current[:, :-2] = xp.where(can_skip[:, 2:], skipped, current[:, :-2])
        current[...] = xp.where((frames == t + 1)[:, None], last, current)
    return beta


def _probability_ratio(xp: Any, numerator: Any, denominator: Any) -> Any:
    """e^(numerator − denominator), or 0 where both are −∞."""
    return xp.where(xp.isfinite(denominator), xp.exp(numerator - xp.where(xp.isfinite(denominator), denominator, 0)), 0)


def _forward_tangents(xp: Any, emissions: Any, forward: Any, tangents: Any, can_skip: Any) -> Any:
    """Derivative of `_forward` for emissions that change by `tangents`."""
    result = tangents.copy()
    for t in range(1, len(emissions)):
        before, denominator = forward[t - 1], forward[t] - emissions[t]
        result[t] += _probability_ratio(xp, before, denominator) * result[t - 1]
        result[t, :, 1:] += _probability_ratio(xp, before[:, :-1], denominator[:, 1:]) * result[t - 1, :, :-1]
        skipped = _probability_ratio(xp, before[:, :-2], denominator[:, 2:]) * result[t - 1, :, :-2]
        result[t, :, 2:] += xp.where(can_skip[:, 2:], skipped, 0)
    return result


def _backward_tangents(xp: Any, emissions: Any, backward: Any, tangents: Any, can_skip: Any, frames: Any) -> Any:
    """Derivative of `_backward` for emissions that change by `tangents`."""
    result = xp.zeros_like(tangents)
    for t in range(len(emissions) - 2, -1, -1):
        after, denominator, tangent = backward[t + 1] + emissions[t + 1], backward[t], result[t + 1] + tangents[t + 1]
        current = _probability_ratio(xp, after, denominator) * tangent
        current[:, :-1] += _probability_ratio(xp, after[:, 1:], denominator[:, :-1]) * tangent[:, 1:]
        skipped = _probability_ratio(xp, after[:, 2:], denominator[:, :-2]) * tangent[:, 2:]
        current[:, :-2] += xp.where(can_skip[:, 2:], skipped, 0)
        result[t] = xp.where((frames == t + 1)[:, None], 0, current)
    return result

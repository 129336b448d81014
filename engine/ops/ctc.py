"""Connectionist temporal classification: all alignments of a sequence with its labels, summed in log space."""

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


@op("other", floats=True, method=False, masks=("targets", "frames", "counts"), sample=_samples)
def ctc_loss_op(xp, log_probs, targets, frames, counts, blank: int):
    """How surprising `targets` are, for each sample.

    `log_probs` is frames × samples × labels, `targets` samples × positions, with `counts` valid ones;
    `frames` are the lengths of the inputs. Graves et al., "Connectionist temporal classification", ICML 2006.
    """
    states, may_skip = _states(xp, targets, blank)
    return -_total(xp, _forward(xp, _emitted(xp, log_probs, states), may_skip, counts), frames, counts)


@ctc_loss_op.shape
def _(log_probs: Spec, targets: Spec, frames: Spec, counts: Spec, blank: int):
    return Spec((log_probs.shape[1],), log_probs.dtype)


@ctc_loss_op.gradient("log_probs")
def _(g, log_probs, targets, frames, counts, blank):
    return -g.unsqueeze(0).unsqueeze(-1) * ctc_posterior(log_probs, targets, frames, counts, blank)


@op("other", floats=True, method=False, masks=("targets", "frames", "counts"), sample=_samples)
def ctc_posterior(xp, log_probs, targets, frames, counts, blank: int):
    """How likely each frame shows each label if `targets` are right; arguments as of `ctc_loss`."""
    states, may_skip = _states(xp, targets, blank)
    emitted = _emitted(xp, log_probs, states)
    forward, backward = _forward(xp, emitted, may_skip, counts), _backward(xp, emitted, may_skip, frames, counts)
    total = _total(xp, forward, frames, counts)
    share = xp.exp(forward + backward - xp.where(xp.isfinite(total), total, xp.inf)[:, None])
    posterior = xp.zeros_like(log_probs)
    frame, sample = xp.arange(len(log_probs))[:, None, None], xp.arange(len(states))[:, None]
    xp.add.at(posterior, (frame, sample, states), share)
    return posterior


@ctc_posterior.shape
def _(log_probs: Spec, targets: Spec, frames: Spec, counts: Spec, blank: int):
    return log_probs


@ctc_posterior.gradient("log_probs")
def _(g, log_probs, targets, frames, counts, blank):
    if MODES.grad and (log_probs.requires_grad or g.requires_grad):
        raise AutogradError(
            "ctc_loss has gradients of its gradients, but no third ones.", in_code="Leave out create_graph=True."
        )
    return ctc_posterior_jvp(log_probs, g, targets, frames, counts, blank=blank)


@op("other", floats=True, method=False, masks=("targets", "frames", "counts"), sample=lambda s: [
    ((args[0], s.normal(*args[0].shape), *args[1:]), kwargs) for args, kwargs in _samples(s)
])  # fmt: skip
def ctc_posterior_jvp(xp, log_probs, direction, targets, frames, counts, blank: int):
    """How the posterior changes when the log-probabilities move in a direction; arguments as of `ctc_loss`.

    That is the product of a matrix of second derivatives, which is symmetric, with the direction.
    """
    states, may_skip = _states(xp, targets, blank)
    emitted, slope = _emitted(xp, log_probs, states), _emitted(xp, direction, states)
    forward, backward = _forward(xp, emitted, may_skip, counts), _backward(xp, emitted, may_skip, frames, counts)
    total = _total(xp, forward, frames, counts)
    share = xp.exp(forward + backward - xp.where(xp.isfinite(total), total, xp.inf)[:, None])
    ahead = _forward_slope(xp, emitted, forward, slope, may_skip)
    behind = _backward_slope(xp, emitted, backward, slope, may_skip, frames)
    found = xp.zeros_like(log_probs)
    if not len(log_probs):
        return found
    turn = ahead + behind
    of_total = (share * turn)[0].sum(axis=-1)  # all alignments pass through the first frame
    frame, sample = xp.arange(len(log_probs))[:, None, None], xp.arange(len(states))[:, None]
    xp.add.at(found, (frame, sample, states), share * (turn - of_total[:, None]))
    return found


@ctc_posterior_jvp.shape
def _(log_probs: Spec, direction: Spec, targets: Spec, frames: Spec, counts: Spec, blank: int):
    return log_probs


# -- the recursions ---------------------------------------------------------------------------


def _states(xp: Any, targets: Any, blank: int) -> tuple[Any, Any]:
    """The labels with blanks between, and which of them may follow the label before without a blank."""
    states = xp.full((len(targets), 2 * targets.shape[1] + 1), blank, dtype=xp.int64)
    states[:, 1::2] = targets
    may_skip = xp.zeros(states.shape, dtype=bool)
    may_skip[:, 2:] = (states[:, 2:] != blank) & (states[:, 2:] != states[:, :-2])
    return states, may_skip


def _emitted(xp: Any, log_probs: Any, states: Any) -> Any:
    return log_probs[:, xp.arange(len(states))[:, None], states]


def _total(xp: Any, forward: Any, frames: Any, counts: Any) -> Any:
    """The logarithm of how likely all alignments are together: they end in the last label, or the blank after it."""
    impossible = xp.asarray(-xp.inf, forward.dtype)
    if not len(forward):
        return xp.where(counts > 0, impossible, 0)
    last, sample = xp.maximum(frames - 1, 0), xp.arange(len(counts))
    label = xp.where(counts > 0, forward[last, sample, xp.maximum(2 * counts - 1, 0)], impossible)
    total = xp.logaddexp(forward[last, sample, 2 * counts], label)
    return xp.where(frames > 0, total, xp.where(counts > 0, impossible, 0))


def _forward(xp: Any, emitted: Any, may_skip: Any, counts: Any) -> Any:
    """The logarithm of how likely the frames up to each one are, ending in each state."""
    found = xp.full_like(emitted, -xp.inf)
    if not len(emitted):
        return found
    found[0, :, :1] = emitted[0, :, :1]
    found[0, :, 1:2] = xp.where(counts[:, None] > 0, emitted[0, :, 1:2], -xp.inf)
    for t in range(1, len(emitted)):
        before, now = found[t - 1], found[t]
        now[...] = before
        now[:, 1:] = xp.logaddexp(now[:, 1:], before[:, :-1])
        now[:, 2:] = xp.where(may_skip[:, 2:], xp.logaddexp(now[:, 2:], before[:, :-2]), now[:, 2:])
        now += emitted[t]
    return found


def _backward(xp: Any, emitted: Any, may_skip: Any, frames: Any, counts: Any) -> Any:
    """The logarithm of how likely the frames after each one are, beginning in each state."""
    found = xp.full_like(emitted, -xp.inf)
    state, end = xp.arange(emitted.shape[2]), 2 * counts[:, None]
    last = xp.where((state == end) | (state == end - 1), xp.asarray(0.0, emitted.dtype), -xp.inf)
    for t in range(len(emitted) - 1, -1, -1):
        now = found[t]
        if t + 1 < len(emitted):
            after = found[t + 1] + emitted[t + 1]
            now[...] = after
            now[:, :-1] = xp.logaddexp(now[:, :-1], after[:, 1:])
            skipping = xp.logaddexp(now[:, :-2], after[:, 2:])
            now[:, :-2] = xp.where(may_skip[:, 2:], skipping, now[:, :-2])
        now[...] = xp.where((frames == t + 1)[:, None], last, now)
    return found


def _share_of(xp: Any, part: Any, whole: Any) -> Any:
    """e^(part − whole), and 0 where both are impossible."""
    return xp.where(xp.isfinite(whole), xp.exp(part - xp.where(xp.isfinite(whole), whole, 0)), 0)


def _forward_slope(xp: Any, emitted: Any, forward: Any, slope: Any, may_skip: Any) -> Any:
    """How `_forward` changes when what is emitted changes by `slope`."""
    found = slope.copy()
    for t in range(1, len(emitted)):
        before, whole = forward[t - 1], forward[t] - emitted[t]
        found[t] += _share_of(xp, before, whole) * found[t - 1]
        found[t, :, 1:] += _share_of(xp, before[:, :-1], whole[:, 1:]) * found[t - 1, :, :-1]
        skipping = _share_of(xp, before[:, :-2], whole[:, 2:]) * found[t - 1, :, :-2]
        found[t, :, 2:] += xp.where(may_skip[:, 2:], skipping, 0)
    return found


def _backward_slope(xp: Any, emitted: Any, backward: Any, slope: Any, may_skip: Any, frames: Any) -> Any:
    """How `_backward` changes when what is emitted changes by `slope`."""
    found = xp.zeros_like(slope)
    for t in range(len(emitted) - 2, -1, -1):
        after, whole, turn = backward[t + 1] + emitted[t + 1], backward[t], found[t + 1] + slope[t + 1]
        now = _share_of(xp, after, whole) * turn
        now[:, :-1] += _share_of(xp, after[:, 1:], whole[:, :-1]) * turn[:, 1:]
        skipping = _share_of(xp, after[:, 2:], whole[:, :-2]) * turn[:, 2:]
        now[:, :-2] += xp.where(may_skip[:, 2:], skipping, 0)
        found[t] = xp.where((frames == t + 1)[:, None], 0, now)
    return found

"""What losses of training and validation say about fitting: overfitting, underfitting, targets without relation."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from engine import fit
from studio.document import edits
from studio.document.model import Endpoint, Node
from studio.lowering.problems import quick_fixes
from studio.lowering.problems.problem import Fix, Problem
from studio.training.diagnosis.run_facts import RunFacts
from studio.training.diagnosis.training_curves import TrainingCurves

OVERFITTED = 1.3
"""Ratio of the validation loss to its minimum. Templates stay below 1.2 at full length."""
_OVERFITTED_EPOCHS, _RISING_EPOCHS = 5, 3
"""Epochs after the minimum, and how many suffice if each is worse than the one before: validation losses of small sets
vary from epoch to epoch."""
_MEMORIZED, _MEMORIZED_RISE = 0.15, 1.1
"""Ratio of the training loss to that in the epoch of the minimum at which samples are memorized, and the smaller ratio
of the validation loss to its minimum that is a warning then."""
_MEMORIZED_LOSS, _LEVEL_EPOCHS, _LEVEL = 0.01, 8, 0.05
"""Ratio of the training to the validation loss at which samples are memorized, and the epochs in which the
validation loss varies by no more than a share."""
_HARD = 0.3
"""Ratio of the lowest validation loss to that of the untrained network above which most of the task is not solved."""
_SMALL = 0.05
"""Ratio of the validation loss to the loss of the untrained network below which a rise does no harm."""
_LEARNED = 0.5
"""Ratio of the training loss to that of the untrained network below which training samples are known."""
_STILL_LEARNING = 0.7
"""Ratio of the training loss to that in the epoch of the minimum: training goes on while validation gets worse."""
_UNRELATED = 0.98
"""Ratio of the lowest validation loss to the loss of the untrained network from which nothing was learned."""
_FITTED = 0.9
"""Ratio of the training loss to that of the untrained network. A network that does not even fit its training samples
may only need more time."""
_BELOW = 0.93
"""Ratio of the training loss to that of the best constant below which training samples are memorized."""
_UNRELATED_EPOCHS = 5
_MEMORIZES, _TRANSFERRED = 0.004, 0.2
"""Share of the training loss that memorizing samples gains, and share of it that the validation loss gains, too."""
_UNRELATED_STEPS = 100
_UNDERFITTED_EPOCHS = 10
_PLATEAU = 0.15
"""Improvement of the training loss in the last third of the epochs, as a share of what the run has gained."""
_HIGH, _LOW = 0.8, 0.15
"""Ratio of the training loss to that of the untrained network between which a plateau is an underfit."""
_FLAT_LINEAR = 0.03
"""Improvement of the training loss since the second epoch up to which a linear model has learned nothing."""
_FEW_PARAMETERS = 0.5
"""Parameters per training sample below which a network is small."""


def find_overfitting(curves: TrainingCurves, facts: RunFacts) -> Problem | None:
    """A validation loss that rises for epochs while the training loss falls."""
    validated = [(each, each.val_loss) for each in curves.epochs if each.val_loss is not None]
    if len(validated) <= _RISING_EPOCHS or facts.document.training.patience is not None:
        return None
    best, lowest = min(validated, key=lambda pair: pair[1])
    now, last = validated[-1]
    after = [value for each, value in validated if each.epoch > best.epoch]
    if (memorized := _memorized(validated, curves, facts)) is not None:
        return memorized
    if lowest <= 0 or len(after) < _RISING_EPOCHS:
        return None
    is_rising = after[-1] >= OVERFITTED * lowest and all(later > earlier for earlier, later in pairwise(after))
    if len(after) < _OVERFITTED_EPOCHS and not is_rising:
        return None
    is_memorized = now.train_loss <= _MEMORIZED * best.train_loss and lowest >= _HARD * curves.first
    needed = (_MEMORIZED_RISE if is_memorized else OVERFITTED) * lowest
    recent = last if is_rising else min(after[-3:])
    if recent < max(needed, _SMALL * curves.first) or now.train_loss > _STILL_LEARNING * best.train_loss:
        return None
    later_epochs = [each.train_loss for each in curves.epochs if each.epoch > best.epoch]
    rises = sum(later > earlier for earlier, later in pairwise(later_epochs))
    if rises > len(after) / 3:  # an oscillating loss
        return None
    if now.train_loss > _LEARNED * curves.first and not facts.starts_trained:
        return None
    message = (
        f"The network overfits since epoch {best.epoch}: by epoch {now.epoch} the validation loss rose from "
        f"{lowest:.3g} to {last:.3g} while the training loss fell from {best.train_loss:.3g} to {now.train_loss:.3g}. "
        f"Set patience to 3, so that training stops soon after its best epoch, or add dropout or data."
    )
    evidence = {
        "since_epoch": best.epoch,
        "lowest_val_loss": lowest,
        "val_loss": last,
        "train_loss": now.train_loss,
        "epoch": now.epoch,
    }
    fix = _training_fix("patience", 3, "It keeps the weights of the best epoch and saves the time after it.")
    return Problem("warning", "overfitting", message, node=facts.optimizer, fix=fix, evidence=evidence)


def _memorized(validated: Sequence[tuple[fit.Epoch, float]], curves: TrainingCurves, facts: RunFacts) -> Problem | None:
    """Training samples that are memorized while the validation loss has been level, and high, for epochs."""
    recent = [value for _, value in validated[-_LEVEL_EPOCHS:]]
    now, last = validated[-1]
    if len(validated) <= _LEVEL_EPOCHS or min(recent) < _HARD * curves.first or facts.starts_trained:
        return None
    if now.train_loss > _MEMORIZED_LOSS * last or max(recent) > (1 + _LEVEL) * min(recent) or now.train_loss < 0:
        return None
    since = next(each for each, value in validated if value <= (1 + _LEVEL) * min(recent))
    message = (
        f"The network overfits: since epoch {since.epoch} the validation loss stays at {last:.3g} while the training "
        f"loss fell from {since.train_loss:.3g} to {now.train_loss:.3g}, so it memorizes the training samples. "
        "Set patience to 3, so that training stops soon after its best epoch, or add dropout or data."
    )
    evidence = {"since_epoch": since.epoch, "val_loss": last, "train_loss": now.train_loss, "epoch": now.epoch}
    fix = _training_fix("patience", 3, "It saves the time after the best epoch.")
    return Problem("warning", "overfitting", message, node=facts.optimizer, fix=fix, evidence=evidence)


def find_unrelated_targets(curves: TrainingCurves, facts: RunFacts) -> Problem | None:
    """A validation loss that never got better than that of the untrained network, whatever was learned."""
    validated = [each.val_loss for each in curves.epochs if each.val_loss is not None]
    if len(validated) < _UNRELATED_EPOCHS or curves.steps < _UNRELATED_STEPS or curves.first <= 0:
        return None
    start = validated[0]
    constant, is_worse = facts.constant_loss, False
    if constant is not None:  # a network with a bias reaches it at once, whatever its inputs are
        is_worse = curves.epochs[-1].train_loss <= _BELOW * constant and min(validated) >= _UNRELATED * constant
    if not is_worse and (min(validated) < _UNRELATED * curves.first or min(validated) < _UNRELATED * start):
        return None
    is_fitted = is_worse or curves.epochs[-1].train_loss <= _FITTED * curves.first
    if not is_fitted and (facts.is_recurrent or not _only_memorizes(curves.epochs)):
        return None
    reference = _reference(curves, constant if is_worse else None)
    message = (
        f"The network learns nothing that holds for validation data: the validation loss stays at "
        f"{min(validated):.3g} or more, that of {reference}, while the training loss "
        f"fell to {curves.epochs[-1].train_loss:.3g}. "
        "Look in the Data panel whether the targets belong to the inputs."
    )
    evidence = {
        "lowest_val_loss": min(validated),
        "first_loss": curves.first,
        "train_loss": curves.epochs[-1].train_loss,
        "epoch": curves.epochs[-1].epoch,
    }
    return Problem("warning", "unrelated-targets", message, node=facts.data_node, evidence=evidence)


def _reference(curves: TrainingCurves, constant: float | None) -> str:
    if constant is not None:
        return f"a constant output ({constant:.3g})"
    return f"the untrained network ({curves.first:.3g})"


def _only_memorizes(epochs: Sequence[fit.Epoch]) -> bool:
    """Whether the training loss fell a little while the validation loss did not, since the second epoch. A network
    that learns slowly improves both by the same. Recurrent networks can learn nothing for long, and then everything."""
    early, now = epochs[1], epochs[-1]
    if early.val_loss is None or now.val_loss is None:
        return False
    gained = early.train_loss - now.train_loss
    return gained >= _MEMORIZES * early.train_loss and early.val_loss - now.val_loss <= _TRANSFERRED * gained


def find_underfitting(curves: TrainingCurves, facts: RunFacts, started: fit.Started) -> Problem | None:
    """A small network whose training loss stops at a high level. At the end of a run."""
    losses = [each.train_loss for each in curves.epochs]
    if len(losses) < _UNDERFITTED_EPOCHS or curves.first <= 0 or not started.train_samples:
        return None
    level, before = losses[-1] / curves.first, losses[-len(losses) // 3 - 1]
    if facts.only_layer is not None:
        return _linear_underfit(curves, facts.only_layer)
    is_plateau = before - losses[-1] < _PLATEAU * (curves.first - losses[-1])
    is_small = started.parameters < _FEW_PARAMETERS * started.train_samples and facts.narrowest is not None
    val = curves.epochs[-1].val_loss
    node, param, width = facts.narrowest or ("", "", 0)
    more = max(4 * width, 32)
    if not is_plateau or not is_small or not _LOW < level < _HIGH or (val is not None and val > 1.2 * losses[-1]):
        return None
    message = (
        f"The network underfits: its training loss stays at {losses[-1]:.3g} since epoch "
        f"{len(losses) - len(losses) // 3} (untrained: {curves.first:.3g}), with {started.parameters:,} parameters for "
        f"{started.train_samples:,} samples. Set {param} of {node} to {more}, or add layers."
    )
    evidence = {
        "train_loss": losses[-1],
        "first_loss": curves.first,
        "parameters": started.parameters,
        "train_samples": started.train_samples,
    }
    fix = quick_fixes.assign(node, param, more)
    return Problem("hint", "underfitting", message, node=node, fix=fix, evidence=evidence)


def _linear_underfit(curves: TrainingCurves, layer: str) -> Problem | None:
    """A model without a hidden layer whose loss stays that of the untrained one, in training and validation."""
    losses = [each.train_loss for each in curves.epochs]
    if losses[-1] < _FITTED * curves.first or losses[-1] < (1 - _FLAT_LINEAR) * losses[1]:
        return None
    message = (
        f"The network underfits: its training loss stays at {losses[-1]:.3g} since epoch 2 (untrained: "
        f"{curves.first:.3g}). {layer} is its only layer, so it can only separate classes by a plane. Add a hidden "
        "layer with an activation."
    )
    evidence = {"train_loss": losses[-1], "first_loss": curves.first, "epoch": curves.epochs[-1].epoch}
    end = Endpoint(layer, "input")
    steps = [
        quick_fixes.insert(end, Node("nn.Linear", {"out_features": 64}), title="Insert Linear"),
        quick_fixes.insert(end, Node("nn.ReLU"), title="Insert ReLU"),
    ]
    fix = quick_fixes.all_of(steps, "Add a hidden layer")
    return Problem("hint", "underfitting", message, node=layer, fix=fix, evidence=evidence)


def _training_fix(setting: str, value: int, reason: str) -> Fix:
    return Fix(
        f"Set {setting} to {value}",
        lambda document: edits.set_training(document, **{setting: value}),
        (f"training.{setting}={value}",),
        reason=reason,
    )


__all__ = ["find_overfitting", "find_underfitting", "find_unrelated_targets"]

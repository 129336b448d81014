"""What losses of training and validation say about fitting: overfitting, underfitting, targets without relation."""

from __future__ import annotations

from itertools import pairwise

from engine import fit
from studio.document import edits
from studio.lowering.problems import quick_fixes
from studio.lowering.problems.problem import Fix, Problem
from studio.training.diagnosis.run_facts import RunFacts
from studio.training.diagnosis.training_curves import TrainingCurves

OVERFITTED = 1.3
"""Ratio of the validation loss to its minimum. Templates stay below 1.2 at full length."""
_OVERFITTED_EPOCHS = 5
"""Epochs after the minimum, all above it: validation losses of small sets vary from epoch to epoch."""
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
_UNRELATED_EPOCHS = 5
_UNRELATED_STEPS = 100
_UNDERFITTED_EPOCHS = 10
_PLATEAU = 0.02
"""Improvement of the training loss in the last third of the epochs, as a share of the loss."""
_HIGH, _LOW = 0.8, 0.4
"""Ratio of the training loss to that of the untrained network between which a plateau is an underfit."""
_FEW_PARAMETERS = 0.5
"""Parameters per training sample below which a network is small."""


def find_overfitting(curves: TrainingCurves, facts: RunFacts) -> Problem | None:
    """A validation loss that rises for epochs while the training loss falls."""
    validated = [(each, each.val_loss) for each in curves.epochs if each.val_loss is not None]
    if len(validated) <= _OVERFITTED_EPOCHS or facts.document.training.patience is not None:
        return None
    best, lowest = min(validated, key=lambda pair: pair[1])
    now, last = validated[-1]
    after = [value for each, value in validated if each.epoch > best.epoch]
    if lowest <= 0 or len(after) < _OVERFITTED_EPOCHS or min(after) <= lowest * 1.02:
        return None
    recent = min(after[-3:])
    if recent < max(OVERFITTED * lowest, _SMALL * curves.first) or now.train_loss > _STILL_LEARNING * best.train_loss:
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


def find_unrelated_targets(curves: TrainingCurves, facts: RunFacts) -> Problem | None:
    """A validation loss that never got better than that of the untrained network, whatever was learned."""
    validated = [each.val_loss for each in curves.epochs if each.val_loss is not None]
    if len(validated) < _UNRELATED_EPOCHS or curves.steps < _UNRELATED_STEPS or curves.first <= 0:
        return None
    start = validated[0]
    if min(validated) < _UNRELATED * curves.first or min(validated) < _UNRELATED * start:
        return None
    if curves.epochs[-1].train_loss > _FITTED * curves.first:
        return None
    message = (
        f"The network learns nothing that holds for validation data: the validation loss stays at "
        f"{min(validated):.3g} or more, that of the untrained network ({curves.first:.3g}), while the training loss "
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


def find_underfitting(curves: TrainingCurves, facts: RunFacts, started: fit.Started) -> Problem | None:
    """A small network whose training loss stops at a high level. At the end of a run."""
    losses = [each.train_loss for each in curves.epochs]
    if len(losses) < _UNDERFITTED_EPOCHS or curves.first <= 0 or not started.train_samples:
        return None
    level, before = losses[-1] / curves.first, losses[-len(losses) // 3 - 1]
    is_plateau = abs(before - losses[-1]) < _PLATEAU * losses[-1]
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


def _training_fix(setting: str, value: int, reason: str) -> Fix:
    return Fix(
        f"Set {setting} to {value}",
        lambda document: edits.set_training(document, **{setting: value}),
        (f"training.{setting}={value}",),
        reason=reason,
    )


__all__ = ["find_overfitting", "find_underfitting", "find_unrelated_targets"]

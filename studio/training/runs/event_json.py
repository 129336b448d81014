"""Events as flat JSON objects, for --json output and metrics.jsonl."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from engine import fit
from studio.training.breakpoints.breakpoint_hit import BreakpointHit
from studio.training.session_events import BreakpointsHit, Failed, SessionEvent, Warned


def event_to_json(event: SessionEvent) -> dict[str, Any] | None:
    """Convert an event to a JSON object with its kind as "event"; None for events that are not written.

    Metrics are named after their nodes with the prefix "train_" or "val_". JSON has no NaN or infinity: such values
    are null, and "finite" is false. With several optimizers, "losses", "validation_losses" and "learning_rates" have
    one value per optimizer.
    """
    match event:
        case fit.Started():
            fields = _fields(event, "epochs", "steps", "batches", "train_samples", "validation_samples", "parameters")
            return {
                "event": "started",
                **fields,
                "device": event.device,
                "seed": event.seed,
                "compiled": event.compiled,
                **({"epoch": event.epoch, "step": event.step} if event.step else {}),
            }
        case fit.Step():
            return {
                "event": "step",
                **_fields(event, "epoch", "batch", "step", "loss"),
                **_prefixed("train", event.metrics),
                **_fields(event, "learning_rate", "samples_per_second", "finite"),
                **_by_optimizer(losses=event.losses, learning_rates=event.learning_rates),
            }
        case fit.Epoch():
            return {
                "event": "epoch",
                **_fields(event, "epoch", "step"),
                **result_metrics(event),
                **_fields(event, "learning_rate", "samples_per_second", "seconds", "finite", "best"),
                **({} if event.batches is None else {"batches": event.batches}),
                **_by_optimizer(losses=event.train_losses, validation_losses=event.val_losses),
                **_tables(event),
            }
        case fit.Validated():
            header = {"event": "validation", **_fields(event, "epoch", "step")}
            by_optimizer = _by_optimizer(validation_losses=event.val_losses)
            return {**header, **result_metrics(event), "best": event.best, **by_optimizer, **_tables(event)}
        case fit.Done():
            return {"event": "done", **_fields(event, "epochs", "steps", "seconds"), "reason": event.reason}
        case BreakpointsHit():
            return {"event": "breakpoint", "message": event.message, "hits": [_hit(hit) for hit in event.hits]}
        case Failed():
            return {"event": "failed", **event.problem.as_dict()}
        case Warned():
            return {"event": "warning", **event.problem.as_dict()}
        case _:
            return None


def event_from_json(line: Any) -> fit.TrainingEvent | None:
    """Convert a JSON object back to its event; None for kinds without one. Raises ValueError if it is damaged."""
    try:
        match line["event"]:
            case "started":
                names = ("epochs", "steps", "batches", "train_samples", "validation_samples")
                return fit.Started(
                    **{name: None if line[name] is None else _count(line[name]) for name in names},
                    parameters=_count(line["parameters"]),
                    seed=int(line["seed"]),
                    **{name: _count(line.get(name, 0)) for name in ("epoch", "step")},
                    device=str(line["device"]),
                    compiled=bool(line["compiled"]),
                )
            case "step":
                return fit.Step(
                    _count(line["epoch"]),
                    _count(line["batch"]),
                    _count(line["step"]),
                    _number(line["loss"]),
                    losses=_numbers(line.get("losses", {})),
                    metrics=_without_prefix(line, "train"),
                    seconds=0.0,
                    samples_per_second=_number(line["samples_per_second"]),
                    learning_rate=_number(line["learning_rate"]),
                    finite=bool(line["finite"]),
                    learning_rates=_numbers(line.get("learning_rates", {})),
                )
            case "epoch":
                train, val = _without_prefix(line, "train"), _without_prefix(line, "val")
                val_loss = val.pop("loss")
                is_validated = bool(val) or line["val_loss"] is not None
                return fit.Epoch(
                    _count(line["epoch"]),
                    _count(line["step"]),
                    train_loss=train.pop("loss"),
                    val_loss=val_loss if is_validated else None,
                    train_metrics=train,
                    val_metrics=val,
                    seconds=_number(line["seconds"]),
                    samples_per_second=_number(line["samples_per_second"]),
                    learning_rate=_number(line["learning_rate"]),
                    finite=bool(line["finite"]),
                    best=bool(line["best"]),
                    batches=None if line.get("batches") is None else _count(line["batches"]),
                    train_losses=_numbers(line.get("losses", {})),
                    val_losses=_numbers(line.get("validation_losses", {})),
                )
            case "validation":
                val = _without_prefix(line, "val")
                return fit.Validated(
                    _count(line["epoch"]),
                    _count(line["step"]),
                    val.pop("loss"),
                    val,
                    bool(line["best"]),
                    val_losses=_numbers(line.get("validation_losses", {})),
                )
            case "done":
                counts = (_count(line["epochs"]), _count(line["steps"]))
                return fit.Done(*counts, _number(line["seconds"]), str(line["reason"]))  # pyright: ignore[reportArgumentType]
            case _:
                return None
    except (KeyError, TypeError, ValueError, OverflowError) as error:
        raise ValueError(f"the line is damaged: {error}") from None


def result_metrics(event: fit.Epoch | fit.Validated) -> dict[str, Any]:
    """Losses and metrics of an epoch or a validation: train_loss, val_loss, train_accuracy, …"""
    val = {**_fields(event, "val_loss"), **_prefixed("val", event.val_metrics)}
    if isinstance(event, fit.Validated):
        return val
    train = {**_fields(event, "train_loss"), **_prefixed("train", event.train_metrics)}
    return {"train_loss": train.pop("train_loss"), "val_loss": val.pop("val_loss"), **train, **val}


def _hit(hit: BreakpointHit) -> dict[str, Any]:
    record = hit.record
    origin = None if record.origin is None else {"summary": record.origin.summary, **record.origin.as_dict()}
    folder = None if hit.folder is None else str(hit.folder)
    return {
        **_fields(record, "condition", "reason", "step", "epoch", "batch", "loss"),
        "origin": origin,
        "folder": folder,
    }


def _by_optimizer(**fields: Mapping[str, float]) -> dict[str, Any]:
    """Values by optimizer, if there are several optimizers."""
    several = {name: values for name, values in fields.items() if len(values) > 1}
    return {name: {one: _json(value) for one, value in values.items()} for name, values in several.items()}


def _numbers(values: Any) -> dict[str, float]:
    return {str(name): _number(value) for name, value in dict(values).items()}


def _tables(event: fit.Epoch | fit.Validated) -> dict[str, Any]:
    return {"tables": event.tables} if event.tables else {}


def _fields(event: object, *names: str) -> dict[str, Any]:
    return {name: _json(getattr(event, name)) for name in names}


def _prefixed(prefix: str, metrics: Mapping[str, float]) -> dict[str, Any]:
    return {f"{prefix}_{name}": _json(value) for name, value in metrics.items()}


def _json(value: Any) -> Any:
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _count(value: Any) -> int:
    """Convert to a count. Raises ValueError if it is out of range."""
    found = int(value)
    if not 0 <= found < 2**53:  # largest exact float64 integer
        raise ValueError(f"{str(found)[:40]} is out of range")
    return found


def _number(value: Any) -> float:
    """Convert to float; null is NaN."""
    return math.nan if value is None else float(value)


def _without_prefix(line: Mapping[str, Any], prefix: str) -> dict[str, float]:
    """The metrics of a line with this prefix, without the prefix."""
    return {name[len(prefix) + 1 :]: _number(line[name]) for name in line if name.startswith(f"{prefix}_")}

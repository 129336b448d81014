"""Events as flat JSON objects: what `--json` prints and metrics.jsonl holds."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from engine import fit
from studio.training.events import Failed, SessionEvent, Warned


def line(event: SessionEvent) -> dict[str, Any] | None:
    """The object of an event, with its kind as "event"; None for those that are not written.

    Metrics have the names of their nodes, with "train_" or "val_" before them. Numbers that are not finite are null,
    as JSON has none; "finite" is then false.
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
            }
        case fit.Epoch():
            return {
                "event": "epoch",
                **_fields(event, "epoch", "step"),
                **results(event),
                **_fields(event, "learning_rate", "samples_per_second", "seconds", "finite", "best"),
                **_tables(event),
            }
        case fit.Validated():
            place = {"event": "validation", **_fields(event, "epoch", "step")}
            return {**place, **results(event), "best": event.best, **_tables(event)}
        case fit.Done():
            return {"event": "done", **_fields(event, "epochs", "steps", "seconds"), "reason": event.reason}
        case Failed():
            return {"event": "failed", "message": event.message, "node": event.node}
        case Warned():
            return {"event": "warning", "message": event.message}
        case _:
            return None


def results(event: fit.Epoch | fit.Validated) -> dict[str, Any]:
    """Losses and metrics of an epoch or a validation: train_loss, val_loss, train_accuracy, …"""
    val = {**_fields(event, "val_loss"), **_prefixed("val", event.val_metrics)}
    if isinstance(event, fit.Validated):
        return val
    train = {**_fields(event, "train_loss"), **_prefixed("train", event.train_metrics)}
    return {"train_loss": train.pop("train_loss"), "val_loss": val.pop("val_loss"), **train, **val}


def _tables(event: fit.Epoch | fit.Validated) -> dict[str, Any]:
    return {"tables": event.tables} if event.tables else {}


def _fields(event: object, *names: str) -> dict[str, Any]:
    return {name: _json(getattr(event, name)) for name in names}


def _prefixed(prefix: str, metrics: Mapping[str, float]) -> dict[str, Any]:
    return {f"{prefix}_{name}": _json(value) for name, value in metrics.items()}


def _json(value: Any) -> Any:
    return None if isinstance(value, float) and not math.isfinite(value) else value

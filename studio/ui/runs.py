"""What a run of this session left behind: its settings and its curves."""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Literal

import numpy as np

from engine import fit
from studio.document.model import Document
from studio.training.progress import Progress

Kind = Literal["train", "validation"]


class Curve:
    """Points in the order they came, kept compact: a run has hundreds of thousands."""

    def __init__(self) -> None:
        self._x, self._y = array("d"), array("d")
        self._smooth = array("d")
        self._smoothing = 0.0
        self._mean = 0.0

    def __len__(self) -> int:
        return len(self._x)

    @property
    def x(self) -> np.ndarray:
        return np.array(self._x)

    @property
    def y(self) -> np.ndarray:
        return np.array(self._y)

    @property
    def last(self) -> float | None:
        return self._y[-1] if self._y else None

    def add(self, x: float, y: float) -> None:
        self._x.append(x)
        self._y.append(y)
        self._extend()

    def smooth(self, share: float) -> np.ndarray:
        """The exponential mean with `share` of the past, without the bias towards zero at the beginning."""
        if share != self._smoothing:
            self._smoothing, self._mean = share, 0.0
            del self._smooth[:]
            self._extend()
        return np.array(self._smooth)

    def _extend(self) -> None:
        share = self._smoothing
        for index in range(len(self._smooth), len(self._y)):
            value = self._y[index]
            if np.isfinite(value):
                self._mean = share * self._mean + (1 - share) * value
            self._smooth.append(self._mean / (1 - share ** (index + 1)))


@dataclass(slots=True)
class Run:
    """One run. `curves` by quantity ("loss", "accuracy") and kind; x is the time in epochs."""

    number: int
    document: Document
    started: datetime
    device: str = ""
    state: str = "running"
    progress: Progress = field(default_factory=Progress)
    curves: dict[tuple[str, Kind], Curve] = field(default_factory=dict)
    is_shown: bool = True
    compiled: bool | None = None
    """Whether its steps are compiled; None until it has begun."""
    compile_state: fit.CompileState | None = None
    """How its steps run now."""

    @property
    def name(self) -> str:
        return f"Run {self.number}"

    @property
    def quantities(self) -> Sequence[str]:
        """The loss first, then the metrics in the order they came."""
        return tuple(dict.fromkeys(name for name, _ in self.curves))

    def curve(self, quantity: str, kind: Kind) -> Curve | None:
        return self.curves.get((quantity, kind))

    def take(self, event: fit.Event) -> None:
        """Put down what happened."""
        self.progress = self.progress.after(event)
        match event:
            case fit.Started():
                self.compiled = event.compiled
            case fit.CompileState():
                self.compile_state = event
            case fit.Step():
                time = event.epoch - 1 + event.batch / max(self.progress.batches, 1)
                self._add("loss", "train", time, event.loss)
                for name, value in event.metrics.items():
                    self._add(name, "train", time, value)
            case fit.Epoch():
                if event.val_loss is not None:
                    self._add("loss", "validation", event.epoch, event.val_loss)
                for name, value in event.val_metrics.items():
                    self._add(name, "validation", event.epoch, value)
            case _:
                pass

    def csv(self) -> str:
        """All points: quantity, kind, epoch, value."""
        lines = ["quantity,kind,epoch,value"]
        for (quantity, kind), curve in self.curves.items():
            lines += [f"{quantity},{kind},{x:.6g},{y:.9g}" for x, y in zip(curve.x, curve.y, strict=True)]
        return "\n".join(lines) + "\n"

    def _add(self, quantity: str, kind: Kind, x: float, y: float) -> None:
        self.curves.setdefault((quantity, kind), Curve()).add(x, y)

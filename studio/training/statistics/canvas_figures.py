"""Figures by which nodes and wires of a canvas are colored."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, TypeAlias

from studio.training.statistics.color_scale import ScaleKind

Source: TypeAlias = Literal["graph", "time", "step", "device", "regions"]
Unit: TypeAlias = Literal["count", "macs", "bytes", "seconds", "number", "share", ""]


@dataclass(frozen=True, slots=True)
class CanvasFigure:
    """A figure of nodes, and of wires if a tensor has it."""

    key: str
    title: str
    help: str
    source: Source
    unit: Unit = ""
    scale: ScaleKind = "amount"
    has_wires: bool = False
    words: str = ""
    """Further words that find it."""

    @property
    def phrase(self) -> str:
        """The title within a sentence."""
        return self.title if self.title.startswith("NaN") else self.title[0].lower() + self.title[1:]

    @property
    def is_additive(self) -> bool:
        """Whether the figures of nodes add up to a total."""
        return self.unit in ("count", "macs", "bytes", "seconds")


FIGURES: Mapping[str, CanvasFigure] = {
    figure.key: figure
    for figure in (
        CanvasFigure("parameters", "Parameters", "Number of trained values", "graph", "count"),
        CanvasFigure("macs", "Multiply-adds", "Multiply-adds for one sample", "graph", "macs", words="flops compute"),
        CanvasFigure(
            "memory", "Activation memory", "Size of the outputs for one sample", "graph", "bytes", has_wires=True
        ),
        CanvasFigure(
            "time",
            "Time",
            "Measured time of forward and backward pass for a batch, node by node without compilation",
            "time",
            "seconds",
            words="profile speed slow duration",
        ),
        CanvasFigure(
            "forward",
            "Forward time",
            "Measured time of the forward pass for a batch, node by node without compilation",
            "time",
            "seconds",
            words="profile speed slow duration",
        ),
        CanvasFigure(
            "backward",
            "Backward time",
            "Measured time of the backward pass for a batch, node by node without compilation",
            "time",
            "seconds",
            words="profile speed slow duration",
        ),
        CanvasFigure(
            "gradient",
            "Gradient norm",
            "Norm of the gradient of each output, before clipping",
            "step",
            "number",
            "log",
            has_wires=True,
            words="vanishing exploding backward flow",
        ),
        CanvasFigure(
            "parameter-gradient",
            "Parameter gradient norm",
            "Norm of the gradient of the parameters, before clipping",
            "step",
            "number",
            "log",
            words="weights vanishing exploding",
        ),
        CanvasFigure(
            "std",
            "Activation standard deviation",
            "Standard deviation of the outputs",
            "step",
            "number",
            "log",
            has_wires=True,
            words="scale std spread saturation",
        ),
        CanvasFigure(
            "rms",
            "Activation RMS",
            "Root mean square of the outputs",
            "step",
            "number",
            "log",
            has_wires=True,
            words="scale magnitude",
        ),
        CanvasFigure(
            "dead",
            "Dead units",
            "Share of the units of a rectifier that are 0 for all samples of the batch",
            "step",
            "share",
            "share",
            has_wires=True,
            words="relu dying zero sparse",
        ),
        CanvasFigure(
            "update",
            "Update-to-weight ratio",
            "Norm of the change of the parameters in a step, divided by their norm",
            "step",
            "number",
            "log",
            words="learning rate step size",
        ),
        CanvasFigure(
            "nonfinite",
            "NaN and infinite values",
            "Number of values of the outputs that are NaN or infinite",
            "step",
            "count",
            has_wires=True,
            words="inf overflow not a number broken",
        ),
        CanvasFigure(
            "device", "Devices", "Device that computes the node", "device", has_wires=True, words="gpu cuda cpu"
        ),
        CanvasFigure(
            "regions",
            "Compiled regions",
            "Compiled regions and the Python between them",
            "regions",
            words="fusion kernels graph breaks compiler",
        ),
    )
}
"""In the order of the menu."""

__all__ = ["FIGURES", "CanvasFigure", "Source", "Unit"]

"""Values of the figures of a canvas: of the checked graph, and of a measured step.

The figure of an instance of a block is that of all nodes in it: the sum of amounts, the root of the sum of squares of
norms, shares weighted by units, and ratios of summed norms.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field
from typing import TypeAlias, TypeVar

from studio.document.model import Endpoint, Wire
from studio.lowering.analysis.node_facts import NodeInfo
from studio.training.statistics.canvas_figures import CanvasFigure
from studio.training.statistics.color_scale import ScaleKind
from studio.training.statistics.step_statistics import Figures, StepStatistics

K = TypeVar("K", str, Wire)


@dataclass(frozen=True, slots=True)
class CanvasValues:
    """Figures of the shown graph. Nodes and wires without the figure are absent."""

    nodes: Mapping[str, float] = field(default_factory=dict[str, float])
    wires: Mapping[Wire, float] = field(default_factory=dict[Wire, float])

    @property
    def all(self) -> Iterable[float]:
        return (*self.nodes.values(), *self.wires.values())


Ends: TypeAlias = Mapping[Wire, Endpoint]
"""The output in the flat graph whose value a wire of the shown graph carries."""


def graph_values(key: str, infos: Mapping[str, NodeInfo], wire_bytes: Mapping[Wire, int]) -> CanvasValues:
    """Figures of the checked graph.

    Args:
        infos: by name in the shown graph
        wire_bytes: size of the tensor on each wire for one sample
    """
    value: Callable[[NodeInfo], int] = {
        "parameters": lambda info: info.parameters,
        "macs": lambda info: info.macs,
        "memory": lambda info: info.memory,
    }[key]
    nodes = {name: float(found) for name, info in infos.items() if (found := value(info))}
    return CanvasValues(nodes, {wire: float(size) for wire, size in wire_bytes.items()} if key == "memory" else {})


def step_values(key: str, statistics: StepStatistics, prefix: str, names: Collection[str], ends: Ends) -> CanvasValues:
    """Figures of a measured step.

    Args:
        prefix: beginning of the paths of the nodes in the shown graph
        names: nodes of the shown graph
    """
    combine = _COMBINED[key]
    tensors = statistics.parameters if key in _OF_PARAMETERS else statistics.outputs
    nodes = {
        name: value for name, found in _by_node(tensors, prefix, names).items() if (value := combine(found)) is not None
    }
    if key in _OF_PARAMETERS:
        return CanvasValues(nodes)
    wires: dict[Wire, float] = {}
    for wire, end in ends.items():
        figures = tensors.get(f"{end.node}.{end.port}")
        if figures is not None and (value := combine([figures])) is not None:
            wires[wire] = value
    return CanvasValues(nodes, wires)


def changes(figure: CanvasFigure, values: CanvasValues, base: CanvasValues) -> CanvasValues:
    """The ratios of two steps, or the differences for shares and numbers of values."""
    change = _ratio if change_scale(figure) == "ratio" else _difference
    return CanvasValues(_changed(change, values.nodes, base.nodes), _changed(change, values.wires, base.wires))


def change_scale(figure: CanvasFigure) -> ScaleKind:
    """The scale of the changes of a figure."""
    return "ratio" if figure.scale == "log" else "difference"


def _by_node(tensors: Mapping[str, Figures], prefix: str, names: Collection[str]) -> dict[str, list[Figures]]:
    """The figures of all tensors of each node, and of the nodes in it."""
    found: defaultdict[str, list[Figures]] = defaultdict(list)
    for path, figures in tensors.items():
        if path.startswith(prefix):
            name = path[len(prefix) :].partition(".")[0]
            if name in names:
                found[name].append(figures)
    return found


def _norm(figure: str) -> Callable[[Iterable[Figures]], float | None]:
    """The root of the sum of squares."""

    def combined(tensors: Iterable[Figures]) -> float | None:
        norms = [figures[figure] for figures in tensors if figure in figures]
        return math.hypot(*norms) if norms else None

    return combined


def _rms(tensors: Iterable[Figures]) -> float | None:
    moments = [_moments(figures) for figures in tensors if "std" in figures]
    if len(moments) == 1:
        return math.hypot(moments[0][1], moments[0][2])
    count = sum(number for number, _, _ in moments)
    return (
        math.sqrt(sum(n * (mean * mean + std * std) for n, mean, std in moments) / count) if count else _zero(moments)
    )


def _std(tensors: Iterable[Figures]) -> float | None:
    """Of the values of all tensors together."""
    moments = [_moments(figures) for figures in tensors if "std" in figures]
    if len(moments) == 1:
        return moments[0][2]
    count = sum(number for number, _, _ in moments)
    if not count:
        return _zero(moments)
    center = sum(number * mean for number, mean, _ in moments) / count
    return math.sqrt(sum(n * ((mean - center) ** 2 + std * std) for n, mean, std in moments) / count)


def _zero(moments: Collection[object]) -> float | None:
    """The figure of tensors without a value other than 0."""
    return 0.0 if moments else None


def _moments(figures: Figures) -> tuple[float, float, float]:
    """Number of values, mean and standard deviation. The number is computed from the norm: 0 if all values are 0."""
    mean, std = figures.get("mean", 0.0), figures["std"]
    square = mean * mean + std * std
    norm = figures.get("norm", 0.0)
    return (norm * norm / square if square and math.isfinite(square) else 0.0), mean, std


def _dead(tensors: Iterable[Figures]) -> float | None:
    shares = [(figures["dead"], figures.get("units", 1.0)) for figures in tensors if "dead" in figures]
    units = sum(number for _, number in shares)
    return sum(share * number for share, number in shares) / units if units else None


def _update(tensors: Iterable[Figures]) -> float | None:
    known = [figures for figures in tensors if "update" in figures and "norm" in figures]
    weights = math.hypot(*(figures["norm"] for figures in known))
    return math.hypot(*(figures["update"] for figures in known)) / weights if weights else None


def _nonfinite(tensors: Iterable[Figures]) -> float | None:
    counts = [figures["nan"] + figures.get("infinite", 0.0) for figures in tensors if "nan" in figures]
    return sum(counts) if counts else None


_COMBINED: Mapping[str, Callable[[Iterable[Figures]], float | None]] = {
    "gradient": _norm("gradient"),
    "parameter-gradient": _norm("gradient"),
    "std": _std,
    "rms": _rms,
    "dead": _dead,
    "update": _update,
    "nonfinite": _nonfinite,
}
_OF_PARAMETERS = frozenset({"parameter-gradient", "update"})


def _ratio(value: float, base: float) -> float:
    if base:
        return value / base
    return math.inf if value else 1.0


def _difference(value: float, base: float) -> float:
    return value - base


def _changed(
    change: Callable[[float, float], float], values: Mapping[K, float], base: Mapping[K, float]
) -> dict[K, float]:
    return {key: change(value, base[key]) for key, value in values.items() if key in base}


__all__ = ["CanvasValues", "Ends", "change_scale", "changes", "graph_values", "step_values"]

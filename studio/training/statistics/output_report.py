"""Statistics of the outputs of nodes, while a program computes them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from engine import functions as F
from engine.dtypes import float32
from engine.fit.layer_statistics import CHANNEL_LAYERS, RECTIFIERS
from engine.modes import no_grad
from engine.nn.module import Module
from engine.ops.reduction.tensor_norms import tensor_norms
from engine.ops.reduction.tensor_statistics import dead_share, tensor_statistics
from engine.tensors import Tensor


@dataclass(slots=True)
class OutputColumns:
    """Where the figures of outputs are among the numbers that a step returns."""

    statistics: dict[str, int] = field(default_factory=dict[str, int])
    """Number of the tensor by output; outputs with the same elements share one."""
    dead: dict[str, int] = field(default_factory=dict[str, int])
    """Number of the share of dead units, by output of a rectifier."""
    units: dict[str, int] = field(default_factory=dict[str, int])
    """Number of units of each rectifier."""
    gradients: dict[str, list[int]] = field(default_factory=dict[str, list[int]])
    """Numbers of the gradients of each output, one for each loss that it leads to."""


class OutputCollector:
    """Computes the statistics of outputs as they are reported.

    Args:
        gradients: also compute the norms of their gradients, in a backward pass that follows
    """

    def __init__(self, *, gradients: bool) -> None:
        self.columns = OutputColumns()
        self.statistics: list[Tensor] = []
        self.dead: list[Tensor] = []
        self.gradients: list[Tensor] = []
        """Norms of gradients, of one or several tensors."""
        self._gradient_count = 0
        self._with_gradients = gradients
        self._known: dict[tuple[int, int], int] = {}
        """Number of a tensor by its storage's owner and version."""
        self._kept: list[Tensor] = []
        """Keeps the ids in `_known` in use."""
        self._has_channels = False
        """Whether the last layer with weights has its units along dimension 1."""

    def add(self, key: str, output: Any, layer: Module | None) -> None:
        """Measure an output. Only tensors of real numbers are measured; several are joined."""
        if isinstance(layer, Module) and next(iter(layer.parameters()), None) is not None:
            self._has_channels = type(layer).__name__.startswith(CHANNEL_LAYERS)
        tensor = _joined(output)
        if tensor is None:
            return
        with no_grad():
            self._measure(key, tensor, is_rectified=isinstance(layer, RECTIFIERS))
        if self._with_gradients and isinstance(output, Tensor) and output.requires_grad:
            numbers = self.columns.gradients[key] = []
            output.register_hook(lambda gradient: numbers.extend(self.add_gradients([gradient])))

    def add_gradients(self, gradients: Sequence[Tensor]) -> range:
        """Measure gradients. Returns their numbers among all gradients."""
        first = self._gradient_count
        self._gradient_count += len(gradients)
        if gradients:
            with no_grad():
                self.gradients.append(tensor_norms([gradient.to(float32) for gradient in gradients]))
        return range(first, self._gradient_count)

    def clear(self) -> None:
        """Forget the tensors, so that nothing but the statistics is kept."""
        self._known.clear()
        self._kept.clear()

    def _measure(self, key: str, tensor: Tensor, *, is_rectified: bool) -> None:
        base = tensor._base
        is_whole = base is not None and base.numel() == tensor.numel() and base.dtype == tensor.dtype
        root = base if base is not None and is_whole else tensor
        version = (id(root), root._version)
        is_known, has_units = version in self._known, is_rectified and tensor.ndim >= 2
        values = tensor if is_known and not has_units else tensor.to(float32)
        if not is_known:
            self._known[version] = len(self.statistics)
            self._kept.append(root)
            self.statistics.append(tensor_statistics(values))
        self.columns.statistics[key] = self._known[version]
        if has_units:
            dimension = 1 if self._has_channels else tensor.ndim - 1
            self.columns.dead[key] = len(self.dead)
            self.columns.units[key] = tensor.shape[dimension]
            self.dead.append(dead_share(values, dimension))


class OutputReport:
    """What a program calls with each output. See `measured_source`."""

    def __init__(self, collector: OutputCollector, prefix: str = "") -> None:
        self._collector, self._prefix = collector, prefix

    def __call__(self, key: str, output: Any, layer: Any = None) -> None:
        self._collector.add(self._prefix + key, output, layer)

    def inside(self, instance: str, index: int | None = None) -> OutputReport:
        """The report for an instance of a block."""
        copy = "" if index is None else f"{index}."
        return OutputReport(self._collector, f"{self._prefix}{instance}.{copy}")


def _joined(output: Any) -> Tensor | None:
    """The elements of an output in one tensor; None if they cannot be measured."""
    if isinstance(output, (list, tuple)):
        parts = [part for each in output if (part := _joined(each)) is not None]
        with no_grad():
            flat = [part.to(float32).reshape(-1) for part in parts]
            return F.cat(flat) if len(flat) > 1 else flat[0] if flat else None
    if not isinstance(output, Tensor) or output.is_complex() or not output.numel():
        return None
    return output


def shapes_of(batch: Any) -> Any:
    """The shapes of the tensors of a batch, in any nested structure."""
    if isinstance(batch, Tensor):
        return tuple(batch.shape)
    if isinstance(batch, Mapping):
        return tuple((key, shapes_of(value)) for key, value in batch.items())
    return tuple(map(shapes_of, batch)) if isinstance(batch, (list, tuple)) else None


__all__ = ["OutputCollector", "OutputColumns", "OutputReport", "shapes_of"]

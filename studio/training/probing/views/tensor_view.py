"""The view of a probed tensor: statistics, and what the selected kind of view draws."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from studio.training.probing.tensor_probe import BatchLabels, ProbedTensor
from studio.training.probing.tensor_statistics import TensorStatistics, array_statistics
from studio.training.probing.views.histogram import Histogram, histogram
from studio.training.probing.views.matrices import MatrixGrid, attention_maps, heat_map, image_grid
from studio.training.probing.views.projection import Projection, project
from studio.training.probing.views.view_kinds import ViewKind, default_view, unavailable_views

Drawing: TypeAlias = Histogram | MatrixGrid | Projection


@dataclass(frozen=True, slots=True)
class TensorView:
    """What a probe shows."""

    kind: ViewKind
    statistics: TensorStatistics
    unavailable: dict[ViewKind, str]
    """Views that do not make sense for the shape, with the reason."""
    drawing: Drawing | None = None
    """None for statistics."""
    loss: str = ""
    """For a gradient: the losses that it is of."""


def tensor_view(
    tensor: ProbedTensor, kind: ViewKind | None = None, index: int = 0, labels: BatchLabels | None = None
) -> TensorView:
    """Make a view of a tensor that has values.

    Args:
        kind: the kind of view; one that suits the shape by default, or if it does not make sense
        index: the sample, filter or slice to show
        labels: classes of the samples
    """
    array = tensor.array
    assert array is not None
    is_number = array.dtype.kind in "fiub"
    missing = unavailable_views(array.shape, is_number=is_number)
    if kind is None or kind in missing:
        kind = default_view(array.shape, is_number=is_number)
    drawing: Drawing | None = None
    match kind:
        case "histogram":
            drawing = histogram(array)
        case "heat map":
            drawing = heat_map(array, index)
        case "images":
            drawing = image_grid(array, index, has_batch=tensor.has_batch)
        case "attention":
            drawing = attention_maps(array, index)
        case "projection":
            classes = labels if tensor.has_batch else None
            drawing = project(array) if classes is None else project(array, classes.numbers, classes.names)
        case _:
            pass
    return TensorView(kind, array_statistics(array, tensor.dtype), missing, drawing, tensor.loss)


__all__ = ["Drawing", "TensorView", "tensor_view"]

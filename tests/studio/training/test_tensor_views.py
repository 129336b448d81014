"""Views of tensors as plain data, compared with NumPy."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from studio.training.probing.probe_target import ProbeTarget
from studio.training.probing.tensor_probe import BatchLabels, ProbedTensor
from studio.training.probing.views.histogram import histogram
from studio.training.probing.views.matrices import MAX_IMAGES, MAX_SIDE, attention_maps, heat_map, image_grid
from studio.training.probing.views.projection import Projection, project
from studio.training.probing.views.tensor_view import tensor_view
from studio.training.probing.views.view_kinds import VIEW_KINDS, ViewKind, unavailable_views

RANDOM = np.random.default_rng(0)


def normal(*shape: int) -> NDArray[np.float32]:
    return RANDOM.standard_normal(shape).astype(np.float32)


def tensor(array: NDArray[np.generic], *, has_batch: bool = True) -> ProbedTensor:
    return ProbedTensor(ProbeTarget("a", "output"), array, str(array.dtype), has_batch=has_batch)


def test_histogram_counts_as_numpy() -> None:
    values = normal(40, 50)
    found = histogram(values, 20)
    counts, edges = np.histogram(values.astype(np.float64), 20)
    assert found.counts == tuple(counts) and (found.low, found.high) == (edges[0], edges[-1])
    assert not found.zeros and not found.left_out


def test_histogram_leaves_out_many_zeros_and_values_that_are_not_finite() -> None:
    values = np.maximum(normal(1000), 0)
    values[:3] = np.nan, np.inf, -np.inf
    found = histogram(values)
    assert found.left_out == 3 and found.zeros == (values == 0).sum() > 300
    assert sum(found.counts) == values.size - found.zeros - 3
    integers = histogram(np.array([0, 1, 1, 4]))
    assert integers.counts == (1, 2, 0, 0, 1) and (integers.low, integers.high) == (-0.5, 4.5)
    assert histogram(np.full(5, np.nan, np.float32)).counts == ()


def test_heat_map_is_the_selected_matrix() -> None:
    values = normal(3, 4, 5, 6)
    found = heat_map(values, 7)
    assert (found.cells[0] == values[1, 3]).all() and found.parts == 12 and found.caption == "[1, 3, :, :]"
    assert (found.low, found.high) == (values[1, 3].min(), values[1, 3].max()) and found.is_signed
    assert heat_map(values, 99).caption == "[2, 3, :, :]", "the last one"
    assert heat_map(normal(7)).shape == (1, 7)


def test_large_matrices_are_averaged_by_blocks() -> None:
    values = normal(4 * MAX_SIDE, 3)
    found = heat_map(values)
    assert found.is_averaged and found.shape == values.shape
    assert found.cells[0] == pytest.approx(values.reshape(MAX_SIDE, 4, 3).mean(axis=1), abs=1e-6)


def test_images_are_samples_or_channels() -> None:
    gray, color, features = normal(9, 1, 5, 6), normal(9, 3, 5, 6), normal(9, 80, 5, 6)
    assert (image_grid(gray).cells == gray[:, 0]).all() and image_grid(gray).parts == 1
    assert (image_grid(color).cells == color.transpose(0, 2, 3, 1)).all()
    found = image_grid(features, 2)
    assert (found.cells == features[2, :MAX_IMAGES]).all() and found.parts == 9 and found.total == 80
    assert found.caption == "Sample 2 of 9: 64 of 80 channels"
    assert image_grid(features, 2, has_batch=False).caption.startswith("Filter 2 of 9")


def test_attention_maps_know_their_row_sums() -> None:
    scores = np.exp(normal(2, 4, 6, 6))
    found = attention_maps(scores / scores.sum(axis=-1, keepdims=True), 1)
    assert found.cells.shape == (4, 6, 6) and found.row_sums == pytest.approx((1.0, 1.0))
    assert attention_maps(normal(2, 6, 6)).cells.shape == (1, 6, 6)


@pytest.mark.parametrize("shape", [(40, 7), (7, 40), (50, 3, 4)], ids=str)
def test_projection_is_that_of_the_singular_value_decomposition(shape: tuple[int, ...]) -> None:
    values = normal(*shape)
    found = project(values, np.arange(shape[0]) % 3)
    rows = values.reshape(shape[0], -1).astype(np.float64)
    left, singular, _ = np.linalg.svd(rows - rows.mean(axis=0), full_matrices=False)
    expected = left[:, :2] * singular[:2]
    assert np.abs(found.points) == pytest.approx(np.abs(expected), abs=1e-8)
    assert found.explained == pytest.approx(tuple(singular[:2] ** 2 / (singular**2).sum()))
    assert found.labels is not None and len(found.labels) == shape[0]
    largest = np.abs(found.points).argmax(axis=0)
    assert (found.points[largest, (0, 1)] > 0).all(), "the sign does not depend on the decomposition"


def test_projection_leaves_out_rows_that_are_not_finite() -> None:
    values = normal(6, 4)
    values[2, 1] = np.nan
    found = project(values, np.arange(6))
    assert found.left_out == 1 and found.labels is not None and list(found.labels) == [0, 1, 3, 4, 5]
    assert not project(np.ones((5, 3), np.float32)).points.any()


@pytest.mark.parametrize(
    ("shape", "offered"),
    [
        ((), {"statistics"}),
        ((10,), {"statistics", "histogram", "heat map"}),
        ((64, 10), {"statistics", "histogram", "heat map", "projection"}),
        ((64, 17, 32), {"statistics", "histogram", "heat map", "projection"}),
        ((64, 17, 17), {"statistics", "histogram", "heat map", "projection", "attention"}),
        ((64, 16, 8, 6), {"statistics", "histogram", "heat map", "projection", "images"}),
        ((64, 16, 8, 8), set(VIEW_KINDS)),
        ((0, 8), {"statistics"}),
    ],
    ids=lambda value: str(value) if isinstance(value, tuple) else None,
)
def test_offered_views_depend_on_the_shape(shape: tuple[int, ...], offered: set[ViewKind]) -> None:
    missing = unavailable_views(shape)
    assert set(VIEW_KINDS) - missing.keys() == offered
    assert all(reason.endswith(".") for reason in missing.values())
    for kind in VIEW_KINDS:
        shown = tensor_view(tensor(normal(*shape)), kind)
        assert shown.kind == kind if kind in offered else shown.kind in offered
        assert (shown.drawing is None) == (shown.kind == "statistics")


def test_points_have_the_classes_of_samples_only() -> None:
    labels = BatchLabels(np.arange(8) % 2, ("even", "odd"))
    shown = tensor_view(tensor(normal(8, 4)), "projection", labels=labels).drawing
    assert isinstance(shown, Projection) and shown.labels is not None and shown.names == ("even", "odd")
    weights = tensor_view(tensor(normal(8, 4), has_batch=False), "projection", labels=labels).drawing
    assert isinstance(weights, Projection) and weights.labels is None


def test_bool_and_integer_tensors_have_views() -> None:
    for array in (np.array([[True, False], [False, False], [True, True]]), np.arange(12).reshape(3, 4)):
        for kind in ("histogram", "heat map", "projection"):
            assert tensor_view(tensor(array), kind).kind == kind
    complex_view = tensor_view(tensor(np.ones((3, 4), np.complex64)), "heat map")
    assert complex_view.kind == "statistics" and "complex" in complex_view.unavailable["heat map"]

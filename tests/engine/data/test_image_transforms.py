"""Transforms of images against Pillow, colorsys and the meaning that torchvision documents."""

from __future__ import annotations

import colorsys
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image

from engine import dtypes
from engine.data import transforms
from engine.data.transforms.affine import inverse_affine_coefficients
from engine.data.transforms.color import luma, rotate_hue
from engine.data.transforms.resize import FILTERS
from engine.errors import ShapeError
from engine.shape import Dim, Spec

IMAGES = np.random.default_rng(1).integers(0, 256, (4, 3, 20, 30), dtype=np.uint8)
GRAY = IMAGES[:, :1]


def pillow(image: np.ndarray[Any, Any]) -> Image.Image:
    return Image.fromarray(np.ascontiguousarray(np.moveaxis(image, 0, -1)).squeeze())


def array(image: Image.Image) -> np.ndarray[Any, Any]:
    values = np.asarray(image)
    return values[np.newaxis] if values.ndim == 2 else np.moveaxis(values, -1, 0)


@pytest.mark.parametrize("interpolation", FILTERS)
@pytest.mark.parametrize("size", [(7, 9), (40, 45), (20, 11)])
def test_resize_matches_pillow(interpolation: Any, size: tuple[int, int]) -> None:
    for images in (IMAGES, GRAY):
        result = np.asarray(transforms.Resize(size, interpolation)(images))
        for image, found in zip(images, result, strict=True):
            np.testing.assert_array_equal(found, array(pillow(image).resize(size[::-1], FILTERS[interpolation])))
    many = np.asarray(transforms.Resize(size, interpolation)(IMAGES[:, [0, 1, 2, 1, 0]]))
    np.testing.assert_array_equal(many[:, :3], transforms.Resize(size, interpolation)(IMAGES))
    mild = IMAGES // 2 + 64  # cubic curves overshoot, and bytes are cut off at 0 and 255
    exact = np.asarray(transforms.Resize(size, interpolation)(mild.astype(np.float32)))
    assert np.abs(exact - np.asarray(transforms.Resize(size, interpolation)(mild))).max() <= 1.5


def test_resize_of_16_bits_and_of_one_side() -> None:
    deep = IMAGES.astype(np.uint16) * 257
    result = np.asarray(transforms.Resize((10, 15), "area")(deep))
    blocks = deep.reshape(4, 3, 10, 2, 15, 2).mean((3, 5))
    assert result.dtype == np.uint16
    assert np.abs(result - blocks).max() <= 0.51
    assert np.asarray(transforms.Resize(10)(IMAGES)).shape == (4, 3, 10, 15)
    assert transforms.Resize(10).spec(Spec((3, 30, 21), dtypes.uint8)).shape == (3, 14, 10)
    opened = Spec((3, Dim("H"), Dim("W")), dtypes.uint8)
    assert transforms.Resize(10).spec(opened).is_open
    assert transforms.Resize((10, 12)).spec(opened) == Spec((3, 10, 12), dtypes.uint8)
    with pytest.raises(ShapeError, match="Resize needs images"):
        transforms.Resize().spec(Spec((4,), dtypes.uint8))
    with pytest.raises(ValueError, match="height and width"):
        transforms.Resize((1, 2, 3))


def test_images_of_different_sizes_become_a_batch() -> None:
    images = [IMAGES[0], IMAGES[1, :, :10, :25]]
    result = transforms.Resize((8, 8))(images)
    assert isinstance(result, np.ndarray)
    np.testing.assert_array_equal(result[1], array(pillow(images[1]).resize((8, 8), FILTERS["bilinear"])))
    shorter = transforms.Resize(8)(images)
    assert [image.shape for image in shorter] == [(3, 8, 12), (3, 8, 20)]
    assert np.asarray(transforms.CenterCrop(8)(shorter)).shape == (2, 3, 8, 8)


def test_center_crop() -> None:
    np.testing.assert_array_equal(transforms.CenterCrop((10, 12))(IMAGES), IMAGES[..., 5:15, 9:21])
    padded = np.asarray(transforms.CenterCrop(24)(IMAGES))
    np.testing.assert_array_equal(padded[..., 2:22, :], IMAGES[..., 3:27])
    assert not padded[..., :2, :].any()


def test_random_crop_reaches_all_positions() -> None:
    image = np.arange(1, 10, dtype=np.uint8).reshape(1, 1, 3, 3)
    transform = transforms.RandomCrop(2)
    corners = [(a + 0.5) / 2 for a in range(2)]
    found = {
        tuple(transform.augment(image, np.array([[top, left]])).ravel().tolist()) for top in corners for left in corners
    }
    assert found == {(1, 2, 4, 5), (2, 3, 5, 6), (4, 5, 7, 8), (5, 6, 8, 9)}
    shifted = transforms.RandomCrop(3, padding=1).augment(image, np.array([[0.0, 0.999]]))
    assert shifted.tolist() == [[[[0, 0, 0], [2, 3, 0], [5, 6, 0]]]]


@given(st.integers(1, 40), st.integers(1, 40), st.integers(0, 2**32 - 1))
def test_boxes_of_random_resized_crop(height: int, width: int, seed: int) -> None:
    transform = transforms.RandomResizedCrop(8, scale=(0.2, 0.9), ratio=(0.5, 2.0))
    numbers = np.random.default_rng(seed).random((30, transform.numbers))
    left, top, right, bottom = transform._boxes(height, width, numbers).T
    assert (left >= 0).all() and (top >= 0).all() and (right <= width).all() and (bottom <= height).all()
    wide, tall = right - left, bottom - top
    assert (wide >= 1).all() and (tall >= 1).all()
    if min(height, width) >= 20:
        assert np.all((wide / tall > 0.5 * 0.7) & (wide / tall < 2 * 1.4))
        assert np.all(wide * tall >= 0.2 * height * width * 0.6)


def test_random_resized_crop_is_crop_and_resize() -> None:
    transform = transforms.RandomResizedCrop((6, 7))
    numbers = np.random.default_rng(5).random((4, transform.numbers))
    boxes = transform._boxes(20, 30, numbers).tolist()
    result = transform.augment(IMAGES, numbers)
    for image, box, found in zip(IMAGES, boxes, result, strict=True):
        np.testing.assert_array_equal(found, array(pillow(image).crop(box).resize((7, 6), FILTERS["bilinear"])))
    middle = pillow(IMAGES[0]).crop((5, 0, 25, 20)).resize((8, 8), FILTERS["bilinear"])
    np.testing.assert_array_equal(transforms.RandomResizedCrop(8)(IMAGES)[0], array(middle))
    with pytest.raises(ValueError, match="a minimum and a maximum"):
        transforms.RandomResizedCrop(8, scale=(0.5, 0.2))


def test_random_flips() -> None:
    numbers = np.array([[0.1], [0.6], [0.2], [0.9]])
    flipped = transforms.RandomHorizontalFlip(0.5).augment(IMAGES, numbers)
    np.testing.assert_array_equal(flipped[[0, 2]], IMAGES[[0, 2], :, :, ::-1])
    np.testing.assert_array_equal(flipped[[1, 3]], IMAGES[[1, 3]])
    flipped = transforms.RandomVerticalFlip(0.5).augment(IMAGES, numbers)
    np.testing.assert_array_equal(flipped[[0, 2]], IMAGES[[0, 2], :, ::-1])


def test_affine_translates_by_integer_pixels() -> None:
    transform = transforms.RandomAffine(0.0, translate=(0.1, 0.2))
    numbers = np.full((4, 5), 0.5)
    np.testing.assert_array_equal(transform.augment(IMAGES, numbers), IMAGES)
    numbers[:, 1], numbers[:, 2] = 1.0, 0.0  # down by 2, left by 6
    moved = transform.augment(IMAGES, numbers)
    np.testing.assert_array_equal(moved[..., 2:, :24], IMAGES[..., :18, 6:])
    assert not moved[..., :2, :].any() and not moved[..., 24:].any()


def test_affine_rotation_matches_pillow() -> None:
    square = IMAGES[..., :20]
    transform = transforms.RandomAffine(90.0, interpolation="nearest")
    numbers = np.full((4, 5), 0.5)
    numbers[:, 0] = 1.0
    np.testing.assert_array_equal(transform.augment(square, numbers), np.rot90(square, axes=(-2, -1)))
    transform = transforms.RandomAffine(33.0, interpolation="bilinear")
    expected = array(pillow(square[0]).rotate(33, FILTERS["bilinear"]))
    assert np.abs(transform.augment(square, numbers)[0].astype(int) - expected).max() <= 1


def test_affine_coefficients_invert_the_map() -> None:
    angle, scale, slant = np.radians([20.0]), np.array([1.3]), np.radians([15.0])
    a, b, c, d, e, f = inverse_affine_coefficients(angle, [np.array([2.0]), np.array([-3.0])], scale, slant, (20, 30))[
        0
    ]
    # A point right of the middle, slanted, scaled, turned anticlockwise as seen, shifted.
    x, y = 4.0, 5.0
    x_slanted = x - np.tan(slant[0]) * y
    turned_x = scale[0] * (np.cos(angle[0]) * x_slanted + np.sin(angle[0]) * y)
    turned_y = scale[0] * (-np.sin(angle[0]) * x_slanted + np.cos(angle[0]) * y)
    out = np.array([turned_x + 15 - 3, turned_y + 10 + 2])
    assert (a * out[0] + b * out[1] + c, d * out[0] + e * out[1] + f) == pytest.approx((x + 15, y + 10))


def test_grayscale_matches_pillow() -> None:
    for image, found in zip(IMAGES, np.asarray(transforms.Grayscale()(IMAGES)), strict=True):
        np.testing.assert_array_equal(found, array(pillow(image).convert("L")))
    three = np.asarray(transforms.Grayscale(3)(IMAGES / np.float32(255)))
    assert three.shape == IMAGES.shape
    np.testing.assert_allclose(three[:, 1], transforms.Grayscale()(IMAGES)[:, 0] / 255, atol=0.003)
    np.testing.assert_array_equal(transforms.Grayscale()(GRAY), GRAY)
    with pytest.raises(ShapeError, match="1 or 3 channels"):
        transforms.Grayscale().spec(Spec((4, 8, 8), dtypes.uint8))


def jittered(numbers: list[float], **most: float) -> np.ndarray[Any, Any]:
    transform = transforms.ColorJitter(**{"brightness": 0.0, "contrast": 0.0, "saturation": 0.0, **most})
    return transform.augment((IMAGES / np.float32(255)), np.tile(numbers, (4, 1)))


def test_color_jitter() -> None:
    images = IMAGES / np.float32(255)
    np.testing.assert_array_equal(jittered([1, 1, 1, 1]), images)
    np.testing.assert_allclose(jittered([1, 0, 0, 0], brightness=0.5), np.clip(images * 1.5, 0, 1), atol=1e-6)
    mean = luma(images).mean((1, 2, 3), keepdims=True)
    expected = np.clip(0.5 * images + 0.5 * mean, 0, 1)
    np.testing.assert_allclose(jittered([0, 0, 0, 0], contrast=0.5), expected, atol=1e-6)
    expected = np.clip(1.5 * images - 0.5 * luma(images), 0, 1)
    np.testing.assert_allclose(jittered([0, 0, 1, 0], saturation=0.5), expected, atol=1e-6)
    whole = transforms.ColorJitter(0.5, 0, 0).augment(IMAGES, np.ones((4, 4)))
    assert np.abs(whole - np.clip(IMAGES * 1.5, 0, 255)).max() <= 0.5001


def test_hue_rotation_matches_colorsys() -> None:
    images = (IMAGES[:1, :, :4, :5] / 255).astype(np.float32)
    images[0, :, 0, 0] = 0.5  # gray has no hue
    result = rotate_hue(images, np.full((1, 1, 1), 0.3, np.float32))
    for y in range(4):
        for x in range(5):
            hue, saturation, value = colorsys.rgb_to_hsv(*images[0, :, y, x].tolist())
            expected = colorsys.hsv_to_rgb((hue + 0.3) % 1, saturation, value)
            np.testing.assert_allclose(result[0, :, y, x], expected, atol=1e-5)


def test_random_erasing() -> None:
    transform = transforms.RandomErasing(0.5, scale=(0.1, 0.1), ratio=(1.0, 1.0), value=7)
    result = transform.augment(IMAGES, np.array([[0.4, 0, 0, 0.0, 0.0], [0.6, 0, 0, 0, 0]] * 2))
    np.testing.assert_array_equal(result[[1, 3]], IMAGES[[1, 3]])
    assert (result[[0, 2], :, :8, :8] == 7).all()  # a square of 60 pixels
    np.testing.assert_array_equal(result[0, :, 8:], IMAGES[0, :, 8:])
    np.testing.assert_array_equal(result[0, :, :, 8:], IMAGES[0, :, :, 8:])


def test_to_float_divides_by_the_dtype_maximum() -> None:
    assert np.asarray(transforms.ToFloat()(np.array([[0, 51, 255]], np.uint8))).tolist() == [[0, pytest.approx(0.2), 1]]
    assert np.asarray(transforms.ToFloat()(np.array([[65535]], np.uint16))).tolist() == [[1]]
    assert np.asarray(transforms.ToFloat()(np.array([[3.5]]))).tolist() == [[3.5]]
    assert np.asarray(transforms.ToFloat()(np.array([[-7, 300]]))).tolist() == [[-7, 300]]  # counts, not pixels

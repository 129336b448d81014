"""Random affine transforms of images."""

from __future__ import annotations

from typing import Annotated, Any, Literal

import numpy as np
from numpy.typing import NDArray
from PIL.Image import Transform as PillowTransform

from engine.data.transforms.crop import check_range, scale_to_range
from engine.data.transforms.pillow_images import map_images
from engine.data.transforms.resize import FILTERS
from engine.data.transforms.transform import Augmentation, image_size
from engine.registry import TRANSFORMS, Range
from engine.shape import Spec


@TRANSFORMS.register(
    category="Augmentation",
    title="Random affine",
    outputs=("samples",),
    tags=("rotation", "rotate", "shift", "translate", "shear", "zoom", "turn"),
)
class RandomAffine(Augmentation):
    """Rotate, translate, scale and shear training images at random. Pixels outside the image are zero.

    Args:
        degrees: maximum rotation about the center in degrees, in both directions
        translate: maximum translation as a fraction of the image size; one number, or vertical and horizontal
        scale: minimum and maximum scale factor
        shear: maximum shear angle in degrees, in both directions
        interpolation: resampling method
    """

    numbers = 5

    def __init__(
        self,
        degrees: Annotated[float, Range(ge=0, le=180)] = 10.0,
        translate: Annotated[float, Range(ge=0, le=1)] | tuple[Annotated[float, Range(ge=0, le=1)], ...] = 0.0,
        scale: tuple[Annotated[float, Range(gt=0)], Annotated[float, Range(gt=0)]] = (1.0, 1.0),
        shear: Annotated[float, Range(ge=0, lt=90)] = 0.0,
        interpolation: Literal["nearest", "bilinear", "bicubic"] = "bilinear",
    ) -> None:
        self.degrees = degrees
        self.translate = translate
        self.scale = check_range("RandomAffine", "scale", scale)
        self.shear = shear
        self.interpolation = interpolation
        _vertical_horizontal(translate)

    def apply(self, samples: NDArray[Any]) -> NDArray[Any]:
        return samples

    def augment(self, samples: NDArray[Any], numbers: NDArray[np.float64]) -> NDArray[Any]:
        height, width = samples.shape[-2:]
        signed = 2 * numbers - 1
        angle, shear = np.radians(self.degrees * signed[:, 0]), np.radians(self.shear * signed[:, 4])
        # Whole pixels, as in torchvision: a shift alone then changes no number.
        shifts = [
            np.rint(share * size * signed[:, column])
            for share, size, column in zip(_vertical_horizontal(self.translate), (height, width), (1, 2), strict=True)
        ]
        rows = inverse_affine_coefficients(
            angle, shifts, scale_to_range(self.scale, numbers[:, 3]), shear, (height, width)
        ).tolist()
        filter = FILTERS[self.interpolation]
        return map_images(
            samples,
            (height, width),
            lambda image, row: image.transform((width, height), PillowTransform.AFFINE, rows[row], filter),  # pyright: ignore[reportArgumentType]
        )

    def spec(self, sample: Spec) -> Spec:
        image_size("RandomAffine", sample)
        return sample


def _vertical_horizontal(values: float | tuple[float, ...]) -> tuple[float, float]:
    if isinstance(values, tuple):
        if len(values) != 2:
            raise ValueError(f"RandomAffine: translate needs one or two numbers, not {values}.")
        return values[0], values[1]
    return float(values), float(values)


def inverse_affine_coefficients(
    angle: NDArray[np.float64],
    shifts: list[NDArray[np.float64]],
    scale: NDArray[np.float64],
    shear: NDArray[np.float64],
    size: tuple[int, int],
) -> NDArray[np.float64]:
    """N×6: the coefficients of the inverse affine map, output to input pixel, that Pillow expects for each image.

    The forward map shears, scales and rotates about the center, counterclockwise for positive angles, then translates.
    """
    down, across = shifts
    center_x, center_y = size[1] / 2, size[0] / 2
    cos, sin = np.cos(angle) * scale, np.sin(angle) * scale
    # A counterclockwise rotation with y pointing down: (x, y) → (cos x + sin y, cos y - sin x).
    a, b, c, d = cos, sin - cos * np.tan(shear), -sin, cos + sin * np.tan(shear)
    determinant = a * d - b * c
    inverse = np.stack([d, -b, -c, a], 1) / determinant[:, np.newaxis]
    x, y = center_x + across, center_y + down
    offset_x = center_x - inverse[:, 0] * x - inverse[:, 1] * y
    offset_y = center_y - inverse[:, 2] * x - inverse[:, 3] * y
    return np.stack([inverse[:, 0], inverse[:, 1], offset_x, inverse[:, 2], inverse[:, 3], offset_y], 1)

"""Decoding of image files to uint8 arrays with Pillow."""

from __future__ import annotations

import re
import warnings
from io import BytesIO
from pathlib import Path
from typing import Any, BinaryIO, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageOps, UnidentifiedImageError

from engine.data.file_access import check_memory
from engine.errors import DataError
from engine.system.files import open_regular

ColorMode: TypeAlias = Literal["colour", "grey"]

SUFFIXES = (".png", ".jpg", ".jpeg", ".bmp", ".gif", ".webp", ".tif", ".tiff", ".ppm", ".pgm")

FORMATS = ("PNG", "JPEG", "BMP", "GIF", "WEBP", "TIFF", "PPM")

_PILLOW_WARNINGS = ("ignore", None, Warning, re.compile(r"PIL\."), 0)
"""A filter for Pillow's warnings about unusual images and large sizes."""

_LARGE = 2**24
"""Images with more pixels are checked against the free memory."""
_BYTES_PER_PIXEL = 12
"""Peak memory of decoding and conversion: three copies of four channels."""


def decode_image(source: Path | bytes, color: ColorMode, name: str) -> NDArray[np.uint8]:
    """Decode an image to uint8, 3×H×W or 1×H×W.

    Applies the EXIF orientation, and converts 16 bits to 8, palettes and CMYK to RGB, and transparent pixels to white.
    Uses the first frame of an animation.

    Args:
        source: path, or content of the file
        color: three color channels, or one grayscale channel
        name: name of the image in errors

    Raises:
        DataError: the image cannot be decoded, or has more than 179 million pixels.
    """
    # Warning filters are global: a temporary filter would also hide the warnings of other threads.
    if _PILLOW_WARNINGS not in warnings.filters:
        warnings.filterwarnings("ignore", module=_PILLOW_WARNINGS[3].pattern)
    try:
        with _open_source(source) as file, Image.open(file, formats=FORMATS) as image:
            pixels = image.width * image.height
            if pixels > _LARGE:
                check_memory(name, pixels * _BYTES_PER_PIXEL, "Reduce its size.")
            ImageOps.exif_transpose(image, in_place=True)
            return _channels_first(_to_rgb_or_gray(image, color))
    except DataError:
        raise
    except FileNotFoundError:
        raise DataError(f"{name}: file not found. Check whether the folder was moved.") from None
    except UnidentifiedImageError:
        raise DataError(f"{name}: is not a readable image. Remove it, or set on_error to skip.") from None
    except Image.DecompressionBombError:
        raise DataError(f"{name}: declares more than 179 million pixels, the limit. Reduce its size.") from None
    except MemoryError:
        raise DataError(f"{name}: does not fit into the free memory. Reduce its size.") from None
    except OSError as error:
        raise DataError(
            f"{name}: cannot be decoded ({error.strerror or error}). Replace it, or set on_error to skip."
        ) from None
    except (SyntaxError, ValueError, TypeError, IndexError, EOFError) as error:
        raise DataError(f"{name}: cannot be decoded ({error}). Replace it, or set on_error to skip.") from None


def _open_source(source: Path | bytes) -> BinaryIO:
    return open_regular(source) if isinstance(source, Path) else BytesIO(source)


def _to_rgb_or_gray(image: Image.Image, color: ColorMode) -> Image.Image:
    """Convert to 8 bits without palette and transparency."""
    if image.mode in ("I", "I;16", "I;16B", "I;16L", "F"):
        image = _to_eight_bits(image)
    if image.mode == "P":
        image = image.convert("RGBA" if "transparency" in image.info else "RGB")
    if image.mode in ("LA", "La", "PA", "RGBA", "RGBa") or "transparency" in image.info:
        rgba = image.convert("RGBA")
        image = Image.alpha_composite(Image.new("RGBA", rgba.size, "white"), rgba)
    mode = "RGB" if color == "colour" else "L"
    return image if image.mode == mode else image.convert(mode)


def _to_eight_bits(image: Image.Image) -> Image.Image:
    """Scale to 8 bits: integers from 16 bits, floats from 0 to 1. Pillow would clip values above 255."""
    values = np.asarray(image).astype(np.float64)
    factor = 255 if image.mode == "F" else 255 / 65535
    return Image.fromarray(np.clip(np.rint(values * factor), 0, 255).astype(np.uint8))


def _channels_first(image: Image.Image) -> NDArray[np.uint8]:
    values: NDArray[Any] = np.asarray(image)
    return values[np.newaxis] if values.ndim == 2 else np.moveaxis(values, -1, 0)

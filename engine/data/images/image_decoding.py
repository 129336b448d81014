"""Images in files of any format that Pillow reads, as arrays of bytes."""

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

_OF_PILLOW = ("ignore", None, Warning, re.compile(r"PIL\."), 0)
"""A filter for what Pillow finds odd but reads, and for its own lower limit of pixels."""

_LARGE = 2**24
"""Pixels from which on the free memory is asked for."""
_BYTES_A_PIXEL = 12
"""What decoding and converting take: up to three copies of four channels."""


def decode_image(source: Path | bytes, colour: ColorMode, name: str) -> NDArray[np.uint8]:
    """An image, upright, as 3×H×W or 1×H×W bytes.

    It is turned as its EXIF data say; 16 bits become 8; palettes and CMYK become RGB; what is transparent becomes
    white; of an animation the first picture counts.

    Args:
        source: a file, or what it holds
        colour: whether there are three channels or a grey one
        name: what the image is called in errors

    Raises:
        DataError: it does not decode, or declares more than 179 million pixels.
    """
    # Filters belong to all threads: lifted again after each image, they would swallow warnings of others meanwhile.
    if _OF_PILLOW not in warnings.filters:
        warnings.filterwarnings("ignore", module=_OF_PILLOW[3].pattern)
    try:
        with _opened(source) as file, Image.open(file, formats=FORMATS) as image:
            pixels = image.width * image.height
            if pixels > _LARGE:
                check_memory(name, pixels * _BYTES_A_PIXEL, "Make it smaller.")
            ImageOps.exif_transpose(image, in_place=True)
            return _array(_flat(image, colour))
    except DataError:
        raise
    except FileNotFoundError:
        raise DataError(f"{name}: there is no such file any more. Check whether the folder was moved.") from None
    except UnidentifiedImageError:
        raise DataError(f"{name}: is no image that can be read. Remove it, or set on_error to skip.") from None
    except Image.DecompressionBombError:
        raise DataError(f"{name}: declares more pixels than are ever decoded (179 million). Make it smaller.") from None
    except MemoryError:
        raise DataError(f"{name}: does not fit the memory that is free. Make it smaller.") from None
    except OSError as error:
        raise DataError(
            f"{name}: does not decode ({error.strerror or error}). Replace it, or set on_error to skip."
        ) from None
    except (SyntaxError, ValueError, TypeError, IndexError, EOFError) as error:
        raise DataError(f"{name}: does not decode ({error}). Replace it, or set on_error to skip.") from None


def _opened(source: Path | bytes) -> BinaryIO:
    return open_regular(source) if isinstance(source, Path) else BytesIO(source)


def _flat(image: Image.Image, colour: ColorMode) -> Image.Image:
    """Without palette, transparency, or more than 8 bits."""
    if image.mode in ("I", "I;16", "I;16B", "I;16L", "F"):
        image = _eight_bits(image)
    if image.mode == "P":
        image = image.convert("RGBA" if "transparency" in image.info else "RGB")
    if image.mode in ("LA", "La", "PA", "RGBA", "RGBa") or "transparency" in image.info:
        whole = image.convert("RGBA")
        image = Image.alpha_composite(Image.new("RGBA", whole.size, "white"), whole)
    mode = "RGB" if colour == "colour" else "L"
    return image if image.mode == mode else image.convert(mode)


def _eight_bits(image: Image.Image) -> Image.Image:
    """Pillow would cut off what is above 255. Whole numbers are taken to be of 16 bits, fractions to go from 0 to 1."""
    values = np.asarray(image).astype(np.float64)
    factor = 255 if image.mode == "F" else 255 / 65535
    return Image.fromarray(np.clip(np.rint(values * factor), 0, 255).astype(np.uint8))


def _array(image: Image.Image) -> NDArray[np.uint8]:
    values: NDArray[Any] = np.asarray(image)
    return values[np.newaxis] if values.ndim == 2 else np.moveaxis(values, -1, 0)

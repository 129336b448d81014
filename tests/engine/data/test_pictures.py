"""Image files of every kind, folders and lists of them, and what cannot be decoded."""

from __future__ import annotations

import pickle
import struct
import warnings
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import psutil
import pytest
from PIL import Image

from engine import data, dtypes
from engine.data import transforms
from engine.data.images import image_decoding
from engine.data.images.image_decoding import decode_image
from engine.errors import DataError, ShapeError
from engine.shape import Spec

COLORS = np.random.default_rng(0).integers(0, 256, (6, 9, 3), dtype=np.uint8)
PICTURE = Image.fromarray(COLORS)


def read(path: Path, color: Any = "colour") -> np.ndarray[Any, Any]:
    return decode_image(path, color, str(path))


def saved(tmp_path: Path, image: Image.Image, name: str = "a.png", **options: Any) -> Path:
    image.save(tmp_path / name, **options)
    return tmp_path / name


def test_plain_images(tmp_path: Path) -> None:
    np.testing.assert_array_equal(read(saved(tmp_path, PICTURE)), np.moveaxis(COLORS, -1, 0))
    gray = read(saved(tmp_path, PICTURE), "grey")
    np.testing.assert_array_equal(gray[0], np.asarray(PICTURE.convert("L")))
    assert read(saved(tmp_path, PICTURE.convert("1"))).shape == (3, 6, 9)


def test_exif_orientation(tmp_path: Path) -> None:
    exif = Image.Exif()
    exif[0x0112] = 6  # turned by a quarter
    path = saved(tmp_path, PICTURE, "a.png", exif=exif)
    np.testing.assert_array_equal(read(path), np.moveaxis(np.rot90(COLORS, -1), -1, 0))


def test_16_bits_are_scaled(tmp_path: Path) -> None:
    deep = np.array([[0, 257 * 100, 65535]], np.uint16)
    assert read(saved(tmp_path, Image.fromarray(deep)), "grey").tolist() == [[[0, 100, 255]]]
    assert read(saved(tmp_path, Image.fromarray(deep), "a.tif")).tolist() == [[[0, 100, 255]]] * 3
    fractions = Image.fromarray(np.array([[0, 0.5, 2]], np.float32))
    assert read(saved(tmp_path, fractions, "b.tiff"), "grey").tolist() == [[[0, 128, 255]]]


def test_palettes_and_cmyk(tmp_path: Path) -> None:
    few = Image.fromarray(np.repeat(COLORS[:1, :4], 3, 0))
    indexed = few.convert("P", palette=Image.Palette.ADAPTIVE, colors=8)
    np.testing.assert_array_equal(
        read(saved(tmp_path, indexed)), np.moveaxis(np.asarray(indexed.convert("RGB")), -1, 0)
    )
    printed = PICTURE.convert("CMYK")
    path = saved(tmp_path, printed, "a.jpg", quality=100)
    expected = np.moveaxis(np.asarray(Image.open(path).convert("RGB")), -1, 0)
    np.testing.assert_array_equal(read(path), expected)
    assert np.abs(expected.astype(int) - np.moveaxis(COLORS, -1, 0)).mean() < 25


def test_transparent_pixels_become_white(tmp_path: Path) -> None:
    layer = np.zeros((1, 3, 4), np.uint8)
    layer[0, :, 3] = (0, 128, 255)
    assert read(saved(tmp_path, Image.fromarray(layer, "RGBA"))).tolist() == [[[255, 127, 0]]] * 3
    assert read(saved(tmp_path, Image.fromarray(layer[..., 2:], "LA")), "grey").tolist() == [[[255, 127, 0]]]
    clear = Image.new("P", (2, 1))
    clear.putpalette([10, 20, 30, 40, 50, 60])
    clear.putpixel((1, 0), 1)
    assert read(saved(tmp_path, clear, transparency=0))[:, 0].T.tolist() == [[255] * 3, [40, 50, 60]]


def png(width: int, height: int) -> bytes:
    """A file that declares a size and holds next to nothing."""

    def chunk(kind: bytes, content: bytes) -> bytes:
        body = kind + content
        return struct.pack(">I", len(content)) + body + struct.pack(">I", zlib.crc32(body))

    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    return (
        b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(b"\0" * 100)) + chunk(b"IEND", b"")
    )


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "not a readable image"),
        (b"hello, I am a text", "not a readable image"),
        (png(100_000, 100_000), "declares more than 179 million pixels"),
        (png(400, 400), "cannot be decoded"),
    ],
)
def test_bad_images(tmp_path: Path, content: bytes, message: str) -> None:
    path = tmp_path / "bad.png"
    path.write_bytes(content)
    with pytest.raises(DataError, match=message) as caught:
        read(path)
    assert str(caught.value).startswith(str(path))


def test_truncated_and_missing_files(tmp_path: Path) -> None:
    path = saved(tmp_path, PICTURE.resize((90, 60)), "a.jpg")
    path.write_bytes(path.read_bytes()[:-200])
    with pytest.raises(DataError, match=r"a\.jpg: cannot be decoded"):
        read(path)
    with pytest.raises(DataError, match="file not found"):
        read(tmp_path / "gone.png")


# -- folders and lists --------------------------------------------------------------------------


@pytest.fixture
def folder(tmp_path: Path) -> Callable[..., Path]:
    def make(root: str = "images", counts: tuple[int, int] = (5, 3)) -> Path:
        for name, count in zip(("cat", "dog"), counts, strict=True):
            (tmp_path / root / name).mkdir(parents=True)
            for number in range(count):
                size = (10 + number, 8)
                shade = number * 10 + (100 if name == "dog" else 0)
                Image.new("RGB", size, (shade, 0, 0)).save(tmp_path / root / name / f"{number}.png")
        return tmp_path / root

    return make


def test_an_image_folder(folder) -> None:
    root = folder()
    (root / "cat" / "notes.txt").write_text("no image")
    source = data.ImageFolder(str(root), validation=0.25)
    assert (str(source.input), source.target) == ("3×H×W uint8", Spec((), dtypes.int64))
    assert (source.classes, source.class_names) == (2, ("cat", "dog"))
    assert source.validation is not None
    assert (len(source.train), len(source.validation)) == (6, 2)
    assert source.files == (root / "cat", root / "dog")
    everything = data.ImageFolder(str(root), validation=0).train
    images, labels = everything.arrays(np.array([0, 6, 4]))
    assert isinstance(images, list)
    assert [image.shape for image in images] == [(3, 8, 10), (3, 8, 11), (3, 8, 14)]
    assert [int(image[0, 0, 0]) for image in images] == [0, 110, 40]
    assert np.asarray(labels).tolist() == [0, 1, 0]
    assert np.asarray(everything.targets(np.arange(8))).tolist() == [0] * 5 + [1] * 3
    with pytest.raises(ShapeError, match="Add Resize or a crop before the loader"):
        data.splits.check_sizes(source.input)
    batch = source.map(transforms.Resize((4, 4))).map(transforms.ToFloat()).train.batch(np.arange(6))[0]
    assert tuple(batch.shape) == (6, 3, 4, 4)
    assert len(pickle.dumps(everything)) < 2000


def test_image_folder_with_train_and_val(folder) -> None:
    folder("images/train")
    root = folder("images/val", (1, 2)).parent
    source = data.ImageFolder(str(root))
    assert source.validation is not None
    assert (len(source.train), len(source.validation), len(source.files)) == (8, 3, 4)
    (root / "val" / "emu").mkdir()
    with pytest.raises(DataError, match="has class 'emu', but"):
        data.ImageFolder(str(root))


def test_bad_image_folders(folder, tmp_path: Path) -> None:
    with pytest.raises(DataError, match="no folder selected"):
        data.ImageFolder("")
    with pytest.raises(DataError, match="folder not found"):
        data.ImageFolder(str(tmp_path / "none"))
    with pytest.raises(DataError, match="has no class folders"):
        data.ImageFolder(str(tmp_path))
    root = folder()
    (root / "empty").mkdir()
    with pytest.raises(DataError, match="empty: contains no images"):
        data.ImageFolder(str(root))


def test_only_warnings_of_pillow_are_ignored(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Image, "MAX_IMAGE_PIXELS", 40)  # from there on Pillow warns
    flat = image_decoding._to_rgb_or_gray

    def meanwhile(*arguments: Any) -> Any:
        warnings.warn("of another thread", stacklevel=1)
        return flat(*arguments)

    monkeypatch.setattr(image_decoding, "_to_rgb_or_gray", meanwhile)
    with pytest.warns(UserWarning, match="of another thread"):
        assert read(saved(tmp_path, PICTURE)).shape == (3, 6, 9)


def test_undecodable_images_stop_or_are_skipped(folder) -> None:
    root = folder()
    (root / "cat" / "1.png").write_bytes(b"broken")
    stopped = data.ImageFolder(str(root), validation=0).train
    with pytest.raises(DataError, match=r"1\.png: is not a readable image"):
        stopped.arrays(np.array([0, 1]))
    skipped = data.ImageFolder(str(root), validation=0, on_error="skip").train
    with pytest.warns(UserWarning, match=r"1\.png: is not a readable image.* The next image replaces it"):
        images, labels = skipped.arrays(np.array([1, 5]))
    assert [int(image[0, 0, 0]) for image in images] == [20, 100]
    assert np.asarray(labels).tolist() == [0, 1]
    for path in root.glob("*/*.png"):
        path.unlink()
    with pytest.raises(DataError, match="file not found"):
        stopped.arrays(np.array([0]))
    with (
        pytest.warns(UserWarning, match="replaces it"),
        pytest.raises(DataError, match="none of the 8 images can be decoded"),
    ):
        skipped.arrays(np.array([0]))


def test_an_image_list(folder, tmp_path: Path) -> None:
    root = folder()
    (root / "list.csv").write_text("label,image,age\nb,cat/0.png,1.5\na,dog/1.png,2\nb,cat/3.png,3\n")
    source = data.ImageList(str(root / "list.csv"), validation=0)
    assert (source.classes, source.class_names, str(source.input)) == (2, ("a", "b"), "3×H×W uint8")
    images, labels = source.train.arrays(np.array([1, 2]))
    assert [int(image[0, 0, 0]) for image in images] == [110, 30]
    assert np.asarray(labels).tolist() == [0, 1]
    ages = data.ImageList(str(root / "list.csv"), target="age", task="number", validation=0, channels="grey")
    assert (ages.classes, ages.target, ages.input.shape[0]) == (None, Spec((1,), dtypes.float32), 1)
    assert np.asarray(ages.train.targets(np.arange(3))).tolist() == [[1.5], [2], [3]]
    with pytest.raises(DataError, match=r"has no column 'kind'. It has columns 'label', 'image', 'age'"):
        data.ImageList(str(root / "list.csv"), target="kind")
    with pytest.raises(DataError, match="is a folder, not a file"):
        data.ImageList(str(root))


def test_image_larger_than_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its header says so before anything is decoded: the file has no pixels at all."""
    header = struct.pack(">IIBBBBB", 10_000, 10_000, 8, 2, 0, 0, 0)
    chunk = struct.pack(">I", len(header)) + b"IHDR" + header + struct.pack(">I", zlib.crc32(b"IHDR" + header))
    empty = struct.pack(">I", 0) + b"IDAT" + struct.pack(">I", zlib.crc32(b"IDAT"))
    path = tmp_path / "large.png"
    path.write_bytes(b"\x89PNG\r\n\x1a\n" + chunk + empty)
    free = psutil.virtual_memory()
    monkeypatch.setattr(psutil, "virtual_memory", lambda: free._replace(available=2**30))
    with pytest.raises(DataError, match=r"large\.png: needs 1\.1 GiB of memory, but 1\.0 GiB are free"):
        decode_image(path, "colour", str(path))

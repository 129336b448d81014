from __future__ import annotations

import io
import pickle
import tarfile
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image

from engine import data
from engine.errors import DataError


def picture(shade: int) -> bytes:
    content = io.BytesIO()
    Image.new("RGB", (5 + shade % 3, 4), (shade, 0, 0)).save(content, "PNG")
    return content.getvalue()


def shard(path: Path, files: dict[str, bytes], **odd: bytes) -> Path:
    with tarfile.open(path, "w") as archive:
        for name, content in files.items():
            info = tarfile.TarInfo(name)
            info.size = len(content)
            archive.addfile(info, io.BytesIO(content))
        for name, kind in odd.items():
            info = tarfile.TarInfo(name)
            info.type, info.linkname = kind, "/etc/passwd"
            archive.addfile(info)
    return path


def samples(first: int, count: int, label: str = "cls") -> dict[str, bytes]:
    files: dict[str, bytes] = {}
    for number in range(first, first + count):
        name = f"part/{number:04}"
        files[f"{name}.png"] = picture(number * 10)
        files[f"{name}.{label}"] = str(number % 3).encode() if label == "cls" else f"kind{number % 3}\n".encode()
        files[f"{name}.json"] = b"{}"
    return files


def test_images_and_labels_of_shards(tmp_path: Path) -> None:
    shard(tmp_path / "b-1.tar", samples(5, 4))
    shard(tmp_path / "b-0.tar", samples(0, 5))
    source = data.WebDataset(str(tmp_path), validation=0)
    assert (str(source.input), source.classes, source.class_names, len(source.train)) == ("3×H×W uint8", 3, (), 9)
    images, labels = source.train.arrays(np.array([7, 2]))
    assert [int(image[0, 0, 0]) for image in images] == [70, 20]
    assert np.asarray(labels).tolist() == [1, 2]
    copy = pickle.loads(pickle.dumps(source.train))
    np.testing.assert_array_equal(copy.arrays(np.array([8]))[0][0], source.train.arrays(np.array([8]))[0][0])
    assert [path.name for path in source.files] == ["b-0.tar", "b-1.tar"]


def test_class_names_as_labels(tmp_path: Path) -> None:
    shard(tmp_path / "a.tar", samples(1, 5, "txt"))
    source = data.WebDataset(str(tmp_path), "txt", validation=0.4)
    assert (source.classes, source.class_names) == (3, ("kind0", "kind1", "kind2"))
    assert len(source.validation or ()) == 2


@pytest.mark.parametrize(
    ("files", "odd", "message"),
    [
        ({"../out.png": b""}, {}, "points outside the archive"),
        ({"/abs.png": b""}, {}, "points outside the archive"),
        ({"a/../../b.png": b""}, {}, "points outside the archive"),
        ({}, {"link": tarfile.SYMTYPE}, "'link' is not a regular file"),
        ({}, {"hard": tarfile.LNKTYPE}, "is not a regular file"),
        ({}, {"device": tarfile.CHRTYPE}, "is not a regular file"),
        ({"a.png": b"x"}, {}, "a.png has no .cls file"),
        ({"a.png": b"x", "a.jpg": b"y", "a.cls": b"1"}, {}, "a.jpg is a second image"),
        ({"a.png": b"x", "a.cls": b"cat"}, {}, "the label of a.png is 'cat', not a class number"),
        ({"a.png": b"x", "a.cls": b"-1"}, {}, "is '-1', not a class number"),
        ({"a.cls": b"1"}, {}, "no labeled images"),
    ],
)
def test_bad_shards(tmp_path: Path, files: dict[str, bytes], odd: dict[str, bytes], message: str) -> None:
    shard(tmp_path / "a.tar", files, **odd)
    with pytest.raises(DataError, match=message):
        _ = data.WebDataset(str(tmp_path)).train


def test_huge_headers_are_rejected(tmp_path: Path) -> None:
    """One declares more than memory holds, in a file that takes no room; one follows the other 5,000 times."""
    header = tarfile.TarInfo("long")
    header.type, header.size = tarfile.GNUTYPE_LONGNAME, 2**32
    with (tmp_path / "a.tar").open("wb") as file:
        file.write(header.tobuf(tarfile.GNU_FORMAT))
        file.truncate(2**32 + 2048)
    with pytest.raises(DataError, match="a header declares 4,294,967,296 bytes"):
        _ = data.WebDataset(str(tmp_path)).train
    header.size = 1
    (tmp_path / "a.tar").write_bytes((header.tobuf(tarfile.GNU_FORMAT) + b"a".ljust(512, b"\0")) * 5000)
    with pytest.raises(DataError, match=r"a\.tar: is not a tar file, or is damaged"):
        _ = data.WebDataset(str(tmp_path)).train


def test_bad_folders_and_files(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="no folder selected"):
        data.WebDataset("")
    with pytest.raises(DataError, match=r"has no tar files. Choose"):
        data.WebDataset(str(tmp_path))
    (tmp_path / "a.tar.gz").write_bytes(b"")
    with pytest.raises(DataError, match=r"Unpack a\.tar\.gz"):
        data.WebDataset(str(tmp_path))
    whole = shard(tmp_path / "a.tar", samples(0, 3)).read_bytes()
    (tmp_path / "a.tar").write_bytes(b"no tar" * 200)
    with pytest.raises(DataError, match="is not a tar file, or is damaged"):
        _ = data.WebDataset(str(tmp_path)).train
    (tmp_path / "a.tar").write_bytes(whole[:600])
    with pytest.raises(DataError, match=r"a\.tar: "):
        _ = data.WebDataset(str(tmp_path)).train
    (tmp_path / "a.tar").write_bytes(whole)
    train = data.WebDataset(str(tmp_path), validation=0).train
    (tmp_path / "a.tar").unlink()
    with pytest.raises(DataError, match="file not found"):
        train.arrays(np.array([0]))


@given(st.binary(max_size=200), st.integers(0, 2600))
def test_damaged_shards_are_named(tmp_path_factory: pytest.TempPathFactory, noise: bytes, at: int) -> None:
    folder = tmp_path_factory.mktemp("damaged")
    content = bytearray(shard(folder / "a.tar", samples(0, 2)).read_bytes())
    content[at : at + len(noise)] = noise
    (folder / "a.tar").write_bytes(content)
    try:
        data.WebDataset(str(folder), validation=0).train.arrays(np.array([0]))
    except DataError as error:
        assert str(folder) in str(error)

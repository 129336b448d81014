from __future__ import annotations

import io
import pickle
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import psutil
import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine import data, dtypes
from engine.data.numpy_files import read_array_headers
from engine.errors import DataError
from engine.shape import Spec

X = np.arange(60, dtype=np.float32).reshape(10, 2, 3)
Y = np.arange(10) % 3


def npz(path: Path, packed: bool = False, **arrays: Any) -> str:
    (np.savez_compressed if packed else np.savez)(path, **arrays)
    return str(path)


@pytest.mark.parametrize("packed", [False, True])
def test_npz_archive(tmp_path: Path, packed: bool) -> None:
    source = data.NPY(npz(tmp_path / "a.npz", packed, x=X, y=Y), validation=0.2)
    assert (source.input, source.target, source.classes) == (Spec((2, 3), dtypes.float32), Spec((), dtypes.int64), 3)
    assert (len(source.train), len(source.validation or ())) == (8, 2)
    whole = data.NPY(str(tmp_path / "a.npz"), validation=0).train
    inputs, targets = whole.arrays(np.array([7, 2]))
    np.testing.assert_array_equal(inputs, X[[7, 2]])
    assert np.asarray(targets).tolist() == [1, 2]
    assert (len(pickle.dumps(whole)) < 1000) is not packed or len(X) < 100


def test_two_files_are_memory_mapped(tmp_path: Path) -> None:
    np.save(tmp_path / "x.npy", np.asfortranarray(X.astype(">f8")))
    np.save(tmp_path / "y.npy", X[:, 0, 0])
    source = data.NPY(str(tmp_path / "x.npy"), str(tmp_path / "y.npy"), validation=0)
    assert (source.input, source.target) == (Spec((2, 3), dtypes.float64), Spec((1,), dtypes.float32))
    assert source.classes is None
    inputs, targets = source.train.arrays(np.array([3]))
    assert isinstance(inputs, np.ndarray) and inputs.dtype.isnative
    np.testing.assert_array_equal(inputs, X[3:4])
    assert np.asarray(targets).tolist() == [[18]]
    assert len(source.files) == 2
    copy = pickle.loads(pickle.dumps(source.train))
    np.testing.assert_array_equal(copy.arrays(np.arange(10))[0], X)


def written(path: Path, header: str, content: bytes = b"") -> str:
    body = header.encode() + b"\n"
    path.write_bytes(b"\x93NUMPY\x01\x00" + len(body).to_bytes(2, "little") + body + content)
    return str(path)


@pytest.mark.parametrize(
    ("header", "message"),
    [
        ("{'descr': '|O', 'fortran_order': False, 'shape': (3,), }", "contains Python objects, which are never loaded"),
        (
            "{'descr': '<f4', 'fortran_order': False, 'shape': (100000, 100000, 100), }",
            "declares .* but 0 bytes follow",
        ),
        ("{'descr': '<f4', 'fortran_order': False, 'shape': (-1, 2), }", "damaged header"),
        ("{'descr': '<U4', 'fortran_order': False, 'shape': (0,), }", "has dtype <U4, but numbers are needed"),
        ("{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (0,), }", "but numbers are needed"),
        ("{'descr': '<c8', 'fortran_order': False, 'shape': (0,), }", "has dtype complex64"),
        ("__import__('os').system('true')", "damaged header"),
        ("{'descr': '<f4'}", "damaged header"),
        ("{'descr': '<f4', 'fortran_order': False, 'shape': (), }", "declares scalar float32"),
    ],
)
def test_bad_headers(tmp_path: Path, header: str, message: str) -> None:
    path = written(tmp_path / "a.npy", header)
    with pytest.raises(DataError, match=message) as caught:
        data.NPY(path, path)
    assert path in str(caught.value)


def test_archives_with_objects_are_rejected(tmp_path: Path) -> None:
    path = npz(tmp_path / "a.npz", x=X, y=np.array([None] * 10))
    with pytest.raises(DataError, match=r"a\.npz: y: contains Python objects"):
        data.NPY(path)


def test_zip_bombs_are_rejected_before_allocation(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = npz(tmp_path / "a.npz", True, x=np.zeros((1000, 1000)), y=np.zeros(1000, int))
    source = data.NPY(path)
    free = psutil.virtual_memory()
    monkeypatch.setattr(psutil, "virtual_memory", lambda: free._replace(available=1_000_000))
    with pytest.raises(DataError, match=r"needs 7.6 MiB of memory, but 976.6 KiB are free"):
        _ = source.train
    lying = tmp_path / "b.npz"
    content = io.BytesIO()
    np.save(content, np.zeros(10))
    with zipfile.ZipFile(lying, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("x.npy", content.getvalue() + b"\0" * 1000)
    with pytest.raises(DataError, match=r"declares 10 float64, 80 bytes, but 1.1 KiB follow"):
        read_array_headers(lying)


def test_bad_files(tmp_path: Path) -> None:
    np.save(tmp_path / "x.npy", X)
    np.save(tmp_path / "short.npy", Y[:9])
    np.save(tmp_path / "negative.npy", -Y)
    np.save(tmp_path / "one.npy", np.float32(1))
    np.save(tmp_path / "none.npy", X[:0])
    (tmp_path / "text.npy").write_text("no array")
    whole = (tmp_path / "x.npy").read_bytes()
    (tmp_path / "cut.npy").write_bytes(whole[:-4])
    (tmp_path / "zip.npz").write_bytes(b"PK\x03\x04 not really")

    def make(inputs: str, targets: str = "") -> data.NPY:
        return data.NPY(str(tmp_path / inputs), targets and str(tmp_path / targets))

    for inputs, targets, message in (
        ("x.npy", "", "contains only one array. Set targets"),
        ("x.npy", "short.npy", "has 9 rows, but"),
        ("one.npy", "one.npy", "is a single number"),
        ("none.npy", "none.npy", "has no rows"),
        ("text.npy", "", "is not a .npy or .npz"),
        ("cut.npy", "short.npy", "declares 10×2×3 float32"),
        ("zip.npz", "", "is damaged"),
        ("gone.npy", "", "file not found"),
    ):
        with pytest.raises(DataError, match=message):
            make(inputs, targets)
    with pytest.raises(DataError, match="contains label -2"):
        _ = make("x.npy", "negative.npy").train
    with pytest.raises(DataError, match=r"has no array 'y'. It has 'x'"):
        data.NPY(npz(tmp_path / "a.npz", x=X))


@given(st.binary(max_size=300), st.integers(0, 127), st.booleans())
def test_damaged_files_raise_and_run_nothing(
    tmp_path_factory: pytest.TempPathFactory, noise: bytes, at: int, packed: bool
) -> None:
    folder = tmp_path_factory.mktemp("damaged")
    content = bytearray(Path(npz(folder / "a.npz", packed, x=X, y=Y)).read_bytes())
    content[at : at + len(noise)] = noise
    (folder / "a.npz").write_bytes(content)
    try:
        data.NPY(str(folder / "a.npz"), validation=0).train.arrays(np.arange(2))
    except DataError as error:
        assert str(folder / "a.npz") in str(error)


@pytest.mark.parametrize("packed", [False, True])
def test_each_damaged_header_byte_raises(tmp_path: Path, packed: bool) -> None:
    whole = Path(npz(tmp_path / "a.npz", packed, x=X, y=Y)).read_bytes()
    for at in [*range(120), *range(len(whole) - 160, len(whole))]:
        for value in (0, 3, 255):
            (tmp_path / "a.npz").write_bytes(whole[:at] + bytes([value]) + whole[at + 1 :])
            try:
                data.NPY(str(tmp_path / "a.npz"), validation=0).train.arrays(np.arange(2))
            except DataError as error:
                assert str(tmp_path) in str(error)


@pytest.mark.parametrize("shape", [(20,), (20, 1), (20, 3)])
def test_integers_can_be_regression_targets(tmp_path: Path, shape: tuple[int, ...]) -> None:
    prices = np.arange(-5, np.prod(shape) - 5).reshape(shape)
    np.savez(tmp_path / "a.npz", x=np.ones((20, 2), np.float32), y=prices)
    source = data.NPY(str(tmp_path / "a.npz"), task="numbers", validation=0)
    assert (source.target, source.classes) == (Spec(shape[1:] or (1,), dtypes.float32), None)
    np.testing.assert_array_equal(source.train.targets(np.arange(20)), prices.reshape(20, -1))
    if shape == (20,):
        with pytest.raises(DataError, match=r"contains label -5, .* If these are not classes, set task to numbers"):
            _ = data.NPY(str(tmp_path / "a.npz")).classes


@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize("dtype", ["<U5", ">U5", "S5"])
def test_texts_are_class_names_in_ascending_order(tmp_path: Path, dtype: str, packed: bool) -> None:
    names = np.array(["setosa"[:5], "virgi", "ä" if "U" in dtype else "a", "setos"], dtype)
    source = data.NPY(npz(tmp_path / "a.npz", packed, x=np.ones((4, 2), np.float32), y=names), validation=0)
    found = sorted({"setos", "virgi", "ä" if "U" in dtype else "a"})
    assert (source.target, source.classes, source.class_names) == (Spec((), dtypes.int64), 3, tuple(found))
    expected = [
        found.index("setos"),
        found.index("virgi"),
        found.index("ä" if "U" in dtype else "a"),
        found.index("setos"),
    ]
    targets = np.asarray(source.train.targets(np.arange(4)))
    assert targets.tolist() == expected and targets.dtype == np.int64


def test_signs_are_two_classes(tmp_path: Path) -> None:
    signs = np.array([1, -1, -1, 1], np.int8)
    source = data.NPY(npz(tmp_path / "a.npz", x=np.ones((4, 2), np.float32), y=signs), validation=0)
    assert (source.classes, source.class_names) == (2, ("-1", "1"))
    assert np.asarray(source.train.targets(np.arange(4))).tolist() == [1, 0, 0, 1]
    numbers = data.NPY(str(tmp_path / "a.npz"), task="numbers", validation=0)
    assert np.asarray(numbers.train.targets(np.arange(4))).tolist() == [[1.0], [-1.0], [-1.0], [1.0]]
    assert numbers.class_names == ()


def test_texts_are_refused_where_numbers_are_needed(tmp_path: Path) -> None:
    texts, ones = np.array(["a", "b"]), np.ones((2, 2), np.float32)
    for arrays, options, message in (
        ({"x": texts, "y": np.arange(2)}, {}, "x: has dtype <U1, but numbers are needed"),
        ({"x": ones, "y": texts}, {"task": "numbers"}, "y: has dtype <U1, but numbers are needed"),
        ({"x": ones, "y": np.array([["a", "b"]] * 2)}, {}, "y: is 2×2 texts, but classes need one text per sample"),
        ({"x": ones, "y": np.array(["a" * 2000, "b"])}, {}, "y: has dtype <U2000, but numbers are needed"),
    ):
        with pytest.raises(DataError, match=message):
            data.NPY(npz(tmp_path / "a.npz", **arrays), **options)  # type: ignore[arg-type]
    unused = data.NPY(npz(tmp_path / "a.npz", x=ones, y=np.arange(2), names=texts), validation=0)
    assert unused.class_names == ()


def test_fractions_are_not_classes(tmp_path: Path) -> None:
    np.savez(tmp_path / "a.npz", x=np.ones((4, 2)), y=np.ones(4))
    with pytest.raises(DataError, match=r"is 4 float64, but classes need one integer .* Set task to numbers"):
        data.NPY(str(tmp_path / "a.npz"), task="classes")

"""Files that change, or go, while they are read."""

from __future__ import annotations

import os
import pickle
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from engine import data
from engine.data.memory_map import TruncationGuard
from engine.data.transforms import Resize
from engine.errors import DataError
from tests.engine.data.test_web_dataset import picture, samples, shard

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="Windows cannot delete or truncate mapped files")

ROOT = Path(__file__).parents[3]
COUNT = 4000


def npy(folder: Path) -> data.Splits:
    np.save(folder / "x.npy", np.zeros((COUNT, 50), np.float32))
    np.save(folder / "y.npy", np.arange(COUNT) % 3)
    return data.NPY(str(folder / "x.npy"), str(folder / "y.npy"))


def npz(folder: Path) -> data.Splits:
    np.savez(folder / "x.npz", x=np.zeros((COUNT, 50), np.float32), y=np.arange(COUNT) % 3)
    return data.NPY(str(folder / "x.npz"))


def idx(folder: Path) -> data.Splits:
    for name, array in (("images-idx3", np.zeros((COUNT, 8, 8))), ("labels-idx1", np.arange(COUNT) % 3)):
        header = bytes([0, 0, 8, array.ndim]) + np.array(array.shape, ">u4").tobytes()
        (folder / f"train-{name}-ubyte").write_bytes(header + array.astype(np.uint8).tobytes())
    return data.IDX(str(folder))


def cifar(folder: Path) -> data.Splits:
    for name in ("data_batch_1.bin", "test_batch.bin"):
        np.zeros((40, 3073), np.uint8).tofile(folder / name)
    return data.CIFAR(str(folder))


MAPPED: dict[str, Callable[[Path], data.Splits]] = {"npy": npy, "npz": npz, "idx": idx, "cifar": cifar}


def images(folder: Path) -> data.Splits:
    for name in ("a", "b"):
        (folder / name).mkdir()
        for number in range(20):
            (folder / name / f"{number}.png").write_bytes(picture(number))
    return data.ImageFolder(str(folder), validation=0.1).map(Resize((4, 4)))


def listed(folder: Path) -> data.Splits:
    for number in range(20):
        (folder / f"{number}.png").write_bytes(picture(number))
    lines = ["path,label", *(f"{number}.png,{number % 2}" for number in range(20))]
    (folder / "list.csv").write_text("\n".join(lines))
    return data.ImageList(str(folder / "list.csv"), "path", "label").map(Resize((4, 4)))


def shards(folder: Path) -> data.Splits:
    shard(folder / "0.tar", samples(0, 20))
    return data.WebDataset(str(folder)).map(Resize((4, 4)))


def table(folder: Path) -> data.Splits:
    (folder / "t.csv").write_text("a,b\n" + "1.5,0\n2.5,1\n" * 40)
    return data.CSV(str(folder / "t.csv"), "b")


def text(folder: Path) -> data.Splits:
    (folder / "t.txt").write_text("one two three " * 500)
    return data.Text(str(folder / "t.txt"), length=8)


READ = {"images": images, "list": listed, "shards": shards}
"""Sources that read their files as they are needed."""
HELD = {**MAPPED, "table": table, "text": text}
"""Those that keep what they have opened, or read."""


def cut_off(folder: Path) -> None:
    for path in folder.iterdir():
        os.truncate(path, 64)


def read_on(kind: str, folder: Path) -> None:
    """Reads a batch, cuts all files off, reads on, and writes what that comes to."""
    batches = iter(data.Batches(MAPPED[kind](folder), 4).train)
    next(batches)
    cut_off(folder)
    try:
        list(batches)
    except DataError as error:
        sys.stdout.write(str(error))


@pytest.mark.parametrize("kind", MAPPED)
def test_truncated_file_is_named(tmp_path: Path, kind: str) -> None:
    """Without the check the process would be killed, so the test runs in a separate process."""
    program = (
        "import sys; from pathlib import Path; from tests.engine.data.test_mapped import read_on\n"
        "read_on(sys.argv[1], Path(sys.argv[2]))"
    )
    command = [sys.executable, "-c", program, kind, str(tmp_path)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, (done.returncode, done.stderr)
    assert done.stdout.startswith(str(tmp_path))
    assert "was truncated from" in done.stdout
    assert "Restore the file" in done.stdout


@pytest.mark.parametrize("kind", HELD)
def test_batches_continue_after_files_are_deleted(tmp_path: Path, kind: str) -> None:
    batches = iter(data.Batches(HELD[kind](tmp_path), 4).train)
    next(batches)
    shutil.rmtree(tmp_path)
    assert len(list(batches)) > 5


@pytest.mark.parametrize("kind", READ)
@pytest.mark.parametrize("workers", [0, 2])
def test_removed_folder_is_named(tmp_path: Path, kind: str, workers: int) -> None:
    folder = tmp_path / "data"
    folder.mkdir()
    batches = iter(data.Batches(READ[kind](folder), 2, workers=workers).train)
    next(batches)
    shutil.rmtree(folder)
    with pytest.raises(DataError, match=r"data.*file not found"):
        list(batches)


def test_replaced_file_does_not_change_open_data(tmp_path: Path) -> None:
    """What was opened is read on, as if nothing had happened."""
    source = npy(tmp_path)
    samples = source.train
    np.save(tmp_path / "other.npy", np.ones((3, 50), np.float32))
    os.replace(tmp_path / "other.npy", tmp_path / "x.npy")
    inputs, _ = samples.arrays(np.array([0, len(samples) - 1]))
    assert np.asarray(inputs).max() == 0


def test_array_removed_before_worker_start_is_named(tmp_path: Path) -> None:
    content = pickle.dumps(npy(tmp_path).train)
    os.truncate(tmp_path / "x.npy", 200)
    with pytest.raises(DataError, match=r"x\.npy: has become shorter"):
        pickle.loads(content)
    (tmp_path / "x.npy").unlink()
    with pytest.raises(DataError, match=r"x\.npy: file not found"):
        pickle.loads(content)


def test_file_truncated_after_reading_its_header(tmp_path: Path) -> None:
    source = npy(tmp_path)
    os.truncate(tmp_path / "x.npy", 200)
    with pytest.raises(DataError, match=r"x\.npy: changed while it was opened"):
        _ = source.train


def test_arrays_in_memory_are_not_watched(tmp_path: Path) -> None:
    np.save(tmp_path / "a.npy", np.zeros(9))
    mapped = np.load(tmp_path / "a.npy", mmap_mode="r")
    watch = TruncationGuard(np.zeros(3), mapped[2:5].reshape(3, 1), mapped)
    os.truncate(tmp_path / "a.npy", 100)
    with pytest.raises(DataError, match=r"a\.npy: was truncated from 200 bytes to 100 bytes"):
        watch.check()
    TruncationGuard(np.zeros(3)).check()

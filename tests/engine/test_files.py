from __future__ import annotations

import os
import socket
import sys
import threading
from pathlib import Path

import pytest

import engine
from engine import data
from engine.data.images.image_decoding import decode_image
from engine.errors import DataError
from engine.system.files import check_regular, open_regular, read_regular

posix = pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such files")


def test_a_regular_file_and_a_link_to_it(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"content")
    if sys.platform != "win32":
        (tmp_path / "link").symlink_to(path)
        path = tmp_path / "link"
    with open_regular(path) as file:
        assert file.read() == b"content"
        assert file.name == str(path)
        assert os.get_inheritable(file.fileno()) is False
    assert read_regular(str(path), 7) == b"content"
    assert check_regular(path).st_size == 7
    with pytest.raises(OSError, match=r"it has 7 bytes, but at most 6 are read"):
        read_regular(path, 6)


def test_files_that_are_not_regular(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        open_regular(tmp_path / "missing")
    with pytest.raises(IsADirectoryError, match="it is a folder, not a file"):
        open_regular(tmp_path)
    with pytest.raises(OSError, match="characters that are not allowed"):
        open_regular("a\0b")
    with pytest.raises(OSError, match=r"too long|cannot find|No such file"):
        open_regular(tmp_path / ("a" * 300))
    with pytest.raises(OSError, match="it is a device, not a file"):
        open_regular("NUL" if sys.platform == "win32" else "/dev/null")


@posix
def test_pipes_and_sockets_are_not_opened(tmp_path: Path) -> None:
    """Without the check this would block forever: the pipe has no writer."""
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "link").symlink_to(tmp_path / "pipe")
    for name in ("pipe", "link"):
        with pytest.raises(OSError, match="it is a pipe, not a file"):
            open_regular(tmp_path / name)
    with socket.socket(socket.AF_UNIX) as server:
        before = os.getcwd()
        os.chdir(tmp_path)  # the path of a socket must be short
        try:
            server.bind("socket")
        finally:
            os.chdir(before)
        with pytest.raises(OSError, match="it is a socket, not a file"):
            open_regular(tmp_path / "socket")


@posix
def test_pipe_that_replaces_a_file_after_the_check(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "file").touch()
    known = os.stat(tmp_path / "file")
    monkeypatch.setattr(os, "stat", lambda path: known)
    with pytest.raises(OSError, match="it is a pipe, not a file"):
        open_regular(tmp_path / "pipe")


@posix
@pytest.mark.parametrize("name", ["pipe", "/dev/zero"])
def test_no_source_of_samples_waits_for_a_pipe_or_reads_a_device(tmp_path: Path, name: str) -> None:
    """Regression test: each of these blocked or used unlimited memory."""
    special = tmp_path / name
    if not special.exists():
        os.mkfifo(special)
    table = tmp_path / "list.csv"
    table.write_text(f"image,label\n{special},a\n")
    images = tmp_path / "idx"
    images.mkdir()
    for part in ("images-idx3", "labels-idx1"):
        (images / f"train-{part}-ubyte").symlink_to(special)
    shards = tmp_path / "shards"
    shards.mkdir()
    (shards / "a.tar").symlink_to(special)
    path = str(special)
    attempts = [
        lambda: data.CSV(path, "y"),
        lambda: data.Parquet(path, "y"),
        lambda: data.Text(path).classes,
        lambda: data.NPY(path),
        lambda: data.ImageList(path),
        lambda: data.ImageList(str(table)).train.arrays(engine.arange(1).numpy()),
        lambda: data.IDX(str(images)),
        lambda: data.WebDataset(str(shards)).classes,
        lambda: decode_image(special, "colour", path),
        lambda: engine.load(special),
    ]

    def attempt() -> None:
        for each in attempts:
            with pytest.raises((DataError, OSError), match=r"it is a (device|pipe), not a file|train-images"):
                each()
            done.append(each)

    done: list[object] = []
    thread = threading.Thread(target=attempt, daemon=True)
    thread.start()
    thread.join(30)
    assert len(done) == len(attempts)


def test_errors_do_not_quote_files_that_are_not_tables(tmp_path: Path) -> None:
    """A project from another person may name any file of the user."""
    path = tmp_path / "id_rsa"
    path.write_text("secret,secret\nsecret,3\n")
    for read in (lambda: data.CSV(str(path), "y"), lambda: data.ImageList(str(path))):
        with pytest.raises(DataError, match=r"has no column '(y|image)'. It has 2 other columns") as caught:
            read()
        assert "secret" not in str(caught.value)
    path.write_text("secret\nsecret\n")
    for read in (lambda: data.CSV(str(path), "y"), lambda: data.ImageList(str(path))):
        with pytest.raises(DataError, match=r"has no column '(y|image)'. It has 1 other") as caught:
            read()
        assert "secret" not in str(caught.value)

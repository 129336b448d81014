"""Damaged and malicious checkpoints: one clear error each, nothing executed, bounded memory and time."""

from __future__ import annotations

import io
import itertools
import pickle
import struct
import sys
import tarfile
import time
import tracemalloc
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import engine
from engine.errors import WeightsError
from engine.io import open_weights
from engine.io.pytorch import pickle_reader, records
from tests.engine.io.torch_bytes import (
    FLOATS,
    dictionary,
    found,
    integer,
    legacy_file,
    pickled,
    storage,
    tensor,
    text,
    weights,
    zip_file,
)


def load(content: bytes) -> Any:
    return engine.load(io.BytesIO(content))


def pickled_only(value: bytes) -> bytes:
    return zip_file(pickled(value), {"0": FLOATS})


def test_the_files_of_these_tests_are_read() -> None:
    for content in (zip_file(weights(), {"0": FLOATS}), legacy_file(legacy_weights(), {"0": (6, FLOATS)})):
        found = load(content)
        assert found["w"].tolist() == [[0, 1, 2], [3, 4, 5]]
        assert found["t"].tolist() == [[0, 3], [1, 4], [2, 5]]
        assert found["n"] == 7


def legacy_weights(numel: int = 6) -> bytes:
    of = storage(numel, extra=b"N")
    return pickled(dictionary({"w": tensor(of, (2, 3), (3, 1)), "t": tensor(of, (3, 2), (1, 3)), "n": integer(7)}))


# -- code


class _Bomb:
    def __reduce__(self) -> Any:
        return exec, ("raise SystemExit",)


@pytest.mark.parametrize(
    ("module", "name"),
    [
        ("os", "system"),
        ("builtins", "eval"),
        ("builtins", "getattr"),
        ("torch", "load"),
        ("torch.hub", "load"),
        ("numpy.core.multiarray", "_reconstruct"),
        ("torch._utils", "_rebuild_something_new"),
        ("torch", "float32.__class__"),
        ("collections", "OrderedDict.fromkeys"),
    ],
)
def test_unknown_globals_are_named_and_never_imported(module: str, name: str) -> None:
    modules = set(sys.modules)
    for content in (
        pickled(found(module, name) + b"(" + text("true") + b"tR"),
        b"\x80\x04" + text(module) + text(name) + b"\x93" + text("true") + b"\x85R.",
    ):
        for file in (zip_file(content), legacy_file(content, {})):
            with pytest.raises(
                WeightsError, match=rf"refers to {module}\.{name}, which is not data and is never executed"
            ):
                load(file)
    assert set(sys.modules) == modules


def test_legacy_tar_files_are_refused() -> None:
    """CVE-2025-32434: `torch.load(weights_only=True)` executed code of files in the tar format."""
    for kind in (tarfile.USTAR_FORMAT, tarfile.GNU_FORMAT, tarfile.PAX_FORMAT):
        buffer = io.BytesIO()
        with tarfile.open(fileobj=buffer, mode="w", format=kind) as archive:
            for name in ("sys_info", "pickle", "storages", "tensors"):
                content = pickle.dumps(_Bomb())
                entry = tarfile.TarInfo(name)
                entry.size = len(content)
                archive.addfile(entry, io.BytesIO(content))
        with pytest.raises(WeightsError, match=r"tar format of PyTorch before 0.1.10.*CVE-2025-32434.*torch\.save"):
            load(buffer.getvalue())


@pytest.mark.parametrize("opcode", [b"s", b"(", b"a", b"(e", b"\x90"])
def test_items_are_only_set_in_containers(opcode: bytes) -> None:
    """CVE-2026-24747: SETITEM and SETITEMS were applied to tensors and other objects."""
    key_and_value = integer(0) + integer(1)
    endings = {
        b"s": key_and_value + b"s",
        b"(": b"(" + key_and_value + b"u",
        b"a": integer(1) + b"a",
        b"(e": b"(" + integer(1) + b"e",
        b"\x90": b"(" + integer(1) + b"\x90",
    }
    targets = [tensor(storage(6), (6,), (1,)), integer(5), text("x"), b")", found("torch", "FloatStorage"), storage(6)]
    for target in targets:
        with pytest.raises(WeightsError, match=r"is (set in|appended to|added to) a \w+, not"):
            load(pickled_only(target + endings[opcode]))


@pytest.mark.parametrize("numel", [0, 5, 7, 1 << 30, 1 << 62])
def test_storages_have_the_declared_size(numel: int) -> None:
    """CVE-2026-24747: the declared number of elements and the size of the data were not compared."""
    shape = (min(numel, 6),)
    content = pickled(dictionary({"w": tensor(storage(numel), shape, (1,))}))
    with pytest.raises(WeightsError, match=f"has 24 bytes, but the pickle declares {4 * numel:,}"):
        load(zip_file(content, {"0": FLOATS}))
    legacy = pickled(dictionary({"w": tensor(storage(numel, extra=b"N"), shape, (1,))}))
    with pytest.raises(WeightsError, match=f"has 6 elements, but the pickle declares {numel:,}"):
        load(legacy_file(legacy, {"0": (6, FLOATS)}))


# -- tensors


@pytest.mark.parametrize(
    ("shape", "strides", "offset", "message"),
    [
        ((2, 3), (3, 1), 1, "needs 7 elements, but its storage '0' has 6"),
        ((7,), (1,), 0, "needs 7 elements"),
        ((2, 3), (4, 1), 0, "needs 7 elements"),
        ((2, 3), (3,), 0, "has 2 sizes and 1 strides"),
        ((-1,), (1,), 0, "whole numbers from 0"),
        ((2,), (-1,), 3, "whole numbers from 0"),
        ((2,), (1,), -1, "offset -1"),
        ((1 << 62, 1 << 62), (0, 0), 0, "repeats the 6 elements of its storage too often"),
        ((1 << 40,), (0,), 0, "repeats the 6 elements"),
        ((1 << 70,), (1,), 0, "whole numbers from 0"),
        ((2,) * 65, (0,) * 65, 0, "has 65 sizes"),
    ],
)
def test_tensors_lie_within_their_storage(
    shape: tuple[int, ...], strides: tuple[int, ...], offset: int, message: str
) -> None:
    content = pickled(dictionary({"w": tensor(storage(6), shape, strides, offset)}))
    with pytest.raises(WeightsError, match=message):
        load(zip_file(content, {"0": FLOATS}))


def test_empty_tensors_may_have_any_offset() -> None:
    content = pickled(dictionary({"w": tensor(storage(6), (0, 3), (3, 1), 6)}))
    assert load(zip_file(content, {"0": FLOATS}))["w"].shape == (0, 3)


# -- pickles

REFUSED_PICKLES: dict[str, tuple[bytes, str]] = {
    "no dictionary": (b"", "too few values"),
    "two values": (integer(1) + integer(2), "does not end with one value"),
    "a mark": (b"(" + integer(2), "does not end with one value"),
    "a storage": (storage(6), "does not end with one value"),
    "a constructor": (found("collections", "OrderedDict"), "does not end with one value"),
    "a dtype without tensor": (found("torch", "complex64"), "does not end with one value"),
    "a storage in a list": (b"](" + storage(6) + b"e", "a list contains a part of a tensor"),
    "a storage in a dictionary": (dictionary({"a": storage(6)}), "a dictionary contains a part of a tensor"),
    "arguments": (storage(6) + b"\x85", "does not end with one value"),
    "a list as key": (b"}]" + integer(1) + b"s", "a list is a key"),
    "a nested tuple as key": (b"}))\x86)\x86" + integer(1) + b"s", "a tuple is a key"),
    "a tensor as key": (b"}" + tensor(storage(6), (6,), (1,)) + integer(1) + b"s", "is a key"),
    "an odd number": (b"}(" + integer(1) + b"u", "a key has no value"),
    "a called number": (integer(1) + b")R", "a int is called"),
    "no arguments": (found("collections", "OrderedDict") + integer(1) + b"R", "called with a int"),
    "two arguments": (found("torch", "Size") + b"(" + integer(1) * 2 + b"tR", "has 2 arguments"),
    "text as size": (found("torch", "Size") + text("ab") + b"\x85R", "not built of sizes"),
    "a text as set": (found("builtins", "set") + text("ab") + b"\x85R", "not built of a list"),
    "lists in a set": (found("builtins", "set") + b"](]e\x85R", "not built of a list"),
    "memo": (b"h\x05", "memo has no entry 5"),
    "stack below a mark": (integer(1) + b"(\x85", "too few values"),
    "state of a list": (b"]}b", "the state of a list is set"),
    "attributes": (
        found("collections", "OrderedDict") + b")R" + dictionary({"__class__": integer(1)}) + b"b",
        "the state of a OrderedDict is set",
    ),
    "instances": (b"(ios\nsystem\n", "INST does not occur"),
    "extensions": (b"\x82\x01", "EXT1 does not occur"),
    "text ids": (b"Pab\n", "PERSID does not occur"),
    "buffers": (b"\x97", "NEXT_BUFFER does not occur"),
    "another id": (b"(" + text("module") + b"tQ", "does not describe a storage"),
    "an unknown key": (dictionary({"a": tensor(storage(6, "9"), (6,), (1,))}), "storage '9' is missing"),
    "a path as key": (dictionary({"a": tensor(storage(6, "../version"), (6,), (1,))}), "is missing"),
    "two types": (
        dictionary(
            {
                "a": tensor(storage(6), (6,), (1,)),
                "b": tensor(storage(6, kind=found("torch", "IntStorage")), (6,), (1,)),
            }
        ),
        "declared with two types or sizes",
    ),
    "a negative size": (storage(-1), "a storage has -1 elements"),
    "a boolean size": (
        b"(" + text("storage") + found("torch", "FloatStorage") + text("0") + text("cpu") + b"\x88tQ",
        "has True",
    ),
    "hooks": (
        found("torch._utils", "_rebuild_tensor_v2")
        + (b"(" + storage(6) + integer(0) + b"))\x89" + dictionary({"h": integer(1)}) + b"tR"),
        "tensor with hooks",
    ),
    "a parameter of a list": (found("torch._utils", "_rebuild_parameter") + b"(]\x88NtR", "list in place of a tensor"),
    "an endless builder": (
        found("torch._tensor", "_rebuild_from_type_v2")
        + b"("
        + (found("torch._tensor", "_rebuild_from_type_v2") + found("torch", "Tensor") + b")NtR"),
        "not built by a function that builds tensors",
    ),
    "an unknown device": (found("torch", "device") + text("mps") + b"\x85R", "the device 'mps'"),
    "a huge text": (b"\x8d" + struct.pack("<Q", 1 << 60) + b"abc", "incomplete or damaged"),
    "huge bytes": (b"B" + struct.pack("<I", (1 << 32) - 1) + b"abc", "incomplete or damaged"),
    "a huge number": (b"\x8b" + struct.pack("<I", (1 << 31) - 1) + b"abc", "incomplete or damaged"),
    "a long number": (b"L" + b"9" * 5000 + b"L\n", "incomplete or damaged"),
    "an unknown opcode": (b"\xff", "incomplete or damaged"),
}


@pytest.mark.parametrize("case", REFUSED_PICKLES)
def test_damaged_pickles(case: str) -> None:
    content, message = REFUSED_PICKLES[case]
    with pytest.raises(WeightsError, match=message):
        load(pickled_only(content))


def test_deep_structures_need_no_recursion() -> None:
    depth = 100_000
    found = load(pickled_only(b"]" * depth + b"a" * (depth - 1)))
    for _ in range(depth - 1):
        found = found[0]
    assert found == []


BOMBS: dict[str, Callable[[], bytes]] = {
    "lists": lambda: b"](" + b"]" * (1 << 20),
    "sets": lambda: b"](" + b"\x8f" * (1 << 20),
    "doubled tuples": lambda: b")" + b"2\x86" * (1 << 19),
    "copies": lambda: b"](" + b"K\x01" * 100_000 + b"eq\x00" + (found("builtins", "list") + b"h\x00\x85R") * 10_000,
    "marks": lambda: b"(" * (1 << 20),
    "memo": lambda: b"N" + b"".join(b"r" + struct.pack("<I", index) for index in range(500_000)),
}


@pytest.mark.parametrize("bomb", BOMBS)
def test_small_files_cannot_use_much_memory_or_time(bomb: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pickle_reader, "_BUDGET", 100_000)
    content = zip_file(pickled(BOMBS[bomb]()))
    began = time.process_time()
    tracemalloc.start()
    try:
        with pytest.raises(WeightsError, match=r"takes more than 100,000 steps|stack has more"):
            load(content)
        assert tracemalloc.get_traced_memory()[1] < 3 * len(content) + 300 * 100_000
    finally:
        tracemalloc.stop()
    assert time.process_time() - began < 20


def test_shared_parts_are_searched_once(tmp_path: Path) -> None:
    """A mapping that occurs a million times under long keys, at eight levels."""
    inner = dictionary({"w": tensor(storage(6), (6,), (1,))})
    nested = inner + b"q\x00"
    for index in range(1, 8):
        items = b"".join(text(f"{'k' * 900}{key}") + b"h" + bytes([index - 1]) for key in range(300))
        nested += b"0}(" + items + b"uq" + bytes([index])
    (tmp_path / "a.pt").write_bytes(zip_file(pickled(nested), {"0": FLOATS}))
    assert open_weights(tmp_path / "a.pt")["w"].shape == (6,)


# -- archives


def rewritten(content: bytes, change: Callable[[bytearray], None]) -> bytes:
    changed = bytearray(content)
    change(changed)
    return bytes(changed)


def overlapping() -> bytes:
    """Two members at the same position."""
    content = bytearray(zip_file(weights(), {"0": FLOATS, "1": FLOATS}))
    first = content.find(b"PK\x01\x02", content.find(b"PK\x01\x02"))
    entries = [index for index in range(first, len(content)) if content.startswith(b"PK\x01\x02", index)]
    data = [index for index in entries if b"archive/data/" in content[index + 46 : index + 62]]
    local = struct.unpack_from("<I", content, data[0] + 42)[0]
    struct.pack_into("<I", content, data[1] + 42, local)
    content[data[1] + 46 : data[1] + 60] = content[data[0] + 46 : data[0] + 60]
    return bytes(content)


def declared(size: int) -> bytes:
    """A storage whose directory entry declares a size."""
    content = bytearray(zip_file(weights(), {"0": FLOATS}))
    entry = content.rfind(b"archive/data/0") - 46
    struct.pack_into("<II", content, entry + 20, size, size)
    return bytes(content)


ARCHIVES: dict[str, tuple[Callable[[], bytes], str]] = {
    "duplicates": (
        lambda: zip_file(weights(), {"0": FLOATS}, more={"archive/data/9": b""}).replace(b"data/9", b"data/0"),
        "twice",
    ),
    "overlap": (overlapping, "twice|overlapping"),
    "absolute": (lambda: zip_file(weights(), {"0": FLOATS}, more={"/etc/x": b""}), "absolute or leads out"),
    "parent": (lambda: zip_file(weights(), {"0": FLOATS}, more={"a/../../x": b""}), "absolute or leads out"),
    "drive": (lambda: zip_file(weights(), {"0": FLOATS}, more={"C:x": b""}), "absolute or leads out"),
    "backslash": (lambda: zip_file(weights(), {"0": FLOATS}, more={"a!b": b""}).replace(b"a!b", b"a\\b"), "leads out"),
    "huge": (lambda: declared((1 << 32) - 2), "extends beyond|beyond the data"),
    "larger": (lambda: declared(25), "extends beyond|overlapping|25 bytes"),
    "smaller": (lambda: declared(23), "has 23 bytes, but the pickle declares 24"),
    "compressed": (
        lambda: zip_file(weights(), {"0": FLOATS}, method=zipfile.ZIP_DEFLATED),
        "compressed data.pkl|has a compressed",
    ),
    "no pickle": (lambda: zip_file(weights()).replace(b"data.pkl", b"data.pkx"), "a zip archive, not a checkpoint"),
    "two pickles": (lambda: zip_file(weights(), more={"b/data.pkl": b""}), "contains 2 checkpoints"),
    "byte order": (lambda: zip_file(weights(), more={"archive/byteorder": b"middle"}), "byte order is b'middle'"),
    "long byte order": (lambda: zip_file(weights(), more={"archive/byteorder": b"x" * 99}), "of 99 bytes"),
    "behind the end": (
        lambda: zip_file(weights(), {"0": FLOATS}) + b"more",
        "does not end after its directory|missing",
    ),
    "empty": (lambda: b"PK\x03\x04", "directory at the end of the archive is missing"),
}


@pytest.mark.parametrize("case", ARCHIVES)
def test_damaged_archives(case: str) -> None:
    make, message = ARCHIVES[case]
    with pytest.raises(WeightsError, match=message):
        load(make())


def test_zip_bombs_are_not_unpacked() -> None:
    content = zip_file(weights(), {"0": bytes(64 << 20)}, method=zipfile.ZIP_DEFLATED)
    assert len(content) < 1 << 20
    tracemalloc.start()
    try:
        with pytest.raises(WeightsError, match="compressed"):
            load(content)
        assert tracemalloc.get_traced_memory()[1] < 4 << 20
    finally:
        tracemalloc.stop()


def test_many_members(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("engine.io.zip_directory._MAX_MEMBERS", 4)
    with pytest.raises(WeightsError, match="has 5 members"):
        load(zip_file(weights(), {"0": FLOATS}))


@pytest.mark.parametrize(
    "write", [lambda: zip_file(weights(), {"0": FLOATS}), lambda: legacy_file(legacy_weights(), {"0": (6, FLOATS)})]
)
def test_files_that_end_early(write: Callable[[], bytes]) -> None:
    content = write()
    cuts = {len(content) * percent // 100 for percent in range(100)} | {len(content) - 1}
    for cut in sorted(cuts):
        with pytest.raises(WeightsError, match=r"\. [A-Z].*\.$"):
            load(content[:cut])


def test_the_legacy_format_is_checked() -> None:
    good = {"0": (6, FLOATS)}
    cases = {
        "is a pickle, not a checkpoint": legacy_file(legacy_weights(), good, magic=5),
        "not those of its tensors": legacy_file(legacy_weights(), {**good, "1": (6, FLOATS)}),
        "views of storages": legacy_file(
            pickled(tensor(storage(6, extra=b"(" + text("0") + integer(0) * 2 + b"t"), (6,), (1,))), good
        ),
        "does not describe a storage": legacy_file(weights(), good),
    }
    for message, content in cases.items():
        with pytest.raises(WeightsError, match=message):
            load(content)
    with pytest.raises(WeightsError, match="is a pickle, not a checkpoint"):
        load(pickle.dumps({"w": _Bomb()}))


def test_errors_begin_with_the_file_and_say_what_to_do(tmp_path: Path) -> None:
    path = tmp_path / "weights.pt"
    for make, _ in itertools.chain(ARCHIVES.values()):
        path.write_bytes(make())
        with pytest.raises(WeightsError) as caught:
            engine.load(path)
        assert str(caught.value).startswith(f"{path}: ")
        assert str(caught.value).endswith(".")


def test_a_file_that_changes_while_it_is_open(tmp_path: Path) -> None:
    path = tmp_path / "a.pt"
    path.write_bytes(zip_file(weights(), {"0": FLOATS}))
    stored = open_weights(path)
    path.write_bytes(zip_file(weights(), {"0": FLOATS}) + b" ")
    with pytest.raises(WeightsError, match=r"changed after it was opened. Open it again\."):
        stored["w"].read()


def test_large_expanded_tensors_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(records, "MAX_EXPANDED_BYTES", 400)
    for count, is_read in ((100, True), (101, False)):
        content = zip_file(pickled(dictionary({"w": tensor(storage(6), (count,), (0,))})), {"0": FLOATS})
        if is_read:
            assert load(content)["w"].shape == (count,)
        else:
            with pytest.raises(WeightsError, match="too often"):
                load(content)

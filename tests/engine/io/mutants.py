"""Read mutated weights files in a process whose memory is limited and whose actions are audited.

`python -m tests.engine.io.mutants FOLDER --mutants 100000` prints a report as JSON.
"""

from __future__ import annotations

import argparse
import io
import json
import random
import struct
import sys
import time
import traceback
import zipfile
from collections import Counter
from collections.abc import Callable, Mapping
from pathlib import Path

import numpy as np

import engine
from engine.errors import WeightsError
from engine.io import npz_weights, open_weights
from engine.io.safetensors_files import encode
from tests.engine.io import torch_bytes
from tests.studio.hostile.audit import Audit, Forbidden

_MEMORY = 256 << 20
"""Bytes that reading may allocate at a time, beyond what the process has at its start."""
_INTERESTING = (
    0,
    1,
    -1,
    2,
    127,
    128,
    255,
    256,
    1 << 15,
    1 << 16,
    1 << 31,
    (1 << 31) - 1,
    1 << 32,
    1 << 62,
    (1 << 63) - 1,
)
_WORDS = (b"(", b"t", b"R", b"s", b"u", b"b", b".", b"}", b"]", b"Q", b"0", b"2", b"h\x00", b"q\x00", b"\x85", b"\x93")
_TEXTS = (b"cos\nsystem\n", b"cbuiltins\neval\n", b"ctorch\nQInt8Storage\n", b"../", b"/", b"\x00", b"PK\x05\x06", b'"')


def samples() -> Mapping[str, bytes]:
    """Small valid files of each format."""
    state = torch_bytes.dictionary(
        {
            "w": torch_bytes.tensor(torch_bytes.storage(6, extra=b"N"), (2, 3), (3, 1)),
            "t": torch_bytes.tensor(torch_bytes.storage(6, extra=b"N"), (3, 2), (1, 3)),
        }
    )
    arrays = {"w": np.arange(6, dtype=np.float32).reshape(2, 3), "b": np.ones(3, np.int64)}
    plain, compressed = io.BytesIO(), io.BytesIO()
    np.savez(plain, allow_pickle=False, **arrays)
    np.savez_compressed(compressed, allow_pickle=False, **arrays)
    tensors = {name: engine.from_numpy(array) for name, array in arrays.items()}
    return {
        "zip": torch_bytes.zip_file(torch_bytes.weights(), {"0": torch_bytes.FLOATS}),
        "legacy": torch_bytes.legacy_file(torch_bytes.pickled(state), {"0": (6, torch_bytes.FLOATS)}),
        "safetensors": bytes(encode(tensors, {"format": "np"}, "sample")),
        "npz": plain.getvalue(),
        "compressed": compressed.getvalue(),
    }


def mutant(content: bytes, random_source: random.Random) -> bytes:
    """A copy with one to four changes."""
    changed = bytearray(content)
    for _ in range(random_source.choice((1, 1, 2, 4))):
        random_source.choice(_CHANGES)(changed, random_source)
    return bytes(changed)


def mutant_in_archive(content: bytes, random_source: random.Random) -> bytes:
    """A valid archive with a mutant of one member."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(content)) as old, zipfile.ZipFile(buffer, "w") as new:
        infos = old.infolist()
        chosen = random_source.choice(infos)
        for info in infos:
            data = old.read(info)
            new.writestr(info, mutant(data, random_source) if info is chosen else data)
    return buffer.getvalue()


def _position(content: bytearray, source: random.Random) -> int:
    return source.randrange(len(content) + 1)


def _flip(content: bytearray, source: random.Random) -> None:
    if content:
        content[source.randrange(len(content))] ^= 1 << source.randrange(8)


def _overwrite(content: bytearray, source: random.Random) -> None:
    code = source.choice(("<b", "<h", "<i", "<q"))
    size = struct.calcsize(code)
    value = source.choice(_INTERESTING) & ((1 << 8 * size) - 1)
    start = _position(content, source)
    content[start : start + size] = value.to_bytes(size, "little")


def _insert(content: bytearray, source: random.Random) -> None:
    start = _position(content, source)
    content[start:start] = source.choice((source.choice(_WORDS), source.choice(_TEXTS), source.randbytes(4)))


def _delete(content: bytearray, source: random.Random) -> None:
    start = _position(content, source)
    del content[start : start + source.choice((1, 2, 8, 64))]


def _repeat(content: bytearray, source: random.Random) -> None:
    start, size = _position(content, source), source.choice((1, 8, 40, 200))
    content[start:start] = content[start : start + size] * source.choice((1, 2, 50))


def _truncate(content: bytearray, source: random.Random) -> None:
    del content[_position(content, source) :]


def _digits(content: bytearray, source: random.Random) -> None:
    """Another number in a JSON header or in the header of an array."""
    found = [index for index, byte in enumerate(content) if chr(byte).isdigit()]
    if found:
        start = source.choice(found)
        content[start : start + 1] = str(abs(source.choice(_INTERESTING))).encode()


_CHANGES: tuple[Callable[[bytearray, random.Random], None], ...] = (
    *(_flip, _flip, _overwrite, _overwrite, _insert, _delete, _repeat, _truncate, _digits),
)


class Reader:
    """Reads mutants and counts what happened."""

    refusal: type[Exception] = WeightsError
    """What readers raise for files that they refuse."""

    def __init__(self, folder: Path) -> None:
        self.audit = Audit([folder], [], [])
        self.outcomes: Counter[str] = Counter()
        self.crashes: dict[str, str] = {}
        self.slowest = 0.0
        self._path = folder / "mutant"

    def __call__(self, name: str, content: bytes) -> None:
        self._path.write_bytes(content)
        began = time.process_time()
        for way in (self._load, self._open):
            self.outcomes[f"{name}: {self._outcome(way, content)}"] += 1
        self.slowest = max(self.slowest, time.process_time() - began)

    def _outcome(self, way: Callable[[bytes], None], content: bytes) -> str:
        try:
            with self.audit.watching():
                way(content)
        except self.refusal as error:
            return "refused" if str(error).endswith((".", ")")) else self._crash(error)
        except Forbidden:
            return "forbidden"
        except Exception as error:  # noqa: BLE001 - reported at the end
            return self._crash(error)
        return "read"

    def _crash(self, error: Exception) -> str:
        last = traceback.extract_tb(error.__traceback__)[-1]
        site = f"{type(error).__name__} in {Path(last.filename).name}: {last.name}"
        if site not in self.crashes:
            self.crashes[site] = str(error)[:200]
            self._path.with_name(f"crash{len(self.crashes)}").write_bytes(self._path.read_bytes())
        return "crash"

    def _load(self, content: bytes) -> None:
        engine.load(io.BytesIO(content))

    def _open(self, content: bytes) -> None:
        for stored in open_weights(self._path).values():
            values = stored.read()
            assert values.shape == stored.shape, "the shape differs from the announced one"
            assert values.dtype == stored.dtype, "the dtype differs from the announced one"


def limit_memory() -> None:
    if sys.platform == "linux":
        import resource  # noqa: PLC0415 - not on Windows

        pages = int(Path("/proc/self/statm").read_text().split()[0])
        limit = pages * resource.getpagesize() + _MEMORY
        resource.setrlimit(resource.RLIMIT_AS, (limit, limit))


def main() -> None:
    options = argparse.ArgumentParser()
    options.add_argument("folder", type=Path)
    options.add_argument("--mutants", type=int, default=2000)
    options.add_argument("--seed", type=int, default=1)
    parsed = options.parse_args()
    assert npz_weights  # is imported late, with libraries that the audit does not know
    reader, originals = Reader(parsed.folder.resolve()), samples()
    for name, content in originals.items():
        reader(f"original {name}", content)
    limit_memory()
    began = time.monotonic()
    for number in range(parsed.mutants):
        source = random.Random(f"{parsed.seed} {number}")
        name = source.choice(list(originals))
        in_archive = zipfile.is_zipfile(io.BytesIO(originals[name])) and source.random() < 0.7
        reader(name, (mutant_in_archive if in_archive else mutant)(originals[name], source))
    report = {
        "mutants": parsed.mutants,
        "seconds": round(time.monotonic() - began, 1),
        "slowest": round(reader.slowest, 2),
        "outcomes": dict(sorted(reader.outcomes.items())),
        "violations": reader.audit.violations,
        "crashes": reader.crashes,
    }
    sys.stdout.write(json.dumps(report, indent=2) + "\n")


if __name__ == "__main__":
    main()

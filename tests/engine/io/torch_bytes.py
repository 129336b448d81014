"""Write checkpoints of PyTorch byte by byte, without PyTorch, also those that PyTorch would never write."""

from __future__ import annotations

import io
import pickle
import struct
import zipfile
from collections.abc import Mapping

MAGIC = 0x1950A86A20F9469CFC6C


def text(value: str) -> bytes:
    raw = value.encode()
    return b"X" + struct.pack("<I", len(raw)) + raw


def integer(value: int) -> bytes:
    return pickle.dumps(value, 2)[2:-1]


def found(module: str, name: str) -> bytes:
    """A global."""
    return f"c{module}\n{name}\n".encode()


def sizes(values: tuple[int, ...]) -> bytes:
    return b"(" + b"".join(map(integer, values)) + b"t"


def storage(numel: int, key: str = "0", kind: bytes = found("torch", "FloatStorage"), extra: bytes = b"") -> bytes:
    return b"(" + text("storage") + kind + text(key) + text("cpu") + integer(numel) + extra + b"tQ"


def tensor(
    of: bytes, shape: tuple[int, ...], strides: tuple[int, ...], offset: int = 0, rebuild: str = "_rebuild_tensor_v2"
) -> bytes:
    hooks = found("collections", "OrderedDict") + b")R"
    arguments = of + integer(offset) + sizes(shape) + sizes(strides) + b"\x89" + hooks
    return found("torch._utils", rebuild) + b"(" + arguments + b"tR"


def dictionary(items: Mapping[str, bytes]) -> bytes:
    return b"}(" + b"".join(text(name) + value for name, value in items.items()) + b"u"


def pickled(content: bytes) -> bytes:
    return b"\x80\x02" + content + b"."


def weights(numel: int = 6) -> bytes:
    """The pickle of a dictionary with a matrix of 2×3 and its transpose, in one storage."""
    return pickled(
        dictionary(
            {"w": tensor(storage(numel), (2, 3), (3, 1)), "t": tensor(storage(numel), (3, 2), (1, 3)), "n": integer(7)}
        )
    )


def zip_file(
    content: bytes,
    storages: Mapping[str, bytes] | None = None,
    *,
    more: Mapping[str, bytes] | None = None,
    method: int = zipfile.ZIP_STORED,
) -> bytes:
    """A checkpoint in the zip format with this data.pkl."""
    members = {
        "archive/data.pkl": content,
        "archive/byteorder": b"little",
        **{f"archive/data/{key}": data for key, data in (storages or {}).items()},
        "archive/version": b"3\n",
        "archive/.data/serialization_id": b"0" * 40,
        **(more or {}),
    }
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", method) as archive:
        for name, data in members.items():
            archive.writestr(name, data)
    return buffer.getvalue()


def legacy_file(content: bytes, storages: Mapping[str, tuple[int, bytes]], *, magic: int = MAGIC) -> bytes:
    """A checkpoint in the legacy format; of each storage the number of elements and the data."""
    head = (magic, 1001, {"protocol_version": 1001, "little_endian": True, "type_sizes": {}})
    parts = [pickle.dumps(each, 2) for each in head] + [content, pickle.dumps(list(storages), 2)]
    return b"".join(parts) + b"".join(struct.pack("<q", numel) + data for numel, data in storages.values())


FLOATS = struct.pack("<6f", *range(6))
"""Six float32 values."""

"""Artifacts with changed members and correct hashes, as an attacker would write them."""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Callable
from typing import Any

import engine
from engine import export, nn
from engine.export import Artifact
from engine.export.archive import pack, sha256


def network() -> nn.Module:
    return nn.Sequential(nn.Conv2d(1, 2, 3), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(), nn.Linear(18, 3))


def artifact() -> Artifact:
    """A small artifact with a symbolic batch size."""
    model = network()
    sample = engine.linspace(-1, 1, 128).reshape(2, 1, 8, 8)
    return export.export(model, sample, dynamic_shapes=({0: "N"},), labels=["a", "b", "c"], name="small")


def content_of(found: Artifact) -> bytes:
    buffer = io.BytesIO()
    export.save(found, buffer)
    return buffer.getvalue()


def members_of(content: bytes) -> dict[str, bytes]:
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def repacked(members: dict[str, bytes]) -> bytes:
    """The archive of members, with their hashes in the manifest."""
    try:
        manifest = json.loads(members["manifest.json"])
        manifest["sha256"] = {name: sha256(each) for name, each in members.items() if name != "manifest.json"}
        members = {**members, "manifest.json": json.dumps(manifest).encode()}
    except (ValueError, TypeError, RecursionError):
        pass  # the manifest itself is damaged
    return pack(members)


def changed(content: bytes, member: str, change: Callable[[Any], None]) -> bytes:
    """An archive in which a JSON member was changed."""
    members = members_of(content)
    decoded = json.loads(members[member])
    change(decoded)
    return repacked({**members, member: json.dumps(decoded).encode()})


__all__ = ["artifact", "changed", "content_of", "members_of", "network", "repacked"]

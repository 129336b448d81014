"""What a run says of itself in run.json, read back: validated, as the file may be damaged or somebody else's."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, TypedDict

import msgspec
from msgspec import Meta

from engine.system.files import read_regular
from studio.document.document_errors import FileError

_LARGEST = 32 * 2**20
"""Bytes of a run.json; one of a data set of 10,000 files has two million."""
_Count = Annotated[int, Meta(ge=0, le=2**53)]
_Figures = dict[str, float | None]


class _Settings(TypedDict, total=False):
    epochs: _Count | None
    steps: _Count | None
    device: str
    seed: int
    compile: bool


class _File(TypedDict, total=False):
    path: str
    bytes: _Count
    sha256: str


class _Metadata(TypedDict, total=False):
    """The fields that are relied on. Others may be there, and stay."""

    number: _Count | None
    name: str | None
    note: str | None
    color: int | None
    started: str
    ended: str
    state: str
    message: str
    settings: _Settings
    process: dict[str, Any]
    versions: dict[str, str]
    machine: dict[str, Any]
    data: list[_File]
    last: _Figures
    best: _Figures
    resumed: list[dict[str, Any]]


def read_metadata(path: Path) -> dict[str, Any]:
    """The content of a run.json. Raises FileError if it cannot be read, is damaged, or a field has another type."""
    try:
        about = msgspec.json.decode(read_regular(path, _LARGEST))
        msgspec.convert(about, _Metadata)
    except OSError as error:
        raise FileError.from_os_error(path, "cannot be read", error) from None
    except RecursionError:
        problem = "it is nested too deeply"
    except (msgspec.MsgspecError, ValueError) as error:
        problem = str(error)
    else:
        return about
    raise FileError(str(path), "", f"is damaged ({problem})", "Choose another run, or restore the file.")


__all__ = ["read_metadata"]

"""Reading and validation of run.json."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, TypedDict

import msgspec
from msgspec import Meta

from engine.system.files import read_regular
from studio.document.document_errors import FileError
from studio.document.files.validation_messages import validation_problem

_MAX_BYTES = 32 * 2**20
"""Maximum size in bytes; with 10,000 data files, run.json has 2 MB."""
_Count = Annotated[int, Meta(ge=0, le=2**53)]
_Figures = dict[str, float | None]


class _Settings(TypedDict, total=False):
    epochs: _Count | None
    steps: _Count | None
    device: str
    seed: int
    compile: bool
    probe_steps: _Count


class _File(TypedDict, total=False):
    path: str
    bytes: _Count
    sha256: str


class _Problem(TypedDict):
    severity: str
    code: str
    message: str
    node: str | None


class _Metadata(TypedDict, total=False):
    """Required types of known fields. Unknown fields are kept."""

    number: _Count | None
    name: str | None
    note: str | None
    color: int | None
    started: str
    ended: str
    state: str
    message: str
    loss_problem: str
    problems: list[_Problem]
    settings: _Settings
    process: dict[str, Any]
    versions: dict[str, str]
    machine: dict[str, Any]
    data: list[_File]
    last: _Figures
    best: _Figures
    resumed: list[dict[str, Any]]


def read_metadata(path: Path) -> dict[str, Any]:
    """Read run.json. Raises FileError if it cannot be read, is damaged, or a field has the wrong type."""
    metadata: Any = None
    try:
        metadata = msgspec.json.decode(read_regular(path, _MAX_BYTES))
        msgspec.convert(metadata, _Metadata)
    except OSError as error:
        raise FileError.from_os_error(path, "cannot be read", error) from None
    except RecursionError:
        problem = "it is nested too deeply"
    except msgspec.ValidationError as error:
        problem = str(validation_problem(error, metadata, _Metadata, ""))
    except (msgspec.MsgspecError, ValueError) as error:
        problem = str(error)
    else:
        return metadata
    raise FileError(str(path), "", f"is damaged ({problem})", "Choose another run, or restore the file.")


__all__ = ["read_metadata"]

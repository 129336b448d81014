"""Edits of frames and comments: rectangles behind nodes. They are layout and have no effect on the computation."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import Any

import msgspec
from msgspec.structs import asdict, replace

from studio.document import node_names as naming
from studio.document.document_errors import EditError
from studio.document.files.json_values import JsonError, validated_copy
from studio.document.files.validation_messages import validation_problem
from studio.document.model import Block, Document, Frame
from studio.document.wire_routes import bounded


def add_frame(document: Document, name: str, frame: Frame) -> Document:
    """Add a frame or comment."""
    if (problem := naming.problem(name)) is not None:
        raise EditError(f"The name {name!r} {problem}.")
    if name in document.frames:
        raise EditError(f"There is already a frame {name!r}. Choose another name.")
    return replace(document, frames={**document.frames, name: _checked(name, frame)})


def change_frame(document: Document, name: str, **fields: Any) -> Document:
    """Change fields of a frame, which are those of `Frame`."""
    frame = _frame(document, name)
    new = _checked(name, replace(frame, **fields))
    return document if new == frame else replace(document, frames={**document.frames, name: new})


def move_frames(document: Document, positions: Mapping[str, tuple[float, float]]) -> Document:
    """Move frames to other positions, without the nodes in them."""
    for name, at in positions.items():
        document = change_frame(document, name, at=at)
    return document


def remove_frames(document: Document, names: Iterable[str]) -> Document:
    """Remove frames. The nodes in them stay."""
    removed = set(names)
    for name in removed:
        _frame(document, name)
    if not removed:
        return document
    return replace(document, frames={name: each for name, each in document.frames.items() if name not in removed})


def free_frame_name(document: Document, base: str = "frame") -> str:
    """A name that no frame has."""
    return naming.unique_name(base, document.frames)


def contains(frame: Frame, at: tuple[float, float]) -> bool:
    """Whether a position is in a frame."""
    x, y = at[0] - frame.at[0], at[1] - frame.at[1]
    return 0 <= x < frame.size[0] and 0 <= y < frame.size[1]


def nodes_in(graph: Document | Block, frame: Frame) -> list[str]:
    """The nodes in a frame: those whose top left corner is in it."""
    return [name for name, node in graph.nodes.items() if contains(frame, node.at)]


def frames_of(graph: Document | Block, names: Collection[str]) -> dict[str, Frame]:
    """The frames that belong to nodes: those that contain some of them, and no others."""
    chosen = set(names)
    return {
        name: frame
        for name, frame in graph.frames.items()
        if (inside := nodes_in(graph, frame)) and chosen.issuperset(inside)
    }


def shifted_frame(frame: Frame, dx: float, dy: float) -> Frame:
    """A frame moved by an offset, within the bounds of coordinates."""
    return replace(frame, at=(bounded(frame.at[0] + dx), bounded(frame.at[1] + dy)))


def _frame(document: Document, name: str) -> Frame:
    try:
        return document.frames[name]
    except KeyError:
        raise EditError(f"The project has no frame {name!r}.") from None


def _checked(name: str, frame: Frame) -> Frame:
    """A copy with validated fields."""
    fields = asdict(frame)
    try:
        validated_copy(fields)
        fields |= {pair: tuple(float(value) for value in fields[pair]) for pair in ("at", "size")}
        return msgspec.convert(fields, Frame)
    except msgspec.ValidationError as error:
        problem = validation_problem(error, fields, Frame, name)
    except JsonError as error:
        problem = error
    raise EditError(f"The frame {name!r} cannot be changed: {problem.location} {problem.problem}.")

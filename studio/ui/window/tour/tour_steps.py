"""The steps of the tour: what each says, the control it points at, and what completes it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from msgspec.structs import replace

from studio.document import edits
from studio.document.files.project_templates import template
from studio.document.model import Document

TEMPLATE = "digits-mlp"
TITLE = "Tour"
_LAYER, _REMOVED = "hidden", "relu"
"""The layer that the tour begins with, and the node behind it that the user adds again."""

Target = Literal["canvas", "palette", "inspector", "problems", "runs", "run button", "figures"]


@dataclass(frozen=True, slots=True)
class Situation:
    """What the user has done so far, as far as a step can depend on it."""

    document: Document
    selection: frozenset[str]
    wrong: frozenset[str]
    """Nodes with errors."""
    is_checked: bool
    """Whether `wrong` is that of `document`."""
    runs: int
    """Number of runs that were started."""


@dataclass(frozen=True, slots=True)
class TourStep:
    """One step."""

    title: str
    text: str
    target: Target
    is_done: Callable[[Situation, Situation], bool]
    """Whether it was done, by the situation when the step was shown and the present one."""
    keys: str = ""
    """How to do it with the keyboard."""
    select: str = ""
    """Node that is selected when the step is shown."""
    nodes: Callable[[Situation], frozenset[str]] = lambda _: frozenset()
    """Nodes that a step points at on the canvas; by default at all of it."""


def tour_document() -> Document:
    """A classifier of digits that lacks one node. Raises FileError if the installation is damaged."""
    document = edits.remove(template(TEMPLATE).document, [_REMOVED])
    return replace(document, description="Tour\nA network for handwritten digits, without its activation.")


def _is_selected(before: Situation, now: Situation) -> bool:
    return bool(now.selection) and now.selection != before.selection


def _has_new_parameter(before: Situation, now: Situation) -> bool:
    old = before.document.nodes
    return any(name in old and node.params != old[name].params for name, node in now.document.nodes.items())


def _shows_error(before: Situation, now: Situation) -> bool:
    return now.is_checked and (not now.wrong or (_is_selected(before, now) and bool(now.selection & now.wrong)))


def _has_new_node(before: Situation, now: Situation) -> bool:
    return bool(now.document.nodes.keys() - before.document.nodes.keys())


def _is_valid(_: Situation, now: Situation) -> bool:
    return now.is_checked and not now.wrong


def _has_new_run(before: Situation, now: Situation) -> bool:
    return now.runs > before.runs


def _never(*_: Situation) -> bool:
    return False


STEPS: tuple[TourStep, ...] = (
    TourStep(
        "Look at a network",
        f"Each box is a node: a data set, a layer, a loss, an optimizer. Data flows along the wires. Click {_LAYER}.",
        "canvas",
        _is_selected,
        "On the canvas, the arrow keys select nodes.",
        nodes=lambda _: frozenset({_LAYER}),
    ),
    TourStep(
        "Change a parameter",
        "The inspector shows the parameters of the selected node. Set out features to 128.",
        "inspector",
        _has_new_parameter,
        "Alt+Enter on the canvas leads here; Enter in the field applies the number.",
        select=_LAYER,
    ),
    TourStep(
        "Read a problem",
        "The graph is checked after every change. Click the error: dropout has no input, because an activation is "
        "missing before it.",
        "problems",
        _shows_error,
        "Ctrl+F6 moves between the panels, Enter shows the node.",
        select=_LAYER,
    ),
    TourStep(
        "Add a node",
        f"{_LAYER} is selected, and a new node is wired to it. Type relu in the search field of the palette and "
        "double-click ReLU.",
        "palette",
        _has_new_node,
        "On the canvas, Tab opens a search; Enter adds the node.",
        select=_LAYER,
    ),
    TourStep(
        "Wire it",
        "Drag from the output of the new node, on its right, to the input of dropout. The graph has no problems then.",
        "canvas",
        _is_valid,
        "On the canvas, C connects the selected node.",
        nodes=lambda now: now.wrong | now.selection,
    ),
    TourStep(
        "Train",
        "Press Run. The network trains in the background, on the GPU if there is one.",
        "run button",
        _has_new_run,
        "Ctrl+Enter runs.",
    ),
    TourStep(
        "Watch the curves",
        "The loss falls with each batch: solid lines are training, dashed lines validation. "
        "Press Next when the run has ended.",
        "runs",
        _never,
    ),
    TourStep(
        "Read the results",
        "After a run, these figures show the accuracy, also on digits that the network has not seen (val). "
        "Ctrl+S saves the project. "
        "F1 explains what is selected, and Ctrl+Shift+P finds every command.",
        "figures",
        _never,
    ),
)
"""All steps in their order."""
